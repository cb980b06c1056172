"""Evolutes against centres of curvature found by calculus on rational parametrisations."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import flint
import pytest

import polymargin as pm
from polymargin.geometry.algebra import OutOfTimeError, exact_equations
from polymargin.geometry.algebra.evolute import centre_map, circle_centre, evolute
from polymargin.geometry.algebra.reconstruction import Residues

T = flint.fmpq_poly([0, 1])

# Rational curves: equation and (numerators, common denominator) of a parametrisation.
RATIONAL = {
    "y - x**2": (T, T**2, T**0),
    "y**2 - x**3": (T**2, T**3, T**0),
    "y**2 - x**3 - x**2": (T**2 - 1, T**3 - T, T**0),
    "x**2 + 4*y**2 - 4": (2 - 2 * T**2, 2 * T, 1 + T**2),
    "x*y - 1": (T**2, T**0, T),
    "x**3 + y**3 - 3*x*y": (3 * T, 3 * T**2, 1 + T**3),
    "y - x**3 + x": (T, T**3 - T, T**0),
    "(x**2 + y**2)**2 - x**2 + y**2": (T + T**3, T - T**3, 1 + T**4),
}


def found_evolute(text: str):
    surface = exact_equations([pm.Boundary.from_expression(text, "x y")])
    centres = centre_map(surface, surface.polynomial)
    return centres, evolute(centres, deadline=math.inf)


def centre(curve: tuple, place: flint.fmpq) -> tuple[flint.fmpq, flint.fmpq] | None:
    """(x − y'(x'² + y'²)/κ, y + x'(x'² + y'²)/κ) with κ = x'y'' − x''y', for x = a/w, y = b/w."""
    a, b, w = curve
    if w(place) == 0:
        return None

    def derivatives(numerator) -> tuple:
        first = numerator.derivative() * w - numerator * w.derivative()
        second = first.derivative() * w - 2 * first * w.derivative()
        return numerator(place) / w(place), first(place) / w(place) ** 2, second(place) / w(place) ** 3

    (x, dx, ddx), (y, dy, ddy) = derivatives(a), derivatives(b)
    bend = dx * ddy - ddx * dy
    if bend == 0:
        return None
    speed = dx**2 + dy**2
    return x - dy * speed / bend, y + dx * speed / bend


@pytest.mark.parametrize("text", RATIONAL, ids=str)
def test_fifty_centres_of_curvature(text: str) -> None:
    _, polynomial = found_evolute(text)
    context = flint.fmpq_mpoly_ctx.get(polynomial.context().names(), flint.Ordering.degrevlex)
    rational = context.from_dict(dict(polynomial.to_dict().items()))
    generator = random.Random(3)
    found = 0
    while found < 50:
        point = centre(RATIONAL[text], flint.fmpq(generator.randrange(-99, 100), generator.randrange(1, 20)))
        if point is not None:
            assert rational(*point) == 0
            assert rational(point[0] + 1, point[1]) != 0
            found += 1


@pytest.mark.parametrize(
    ("text", "degree"),
    [
        ("x**2 + 3*x*y - y**2 + x - 5", 6),
        ("x**3 + 2*y**3 - x*y + x**2 - 2*y + 1", 18),  # 3d(d − 1) for a general curve of degree d
        ("y**2 - x**3 + x + 1", 12),  # a flex at infinity, where the tangent is the line at infinity
    ],
)
def test_degrees(text: str, degree: int) -> None:
    assert found_evolute(text)[1].total_degree() == degree


@pytest.mark.slow
def test_general_quartic() -> None:
    _, polynomial = found_evolute("x**4 + 2*y**4 - 3*x**3*y + x*y**2 - x*y + x - 3*y**3 - 2")
    assert polynomial.total_degree() == 36
    assert len(polynomial) == 37 * 38 // 2


def test_offsets_share_their_evolute() -> None:
    """Both parallel curves of a parabola at distance 1 are one irreducible curve: two points to each centre."""
    offset = (
        "16*x**6 + 16*x**4*y**2 - 40*x**4*y - 32*x**2*y**3 - 47*x**4 + 16*y**4"
        " + 6*x**2*y - 40*y**3 + 28*x**2 + 9*y**2 + 40*y - 25"
    )
    assert found_evolute(offset)[1] == found_evolute("y - x**2")[1]


def test_straight_lines_and_circles_have_none() -> None:
    for text in ("x*(x + y)", "x**2 - 2*y**2", "x**2 + y**2"):
        centres, polynomial = found_evolute(text)
        assert centres.straight
        assert polynomial.is_constant()
    centres, polynomial = found_evolute("(x - 1/3)**2 + (y + 2)**2 - 7")
    assert polynomial.is_constant()
    assert circle_centre(centres) == (flint.fmpq(1, 3), -2)
    centres, _ = found_evolute("(x**2 + y**2 - 3)**2 - 8*x**2")  # two circles around (±√2, 0)
    with pytest.raises(pm.InputError, match="not rational"):
        circle_centre(centres)


def test_out_of_time() -> None:
    surface = exact_equations([pm.Boundary.from_expression("y - x**2", "x y")])
    with pytest.raises(OutOfTimeError, match="degree 3"):
        evolute(centre_map(surface, surface.polynomial), deadline=-math.inf)


def test_reconstruction_of_large_fractions() -> None:
    generator = random.Random(5)
    numbers = [Fraction(generator.randrange(-(10**40), 10**40), generator.randrange(1, 10**6)) for _ in range(20)]
    residues, found = Residues(), None
    candidate = 2**61
    while found is None:
        candidate = next(p for p in range(candidate + 1, candidate + 1000) if flint.fmpz(p).is_prime())
        found = residues.add(candidate, [n.numerator * pow(n.denominator, -1, candidate) % candidate for n in numbers])
    assert found == numbers
