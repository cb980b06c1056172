"""Nearest points by the core: conditions that only the global minimiser meets, rows by themselves, instruction sets."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from polymargin import _core
from polymargin.continuation.tracker import INSTRUCTION_SET
from polymargin.quadric import NearestBatch, NearestKind, QuadricForm, QuadricSolver, SquareSum, nearest_of
from polymargin.quadric.spectrum import Spectrum

SIZES = (1, 2, 3, 7, 8, 9, 33)


def question(size: int, signs: str) -> tuple[Spectrum, np.ndarray]:
    """A diagonal quadric, and points near and far."""
    generator = np.random.default_rng([size, len(signs)])
    eigenvalues = generator.normal(size=size)
    if signs == "mixed":
        eigenvalues[0] = -abs(eigenvalues[0])
    else:
        eigenvalues = (1 if signs == "positive" else -1) * np.abs(eigenvalues)
    constant = {"positive": -1.0, "negative": 1.0, "mixed": 0.5}[signs]
    spectrum = Spectrum.of_form(QuadricForm(np.diag(np.sort(eigenvalues)), generator.normal(size=size), constant))
    return spectrum, generator.normal(size=(40, size)) * np.logspace(-4, 4, 40)[:, None]


def squares(inputs: int, hidden: int) -> tuple[Spectrum, np.ndarray]:
    generator = np.random.default_rng([inputs, hidden])
    weights, bias, bends, slopes = (
        generator.normal(size=shape) for shape in ((hidden, inputs), hidden, hidden, hidden)
    )
    return Spectrum.of_squares(SquareSum(weights, bias, bends, slopes, 0.5)), generator.normal(size=(41, inputs))


@pytest.mark.parametrize("signs", ["mixed", "positive", "negative"])
@pytest.mark.parametrize("size", SIZES)
def test_regular_points_meet_the_conditions_of_the_global_minimum(size: int, signs: str) -> None:
    """With d = 1 + 2λσ ≥ 0 the Lagrangian is convex: a stationary point with B = 0 is nearest."""
    spectrum, points = question(size, signs)
    found, views = QuadricSolver(spectrum).nearest_batch(points), spectrum.views(points)
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


@pytest.mark.parametrize("case", [lambda: question(9, "mixed"), lambda: squares(12, 5), lambda: squares(5, 12)])
def test_a_row_does_not_depend_on_the_others(case: Callable[[], tuple[Spectrum, np.ndarray]]) -> None:
    """To the last bit, whatever group of rows it is looked at with."""
    spectrum, points = case()
    solver = QuadricSolver(spectrum)
    together = solver.nearest_batch(points)
    order = np.random.default_rng(1).permutation(len(points))
    for rows in ([7], order, order[:11]):
        assert same(solver.nearest_batch(points[rows]), together, rows)


@pytest.mark.parametrize(("inputs", "hidden"), [(1, 3), (12, 5), (5, 12), (40, 33), (70, 17)])
def test_views_are_values_and_gradients(inputs: int, hidden: int) -> None:
    spectrum, points = squares(inputs, hidden)
    form = QuadricForm.from_squares(spectrum.source)
    views, steps = spectrum.views(points), np.random.default_rng(2).normal(size=(41, len(spectrum.eigenvalues)))
    np.testing.assert_allclose(views.values, form(points), rtol=1e-9, atol=1e-9)
    slopes = 2 * points @ form.matrix + form.linear
    np.testing.assert_allclose(
        (views.gradients * steps).sum(axis=1), (slopes * spectrum.lift(steps)).sum(axis=1), rtol=1e-9, atol=1e-9
    )
    expanded = Spectrum.of_form(form).views(points)
    np.testing.assert_allclose(expanded.values, views.values, rtol=1e-9, atol=1e-9)
    lengths = [np.linalg.norm(one.gradients, axis=1) for one in (views, expanded)]
    np.testing.assert_allclose(*lengths, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", sorted(_core.instruction_sets()))
def test_instruction_sets_agree(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for spectrum, points in (*[question(size, "mixed") for size in SIZES], squares(12, 5), squares(5, 12)):
        monkeypatch.delenv(INSTRUCTION_SET, raising=False)
        usual = QuadricSolver(spectrum).nearest_batch(points)
        monkeypatch.setenv(INSTRUCTION_SET, name)
        other = QuadricSolver(spectrum).nearest_batch(points)
        assert (usual.kinds == other.kinds).all()
        np.testing.assert_allclose(usual.steps, other.steps, rtol=1e-9, atol=1e-12)


def test_arrays_that_do_not_fit_are_refused() -> None:
    for spectrum, points in (question(9, "mixed"), squares(12, 5)):
        for name in ("weights", "bias", "bends", "slopes", "map", "sizes"):
            array = spectrum.laid_out[name]
            if array is not None:
                with pytest.raises(ValueError, match="quadric: expected matrices"):
                    _core.view(points, **spectrum.laid_out | {name: np.ascontiguousarray(array[..., :-1])})
        solver = QuadricSolver(spectrum)
        for wrong in (np.array([41]), np.array([-1])):
            with pytest.raises(ValueError, match="nearest: row out of range"):
                nearest_of(points, [(solver, wrong)])
        for counts, words in (
            ([1], "as many rows"),
            ([3], "as many rows"),
            ([-1], "as many rows"),
            ([1, 1], "as many counts"),
        ):
            with pytest.raises(ValueError, match=f"nearest: expected {words}"):
                _core.nearest(points, [solver.rules], np.array(counts), np.array([0, 1]))
        with pytest.raises(ValueError, match="nearest: expected points"):
            nearest_of(points[:, :-1], [(solver, np.array([0]))])
        for name in ("padded_rotation", "factors"):
            broken = replace(spectrum)
            broken.__dict__[name] = (
                SimpleNamespace(padded_basis=np.ones((2, 8))) if name == "factors" else np.ones((2, 8))
            )
            broken.__dict__["laid_out"] = spectrum.laid_out
            with pytest.raises(ValueError, match="nearest: expected a rotation"):
                _ = QuadricSolver(broken).rules


def test_several_quadrics_in_one_call_and_after_a_journey() -> None:
    questions = [squares(12, 5), squares(12, 17)]
    points, choices = questions[0][1], (np.array([3, 1, 4]), np.arange(41))
    solvers = [QuadricSolver(spectrum) for spectrum, _ in questions]
    for asked in (solvers, pickle.loads(pickle.dumps(solvers))):
        for solver, rows, found in zip(
            solvers, choices, nearest_of(points, list(zip(asked, choices, strict=True))), strict=True
        ):
            assert same(found, solver.nearest_batch(points), rows)
            assert np.array_equal(found.points, solver.nearest_batch(points).points[rows])
        together = nearest_of(points, list(zip(asked, choices, strict=True)))
        lifted = np.concatenate([found.points for found in together])
        for places in (np.arange(44), np.array([43, 0, 2, 3, 17, 1]), np.array([5]), np.array([], dtype=np.intp)):
            assert np.array_equal(together.points_at(places), lifted[places])
        assert [len(found) for found in together[:]] == [len(together[0]), len(together[1])] == [3, 41]


@pytest.mark.parametrize("threads", [0, 2, 3, 64])
def test_threads_change_no_bit(threads: int) -> None:
    solvers = [QuadricSolver(squares(12, size)[0]) for size in (5, 17)]
    points = np.random.default_rng(0).normal(size=(300, 12))
    asked = [(solver, rows) for solver, rows in zip(solvers, (np.arange(300), np.arange(7, 130)), strict=True)]
    for alone, found, (_, rows) in zip(
        nearest_of(points, asked), nearest_of(points, asked, threads), asked, strict=True
    ):
        assert same(found, alone, np.arange(len(rows)))


def test_a_product_refuses_what_does_not_fit() -> None:
    for matrix in (np.ones((3, 8)), np.ones((2, 7))):
        with pytest.raises(ValueError, match="product: expected a padded matrix"):
            _core.product(np.ones((4, 2)), matrix)


def same(some: NearestBatch, all_of_them: NearestBatch, rows: Sequence[int]) -> bool:
    return all(
        np.array_equal(getattr(some, name), getattr(all_of_them, name)[rows], equal_nan=name != "kinds")
        for name in ("kinds", "multipliers", "steps", "distances", "doubtful")
    )
