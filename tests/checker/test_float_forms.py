"""Quadratic forms in doubles: the vectors of errors cover what may be wrong, and not much more."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import fmpq

from polymargin_checker import float_forms, floats
from polymargin_checker.enclosures import Balls
from polymargin_checker.float_cholesky import definite_within
from polymargin_checker.float_forms import FloatForm
from polymargin_checker.float_patches import patches_of
from polymargin_checker.float_squares import WeightedSquares
from polymargin_checker.floats import Floats

GENERATOR = np.random.default_rng(5)
ROWS, SIDE = 7, 4
CORNERS = [lambda: GENERATOR.choice([-1.0, 1.0], size=(ROWS, SIDE)) for _ in range(6)]


def fractions(table: Any) -> Any:
    return np.vectorize(Fraction, otypes=[object])(np.asarray(table, dtype=float))


def rational(value: fmpq) -> Fraction:
    return Fraction(int(value.p), int(value.q))


def symmetric(form: FloatForm) -> Any:
    lower = fractions(np.tril(form.middle))
    return lower + np.tril(lower, -1).T


def covers(form: FloatForm, exact: Any, entrywise: bool = False) -> None:
    """What separates the form from the exact matrix is within its spread at random vectors, the matrix within its size."""
    error = np.abs(symmetric(form) - exact)
    bounds = np.sqrt(form.spread[:, None] * form.spread) * (1 + 1e-12)
    for _ in range(20):
        x = np.abs(GENERATOR.normal(size=len(error))) * GENERATOR.choice([0.0, 1.0, 1e3], size=len(error))
        assert x @ error.astype(float) @ x <= float(np.sqrt(form.spread) @ x) ** 2 * (1 + 1e-12)
        assert x @ np.abs(form.middle) @ x <= float(np.sqrt(form.size) @ x) ** 2 * (1 + 1e-12)
    if entrywise:
        assert (error <= bounds).all()


def rows(radius: float) -> tuple[Any, Any]:
    middle = GENERATOR.normal(size=(ROWS, SIDE)) * np.ldexp(1.0, GENERATOR.integers(-6, 6, size=(ROWS, 1)))
    return middle, radius * np.abs(GENERATOR.normal(size=(ROWS, SIDE)))


@pytest.mark.parametrize("width", [0.0, 1e-9, 1e-2])
@pytest.mark.parametrize("radius", [0.0, 1e-9, 1e-2])
def test_sums_of_weighted_squares(radius: float, width: float) -> None:
    middle, wrong = rows(radius)
    weights, error = GENERATOR.normal(size=(ROWS, 1)), width * np.abs(GENERATOR.normal(size=(ROWS, 1)))
    form = Floats(middle, wrong).form(Floats(weights, error))
    for corner in CORNERS:
        table = fractions(middle) + fractions(corner()) * fractions(wrong)
        factors = fractions(weights) + fractions(GENERATOR.choice([-1.0, 1.0], size=(ROWS, 1))) * fractions(error)
        covers(form, table.T @ (factors * table), entrywise=True)
    # The worst error has all signs alike; the bound is the root of a product, and loses little.
    whole = np.abs(middle) + wrong
    largest = whole.T @ ((np.abs(weights) + error) * whole) - np.abs(middle).T @ (np.abs(weights) * np.abs(middle))
    largest += 11 * 2.0**-53 * (np.abs(middle).T @ (np.abs(weights) * np.abs(middle)))
    assert (form.spread <= 4 * np.diagonal(largest) + 1e-13 * form.size).all() or radius
    assert form.spread.sum() <= 8 * np.linalg.eigvalsh(largest)[-1] * SIDE


@pytest.mark.parametrize("radius", [0.0, 1e-3])
@pytest.mark.parametrize("width", [0.0, 1e-3])
def test_congruences(radius: float, width: float) -> None:
    middle, wrong = rows(radius)
    core = GENERATOR.normal(size=(ROWS, ROWS))
    core, error = core + core.T, np.abs(core + core.T) * width
    form = Floats(middle, wrong).congruence(Floats(core, error))
    for corner in CORNERS:
        table = fractions(middle) + fractions(corner()) * fractions(wrong)
        signs = np.triu(GENERATOR.choice([-1.0, 1.0], size=(ROWS, ROWS)))
        inner = fractions(core) + fractions(signs + np.triu(signs, 1).T) * fractions(error)
        covers(form, table.T @ inner @ table)
    aligned = fractions(np.abs(middle)).T @ fractions(error) @ fractions(np.abs(middle))
    one = np.ones(SIDE)
    assert one @ aligned.astype(float) @ one <= float(np.sqrt(form.spread) @ one) ** 2


@pytest.mark.parametrize("radius", [0.0, 1e-3])
@pytest.mark.parametrize("width", [0.0, 1e-3])
def test_pairs_of_rows(radius: float, width: float) -> None:
    """Σ own aaᵀ + mixed (abᵀ + baᵀ)/2 + others bbᵀ, with radii everywhere."""
    (a, ra), (b, rb) = rows(radius), rows(radius)
    columns = [(GENERATOR.normal(size=(ROWS, 1)), width * np.abs(GENERATOR.normal(size=(ROWS, 1)))) for _ in range(3)]
    form = Floats(a, ra).paired_form(Floats(b, rb), *(Floats(middle, error) for middle, error in columns))
    balls = Balls.of(ROWS, SIDE, a.ravel().tolist()).paired_form(
        Balls.of(ROWS, SIDE, b.ravel().tolist()), *(Balls.of(ROWS, 1, c.ravel().tolist()) for c, _ in columns)
    )
    middle = np.array([float(entry) for entry in balls.entries()]).reshape(SIDE, SIDE)
    np.testing.assert_allclose(symmetric(form).astype(float), middle, rtol=1e-12, atol=1e-13)
    for corner in CORNERS:
        one, two = (
            fractions(a) + fractions(corner()) * fractions(ra),
            fractions(b) + fractions(corner()) * fractions(rb),
        )
        own, mixed, others = (
            fractions(c) + fractions(GENERATOR.choice([-1.0, 1.0], size=(ROWS, 1))) * fractions(e) for c, e in columns
        )
        cross = one.T @ (mixed * two)
        covers(form, one.T @ (own * one) + (cross + cross.T) / 2 + two.T @ (others * two))


def test_diagonals() -> None:
    form, exact = some_form()
    column, error = GENERATOR.normal(size=(SIDE, 1)), np.abs(GENERATOR.normal(size=(SIDE, 1)))
    made = form.with_diagonal(Floats(column, error))
    for sign in (-1, 1):
        ends = (fractions(column) + sign * fractions(error))[:, 0]
        covers(made, exact + np.diag(ends))
    unit = Balls.identity(2).with_diagonal(Balls.of(2, 1, [1.0, 2.0]))
    assert [float(entry) for entry in unit.entries()] == [2.0, 0.0, 0.0, 3.0]


def test_where_rows_may_differ_from_zero() -> None:
    middle, radius = np.zeros((3, 5)), np.zeros((3, 5))
    middle[0, 1] = middle[2, 4] = -1.0
    radius[1, 3] = 1e-300
    one = Floats(middle, radius)
    assert one.support([0]) == [1]
    assert one.support([1]) == [3]
    assert one.support([2, 0]) == [1, 4]
    assert one.support([]) == []
    assert Balls.of(2, 5, [0.0] * 10).support([0]) == [0, 1, 2, 3, 4]


def some_form(radius: float = 1e-6) -> tuple[FloatForm, Any]:
    """A form, and a matrix that it encloses, as far away as signs allow."""
    middle, wrong = rows(radius)
    table = fractions(middle) + fractions(np.sign(middle)) * fractions(wrong)
    one = Floats(middle, wrong).form(Floats(np.ones((ROWS, 1)), np.zeros((ROWS, 1))))
    return one, table.T @ table


def test_sums_multiples_and_shifts() -> None:
    for _ in range(5):
        (one, exact), (other, second) = some_form(), some_form()
        covers(one + other, exact + second)
        for factor in (fmpq(-1, 3), fmpq(7), fmpq(10**30 + 1, 10**40)):
            covers(one.times(factor), rational(factor) * exact)
            for sign in (-1, 1):
                unit = fractions(np.eye(SIDE))
                covers(one.shifted(factor, None, sign), rational(factor) * unit + sign * exact)
                covers(one.shifted(factor, other, sign), rational(factor) * second + sign * exact)
    before = one.middle.copy()
    one.shifted(fmpq(3), None, 1)
    one.shifted(fmpq(3), None, -1)
    np.testing.assert_array_equal(one.middle, before)


@pytest.mark.parametrize("size", [0.0, 1e-6, 1.0])
def test_borders(size: float) -> None:
    form, exact = some_form()
    border, error = GENERATOR.normal(size=(SIDE, 1)), size * np.abs(GENERATOR.normal(size=(SIDE, 1)))
    corner, wrong = np.array([[2.5]]), np.array([[size]])
    made = form.bordered(Floats(corner, wrong), Floats(border, error))
    assert made.shape == (SIDE + 1, SIDE + 1)
    for signs in (np.ones(SIDE), -np.ones(SIDE), GENERATOR.choice([-1.0, 1.0], size=SIDE)):
        whole = np.empty((SIDE + 1, SIDE + 1), dtype=object)
        whole[0, 0] = Fraction(2.5) + Fraction(size)
        whole[1:, 0] = whole[0, 1:] = (fractions(border) + fractions(signs[:, None]) * fractions(error))[:, 0]
        whole[1:, 1:] = exact
        covers(made, whole)


@pytest.mark.parametrize("width", [0.0, 1e-6, 0.3])
def test_weighted_sums_of_squares_of_forms(width: float) -> None:
    """Two matrices on the same rows, one of them twice, others elsewhere; weights that are zero, small and large."""
    side, parts, exact = 9, [], []
    for places in ([1, 4, 5, 8], [8, 0, 1, 2], [3, 4, 6, 7], [1, 4, 5, 8]):
        form, matrix = some_form(1e-4)
        parts.append((places, form))
        exact.append(matrix)
    parts += [([0, 1, 2, 3], parts[0][1]), ([], None)]
    exact.append(exact[0])
    squares = WeightedSquares(side, parts)
    for weights in (np.ones(6), np.array([0.0, 1e-9, 3.0, 1e6, 2.0, 5.0])):
        error = width * weights
        made = squares.sum(Floats(weights[:, None], error[:, None]))
        for signs in (np.ones(6), -np.ones(6), GENERATOR.choice([-1.0, 1.0], size=6)):
            total = np.full((side, side), Fraction(0), dtype=object)
            for (places, _), matrix, weight, wrong, sign in zip(parts, exact, weights, error, signs, strict=False):
                total[np.ix_(places, places)] += (Fraction(weight) + Fraction(sign) * Fraction(wrong)) * (
                    matrix @ matrix
                )
            covers(made, total)
        assert (made.spread <= (1e-1 + 3 * width) * made.size).all()
    none = squares.sum(Floats(np.full((6, 1), 2.0**400), np.zeros((6, 1))))
    assert not none.shifted(fmpq(2) ** 900, None, -1).positive_definite()
    nothing = WeightedSquares(2, []).sum(Floats(np.zeros((0, 1)), np.zeros((0, 1))))
    np.testing.assert_array_equal(nothing.middle, np.zeros((2, 2)))
    zero = Floats(np.zeros((1, 2)), np.zeros((1, 2))).form(Floats(np.ones((1, 1)), np.zeros((1, 1))))
    one = WeightedSquares(2, [([0, 1], zero)]).sum(Floats(np.ones((1, 1)), np.zeros((1, 1))))
    assert one.shifted(fmpq(1, 1 << 40), None, -1).positive_definite()


@pytest.mark.parametrize("order", ["C", "F"])
def test_spreads_count_in_full(order: Any) -> None:
    """I − ssᵀ is singular for ‖s‖ = 1, and within the spread s²."""
    for side in (1, 2, 5, 60):
        spread = GENERATOR.uniform(0.5, 1, size=side)
        spread /= spread.sum()
        unit = np.asarray(np.eye(side), order=order)
        assert definite_within(unit, 0.999 * spread)
        assert not definite_within(unit, 1.001 * spread)
        scale = np.ldexp(1.0, GENERATOR.integers(-9, 9, size=side))
        assert definite_within(unit * scale[:, None] * scale, 0.499 * spread * scale * scale)
        assert not definite_within(unit * scale[:, None] * scale, 1.001 * spread * scale * scale)


def test_the_upper_triangle_is_not_read() -> None:
    matrix = np.array([[2.0, 9.0], [1.0, 1.0]])
    assert definite_within(matrix, np.zeros(2))
    assert not definite_within(matrix.T.copy(), np.zeros(2))
    form = FloatForm(matrix, np.full(2, 9.0), np.zeros(2))
    assert form.shifted(fmpq(1, 8), None, 1).positive_definite()
    assert not form.shifted(fmpq(1, 8), None, -1).positive_definite()


def test_what_is_no_matrix_of_numbers() -> None:
    for value in (np.nan, np.inf, -np.inf):
        for place in ((0, 0), (1, 0), (2, 1), (2, 0), (2, 2)):
            wrong = np.eye(3)
            wrong[place] = value
            assert not definite_within(wrong, np.zeros(3))
        spread = np.zeros(3)
        spread[1] = value
        assert not definite_within(np.eye(3), spread)
    for value in (0.0, -1.0):
        wrong = np.eye(3)
        wrong[1, 1] = value
        assert not definite_within(wrong, np.zeros(3))
    for power in (430, -430):
        assert not definite_within(np.diag([1.0, 2.0 ** (2 * power)]), np.zeros(2))


def one(value: float) -> Floats:
    return Floats(np.full((1, 1), value), np.zeros((1, 1)))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # as the checker does
@pytest.mark.parametrize("huge", [2.0**400, 2.0**1000, np.inf])
def test_nothing_is_said_of_huge_entries(huge: float) -> None:
    def wide(middle: float, radius: float) -> Floats:
        return Floats(np.full((1, 1), middle), np.full((1, 1), radius))

    forms: list[Callable[[], FloatForm]] = [
        lambda: one(huge).form(one(1.0)),
        lambda: one(1.0).form(one(huge)),
        lambda: wide(1.0, huge).form(one(1.0)),
        lambda: one(1.0).form(wide(1.0, huge)),
        lambda: one(huge).congruence(one(1.0)),
        lambda: one(1.0).congruence(one(huge)),
        lambda: one(1.0).congruence(wide(1.0, huge)),
    ]
    for made in forms:
        assert not np.isfinite(made().spread).all()
        assert not made().positive_definite()
    assert one(2.0**390).form(one(1.0)).positive_definite()


def test_squares_that_vanish_are_not_forgotten() -> None:
    """d a² with a² below all doubles and a large d: the size is known all the same."""
    tiny, large = 2.0**-540, 2.0**390
    form = one(tiny).form(one(large))
    assert form.size[0] >= tiny * large * tiny
    assert form.size[0] >= float_forms.UNDERFLOW
    wide = Floats(np.full((1, 1), 1.0), np.full((1, 1), tiny)).form(one(large))
    assert wide.spread[0] >= 2 * large * tiny


def patchy() -> Any:
    """Twelve rows in six groups of two shapes, and one that is zero."""
    table = np.zeros((13, 20))
    for k in range(4):
        table[[k, k + 4], 4 * k : 4 * k + 3] = GENERATOR.normal(size=(2, 3))
    for k in range(2):
        table[[8 + k, 10 + k], 10 * k : 10 * k + 2] = GENERATOR.normal(size=(2, 2))
    return table


def test_patches_are_the_same_sum() -> None:
    table, weights = patchy(), GENERATOR.normal(size=13)
    stack = patches_of(table, 10**6)
    assert stack is not None
    assert sorted(patches.blocks.shape for patches in stack) == [(2, 2, 2), (4, 2, 3)]
    total = sum(patches.weighted(weights, 20) for patches in stack)
    np.testing.assert_allclose(total.reshape(20, 20), table.T @ (weights[:, None] * table), rtol=1e-13, atol=1e-15)
    work = 4 * 2 * 9 + 2 * 2 * 4
    assert sum(patches.work for patches in stack) == work
    assert patches_of(table, work) is not None
    assert patches_of(table, work - 1) is None


def test_a_convolution_is_taken_patch_by_patch(monkeypatch: pytest.MonkeyPatch) -> None:
    table, weights = patchy(), GENERATOR.normal(size=(13, 1))
    column = Floats(weights, np.zeros_like(weights))
    none = Floats(table, np.zeros_like(table))
    assert none._patches is None  # too narrow to be worth it
    monkeypatch.setattr(floats, "NARROW", 20)
    none, whole = Floats(table, np.zeros_like(table)), Floats(table, np.full_like(table, 1e-3))
    assert none._patches is not None
    exact = fractions(table).T @ (fractions(weights) * fractions(table))
    covers(none.form(column), exact, entrywise=True)
    covers(whole.form(column), exact, entrywise=True)
    monkeypatch.setattr("polymargin_checker.float_patches.MOST_PLACES", 4 * 9 + 2 * 4 - 1)
    assert Floats(table, np.zeros_like(table))._patches is None
    assert Floats(np.ones((13, 20)), np.zeros_like(table))._patches is None


def test_forms_are_told_apart() -> None:
    form, _ = some_form()
    assert form.key() == FloatForm(form.middle.copy(), form.size, form.spread.copy()).key()
    assert form.key() != FloatForm(form.middle + 1e-9, form.size, form.spread).key()
    assert form.key() != FloatForm(form.middle, form.size, form.spread * 2).key()
    large = np.eye(float_forms.LARGEST_KEY + 1)
    assert FloatForm(large, np.ones(len(large)), np.zeros(len(large))).key() is None
