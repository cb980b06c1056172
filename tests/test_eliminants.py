"""The truth that counts and margins of plane curves are held against: known curves, and one way against another."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import Any

import flint
import pytest
from curve_families import CURVES, curve, planted_tie
from eliminants import RING, ed_degree_in_plane, nearest_in_plane, real_critical_count, sturm_count

from polymargin.geometry.algebra.counting import count
from polymargin.geometry.algebra.equations import exact_equations

x, y = RING.gens()
# ED degrees by Macaulay2 and PHCpack, or from the class and the singular points.
KNOWN = [
    (y**7 - x**10, 13),
    (y**3 - x**4, 5),
    (y**4 - x**5, 6),
    (y**2 - x**3 - x**2 / 1000, 5),
    (x**2 + 2 * y**2 + x**3 / 10**4 - 1, 7),
    (y - x**2 + x * y**3 / 10**15 - 1, 12),
    (x**3 + 1073741789 * y**3 - x * y - 1, 9),
    ((x**2 + y**2 - 1) * (x - 3 * y + 1), 3),
]


@pytest.mark.parametrize(("polynomial", "expected"), KNOWN, ids=str)
def test_known_counts(polynomial: Any, expected: int) -> None:
    assert [ed_degree_in_plane(polynomial, seed) for seed in range(3)] == [expected] * 3


@pytest.mark.parametrize("family", CURVES)
def test_counts_by_another_ideal_and_another_program(family: str) -> None:
    for number in range(4):
        one = curve(family, number)
        generator = random.Random(number)
        equations = exact_equations([one.boundary()], 1073741789)
        offsets = equations.offsets(equations.random_vector(generator))
        found, _ = count(equations.normal_to(1, offsets, generator), 60)
        assert found == ed_degree_in_plane(one.polynomial), one.text


def test_real_roots() -> None:
    for roots in ([-1, 1], [], [0, 0, 2], [-3, Fraction(1, 3), Fraction(1, 3), 7]):
        polynomial = flint.fmpq_poly([1, 0, 1])
        for root in map(Fraction, roots):
            polynomial *= flint.fmpq_poly([flint.fmpq(-root.numerator, root.denominator), 1])
        assert sturm_count(polynomial) == len(set(roots))


def test_real_counts_and_distances_of_an_ellipse_and_a_circle() -> None:
    ellipse = x**2 + 4 * y**2 - 4
    assert (real_critical_count(ellipse, (0.1, 0.1)), real_critical_count(ellipse, (3, 1))) == (4, 2)
    assert real_critical_count(ellipse, (1.5, 0)) is None
    assert nearest_in_plane(ellipse, (3, 0)) == 1.0
    assert nearest_in_plane(x**2 + y**2 - 4, (0, 0)) == 2.0
    assert math.isinf(nearest_in_plane(x**2 + y**2 + 4, (0, 0)))
    assert nearest_in_plane((x**2 + y**2) * (x - 5), (3, 0)) == 2.0


def test_distances_with_a_tiny_cubic_part() -> None:
    assert nearest_in_plane(x + y**2 + x**3 / 10**10, (2, 0.5)) == pytest.approx(2.04941435767916, rel=1e-14)
    little = 8 * x**2 - x * y + 9 * y**2 - 7 * x + 4 * y - 2 + (y**3 + x**2 * y) / 10**9
    assert nearest_in_plane(little, (-2.218, -2.831)) == pytest.approx(3.0323792068408, rel=1e-13)


def test_planted_ties_are_nearest() -> None:
    plane = [tie for tie in map(planted_tie, range(20)) if len(tie.point) == 2]
    assert len(plane) >= 5
    for tie in plane:
        assert nearest_in_plane(tie.polynomial, tie.point) == pytest.approx(tie.distance, rel=1e-12)
