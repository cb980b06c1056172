"""Enclosures contain the exact result, for all numbers within the radii, and are not much wider; in both arithmetics."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from flint import arb, fmpq

from polymargin_checker.arithmetic import working_precision
from polymargin_checker.enclosures import Balls
from polymargin_checker.float_numbers import nearest
from polymargin_checker.floats import Floats

Table = Any
"""Fractions in an array of objects."""


def fractions(values: Any) -> Table:
    return np.vectorize(Fraction, otypes=[object])(np.asarray(values, dtype=float))


def wide(middle: Any, radius: Any, arithmetic: Any) -> Any:
    middle, radius = np.asarray(middle, dtype=float), np.asarray(radius, dtype=float)
    if arithmetic is Floats:
        return Floats(middle, radius)
    return Balls.of(*middle.shape, [arb(m, r) for m, r in zip(middle.ravel(), radius.ravel(), strict=True)])


def contained(found: Any, exact: Table, slack: float) -> None:
    assert found.shape == exact.shape
    if isinstance(found, Floats):
        assert (found.radius >= 0).all()
    for entry, value in zip(found.entries(), exact.ravel(), strict=True):
        with working_precision(3000):
            truth = arb(fmpq(value.numerator, value.denominator))
        assert entry.contains(truth), (entry, truth)
        assert entry.rad() <= slack, entry


@pytest.fixture(autouse=True)
def precision() -> Any:
    with working_precision(300):
        yield


OPERATIONS: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Table, Table], Table]]] = {
    "sum": (lambda a, b: a + b, lambda a, b: a + b),
    "product": (lambda a, b: a @ b.transpose, lambda a, b: a @ b.T),
    "entry by entry": (lambda a, b: a.entrywise(b), lambda a, b: a * b),
    "stretched": (lambda a, b: a.entrywise(type(a)(*(first_column(b)))), lambda a, b: a * b[:, :1]),
    "multiple": (lambda a, b: a.times(fmpq(1, 3)), lambda a, b: a * Fraction(1, 3)),
}


def first_column(b: Any) -> tuple[Any, ...]:
    if isinstance(b, Floats):
        return b.middle[:, :1], b.radius[:, :1]
    return (Balls.of(b.shape[0], 1, b.entries()[:: b.shape[1]]).matrix,)


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("arithmetic", [Balls, Floats])
def test_numbers_without_radius(name: str, arithmetic: Any) -> None:
    """Rounding alone; single entries first, for which bounds are sharpest."""
    operation, truth = OPERATIONS[name]
    generator = np.random.default_rng(1)
    for shape in [(1, 1)] * 200 + [(2, 3), (5, 40)]:
        a, b = (generator.normal(size=shape) * 2.0 ** generator.integers(-20, 20, size=shape) for _ in range(2))
        contained(
            operation(wide(a, 0 * a, arithmetic), wide(b, 0 * b, arithmetic)), truth(*map(fractions, (a, b))), 1.0
        )


@pytest.mark.parametrize("signs", list(product((-1, 1), repeat=4)))
@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("arithmetic", [Balls, Floats])
def test_numbers_at_the_edge_of_their_radius(name: str, arithmetic: Any, signs: Any) -> None:
    """The members farthest from the middle; radii are dyadic, so that they are exact."""
    operation, truth = OPERATIONS[name]
    generator = np.random.default_rng(2)
    (sa, sb, ma, mb), shape = signs, (2, 3)
    a, b = (np.abs(generator.integers(1, 9, size=shape)) * 1.0 for _ in range(2))
    ra, rb = (generator.integers(1, 5, size=shape) / 2.0 for _ in range(2))
    ra[0, 0] = rb[1, 1] = 0.0
    found = operation(wide(ma * a, ra, arithmetic), wide(mb * b, rb, arithmetic))
    exact = truth(fractions(ma * a + sa * ra), fractions(mb * b + sb * rb))
    contained(found, exact, 100.0)


@pytest.mark.parametrize("arithmetic", [Balls, Floats])
def test_results_are_sharp(arithmetic: Any) -> None:
    a = np.random.default_rng(3).normal(size=(6, 6))
    one = wide(a, 0 * a, arithmetic)
    for found in (one + one, one @ one, one.entrywise(one), one.times(fmpq(1, 3)), one @ one @ one.times(fmpq(1, 7))):
        assert all(entry.rad() < 1e-13 for entry in found.entries())


def test_radii_of_zeros() -> None:
    zero = Floats(np.zeros((2, 2)), np.zeros((2, 2)))
    for found in (zero + zero, zero @ zero, zero.entrywise(zero), zero.times(fmpq(1, 3))):
        contained(found, fractions(np.zeros((2, 2))), 2.0**-900)


def test_doubles_and_rationals_together() -> None:
    found = Floats.of(1, 3, [0.5, fmpq(1, 3), fmpq(2)])
    contained(found, np.array([[Fraction(1, 2), Fraction(1, 3), Fraction(2)]]), 1e-15)


def test_what_is_too_small_for_a_double() -> None:
    """2⁻⁶⁰⁰ · 2⁻⁶⁰⁰ is zero in doubles; the radius knows better."""
    tiny = Floats(np.full((1, 1), 2.0**-600), np.zeros((1, 1)))
    exact = fractions([[2.0**-600]]) ** 2
    for found in (tiny @ tiny, tiny.entrywise(tiny)):
        contained(found, exact, 2.0**-900)
    three = Floats(np.full((1, 3), 2.0**-600), np.zeros((1, 3)))
    contained(three @ three.transpose, 3 * exact, 2.0**-900)
    least = Floats(np.full((1, 1), 5e-324), np.full((1, 1), 5e-324))
    contained(least.times(fmpq(1, 2)), fractions([[5e-324]]), 2.0**-900)
    contained(least + least, 4 * fractions([[5e-324]]), 2.0**-900)


@pytest.mark.parametrize("text", ["1/3", "-1/3", "5", "0", "1/4", "2/3", "123456789123456789123/7"])
def test_the_nearest_double(text: str) -> None:
    value = fmpq(*map(int, (text + "/1").split("/")[:2]))
    middle, radius = nearest(value)
    exact = Fraction(int(value.p), int(value.q))
    assert abs(Fraction(middle) - exact) <= Fraction(radius)
    assert radius <= abs(middle) * 2.0**-50
    assert (radius == 0) == (Fraction(middle) == exact)


def test_the_nearest_double_of_tiny_numbers_and_of_doubles() -> None:
    for value in (fmpq(1, 1 << 1080), fmpq(3, 1 << 1075), fmpq(-1, 3 << 1060)):
        middle, radius = nearest(value)
        assert abs(Fraction(middle) - Fraction(int(value.p), int(value.q))) <= Fraction(radius)
        assert radius < 2.0**-1000
    assert nearest(0.1) == (0.1, 0.0)


@pytest.mark.parametrize("arithmetic", [Balls, Floats])
def test_reading(arithmetic: Any) -> None:
    found = arithmetic.of(2, 3, [1.5, 2.5, 3.5, 4.5, 5.5, 6.5])
    assert found.shape == (2, 3)
    assert [float(entry) for entry in found.entries()] == [1.5, 2.5, 3.5, 4.5, 5.5, 6.5]
    assert found.transpose.shape == (3, 2)
    assert [float(entry) for entry in found.transpose.entries()] == [1.5, 4.5, 2.5, 5.5, 3.5, 6.5]
    mixed = arithmetic.of(2, 2, [fmpq(1, 3), fmpq(1), fmpq(2, 3), fmpq(4)])
    contained(mixed, np.array([[Fraction(1, 3), Fraction(1)], [Fraction(2, 3), Fraction(4)]]), 1e-15)
    assert mixed.entries()[1].is_exact()
    unit = arithmetic.identity(3)
    assert unit.shape == (3, 3)
    assert [float(entry) for entry in unit.entries()] == [1, 0, 0, 0, 1, 0, 0, 0, 1]
    assert all(entry.is_exact() for entry in unit.entries())
    turned = wide([[1.0, 2.0]], [[0.25, 0.5]], arithmetic).transpose
    assert [float(entry.rad()) for entry in turned.entries()] == pytest.approx([0.25, 0.5])


@pytest.mark.parametrize("arithmetic", [Balls, Floats])
def test_norms_are_upper_bounds(arithmetic: Any) -> None:
    generator = np.random.default_rng(4)
    for _ in range(30):
        a, r = 3 + generator.normal(size=(3, 4)), generator.integers(0, 2, size=(3, 4)) * 0.5
        exact = (abs(fractions(a)) + fractions(r)) ** 2
        for norm, row in zip(wide(a, r, arithmetic).row_norms(), exact, strict=True):
            with working_precision(3000):
                square, truth = norm * norm, arb(fmpq(sum(row).numerator, sum(row).denominator))
            assert truth <= square
            assert square < truth * arb("1.000001")


@pytest.mark.parametrize("arithmetic", [Balls, Floats])
def test_symmetric_matrices_from_blocks(arithmetic: Any) -> None:
    generator = np.random.default_rng(5)
    sizes = [1, 3, 2]
    blocks = [
        [generator.integers(1, 90, size=(high, low)) * 1.0 for low in sizes[: i + 1]] for i, high in enumerate(sizes)
    ]
    made = arithmetic.symmetric([[wide(block, block / 128, arithmetic) for block in line] for line in blocks])
    whole = np.zeros((6, 6))
    ends = np.cumsum([0, *sizes])
    for i, line in enumerate(blocks):
        for j, block in enumerate(line):
            whole[ends[i] : ends[i + 1], ends[j] : ends[j + 1]] = block
    lower = np.tril(whole)
    whole = lower + np.tril(whole, -1).T
    np.testing.assert_array_equal(np.array([float(e) for e in made.entries()]).reshape(6, 6), whole)
    radii = np.array([float(e.rad()) for e in made.entries()]).reshape(6, 6)
    np.testing.assert_allclose(radii, whole / 128, rtol=1e-6)
    assert (radii >= whole / 128).all()
    if isinstance(made, Floats):
        np.testing.assert_array_equal(made.radius, whole / 128)


ENDS = list(product((-1, 1), repeat=2))


@pytest.mark.parametrize("arithmetic", [Balls, Floats])
def test_one_over_positive_numbers(arithmetic: Any) -> None:
    a, r = np.array([[0.5, 1.5, 0.75], [3.0, 7.0, 2.0**-30]]), np.array([[0.25, 0.0, 0.5], [1.0, 3.5, 2.0**-31]])
    for radius in (0 * r, r):
        found = wide(a, radius, arithmetic).inverse()
        for sign in (-1, 0, 1):
            contained(found, 1 / fractions(a + sign * radius), 2.0**32)
    assert all(entry.rad() < 1e-15 * entry.mid() for entry in wide(a, 0 * a, arithmetic).inverse().entries())
    for wrong, radius in ((0.0, 0.0), (-1.0, 0.0), (0.5, 0.5), (0.5, 0.75), (1.0, 2.0)):
        for place in ((0, 0), (1, 2)):
            middle, error = a.copy(), 0 * r
            middle[place], error[place] = wrong, radius
            assert wide(middle, error, arithmetic).inverse() is None


def test_what_is_nearly_zero_or_very_large_has_no_inverse_in_doubles() -> None:
    """Beyond 2⁻⁵⁰⁰ and 2⁵⁰⁰ the product of an entry and its lower end could vanish, or be taken for infinite."""

    def inverse(middle: float, radius: float = 0.0) -> Floats | None:
        return Floats(np.full((1, 1), middle), np.full((1, 1), radius)).inverse()

    for middle, radius in ((2.0**-499, 0.0), (2.0**499, 0.0), (2.0**499, 2.0**498), (2.0**-498, 2.0**-499)):
        found = inverse(middle, radius)
        assert found is not None
        for sign in (-1, 1):
            contained(found, 1 / (fractions([[middle]]) + sign * fractions([[radius]])), 2.0**500)
    for middle, radius in ((2.0**-500, 0.0), (2.0**500, 0.0), (2.0**600, 2.0**600 - 2.0**550), (2.0**1000, 0.0)):
        assert inverse(middle, radius) is None
    assert inverse(np.nan) is None
    assert inverse(1.0, np.nan) is None


@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.parametrize("arithmetic", [Balls, Floats])
def test_rows_and_parts(arithmetic: Any, ends: Any) -> None:
    generator = np.random.default_rng(6)
    a, r = generator.integers(-9, 10, size=(4, 3)) * 1.0, generator.integers(0, 3, size=(4, 3)) / 2.0
    one = wide(a, r, arithmetic)
    for index in range(4):
        contained(one.row(index), fractions(a + ends[0] * r)[index][:, None], 1.1)
        assert [float(e.rad()) for e in one.row(index).entries()] == pytest.approx(r[index].tolist(), abs=1e-6)
    contained(one.part([2, 0], [1]), fractions(a + ends[0] * r)[np.ix_([2, 0], [1])], 1.1)
    contained(one.part([3], [2, 1]), fractions(a + ends[0] * r)[np.ix_([3], [2, 1])], 1.1)


def scattered(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Twelve rows with two kinds of zeros, most entries zero; one zero has a radius, for it may be anything near."""
    generator = np.random.default_rng(seed)
    middle, radius = np.zeros((12, 6)), np.zeros((12, 6))
    middle[::2, :2] = generator.integers(1, 9, size=(6, 2))
    middle[1::2, 3:5] = generator.integers(-8, 0, size=(6, 2))
    radius[::2, :2] = generator.integers(0, 3, size=(6, 2)) / 2.0
    middle[4, 0], radius[4, 0] = 0.0, 0.5
    radius[1::2, 3] = 0.25
    return middle, radius


@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("arithmetic", [Balls, Floats])
def test_sums_of_weighted_squares(arithmetic: Any, dense: bool, ends: Any) -> None:
    """Σ d_j a_j a_jᵀ over rows a_j, where few entries are zero and where most are."""
    middle, radius = scattered(7)
    if dense:
        middle, radius = middle + 1.0, radius + 0.5
    d = np.random.default_rng(8).integers(-4, 5, size=(12, 1)) * 1.0
    dr = np.random.default_rng(9).integers(0, 2, size=(12, 1)) * 0.5
    found = wide(middle, radius, arithmetic).weighted_squares(wide(d, dr, arithmetic))
    a = fractions(middle) + ends[0] * fractions(radius)
    contained(found, a.T @ ((fractions(d) + ends[1] * fractions(dr)) * a), 10_000.0)
    exact = wide(middle, 0 * radius, arithmetic).weighted_squares(wide(d, 0 * dr, arithmetic))
    contained(exact, fractions(middle).T @ (fractions(d) * fractions(middle)), 1e-10)


def test_weighted_squares_of_rows_with_rounding() -> None:
    """No integers: each of the groups, and their sum where they overlap, is rounded."""
    generator = np.random.default_rng(10)
    for _ in range(40):
        middle = np.zeros((8, 5))
        middle[:4, :2], middle[4:, 1:3] = generator.normal(size=(2, 4, 2)) * 2.0 ** generator.integers(-9, 9, (2, 4, 2))
        d = generator.normal(size=(8, 1))
        one = Floats(middle, np.zeros_like(middle))
        assert len(one._groups) == 2
        contained(
            one.weighted_squares(Floats(d, 0 * d)), fractions(middle).T @ (fractions(d) * fractions(middle)), 1e-6
        )


def test_groups_of_rows() -> None:
    """By their zeros where most entries are zero and few kinds of rows there are; else all together."""
    middle, radius = scattered(7)

    def groups(middle: np.ndarray, radius: np.ndarray) -> list[Any]:
        return [(rows.tolist(), columns.tolist()) for rows, columns in Floats(middle, radius)._groups]

    assert groups(middle, radius) == [([0, 2, 4, 6, 8, 10], [0, 1]), ([1, 3, 5, 7, 9, 11], [3, 4])]
    everything = [(list(range(12)), list(range(6)))]
    assert groups(middle + 1, radius) == everything
    middle[0, 5] = middle[1, 0] = 1.0  # four kinds of rows
    assert groups(middle, radius) == everything


@pytest.mark.parametrize("signs", ENDS)
def test_products_of_matrices_that_are_mostly_zero(signs: Any) -> None:
    """Zero where there is no term, and only there: tiny numbers and zeros with a radius are terms."""
    middle, radius = scattered(11)
    middle[2, 0], radius[2, 0] = 2.0**-600, 0.0
    other, error = scattered(12)
    other[2, 0], error[2, 0] = 2.0**-600, 0.0
    one, two = Floats(middle, radius), Floats(other, error)
    found = one @ two.transpose
    contained(
        found,
        (fractions(middle) + signs[0] * fractions(radius)) @ (fractions(other) + signs[1] * fractions(error)).T,
        500.0,
    )
    pattern = ((np.abs(middle) + radius) @ (np.abs(other) + error).T) > 0
    assert (found.radius[~pattern & (found.middle == 0)] == 0).sum() >= 60
    tiny = np.zeros((3, 3))
    tiny[1, 1] = 2.0**-600
    alone = Floats(tiny, 0 * tiny)
    contained(alone @ alone, fractions(tiny) @ fractions(tiny), 2.0**-900)
    contained(alone.entrywise(alone), fractions(tiny) * fractions(tiny), 2.0**-900)
    assert ((alone @ alone).radius > 0).sum() == 1


def test_the_error_of_an_inner_product_grows_with_its_length() -> None:
    """(k + 4) 2⁻⁵³ times the sum of the absolute values, whatever order the sum is computed in."""
    for shape in ((1, 40), (3, 5), (5, 1)):
        a, b = np.full(shape, 0.3), np.full(shape, -0.7)
        radius = (Floats(a, 0 * a) @ Floats(b, 0 * b).transpose).radius
        assert (radius >= (shape[1] + 4) * 2.0**-53 * 0.21 * shape[1]).all()


@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.parametrize("arithmetic", [Balls, Floats])
def test_absolute_values_and_the_largest_of_a_row(arithmetic: Any, ends: Any) -> None:
    a, r = np.array([[-3.0, 2.0, 0.25], [1.0, -0.5, -7.0]]), np.array([[0.5, 0.0, 0.5], [0.0, 2.0, 0.25]])
    one = wide(a, r, arithmetic)
    contained(one.absolute, abs(fractions(a) + ends[0] * fractions(r)), 4.0)
    assert all(e.rad() == 0 for e in wide(a, 0 * r, arithmetic).absolute.entries())
    for bound, row in zip(one.row_largest(), abs(a) + r, strict=True):
        assert row.max() <= bound < 1.000001 * row.max()
    exact = [0.1, -1 / 3]
    with working_precision(60):
        column = arithmetic.column([arb(value, 0.125) for value in exact])
    contained(column, fractions([[value + sign * 0.125] for value, sign in zip(exact, ends, strict=True)]), 0.126)
