"""Critical points with multiplicity, at points of the discriminant."""

from __future__ import annotations

from fractions import Fraction

import flint
import numpy as np
import pytest
from geometry.discriminants import boundary_of

import polymargin as pm
from polymargin.geometry.discriminants.result import DiscriminantComponent, EDDiscriminant
from polymargin.geometry.ed_degrees.multiplicities import critical_points_with_multiplicity


def test_multiplicities_in_space() -> None:
    ellipsoid = boundary_of("x**2 + 2*y**2 + 3*z**2 - 1", "x y z")
    centre = critical_points_with_multiplicity(ellipsoid, [0, 0, 0])
    assert (centre.total, len(centre.real_points), centre.merged) == (6, 6, ())
    (third,) = critical_points_with_multiplicity(ellipsoid, [Fraction(1, 2), 0, 0]).merged
    assert (third.multiplicity, third.rational_point) == (3, (1, 0, 0))
    with pytest.raises(pm.InputError, match="infinitely many"):
        critical_points_with_multiplicity(boundary_of("x**2 + y**2 + 4*z**2 - 4", "x y z"), [0, 0, 1])
    cone = critical_points_with_multiplicity(boundary_of("x**2 + 2*y**2 - 3*z**2", "x y z"), [0, 0, 0])
    assert cone.at_singular_point
    assert cone.components == ()


def test_multiplicities_in_few_active_variables() -> None:
    walls = critical_points_with_multiplicity(boundary_of("(x + y)**2 - 2", "x y z"), [1, 2, 3])
    (pair,) = walls.components
    assert (pair.size, pair.multiplicity, walls.total) == (2, 1, 2)
    for x, y, z in pair.real_points:
        assert x + y == pytest.approx(np.copysign(2**0.5, x + y))
        assert (x - y, z) == (pytest.approx(-1), 3.0)
    # A cylinder over the parabola: the normal from (0, 1/2) on its axis.
    cylinder = critical_points_with_multiplicity(
        boundary_of("y + z - x**2", "x y z"), [0, Fraction(1, 2), Fraction(1, 2)]
    )
    (triple,) = cylinder.merged
    assert (triple.multiplicity, triple.rational_point) == (3, (0, 0, 0))


def test_circle_from_its_centre() -> None:
    found = critical_points_with_multiplicity(boundary_of("(x**2 + y**2 - 1)*(x - 3)"), [0, 0])
    assert [(c.dimension, c.rational_point) for c in found.components] == [(1, None), (0, (3, 0))]
    assert found.total is None
    assert len(found.merged) == 1
    with pytest.raises(pm.InputError, match="expected 2"):
        critical_points_with_multiplicity(boundary_of("x*y - 1"), [1])


def test_coefficients_beyond_all_doubles() -> None:
    context = flint.fmpz_mpoly_ctx.get(("u1", "u2"), flint.Ordering.degrevlex)
    huge = 10**400
    for value, terms in (
        ([-np.inf, 0.0, np.inf], {(1, 0): huge, (0, 0): -huge}),  # the line u1 = 1 in other words
        ([-1e300, 0.0, 1e300], {(1, 0): 10**300, (0, 0): -(10**300)}),
    ):
        line = context.from_dict(terms)
        found = EDDiscriminant((line,), (DiscriminantComponent((line,), 1),), "plane", 0.0)
        assert found([[0.0, 5.0], [1.0, 5.0], [2.0, 5.0]]) == pytest.approx(value)
        assert found([2.0, 5.0]) == pytest.approx(value[-1])
