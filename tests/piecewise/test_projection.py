"""Projections: the bound must hold whatever the solver does, and equal the distance to quadprog's point."""

from __future__ import annotations

import math

import numpy as np
import pytest
from piecewise.brute_force import nearest

from polymargin.errors import MissingExtraError
from polymargin.piecewise import projection
from polymargin.piecewise.projection import project_origin


def polyhedron(seed: int, scale: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of very different lengths, limits, and a point inside."""
    generator = np.random.default_rng(seed)
    size, count = generator.integers(1, 8), generator.integers(1, 30)
    rows = generator.normal(size=(count, size)) * 10 ** generator.uniform(-3, 3, size=(count, 1))
    inside = scale * generator.normal(size=size)
    room = scale * np.abs(generator.normal(size=count)) * generator.choice([0.0, 0.1, 1.0])
    return rows, rows @ inside + room * np.linalg.norm(rows, axis=1), inside


@pytest.mark.parametrize("scale", [1e-5, 1.0, 1e5])
def test_against_another_solver(scale: float) -> None:
    for seed in range(60):
        rows, limits, inside = polyhedron(seed, scale)
        found = project_origin(rows, limits)
        sizes = np.linalg.norm(rows, axis=1)
        expected = nearest(rows / sizes[:, None], limits / sizes / scale, np.zeros(rows.shape[1]))
        assert found.point is not None
        assert (rows @ found.point - limits <= 1e-9 * scale * sizes).all()
        # Any point inside is at least as far as the bound, and lies beyond the plane that proves it.
        assert found.lower <= np.linalg.norm(inside) * (1 + 1e-12)
        assert found.normal @ inside >= found.lower * (1 - 1e-9)
        if expected is not None:  # quadprog takes polyhedra without interior for empty
            assert found.lower == pytest.approx(scale * np.linalg.norm(expected), abs=1e-9 * scale)


def test_the_weights_prove_the_bound() -> None:
    for seed in range(60):
        rows, limits, _ = polyhedron(seed, 1.0)
        found = project_origin(rows, limits)
        assert (found.weights >= 0).all()
        if found.lower > 0:
            assert -(found.weights @ limits) / np.linalg.norm(found.weights @ rows) == pytest.approx(found.lower)


def test_a_warm_start_changes_nothing() -> None:
    for seed in range(40):
        rows, limits, _ = polyhedron(seed, 1.0)
        cold = project_origin(rows, limits)
        wrong = np.random.default_rng(seed).uniform(size=len(rows))
        for warm in (cold.weights, wrong):
            assert project_origin(rows, limits, warm=warm).lower == pytest.approx(cold.lower, abs=1e-9)


@pytest.mark.parametrize("gap", [1.0, 1e-3, 1e-6])
def test_empty_polyhedra_are_proved_empty(gap: float) -> None:
    generator = np.random.default_rng(0)
    for _ in range(30):
        rows = generator.normal(size=(6, 3))
        limits = rows @ generator.normal(size=3) + 1
        found = project_origin(np.vstack([rows, -rows[0]]), np.append(limits, -limits[0] - gap))
        assert found.point is None
        assert found.lower > 1e6 * gap


def test_out_of_reach() -> None:
    found = project_origin(np.array([[-1.0, 0.0], [0.0, -1.0]]), np.array([-3.0, -4.0]), reach=4.5)
    assert found.point is None
    assert 4.5 <= found.lower <= 5 + 1e-12


def test_lower_dimensional_and_flat_rows() -> None:
    line = project_origin(np.array([[1.0, 1.0], [-1.0, -1.0]]), np.array([-2.0, 2.0]))
    assert line.lower == pytest.approx(math.sqrt(2))
    assert np.allclose(line.point, [-1.0, -1.0])
    assert project_origin(np.zeros((1, 2)), np.array([1.0])).lower == 0.0
    assert math.isinf(project_origin(np.zeros((1, 2)), np.array([-1.0])).lower)
    assert project_origin(np.zeros((0, 2)), np.zeros(0)).lower == 0.0


def test_a_solver_that_lies_only_weakens_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever point and multipliers come back, the answer is right: the least-squares method takes over."""
    rows, limits, _ = polyhedron(3, 1.0)
    honest = project_origin(rows, limits)

    def liar(*arguments: object, **options: object) -> tuple[np.ndarray, float, int, dict]:
        return np.full(rows.shape[1], 1e-3), 0.0, 1, {"lam": np.ones(len(rows))}

    monkeypatch.setattr(projection, "_daqp", lambda: liar)
    assert project_origin(rows, limits).lower == pytest.approx(honest.lower, rel=1e-9)


@pytest.mark.parametrize("junk", [4.65e-310, 5e-324, 1e-300, 1e300, 1.7e308, math.inf, math.nan])
@pytest.mark.parametrize("reach", [4.5, math.inf])
def test_multipliers_that_nobody_wrote(junk: float, reach: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where DAQP 0.11 finds no point, it hands out what was in memory: next to 1e-310 a length vanished, and all was proved."""
    rows, limits = np.array([[-1.0, 0.0], [0.0, -1.0], [0.6, 0.8]]), np.array([-3.0, -4.0, 9.0])
    for place in range(3):

        def careless(*arguments: object, **options: object) -> tuple[np.ndarray, float, int, dict]:
            return np.zeros(2), 0.0, -1, {"lam": np.where(np.arange(3) == place, junk, 0.0)}  # noqa: B023

        monkeypatch.setattr(projection, "_daqp", lambda solver=careless: solver)
        found = project_origin(rows, limits, reach=reach)
        assert found.lower == pytest.approx(5.0)
        assert (found.point is None) == math.isfinite(reach)
        assert np.isfinite(found.weights).all()


def test_without_the_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "daqp", None)
    with pytest.raises(MissingExtraError, match="pip install"):
        project_origin(np.array([[-1.0]]), np.array([-1.0]))
