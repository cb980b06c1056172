"""The foundations: what the checker assumes of python-flint, and its own small theorems, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from flint import acb, arb, arb_mat, arb_poly, ctx, fmpq

from polymargin_checker.arithmetic import working_precision
from polymargin_checker.definite import positive_definite
from polymargin_checker.dyadics import number, number_or_infinity
from polymargin_checker.refusal import Refused
from polymargin_checker.univariate import bernstein, nonnegative, shortfall, value_range


def test_precision_is_restored_even_after_an_error() -> None:
    before = ctx.prec
    with working_precision(777):
        assert ctx.prec == 777
    with pytest.raises(Refused), working_precision(777):
        number("junk", "it")
    assert ctx.prec == before


def test_interior_means_interior() -> None:
    outer = arb(0, 1)
    assert outer.contains_interior(arb(0, 0.5))
    assert not outer.contains_interior(arb(0, 1))
    assert outer.contains(outer.upper())
    assert not outer.contains_interior(outer.upper())
    assert not outer.contains_interior(arb.nan())
    assert not outer.contains_interior(arb(0, arb.pos_inf()))


def test_comparisons_are_certain() -> None:
    ball = arb(1, 0.5)
    assert not ball > 1
    assert not ball <= 1
    assert ball >= 0.25
    assert not arb.nan() >= 0
    assert ball.abs_lower() <= 0.5
    assert ball.abs_upper() >= 1.5
    assert ball.lower() <= 0.5
    assert ball.upper() >= 1.5
    assert arb(0, 2).abs_lower() == 0
    assert acb(ball, 0).overlaps(acb(arb(1.5), 0))


def test_balls_keep_long_midpoints_inside() -> None:
    long = fmpq(3**200, 1 << 400)
    assert arb(arb(long), arb(1e-30)).contains(long)
    assert acb(arb(long), arb(0)).mid().real.is_exact()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0x1.8p+1", fmpq(3)),
        ("-0x0.0p+0", fmpq(0)),
        ("0x1.0000000000000000000000000000001p+0", 1 + fmpq(1, 1 << 124)),
        (["0x1p0", "-0x1p-200"], 1 - fmpq(1, 1 << 200)),
        ((-5e-324).hex(), fmpq(-1, 1 << 1074)),
    ],
)
def test_numbers_are_exact(text: object, value: fmpq) -> None:
    assert number(text, "it") == value


@pytest.mark.parametrize(
    "junk",
    [
        "inf", "nan", "-inf", "1.5", "", "0x", "0x1", "0x1p", "0x1p99999", "0x1p1101", "0x1p+1\n", " 0x1p1", "0x1p1_0",
        "0x١p1", "0x" + "1" * 99 + "p1", 1, 1.0, None, True, [], ["0x1p0"] * 17, [["0x1p0"]], [1], {}, {"a": 1},
    ],
)  # fmt: skip
def test_other_spellings_are_refused(junk: object) -> None:
    with pytest.raises(Refused, match="it: "):
        number(junk, "it")


def test_infinity_only_where_allowed() -> None:
    assert number_or_infinity("inf", "it") is None
    with pytest.raises(Refused):
        number_or_infinity("-inf", "it")


def test_bernstein_coefficients_interpolate_the_ends_and_enclose_the_values() -> None:
    generator = np.random.default_rng(0)
    with working_precision(128):
        for degree in range(1, 9):
            coefficients = generator.normal(size=degree + 1)
            low, high = sorted(generator.normal(size=2))
            polynomial = arb_poly(coefficients.tolist())
            piece = bernstein(polynomial, (arb(low), arb(high)))
            assert abs(float(piece[0]) - np.polyval(coefficients[::-1], low)) < 1e-12
            assert abs(float(piece[-1]) - np.polyval(coefficients[::-1], high)) < 1e-12
            values = np.polyval(coefficients[::-1], np.linspace(low, high, 2001))
            bottom, top = (float(end) for end in value_range(polynomial, (arb(low), arb(high))))
            assert values.min() - 1e-4 < bottom <= values.min() + 1e-12
            assert values.max() - 1e-12 <= top < values.max() + 1e-4


def test_coefficients_are_as_precise_as_what_they_are_computed_with() -> None:
    """Few bits of an earlier polynomial of the same degree do not stay."""
    cube = arb_poly([1, 1, 1, 1])
    for bits in (32, 400, 64, 256):
        with working_precision(bits):
            assert all(b.rad() < arb(2) ** (8 - bits) for b in bernstein(cube, (arb(0), arb(1))))


def test_a_gap_of_any_sign_is_seen() -> None:
    with working_precision(128):
        for gap in (1e-6, 1e-12, 1e-18):
            touching = arb_poly([-0.3, 1]) ** 2 * arb_poly([2, 1])
            assert nonnegative(touching + arb_poly([gap]), (arb(-1), arb(1)))
            assert not nonnegative(touching - arb_poly([gap]), (arb(-1), arb(1)))
        assert nonnegative(arb_poly([]), (arb(-1), arb(1)))
        assert nonnegative(arb_poly([0, 1]), (arb(0), arb(1)))
        assert not nonnegative(arb_poly([0, 1]), (arb(-1e-30), arb(1)))
        assert not nonnegative(arb_poly([arb.nan()]), (arb(0), arb(1)))


@pytest.mark.parametrize("seed", range(30))
def test_what_is_missing_to_be_nonnegative_is_enough_and_not_much_more(seed: int) -> None:
    """(t − a)² (t² + b) − e on [−1, 1] is −e at a and nowhere less; radii of coefficients count where they do harm."""
    generator = np.random.default_rng(seed)
    a, b = generator.uniform(-1, 1), generator.uniform(0.1, 1)
    with working_precision(128):
        touching = arb_poly([arb(-a), 1]) ** 2 * arb_poly([arb(b), 0, 1])
        for e in (arb(0), arb(2) ** -100, arb(2) ** -30, arb(1), arb(1000)):
            found = shortfall(touching - arb_poly([e]), (arb(-1), arb(1)))
            assert e <= arb(found) + arb(2) ** -110
            assert arb(found) <= e + (1 + e) * arb(2) ** -36
            assert shortfall(touching + arb_poly([e + arb(2) ** -60]), (arb(-1), arb(1))) == 0
        wide = touching + arb_poly([arb(0), arb(0, 2.0**-20)])
        assert abs(a) * 2.0**-20 * (1 - 2.0**-8) <= float(shortfall(wide, (arb(-1), arb(1)))) <= 2.0**-18
        for strange in (arb.nan(), arb.pos_inf(), arb.neg_inf()):
            with pytest.raises(Refused, match="leaves the numbers"):
                shortfall(touching + arb_poly([0, strange]), (arb(-1), arb(1)))


def test_definiteness_agrees_with_eigenvalues() -> None:
    generator = np.random.default_rng(1)
    with working_precision(128):
        for size in (1, 2, 3, 5, 8, 13):
            root = generator.normal(size=(size, size))
            symmetric = root @ root.T + 1e-3 * np.eye(size)
            symmetric = (symmetric + symmetric.T) / 2
            shift = np.linalg.eigvalsh(symmetric)[0]
            for factor, expected in ((0.0, True), (0.999, True), (1.001, False), (3.0, False)):
                shifted = symmetric - factor * shift * np.eye(size)
                assert positive_definite(arb_mat(shifted.tolist())) is expected
        assert not positive_definite(arb_mat([[0, 0], [0, 1]]))
        assert not positive_definite(arb_mat([[1, 1], [1, 1]]))
        assert not positive_definite(arb_mat([[arb(1, 2)]]))


def test_the_zero_polynomial_is_zero_everywhere() -> None:
    assert bernstein(arb_poly([]), (arb(-1), arb(2))) == [arb(0)]
    assert value_range(arb_poly([]), (arb(-1), arb(2))) == (arb(0), arb(0))
