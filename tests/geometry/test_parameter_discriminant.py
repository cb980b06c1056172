"""The parameter discriminant, against SymPy's determinants and discriminants and against enumerated critical points."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import polymargin as pm
from polymargin.geometry import parameter_discriminant
from polymargin.quadric import QuadricForm

# text, name, stratum, ED degree
CONICS = [
    ("x**2 + 2*y**2 + x*y - 3*x + 1", "ellipse", "generic", 4),
    ("2*x**2 + y**2 + x + 3", "empty (imaginary ellipse)", "generic", 4),
    ("x**2 - 3*y**2 + x*y + y - 2", "hyperbola", "generic", 4),
    ("x*y + x - 2*y - 5", "rectangular hyperbola", "generic", 4),
    ("x**2 + y**2 - 4*x + y - 2", "circle", "repeated eigenvalues", 2),
    ("-x**2 - y**2 + 2*x - 7", "empty (imaginary circle)", "repeated eigenvalues", 2),
    ("(x - 2*y)**2 + x - 1", "parabola", "rank-deficient", 3),
    ("(x - 2*y + 1)*(x + y - 3)", "crossing lines", "singular", 2),
    ("(x - 2*y + 1)*(2*x + y - 3)", "perpendicular lines", "singular", 2),
    ("(x - 1)**2 + 3*(y + 2)**2 + (x - 1)*(y + 2)", "point", "singular", 2),
    ("(x - 1)**2 + (y + 2)**2", "point", "singular + repeated eigenvalues", 0),
    ("(x - 2*y + 1)*(x - 2*y - 3)", "parallel lines", "rank-deficient + singular", 2),
    ("(x - 2*y + 1)**2 + 3", "empty (imaginary parallel lines)", "rank-deficient + singular", 2),
    ("-3*(x - 2*y + 1)**2", "double line", "rank-deficient + singular", 1),
    ("x - 2*y + 1", "line", "rank-deficient + singular + repeated eigenvalues", 1),
    ("0*x + 5", "empty (constant)", "constant", 0),
    ("0*x", "whole plane", "zero", 1),
]
QUADRICS = [
    ("x**2 + 2*y**2 - 3*z**2 + x*y - z + 1", "generic", 6),
    ("x**2 + 2*y**2 - 3*z**2", "singular", 4),  # a cone
    ("x**2 + 2*y**2 - z", "rank-deficient", 5),  # a paraboloid
    ("x**2 + y**2 - z", "rank-deficient + repeated eigenvalues", 3),
    ("x**2 + 2*y**2 - 1", "rank-deficient + singular", 4),  # a cylinder
    ("x**2 + y**2 - 1 + z*0", "rank-deficient + singular + repeated eigenvalues", 2),
    ("x**2 + y**2 - 2*z**2 - 1", "repeated eigenvalues", 4),  # of revolution
    ("x**2 + y**2 + z**2 - 1", "repeated eigenvalues", 2),
    ("x**2 + y**2 + z**2", "singular + repeated eigenvalues", 0),
    ("x**2 - y + z", "rank-deficient + singular + repeated eigenvalues", 3),  # a parabolic cylinder
    ("x**2 - y**2 + 0*z", "rank-deficient + singular", 2),  # two planes
]
POINT = [0.37, -0.81, 0.59]


def regular_critical_points(boundary: pm.Boundary) -> int:
    """By enumeration from a general point; singular points of the boundary do not count."""
    found = pm.critical_points(boundary, POINT[: boundary.dimension], cache=False)
    assert found.audit.complete
    regular = np.isfinite(found.multipliers)
    assert (found.multiplicities[regular] == 1).all()
    return int(regular.sum())


@pytest.mark.parametrize(("text", "name", "stratum", "ed_degree"), CONICS, ids=[case[0] for case in CONICS])
def test_conics(text: str, name: str, stratum: str, ed_degree: int) -> None:
    boundary = pm.Boundary.from_expression(text, variables="x y")
    found = parameter_discriminant(boundary)
    assert (found.name, found.stratum, found.ed_degree) == (name, stratum, ed_degree)
    assert found.empty == name.startswith("empty")
    assert (found.value == 0) == (found.stratum != "generic")
    if boundary.degree == 2 and name != "double line":
        assert regular_critical_points(boundary) == ed_degree


@pytest.mark.parametrize(("text", "stratum", "ed_degree"), QUADRICS, ids=[case[0] for case in QUADRICS])
def test_quadrics_in_space(text: str, stratum: str, ed_degree: int) -> None:
    boundary = pm.Boundary.from_expression(text, variables="x y z")
    found = parameter_discriminant(boundary)
    assert (found.stratum, found.ed_degree, found.generic_ed_degree) == (stratum, ed_degree, 6)
    assert regular_critical_points(boundary) == ed_degree


def test_a_double_line_is_a_line() -> None:
    """The theorem's 2r − 2 counts regular critical points of B = ℓ², of which there are none; the variety is {ℓ = 0}."""
    double = pm.Boundary.from_expression("(x - 2*y + 1)**2")
    assert not np.isfinite(pm.critical_points(double, POINT[:2], cache=False).multipliers).any()
    line = pm.Boundary.from_expression("x - 2*y + 1")
    assert parameter_discriminant(double).ed_degree == len(pm.critical_points(line, POINT[:2])) == 1


small = st.integers(-3, 3)


@settings(deadline=None, max_examples=60)
@given(st.data(), st.integers(1, 4))
def test_factors_against_sympy(data: st.DataObject, n: int) -> None:
    """Small integers, so that all strata occur."""
    sympy = pytest.importorskip("sympy")
    entries = data.draw(st.lists(small, min_size=n * n, max_size=n * n))
    matrix = np.array(entries, dtype=np.float64).reshape(n, n)
    matrix = np.tril(matrix) + np.tril(matrix, -1).T
    linear = data.draw(st.lists(small, min_size=n, max_size=n))
    constant = data.draw(small)
    names = [f"x{i}" for i in range(n)]
    terms = [f"({int(matrix[i, j])})*x{i}*x{j}" for i in range(n) for j in range(n)]
    terms += [f"({slope})*{name}" for slope, name in zip(linear, names, strict=True)]
    found = parameter_discriminant(pm.Boundary.from_expression(f"{'+'.join(terms)}+({constant})", names))
    A = sympy.Matrix(n, n, [int(x) for x in matrix.ravel()])
    b = sympy.Matrix(linear) / 2
    M = sympy.Matrix(sympy.BlockMatrix([[A, b], [b.T, sympy.Matrix([[constant]])]]))
    unknown = sympy.Symbol("t")
    polynomial = A.charpoly(unknown).as_expr()
    assert found.rank_factor == _fraction(A.det())
    assert found.singular_factor == _fraction(M.det())
    assert found.eigenvalue_factor == (_fraction(sympy.discriminant(polynomial, unknown)) if n > 1 else 1)
    assert (found.rank, found.augmented_rank) == (A.rank(), M.rank())
    roots = sympy.Poly(polynomial, unknown).sqf_part()
    assert found.distinct_eigenvalues == roots.degree() - (polynomial.subs(unknown, 0) == 0)
    assert (found.value == 0) == (found.ed_degree < 2 * n) == (found.stratum != "generic")


def test_m_carries_half_of_b() -> None:
    """x² + y² − 2x + 1 is the point (1, 0); with b instead of b/2 in M it would not be singular."""
    found = parameter_discriminant(pm.Boundary.from_expression("x**2 + y**2 - 2*x + 1"))
    assert found.singular_factor == 0
    assert found.has_singular_point


def test_networks() -> None:
    generator = np.random.default_rng(3)
    layers = [
        (generator.normal(size=(4, 3)), generator.normal(size=4)),
        (generator.normal(size=(3, 4)), generator.normal(size=3)),
    ]
    network = pm.PolynomialNetwork(layers, degree=2)
    found = parameter_discriminant(network, 0, 2)
    form = QuadricForm.from_network(network, 0, 2)
    assert found.stratum == "generic"
    assert float(found.rank_factor) == pytest.approx(np.linalg.det(form.matrix), rel=1e-9)
    assert regular_critical_points(pm.Boundary.from_network(network, 0, 2)) == found.ed_degree == 6


def test_a_narrow_network_is_rank_deficient() -> None:
    generator = np.random.default_rng(4)
    network = pm.PolynomialNetwork(
        [generator.normal(size=(2, 30)), (generator.normal(size=(2, 2)), [0.0, 1.0])], degree=2
    )
    found = parameter_discriminant(network)
    assert (found.rank, found.augmented_rank, found.ed_degree) == (2, 3, 4)
    assert found.stratum == "rank-deficient + singular + repeated eigenvalues"


def test_what_cancels_between_logits_does_not_come_back_as_noise() -> None:
    weights = np.random.default_rng(5).normal(size=(1, 30))
    network = pm.PolynomialNetwork([np.vstack([weights, weights]), ([[1.0, 2.0], [2.0, 1.0]], [0.0, 3.0])], degree=2)
    found = parameter_discriminant(network)
    assert (found.stratum, found.empty, found.ed_degree) == ("constant", True, 0)


def test_equal_output_biases_make_a_2_2_2_network_singular() -> None:
    layers = [([[1.0, 0.5], [-0.3, 2.0]], [0.1, 0.2]), ([[1.0, -2.0], [0.5, 1.0]], [0.7, 0.7])]
    found = parameter_discriminant(pm.PolynomialNetwork(layers, degree=2))
    assert found.stratum == "singular"
    assert found.ed_degree == 2


def test_plain_data() -> None:
    plain = parameter_discriminant(pm.Boundary.from_expression("x**2/3 + y**2 - 1")).to_dict()
    assert plain["rank_factor"] == "1/3"
    assert plain["name"] == "ellipse"
    assert plain["signature"] == [2, 0]


@pytest.mark.parametrize(
    ("source", "options", "sentence"),
    [
        (pm.Boundary.from_expression("x**3 + y"), {}, "degree at most 2"),
        (pm.PolynomialNetwork([np.ones((2, 50)), np.eye(2)], degree=2), {}, "at most 48"),
        ("x**2 + y", {}, "expected a Network or a Boundary or a ParametricBoundary"),
    ],
)
def test_refusals(source: Any, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(pm.InputError, match=sentence):
        parameter_discriminant(source, **options)


def _fraction(number: Any) -> Fraction:
    return Fraction(int(number.p), int(number.q))
