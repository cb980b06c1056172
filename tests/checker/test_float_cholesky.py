"""The definite test in doubles: never true for a matrix with a semidefinite one within its radii, true for clear cases."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from polymargin_checker import float_cholesky
from polymargin_checker.float_cholesky import definite_within, surely_positive_definite
from polymargin_checker.floats import Floats


def without_radius(matrix: Any) -> bool:
    return surely_positive_definite(matrix, np.zeros_like(matrix))


def test_singular_matrices_of_integers() -> None:
    """Computed without rounding, of which Cholesky's algorithm takes many for definite."""
    generator = np.random.default_rng(1)
    taken = 0
    for side in (2, 3, 5, 8, 13, 60):
        for _ in range(20):
            factor = generator.integers(-9, 10, size=(side, side - 1)).astype(float)
            matrix = factor @ factor.T
            assert not without_radius(matrix)
            try:
                np.linalg.cholesky(matrix)
                taken += 1
            except np.linalg.LinAlgError:
                pass
            assert without_radius(matrix + 1e-6 * np.diag(np.diagonal(matrix) + 1))
    assert taken > 10


@pytest.mark.parametrize("side", [1, 2, 47, 48, 49, 96, 97, 130])
def test_every_pivot_counts(side: int) -> None:
    """L diag(d) Lᵀ with one negative d is noticed at that place, in whatever panel it lies."""
    generator = np.random.default_rng(side)
    factor = np.tril(generator.normal(size=(side, side)) / side, -1) + np.eye(side)
    values = generator.uniform(0.5, 2, size=side)
    matrix = factor @ np.diag(values) @ factor.T
    assert without_radius((matrix + matrix.T) / 2)
    for place in sorted({0, 1, 46, 47, 48, 49, 95, 96, side // 2, side - 1}):
        if place < side:
            wrong = values.copy()
            wrong[place] = -1e-6
            matrix = factor @ np.diag(wrong) @ factor.T
            assert not without_radius((matrix + matrix.T) / 2)


def test_radii_count_in_full() -> None:
    """1 on the diagonal and x beside it: definite for |x| < 1/(n − 1) from below; the radius reaches beyond or not."""
    for side in (2, 3, 6):
        edge = 1 / (side - 1)
        off = 1 - np.eye(side)
        for radius in (1e-3, 0.1):
            inside, beyond = -(edge - 1.001 * radius), -(edge - 0.999 * radius)
            assert surely_positive_definite(np.eye(side) + inside * off, radius * off)
            assert not surely_positive_definite(np.eye(side) + beyond * off, radius * off)
    assert surely_positive_definite(np.eye(2), np.diag([0.999, 0.0]))
    assert not surely_positive_definite(np.eye(2), np.diag([1.0, 0.0]))
    assert not surely_positive_definite(np.eye(2), np.diag([0.0, 1.0]))


def test_an_error_as_large_as_the_matrix_is_refused() -> None:
    for value in (1.0, 0.75, 4.0):
        assert definite_within(np.array([[value]]), np.array([0.999 * value]))
        assert not definite_within(np.array([[value]]), np.array([value]))


@pytest.mark.parametrize("power", [-300, -41, 0, 1, 40, 299])
def test_rows_of_any_size(power: int) -> None:
    """Scaling rows and columns together changes nothing, radii included."""
    matrix = np.array([[2.0, 1.0, 0.0], [1.0, 1.0, 0.5], [0.0, 0.5, 1.0]])
    radius = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.01], [0.0, 0.01, 0.0]])
    scale = np.ldexp(1.0, np.array([power, 0, -power // 2]))
    both = scale[:, None] * scale
    assert surely_positive_definite(matrix * both, radius * both)
    # It stays definite while the square of the 0.5 beside the diagonal is below 1/2.
    assert not surely_positive_definite(matrix * both, 20.72 * radius * both)
    assert not without_radius((matrix - np.diag([1.0, 0, 0]) * 0.9) * both)


def test_what_is_no_matrix_of_numbers() -> None:
    unit = np.eye(3)
    assert without_radius(unit)
    for value in (np.nan, np.inf, -np.inf, 0.0, -1.0):
        for place in range(3):
            wrong = unit.copy()
            wrong[place, place] = value
            assert not without_radius(wrong)
    for value in (np.nan, np.inf):
        wrong = unit.copy()
        wrong[0, 2] = wrong[2, 0] = value
        assert not without_radius(wrong)
        assert not surely_positive_definite(unit, wrong)


@pytest.mark.parametrize(("exponent", "proved"), [(780, True), (-780, True), (860, False), (-860, False)])
def test_sizes_beyond_which_nothing_is_said(exponent: int, proved: bool) -> None:
    assert without_radius(np.diag([1.0, 2.0**exponent])) == proved


@pytest.mark.parametrize("radius", [0.0, 2.0**-30])
@pytest.mark.parametrize("side", [1, 3, 50])
def test_the_shift_is_the_one_of_the_theorem(side: int, radius: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """4 (n + 8) 2⁻⁵³ times the trace, and the largest sum of the radii of a row."""
    seen: list[Any] = []
    monkeypatch.setattr(float_cholesky, "_cholesky_succeeds", lambda matrix: seen.append(matrix.copy()) or True)
    assert surely_positive_definite(np.eye(side), np.full((side, side), radius))
    shift = 4 * (side + 8) * 2.0**-53 * side + side * radius
    np.testing.assert_allclose(1 - np.diagonal(seen[0]), shift, rtol=1e-4, atol=2.0**-53)


def test_the_enclosure_asks_with_its_radii() -> None:
    assert Floats(np.eye(2), np.full((2, 2), 0.4)).positive_definite()
    assert not Floats(np.eye(2), np.full((2, 2), 0.51)).positive_definite()
