"""Formulas against counts by monodromy, which know nothing of them; refusals outside the hypotheses."""

from __future__ import annotations

import pytest

from polymargin.boundary import AttentionArchitecture, NetworkArchitecture, architecture_family
from polymargin.continuation import Tracker
from polymargin.errors import InputError
from polymargin.geometry import degree_bounds, formula, monodromy_count


@pytest.mark.parametrize(
    ("widths", "degree", "theorem"),
    [
        ((3, 2, 2), 3, "shallow"),
        ((3, 3, 2), 3, "shallow"),
        ((4, 6, 3), 2, "shallow"),
        ((5, 2, 2), 5, "shallow"),
        ((2, 2, 2, 2), 2, "wide"),
        ((3, 2, 3, 2), 3, "wide"),
        ((9, 2, 2, 2), 2, "wide"),
        ((2, 2, 1, 1, 2), 2, "bottleneck"),
        ((3, 4, 1, 2), 2, "bottleneck"),
        ((4, 2, 1, 2), 3, "bottleneck"),
        ((1, 3, 2), 7, "shallow"),
        ((1, 2, 1, 2), 3, "wide"),
    ],
)
def test_formula_and_count_agree(widths: tuple[int, ...], degree: int, theorem: str) -> None:
    architecture = NetworkArchitecture(widths, degree)
    known = formula(architecture)
    counted = monodromy_count(architecture_family(architecture), Tracker(threads=1))
    assert counted.complete
    assert (known.theorem, known.value) == (theorem, len(counted.solutions))


def test_examples_of_the_paper() -> None:
    shallow = [int(formula(NetworkArchitecture(w, 3))) for w in ((3, 2, 2), (3, 3, 2), (4, 4, 2))]
    assert shallow == [9, 21, 45]
    assert int(formula(NetworkArchitecture((2, 2, 1, 1, 2), 2))) == 16
    assert degree_bounds(NetworkArchitecture((3, 3, 2, 2), 2)) == (12, 52)


def test_bounds_enclose_the_count_between_the_regimes() -> None:
    for widths, degree in [((3, 3, 2, 2), 2), ((4, 4, 2, 2), 2), ((3, 3, 2, 2, 2), 2)]:
        architecture = NetworkArchitecture(widths, degree)
        lower, upper = degree_bounds(architecture)
        assert lower < len(monodromy_count(architecture_family(architecture), Tracker(threads=1)).solutions) < upper


def test_formulas_refuse_outside_their_hypotheses() -> None:
    with pytest.raises(InputError) as caught:
        formula(NetworkArchitecture((3, 3, 2, 2), 2))
    for reason in (
        "2 hidden layers",
        "hidden width 2 is below the 3 active inputs",
        "width 2, not 1",
        "method='numeric'",
    ):
        assert reason in str(caught.value)


def test_attention_has_no_formula() -> None:
    with pytest.raises(InputError, match="no formula is known"):
        formula(AttentionArchitecture(2, 2, 1, 1))


@pytest.mark.parametrize("widths", [(3, 2), (3, 0, 2), (3, 3, 1), (3, 2.5, 2)])
def test_impossible_architectures_are_refused(widths: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match="architecture"):
        NetworkArchitecture(widths, 2)


def test_impossible_degrees_and_modules_are_refused() -> None:
    with pytest.raises(InputError, match="activation degree 0"):
        NetworkArchitecture((2, 2, 2), 0)
    with pytest.raises(InputError, match="four integers"):
        AttentionArchitecture(2, 0, 1, 1)
