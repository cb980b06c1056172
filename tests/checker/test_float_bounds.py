"""The error vectors of quadratic forms in doubles are those of the theorem: not less, and more by their safety factor alone.

Truth: the formulas of docs/theorems.md, section 9, written down again.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb, fmpq

from polymargin_checker import float_forms
from polymargin_checker.arithmetic import working_precision
from polymargin_checker.float_forms import FloatForm, Squares
from polymargin_checker.float_numbers import above, nearest
from polymargin_checker.float_squares import WeightedSquares
from polymargin_checker.floats import Floats

EPS = 2.0**-53
ROWS, SIDE = 5, 3


def table(seed: int, rows: int = ROWS, columns: int = SIDE) -> Any:
    """Neither near one nor alike, so that a sum is no product."""
    generator = np.random.default_rng(seed)
    return generator.normal(size=(rows, columns)) * np.ldexp(1.0, generator.integers(-7, -2, size=(rows, 1)))


def enclosed(seed: int, rows: int = ROWS, columns: int = SIDE, share: float = 0.0) -> Floats:
    middle = table(seed, rows, columns)
    return Floats(middle, share * np.abs(table(seed + 100, rows, columns)))


def agrees(found: Any, expected: Any) -> None:
    found, expected = np.asarray(found), np.asarray(expected)
    assert (found >= expected * (1 - 1e-12)).all()
    np.testing.assert_allclose(found, expected, rtol=8e-6, atol=1e-170)


def of_squares(S: Floats, weights: Any, errors: Any, rounding: float) -> tuple[Any, Any]:
    squares, radii = S.middle**2, S.radius**2
    size = weights @ squares
    spread = rounding * size + errors @ squares
    if S.radius.any():
        plain, wrong = (weights + errors) @ squares, (weights + errors) @ radii
        theta = np.sqrt(wrong.sum() / plain.sum())
        spread = spread + theta * plain + (1 + 1 / theta) * wrong
    return size, spread


@pytest.mark.parametrize("share", [0.0, 1e-3])
@pytest.mark.parametrize("width", [0.0, 1e-3])
def test_sums_of_squares_congruences_and_pairs(share: float, width: float) -> None:
    S, d = enclosed(1, share=share), enclosed(2, ROWS, 1, width)
    made = S.form(d)
    size, spread = of_squares(S, np.abs(d.middle[:, 0]), d.radius[:, 0], (ROWS + 4) * EPS)
    agrees(made.size, size)
    agrees(made.spread, spread)
    core = enclosed(3, ROWS, ROWS, width)
    H = Floats(core.middle + core.middle.T, core.radius + core.radius.T)
    made = S.congruence(H)
    size, spread = of_squares(S, np.abs(H.middle).sum(axis=0), H.radius.sum(axis=0), 2 * (ROWS + 4) * EPS)
    agrees(made.size, size)
    agrees(made.spread, spread)
    T, own, mixed, others = enclosed(4, share=share), *(enclosed(k, ROWS, 1, width) for k in (5, 6, 7))
    made = S.paired_form(T, own, mixed, others)
    weights, errors = (
        np.concatenate([abs(a) + abs(b) / 2, abs(c) + abs(b) / 2])[:, 0]
        for a, b, c in ((own.middle, mixed.middle, others.middle), (own.radius, mixed.radius, others.radius))
    )
    size, spread = of_squares(Floats.stacked([S, T]), weights, errors, (2 * ROWS + 8) * EPS)
    agrees(made.size, size)
    agrees(made.spread, spread)


def form(seed: int, spread: float = 1e-9) -> FloatForm:
    """Made up: sizes and spreads without a reason."""
    middle = table(seed, SIDE, SIDE)
    return FloatForm(middle, np.abs(table(seed + 1, SIDE, 1)[:, 0]), spread * np.abs(table(seed + 2, SIDE, 1)[:, 0]))


@pytest.mark.parametrize("spread", [0.0, 1e-9])
def test_sums_and_diagonals(spread: float) -> None:
    one, other = form(10, spread), form(20, spread)
    made = one + other
    agrees(made.size, one.size + other.size)
    agrees(made.spread, one.spread + other.spread + EPS * made.size)
    column = Floats(-np.abs(table(30, SIDE, 1)), spread * np.abs(table(31, SIDE, 1)))
    made = one.with_diagonal(column)
    agrees(made.size, one.size - column.middle[:, 0])
    agrees(made.spread, one.spread + column.radius[:, 0] + EPS * made.size)


@pytest.mark.parametrize("spread", [0.0, 1e-9, 0.5])
@pytest.mark.parametrize("factor", [fmpq(-3, 1024), fmpq(1, 300), fmpq(-1, 7)])
def test_multiples_and_shifts(factor: fmpq, spread: float) -> None:
    """A factor that is no double is off by two units at most."""
    one, metric = form(10, spread), form(40, spread)
    value = abs(float(int(factor.p)) / float(int(factor.q)))
    error = 0.0 if factor.q == 1024 else 2 * EPS * value
    made = one.times(factor)
    agrees(made.size, value * one.size)
    agrees(made.spread, value * one.spread + error * (one.size + one.spread) + EPS * value * one.size)
    for sign in (-1, 1):
        made = one.shifted(factor, None, sign)
        agrees(made.size, one.size + value)
        agrees(made.spread, one.spread + error + EPS * made.size)
        both, scaled = one.shifted(factor, metric, sign), metric.times(factor)
        agrees(both.size, scaled.size + one.size)
        agrees(both.spread, scaled.spread + one.spread + EPS * both.size)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_borders(sign: float) -> None:
    inner = form(10)
    np.fill_diagonal(inner.middle, sign * np.array([0.5, 0.03, 2.0]))
    corner, border = Floats(np.array([[-0.3]]), np.array([[1e-9]])), enclosed(50, SIDE, 1, 1e-9)
    made = inner.bordered(corner, border)
    scale = np.sqrt(np.abs([-0.3, *np.diagonal(inner.middle)]))
    for found, vector, beside, own in (
        (made.size, inner.size, np.abs(border.middle[:, 0]), 0.3),
        (made.spread, inner.spread, border.radius[:, 0], 1e-9),
    ):
        tau = np.linalg.norm(beside / scale[1:]) * scale[0]
        agrees(found, [tau + own, *(vector + beside**2 / tau)])


def sum_of_squares(side: int, parts: Any) -> FloatForm:
    return WeightedSquares(side, parts).sum(Floats(np.ones((len(parts), 1)), np.zeros((len(parts), 1))))


@pytest.mark.parametrize("wide", [1e-6, 0.5])
def test_squares_of_forms(wide: float) -> None:
    side, size, spread, parts = 5, np.zeros(5), np.zeros(5), []
    for places, seed in (([0, 2, 4], 10), ([4, 1, 3], 20)):
        one = form(seed, wide)
        Q = np.tril(one.middle) + np.tril(one.middle, -1).T
        columns, u = (Q * Q).sum(axis=0), np.sqrt(one.spread)
        v = np.abs(Q) @ u
        theta = np.sqrt((v @ v) / (u @ u))
        size[places] += columns
        spread[places] += (SIDE + 4) * EPS * columns + (theta + u @ u) * u * u + v * v / theta
        parts.append((places, one))
    made = sum_of_squares(side, parts)
    agrees(made.size, size)
    agrees(made.spread, spread + 8 * EPS * size)  # two matrices in two places, and four
    parts = [(places, FloatForm(one.middle, one.size, np.full(SIDE, 1e-170))) for places, one in parts]
    made = sum_of_squares(side, parts)
    agrees(made.spread, [(SIDE + 4 + 8) * EPS * v for v in size])


def test_weights_of_squares_and_their_errors() -> None:
    """The formula itself, with weights that are hardly known; beyond the largest double that is safe nothing is said."""
    parts = [([0, 1, 2], form(10, 0.5)), ([2, 1, 4], form(20, 0.5)), ([0, 1, 2], form(30, 0.5))]
    theta, radius = np.array([0.5, 3.0, 0.0]), np.array([0.25, 1.0, 2.0])
    squares = WeightedSquares(5, parts)
    made = squares.sum(Floats(theta[:, None], radius[:, None]))
    sizes, spreads = np.zeros((3, 5)), np.zeros((3, 5))
    for number, (places, one) in enumerate(parts):
        single = sum_of_squares(3, [([0, 1, 2], one)])
        sizes[number, places] = single.size
        spreads[number, places] = single.spread - (1 + 1 + 4) * EPS * single.size
    agrees(made.size, theta @ sizes)
    agrees(made.spread, (theta + radius) @ spreads + radius @ sizes + (3 + 2 + 4) * EPS * (theta @ sizes))
    for weight, wrong in ((2.0**400, 0.0), (1.0, 2.0**400)):
        none = squares.sum(Floats(np.array([[1.0], [weight], [0.0]]), np.array([[0.0], [wrong], [0.0]])))
        assert np.isinf(none.spread).all()


def test_large_matrices_are_not_taken_for_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """They have no key that tells them apart."""
    parts = [([0, 1, 2], form(10, 1e-6)), ([0, 1, 2], form(20, 1e-6)), ([4, 1, 3], form(20, 1e-6))]
    weights = Floats(np.array([[1.0], [2.0], [3.0]]), np.zeros((3, 1)))
    with_keys = WeightedSquares(5, parts).sum(weights)
    monkeypatch.setattr(float_forms, "LARGEST_KEY", 1)
    assert parts[0][1].key() is None
    without = WeightedSquares(5, parts).sum(weights)
    np.testing.assert_array_equal(with_keys.middle, without.middle)
    np.testing.assert_array_equal(with_keys.spread, without.spread)


def test_nothing_vanishes() -> None:
    """Underflow is covered by numbers that are not zero."""
    nothing = FloatForm(np.zeros((2, 2)), np.zeros(2), np.zeros(2))
    small = FloatForm(np.zeros((2, 2)), np.zeros(2), np.full(2, 2.0**-600))
    none = Floats(np.zeros((1, 2)), np.zeros((1, 2)))
    one, corner, border = (Floats(np.full(shape, 0.0), np.zeros(shape)) for shape in ((1, 1), (1, 1), (2, 1)))
    for made in (nothing.times(fmpq(1, 3)), none.form(one), sum_of_squares(2, [([0, 1], small)])):
        assert (made.size >= 2.0**-601).all()
        assert (made.spread >= 2.0**-601).all()
    assert (nothing.times(fmpq(1)).size >= 2.0**-601).all()
    assert (nothing.bordered(corner, border).spread >= 2.0**-601).all()
    assert (nothing.bordered(corner, border).size >= 2.0**-601).all()


def test_row_norms_are_upper_bounds_in_any_order_of_the_sum() -> None:
    """One large entry and many whose squares are lost beside its own: a table by columns is summed one after the other."""
    count = 2000
    lost = np.sqrt(0.99 * EPS)
    rows = np.array([[1.0, 1.0], *[[lost, lost]] * count])
    truth = Fraction(1) + count * Fraction(lost) ** 2
    for middle in (rows.T, np.ascontiguousarray(rows.T)):
        for norm in Floats(middle, np.zeros_like(middle)).row_norms():
            assert Fraction(float(norm)) ** 2 >= truth


@pytest.mark.parametrize("entry", [0.0, 2.0**-540, 2.0**-1000])
def test_row_norms_whose_squares_vanish(entry: float) -> None:
    (norm,) = Floats(np.full((1, 3), entry), np.zeros((1, 3))).row_norms()
    assert Fraction(float(norm)) ** 2 >= 3 * Fraction(entry) ** 2
    assert norm >= 0


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_sums_over_groups_of_rows_count_their_rounding(sign: float) -> None:
    """Rows of many patterns of zeros meet in one entry: 1, and then what is lost beside it, each time."""
    groups, lost = 40, np.sqrt(0.99 * EPS / 4)
    middle = np.zeros((4 * groups, groups + 1))
    middle[:, 0] = lost
    middle[:4, 0] = 0.5
    middle[np.arange(4 * groups), 1 + np.arange(4 * groups) // 4] = 1.0
    weights = Floats(np.full((4 * groups, 1), sign), np.zeros((4 * groups, 1)))
    found = Floats(middle, np.zeros_like(middle)).weighted_squares(weights)
    truth = Fraction(sign) * sum(Fraction(value) ** 2 for value in middle[:, 0])
    assert abs(Fraction(found.middle[0, 0]) - truth) <= Fraction(found.radius[0, 0])


def test_squares_of_entries_are_rounded_up_and_zeros_stay_zeros() -> None:
    middle = np.array([[0.1, -1 / 3, 0.0, 1.0, 2.0**-600, -(2.0**-530)]])
    radius = np.array([[0.0, 0.1, 1 / 3, 1.0, 2.0**-600, 0.0]])
    found = Squares.of(middle, radius)
    assert found.radii is not None
    assert Squares.of(middle, np.zeros_like(middle)).radii is None
    for squares, numbers in ((found.entries, middle), (found.radii, radius)):
        for square, number in zip(squares[0].tolist(), numbers[0].tolist(), strict=True):
            assert Fraction(square) >= Fraction(number) ** 2
            assert square <= number * number * (1 + 1e-14) + 2.0**-999
            assert (square == 0.0) is (number == 0.0)


@pytest.mark.parametrize(
    ("value", "low", "high"),
    [
        (fmpq(1, 3), 1e-17, 1e-16),
        (fmpq(-1, 3), 1e-17, 1e-16),
        (fmpq(3, 4), 0.0, 0.0),
        (fmpq(1, 2**1080), 2.0**-1074, 2.0**-1060),
        (arb(1, 0.25), 0.25, 0.250001),
        (arb(-1, 0.25), 0.25, 0.250001),
        (arb(-1) / 3, 1e-17, 1e-15),
        (arb(0), 2.0**-1074, 2.0**-1060),
        (0.1, 0.0, 0.0),
        (-2.0, 0.0, 0.0),
    ],
)
def test_doubles_near_numbers(value: Any, low: float, high: float) -> None:
    middle, error = nearest(value)
    assert low <= error <= high
    if isinstance(value, fmpq):
        assert abs(Fraction(int(value.p), int(value.q)) - Fraction(middle)) <= Fraction(error)
    elif isinstance(value, arb):
        assert arb(middle, error).contains(value)
    else:
        assert middle == value


def test_columns_enclose_balls_on_either_side_of_their_doubles() -> None:
    with working_precision(128):
        values = [arb(p) / q for p, q in ((1, 3), (2, 3), (-1, 3), (-2, 3), (1, 10), (7, 10), (1, 7), (-5, 7))]
        column = Floats.column(values)
        sides = set()
        for value, middle, radius in zip(values, column.middle[:, 0], column.radius[:, 0], strict=True):
            assert abs(value - arb(float(middle))) <= arb(float(radius))
            sides.add(bool(value < arb(float(middle))))
    assert sides == {True, False}


def test_doubles_above_balls() -> None:
    assert 1.5 < above(arb(1, 0.5)) < 1.51
    assert -0.5 < above(arb(-1, 0.5)) < -0.49


OPERATIONS: dict[str, Callable[[FloatForm], object]] = {
    "sum": lambda f: f + f,
    "multiple": lambda f: f.times(fmpq(3)),
    "shift": lambda f: f.shifted(fmpq(3), None, 1),
    "diagonal": lambda f: f.with_diagonal(Floats(np.ones((len(f.middle), 1)), np.zeros((len(f.middle), 1)))),
    "border": lambda f: f.bordered(
        Floats(np.ones((1, 1)), np.zeros((1, 1))), Floats(np.ones((len(f.middle), 1)), np.zeros((len(f.middle), 1)))
    ),
    "key": lambda f: f.key(),
    "definite": lambda f: f.positive_definite(),
    "weighted squares": lambda f: Squares(f.middle, None, True).form(f.middle, 0.0, f.size, f.spread),
    "squares": lambda f: sum_of_squares(len(f.middle), [(range(len(f.middle)), f)]),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_counts_its_work(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = FloatForm(np.eye(64), np.ones(64), np.full(64, 2.0**-600))
    asked: list[int] = []
    monkeypatch.setattr(float_forms, "spend", lambda products, bits, what: asked.append(products))
    OPERATIONS[name](whole)
    assert sum(asked) >= 64
