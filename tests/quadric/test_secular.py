"""The secular equation in the core: conditions that only the global minimiser meets, rows by themselves, instruction sets."""

from __future__ import annotations

import numpy as np
import pytest

from polymargin import _core
from polymargin.continuation.tracker import INSTRUCTION_SET
from polymargin.quadric import NearestKind, QuadricForm
from polymargin.quadric.secular import SecularRoots, solve_secular
from polymargin.quadric.spectrum import Spectrum, Views

SIZES = (1, 2, 3, 7, 8, 9, 33)


def question(size: int, signs: str) -> tuple[Spectrum, Views]:
    """A diagonal quadric seen from points near and far."""
    generator = np.random.default_rng([size, len(signs)])
    eigenvalues = generator.normal(size=size)
    if signs == "mixed":
        eigenvalues[0] = -abs(eigenvalues[0])
    else:
        eigenvalues = (1 if signs == "positive" else -1) * np.abs(eigenvalues)
    constant = {"positive": -1.0, "negative": 1.0, "mixed": 0.5}[signs]
    spectrum = Spectrum.of_form(QuadricForm(np.diag(np.sort(eigenvalues)), generator.normal(size=size), constant))
    return spectrum, spectrum.views(generator.normal(size=(40, size)) * np.logspace(-4, 4, 40)[:, None])


@pytest.mark.parametrize("signs", ["mixed", "positive", "negative"])
@pytest.mark.parametrize("size", SIZES)
def test_regular_points_meet_the_conditions_of_the_global_minimum(size: int, signs: str) -> None:
    """With d = 1 + 2λσ ≥ 0 the Lagrangian is convex: a stationary point with B = 0 is nearest."""
    spectrum, views = question(size, signs)
    found = solve_secular(spectrum, views)
    rows = np.flatnonzero(found.kinds == NearestKind.REGULAR)
    assert len(rows) >= 30
    steps, multipliers = found.steps[rows], found.multipliers[rows, None]
    gradients, values = views.gradients[rows], views.values[rows]
    denominators = 1 + 2 * multipliers * spectrum.eigenvalues
    assert (denominators > -1e-12).all()
    np.testing.assert_allclose(steps * denominators, -multipliers * gradients, rtol=1e-9, atol=1e-12)
    terms = np.concatenate(
        [values[:, None], gradients * steps, spectrum.eigenvalues * steps**2, views.value_sizes[rows, None] * 1e-3],
        axis=1,
    )
    assert (np.abs(terms[:, :-1].sum(axis=1)) <= 1e-12 * np.abs(terms).sum(axis=1)).all()


def test_a_row_does_not_depend_on_the_others() -> None:
    spectrum, views = question(9, "mixed")
    together = solve_secular(spectrum, views)
    order = np.random.default_rng(1).permutation(len(views.values))
    for rows in ([7], order, order[:11]):
        some = solve_secular(
            spectrum, Views(views.values[rows], np.asarray(views.gradients[rows]), views.value_sizes[rows])
        )
        assert same(some, SecularRoots(together.kinds[rows], together.multipliers[rows], together.steps[rows]))


@pytest.mark.parametrize("name", sorted(_core.instruction_sets()))
def test_instruction_sets_agree(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for size in SIZES:
        spectrum, views = question(size, "mixed")
        monkeypatch.delenv(INSTRUCTION_SET, raising=False)
        usual = solve_secular(spectrum, views)
        monkeypatch.setenv(INSTRUCTION_SET, name)
        other = solve_secular(spectrum, views)
        assert (usual.kinds == other.kinds).all()
        np.testing.assert_allclose(usual.steps, other.steps, rtol=1e-10, atol=1e-14)


def test_arrays_that_do_not_fit_are_refused() -> None:
    arrays = {"values": np.ones(3), "gradients": np.ones((3, 2)), "value_sizes": np.ones(3)}
    tolerances = {"tolerance": 0.0, "cluster_tolerance": 0.0, "touch_tolerance": 0.0, "least": 0.0}
    for name, wrong in (("values", np.ones(2)), ("gradients", np.ones((3, 1))), ("value_sizes", np.ones(4))):
        with pytest.raises(ValueError, match="expected eigenvalues"):
            _core.secular(np.ones(2), **tolerances, **(arrays | {name: wrong}))
    with pytest.raises(ValueError, match="expected eigenvalues"):
        _core.secular(np.ones(0), **tolerances, **(arrays | {"gradients": np.ones((3, 0))}))


def same(first: SecularRoots, second: SecularRoots) -> bool:
    return all(
        np.array_equal(getattr(first, name), getattr(second, name), equal_nan=name != "kinds")
        for name in ("kinds", "multipliers", "steps")
    )
