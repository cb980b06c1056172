"""The ED degree by the theorem, exact and numerical, against enumeration."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from problems import random_network
from quadric.samples import SHAPES, sample

import polymargin as pm
from polymargin.errors import InputError
from polymargin.quadric import QuadricForm, QuadricSolver, quadric_critical_points, quadric_ed_degree
from polymargin.quadric.structure import exact_structure

NAMED = [
    ("x**2 + 4*y**2 - 4", "x y", 4),  # ellipse
    ("x**2 - y**2 - 1", "x y", 4),  # hyperbola with eigenvalues ±1
    ("y - x**2", "x y", 3),  # parabola
    ("x**2 + y**2 - 1", "x y", 2),  # circle
    ("x*y", "x y", 2),  # crossing lines
    ("x**2 - 1", "x y", 2),  # parallel lines
    ("x**2 + 1", "x y", 2),  # the same without real points
    ("x**2 + y**2", "x y", 0),  # isotropic lines
    ("x**2 + 4*y**2", "x y", 2),  # one real point
    ("x**2 + y**2 + z**2 - 1", "x y z", 2),
    ("z - x**2 - y**2", "x y z", 3),
    ("z - x**2 + y**2", "x y z", 5),
    ("x**2 + y**2 - 1", "x y z", 2),  # cylinder
    ("z**2 - x**2 - y**2", "x y z", 2),  # round cone
    ("x**2 + 2*y**2 - 3*z**2", "x y z", 4),
    ("x + 2*y - 3", "x y", 1),
    ("x - x + 3", "x y", 0),
]


@pytest.mark.parametrize(("expression", "variables", "degree"), NAMED)
def test_named_quadrics(expression: str, variables: str, degree: int) -> None:
    boundary = pm.Boundary.from_expression(expression, variables)
    result = quadric_ed_degree(boundary)
    assert result.exact
    assert int(result) == result.value == result.of_set == degree
    assert int(quadric_ed_degree(boundary, exact=False)) == degree
    assert _enumerated(boundary) == degree


def test_a_double_hyperplane_has_no_finite_multiplier_but_is_a_hyperplane() -> None:
    boundary = pm.Boundary.from_expression("(x + 2*y - 1)**2")
    for exact in (True, False):
        result = quadric_ed_degree(boundary, exact=exact)
        assert (result.value, result.of_set) == (0, 1)
    assert _enumerated(boundary) == 0


def test_exactness_sees_what_floats_cannot() -> None:
    nearly = "x**2 + (1 + 1/10**30)*y**2 - 1"
    assert int(quadric_ed_degree(pm.Boundary.from_expression(nearly))) == 4
    assert int(quadric_ed_degree(pm.Boundary.from_expression(nearly), exact=False)) == 2
    tiny = "x**2 + y/10**40 - 1"
    assert int(quadric_ed_degree(pm.Boundary.from_expression(tiny))) == 3


@pytest.mark.parametrize("seed", range(150))
def test_planted_structure(seed: int) -> None:
    generator = np.random.default_rng([23, seed])
    planted = sample(generator, 1 + seed % 6)
    boundary = planted.boundary()
    result = quadric_ed_degree(boundary)
    assert int(result) == planted.ed_degree
    assert result.distinct == planted.distinct
    solver = QuadricSolver(boundary)
    assert int(quadric_ed_degree(solver)) == planted.ed_degree
    found = quadric_critical_points(solver, generator.normal(size=boundary.dimension))
    assert int(found.multiplicities[np.isfinite(found.multipliers)].sum()) == planted.ed_degree


def test_every_shape_occurs_in_the_samples() -> None:
    shapes = {sample(np.random.default_rng([23, seed]), 1 + seed % 6).shape for seed in range(150)}
    assert shapes == set(SHAPES)


def test_networks() -> None:
    assert int(quadric_ed_degree(pm.Boundary.from_network(random_network([4, 6, 2], 2, 0), 0, 1))) == 8
    narrow = pm.Boundary.from_network(random_network([9, 3, 2], 2, 0), 0, 1)
    assert int(quadric_ed_degree(narrow)) == int(quadric_ed_degree(narrow, exact=False)) == 6
    wide = pm.Boundary.from_network(random_network([200, 40, 3], 2, 0), 0, 2)
    assert not quadric_ed_degree(wide).exact
    assert int(quadric_ed_degree(wide)) == 80


def test_irrational_eigenvalues_are_counted_exactly() -> None:
    # Two copies of [[0, 1], [1, 1]]: eigenvalues (1 ± √5)/2, each twice.
    golden = [[Fraction(k) for k in row] for row in ([0, 1, 0, 0], [1, 1, 0, 0], [0, 0, 0, 1], [0, 0, 1, 1])]
    assert exact_structure(golden, [Fraction(0)] * len(golden), Fraction(1)).distinct == 2
    form = QuadricForm(np.array(golden, dtype=float), np.zeros(4), 1.0)
    assert int(quadric_ed_degree(form)) == int(quadric_ed_degree(form, exact=True)) == 4


def test_refusals() -> None:
    with pytest.raises(InputError, match="zero"):
        quadric_ed_degree(pm.Boundary.from_expression("x - x", "x"))
    with pytest.raises(InputError, match="exact=True"):
        quadric_ed_degree(QuadricSolver(pm.Boundary.from_expression("x*y - 1")), exact=True)


def _enumerated(boundary: pm.Boundary) -> int:
    found = quadric_critical_points(boundary, np.random.default_rng(1).normal(size=boundary.dimension))
    return int(found.multiplicities[np.isfinite(found.multipliers)].sum())
