"""The picture is drawn, its curves are the discriminants, and its examples lie where it says."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import polymargin as pm
from polymargin.geometry import parameter_discriminant
from polymargin.plots.conic_strata import (
    EXAMPLES,
    LINEAR,
    StrataExample,
    conic_strata,
    example_boundary,
    slice_discriminants,
)


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_the_picture(tmp_path: Path, suffix: str) -> None:
    pytest.importorskip("matplotlib")
    assert conic_strata(tmp_path / f"strata.{suffix}").stat().st_size > 40_000


def test_another_slice(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    examples = [StrataExample(Fraction(0), Fraction(2), (0.1, 0.2))]
    assert conic_strata(tmp_path / "slice.png", linear=(0.0, 0.5), constant=0.25, examples=examples).exists()
    with pytest.raises(pm.InputError, match="room for 1 to 8"):
        conic_strata(tmp_path / "slice.png", examples=[])


def test_examples_cover_the_strata() -> None:
    found = [parameter_discriminant(example_boundary(example)) for example in EXAMPLES]
    names = {each.name for each in found}
    assert names == {
        "ellipse",
        "circle",
        "parabola",
        "hyperbola",
        "rectangular hyperbola",
        "crossing lines",
        "parallel lines",
    }
    assert {each.ed_degree for each in found} == {2, 3, 4}


def test_curves_are_the_discriminants() -> None:
    for example in EXAMPLES:
        found = parameter_discriminant(example_boundary(example))
        ours = slice_discriminants(float(example.s), float(example.t), np.array(LINEAR), -1.0)
        assert np.allclose(
            ours, [float(f) for f in (found.singular_factor, found.rank_factor, found.eigenvalue_factor)], atol=1e-12
        )
