"""The ED discriminant: three methods against each other, the paper's examples, double roots, exact counts of real roots."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import pairwise

import flint
import numpy as np
import pytest
from geometry.algebra.engines_here import needs_singular
from hypothesis import given, settings
from hypothesis import strategies as st
from quadric.samples import sample

import polymargin as pm
from polymargin.geometry.algebra import OutOfTimeError
from polymargin.geometry.discriminants.ed_discriminant import ed_discriminant
from polymargin.geometry.discriminants.result import DiscriminantComponent, EDDiscriminant
from polymargin.geometry.ed_degrees.multiplicities import critical_points_with_multiplicity

HYPERBOLA = "-8*x**2 - 2*x*y + 3*y**2 - 6*x - 2*y"
LINES = "(y - 2*x - 1)*(4*x + 3*y + 3)"
PRINTED = (
    "27*u1^6 + 54*u1^5*u2 - 180*u1^4*u2^2 - 280*u1^3*u2^3 + 480*u1^2*u2^4 + 384*u1*u2^5 - 512*u2^6 + 54*u1^5"
    " + 180*u1^4*u2 - 120*u1^3*u2^2 - 720*u1^2*u2^3 + 768*u2^5 - 126*u1^4 + 582*u1^3*u2 - 2409*u1^2*u2^2"
    " - 402*u1*u2^3 - 1371*u2^4 - 334*u1^3 + 1566*u1^2*u2 - 1878*u1*u2^2 + 808*u2^3 - 132*u1^2 + 1152*u1*u2"
    " - 1218*u2^2 - 12*u1 + 516*u2 - 152"
)
METHODS = ["quadric", "plane", pytest.param("elimination", marks=needs_singular)]


def boundary_of(text: str, names: str = "x y") -> pm.Boundary:
    return pm.Boundary.from_expression(text, names)


def described(found) -> tuple[list[str], list[str]]:
    return sorted(str(c.generators) for c in found.components), sorted(map(str, found.generators))


# -- the paper -------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_first_example(method: str) -> None:
    layers = ([[1.0, 2.0], [3.0, 1.0]], [0.0, 1.0]), ([[2.0, 1.0], [1.0, 2.0]], [2.0, 1.0])
    boundary = pm.Boundary.from_network(pm.PolynomialNetwork(layers, degree=2), 0, 1)
    found = ed_discriminant(boundary, method=method)
    assert [str(generator) for generator in found.generators] == [PRINTED]
    assert (found.degree, found.codimension, found.method) == (6, 1, method)
    assert [found.sign(point) for point in ((0, 0), (10, 0), (-10, 0), (-2, 0))] == [-1, 1, 1, 0]


@pytest.mark.parametrize("method", METHODS)
def test_second_example(method: str) -> None:
    layers = ([[1.0, 2.0], [3.0, 1.0]], [1.0, 2.0]), ([[2.0, 1.0], [1.0, 2.0]], [1.0, 1.0])
    boundary = pm.Boundary.from_network(pm.PolynomialNetwork(layers, degree=2), 0, 1)
    found = ed_discriminant(boundary, method=method)
    assert [str(generator) for generator in found.generators] == ["5*u1 + 3", "5*u2 + 1"]
    assert (found.degree, found.codimension, found.factors) == (0, 2, ())
    assert found.contains([Fraction(-3, 5), Fraction(-1, 5)])
    assert not found.contains([-0.6, -0.2])  # the doubles next to it
    assert found.latex() == r"\langle 5 u_{1} + 3, 5 u_{2} + 1 \rangle"


def test_merging_at_a_point_of_the_curve() -> None:
    found = critical_points_with_multiplicity(boundary_of(HYPERBOLA), [-2, 0])
    (double,) = found.merged
    assert (double.multiplicity, double.size, double.rational_point) == (2, 1, (Fraction(-4, 5), Fraction(2, 5)))
    assert [str(p) for p in double.primary] == ["3*x1 + x2 + 2", "25*x2^2 - 20*x2 + 4"]
    assert (found.total, len(found.real_points), found.at_singular_point) == (4, 3, False)
    at_node = critical_points_with_multiplicity(boundary_of(LINES), [Fraction(-3, 5), Fraction(-1, 5)])
    assert at_node.at_singular_point
    assert at_node.components == ()


# -- methods against each other --------------------------------------------------------------------

CURVES = [
    "x**2 + 4*y**2 - 4",
    "x**2 + y**2 - 1",
    "x**2 + y**2",
    "y - x**2",
    "x*y",
    "x**2 - 2*y**2",
    "(x + y)**2 - 1",
    "(x + y)**2",
    "2*x - y + 1",
]
CUBICS_AND_QUARTICS = {
    "y**2 - x**3": (4, 0),
    "y**2 - x**3 - x**2": (6, 1),
    "y**2 - x**3 + x + 1": (12, 0),
    "y - x**3": (6, 0),
    "x*y*(x + y - 1)": (0, 3),
    "x*(y - x**2)": (3, 1),
    "(x**2 + y**2 - 1)*(x - 2*y)": (0, 2),
    "x**2*y - 1": (9, 0),
    "x**3 - x*y**2 - 1": (18, 0),
    "y - x**4": (9, 0),
    "y**2 - x**4": (6, 1),
    "x**2*y**2 - 1": (12, 0),
    "(x**2 + y**2)**2 - x": (12, 0),
    "(x**2 + y**2)**2 - 2*(x**2 - y**2)": (6, 1),
    "(x**2 + y**2)*(x - 1)": (2, 0),
    "(x**2 - 2)*(y**2 - 3)": (0, 1),
    "(x**2 + y**2 - 1)*((x - 1)**2 + y**2 - 1)": (0, 3),
    "(y - x**2)*(y - x**2 - 1)": (6, 0),
}
SURFACES = [
    "x**2 + 2*y**2 + 3*z**2 - 1",
    "x**2 + y**2 + 4*z**2 - 4",
    "x**2 + y**2 + z**2 - 4",
    "x**2 + y**2 + z**2",
    "x**2 + y**2 - z**2",
    "x**2 + y**2 - z",
    "x**2 + 2*y**2 - z",
    "x*y - z",
    "x**2 + 2*y**2 - 3*z**2",
    "x*y",
    "(x + y)**2 + 2*(y - z)**2 - 1",
    "2*x*y + 2*y*z + 2*z*x",
]


@needs_singular
@pytest.mark.parametrize("text", CURVES)
def test_conics_three_ways(text: str) -> None:
    quadric, plane, elimination = (
        ed_discriminant(boundary_of(text), method=method) for method in ("quadric", "plane", "elimination")
    )
    assert described(quadric) == described(plane) == described(elimination)


@needs_singular
@pytest.mark.parametrize(("text", "expected"), CUBICS_AND_QUARTICS.items(), ids=str)
def test_curves_two_ways(text: str, expected: tuple[int, int]) -> None:
    """The degree of the evolutes and the number of single points."""
    plane = ed_discriminant(boundary_of(text))
    assert plane.method == "plane"
    assert (plane.degree, sum(c.codimension == 2 for c in plane.components)) == expected
    assert described(plane) == described(ed_discriminant(boundary_of(text), method="elimination"))


@pytest.mark.slow
@needs_singular
@pytest.mark.parametrize("text", ["x**4 + y**4 - 1", "-2*x*y**2 - 3*x**2 + x**3 + 1", "x**3 + y**3 + x - 2*y"])
def test_larger_curves_two_ways(text: str) -> None:
    plane = ed_discriminant(boundary_of(text))
    assert plane.degree == 3 * boundary_of(text).degree * (boundary_of(text).degree - 1)
    assert described(plane) == described(ed_discriminant(boundary_of(text), method="elimination"))


@needs_singular
@pytest.mark.parametrize("text", SURFACES)
def test_quadrics_in_space_two_ways(text: str) -> None:
    boundary = boundary_of(text, "x y z")
    assert described(ed_discriminant(boundary)) == described(ed_discriminant(boundary, method="elimination"))


@needs_singular
@pytest.mark.parametrize("seed", range(6))
def test_planted_quadrics_two_ways(seed: int) -> None:
    boundary = sample(np.random.default_rng(seed + 100), 3).boundary()
    assert described(ed_discriminant(boundary)) == described(ed_discriminant(boundary, method="elimination"))


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(-4, 4), min_size=6, max_size=6))
def test_random_conics_two_ways(c: list[int]) -> None:
    boundary = boundary_of(f"({c[0]})*x**2 + ({c[1]})*x*y + ({c[2]})*y**2 + ({c[3]})*x + ({c[4]})*y + ({c[5]})")
    if boundary.degree >= 1:
        found = ed_discriminant(boundary, method="quadric")
        assert described(found) == described(ed_discriminant(boundary, method="plane"))


@settings(max_examples=5, deadline=None)
@given(st.integers(-3, 3), st.integers(-3, 3), st.sampled_from([(3, 4), (5, 12), (-4, 3)]))
def test_moving_the_boundary_moves_the_discriminant(a: int, b: int, pair: tuple[int, int]) -> None:
    """A rational rotation and a translation give the same polynomial at the moved points, up to one factor."""
    length = round(np.hypot(*pair))
    c, s = Fraction(pair[0], length), Fraction(pair[1], length)
    x, y = f"(({c})*(x - ({a})) + ({s})*(y - ({b})))", f"(({-s})*(x - ({a})) + ({c})*(y - ({b})))"
    before = ed_discriminant(boundary_of("y**2 - x**3 + x"))
    after = ed_discriminant(boundary_of(f"{y}**2 - {x}**3 + {x}"))
    generator = random.Random(1)
    points = [[Fraction(generator.randrange(-30, 30), 7) for _ in range(2)] for _ in range(5)]
    factors = {after.at([c * u - s * v + a, s * u + c * v + b])[0] / before.at([u, v])[0] for u, v in points}
    assert len(factors) == 1


# -- points with double roots ------------------------------------------------------------------------


def determinant(rows: list[list]) -> flint.fmpq_poly:
    if len(rows) == 1:
        return rows[0][0]
    minors = ([[*row[:j], *row[j + 1 :]] for row in rows[1:]] for j in range(len(rows)))
    return sum(((-1) ** j * rows[0][j] * determinant(minor) for j, minor in enumerate(minors)), flint.fmpq_poly([0]))


@pytest.mark.parametrize(
    ("text", "names", "base"),
    [
        (HYPERBOLA, "x y", (0, 0)),
        ("x**2 + 4*y**2 - 4", "x y", (2, 0)),
        ("x*y + y**2 - 3*x - 5", "x y", (-2, 1)),
        ("x**2 + 2*y**2 + 3*z**2 - 6", "x y z", (1, 1, 1)),
        ("x*y + y*z + 2*x*z - 3*x**2 + y - 1", "x y z", (0, 1, 0)),
        ("x**2 + y**2 - z", "x y z", (0, 0, 0)),
        pytest.param("x**2 + 2*y**2 - 3*z**2 + x*w + w**2 - 1", "x y z w", (1, 0, 0, 0), marks=pytest.mark.slow),
    ],
)
def test_fifty_points_with_a_double_root(text: str, names: str, base: tuple[int, ...]) -> None:
    """Through a rational point of the quadric in a random direction to another one y; u = y + λ∇b with the Jacobian singular.

    λ is a root of a polynomial q, and the generators at u are computed modulo q: zero exactly.
    """
    boundary = boundary_of(text, names)
    found = ed_discriminant(boundary)
    size = boundary.dimension
    values = {i: [boundary([2.0 * (i == j) * k for j in range(size)]) for k in (0, 1, -1)] for i in range(size)}
    constant = values[0][0]
    linear = [Fraction((values[i][1] - values[i][2]) / 4) for i in range(size)]
    matrix = [[Fraction(0)] * size for _ in range(size)]
    for i in range(size):
        matrix[i][i] = Fraction((values[i][1] + values[i][2] - 2 * constant) / 8)
        for j in range(i):
            both = boundary([1.0 * (k in (i, j)) for k in range(size)])
            rest = Fraction(both - constant) - linear[i] - linear[j] - matrix[i][i] - matrix[j][j]
            matrix[i][j] = matrix[j][i] = rest / 2

    def slope(point: list[Fraction]) -> list[Fraction]:
        return [
            2 * sum(a * x for a, x in zip(row, point, strict=True)) + b for row, b in zip(matrix, linear, strict=True)
        ]

    def fmpq(number: Fraction) -> flint.fmpq:
        return flint.fmpq(number.numerator, number.denominator)

    generator, start, count = random.Random(2), [Fraction(c) for c in base], 0
    while count < 50:
        direction = [Fraction(generator.randrange(-6, 7)) for _ in range(size)]
        bend = sum(
            d * a * e for d, row in zip(direction, matrix, strict=True) for a, e in zip(row, direction, strict=True)
        )
        if bend == 0:
            continue
        step = -sum(g * d for g, d in zip(slope(start), direction, strict=True)) / bend
        y = [p + step * d for p, d in zip(start, direction, strict=True)]
        g = slope(y)
        rows = [
            [flint.fmpq_poly([int(i == j), fmpq(2 * matrix[i][j])]) for j in range(size)]
            + [flint.fmpq_poly([fmpq(g[i])])]
            for i in range(size)
        ]
        q = determinant([*rows, [flint.fmpq_poly([fmpq(c)]) for c in [*g, Fraction(0)]]])
        if q.degree() < 1:
            continue
        u = [flint.fmpq_poly([fmpq(a), fmpq(b)]) for a, b in zip(y, g, strict=True)]
        powers = [[flint.fmpq_poly([1])] for _ in u]
        for column, coordinate in zip(powers, u, strict=True):
            for _ in range(found.degree + 1):
                column.append(column[-1] * coordinate % q)
        for generators in found.generators:
            value = flint.fmpq_poly([0])
            for exponents, coefficient in generators.to_dict().items():
                term = flint.fmpq_poly([flint.fmpq(coefficient)])
                for column, power in zip(powers, exponents, strict=True):
                    term = term * column[power] % q
                value += term
            assert value == flint.fmpq_poly([0])
        count += 1


# -- real critical points ----------------------------------------------------------------------------


def real_roots(polynomial: flint.fmpq_poly) -> int:
    """The number of different real roots by Sturm's theorem."""
    chain = [polynomial, polynomial.derivative()]
    while chain[-1].degree() >= 0:
        chain.append(-(chain[-2] % chain[-1]))
    chain.pop()

    def variations(signs: list[int]) -> int:
        return sum(a != b for a, b in pairwise(signs))

    top = [1 if p[p.degree()] > 0 else -1 for p in chain]
    bottom = [t * (-1) ** p.degree() for t, p in zip(top, chain, strict=True)]
    return variations(bottom) - variations(top)


# (a, b, c, d, e, f) of a x² + b xy + c y² + d x + e y + f.
CONICS = {
    "hyperbola of the paper": (-8, -2, 3, -6, -2, 0),
    "ellipse": (1, 0, 4, 0, 0, -4),
    "tilted ellipse": (3, 2, 2, -1, 4, -5),
    "parabola": (1, 2, 1, 0, -1, 0),
}


def count_by_sturm(c: tuple[int, ...], u: tuple[Fraction, Fraction]) -> int | None:
    """Real critical points by the multipliers λ: the numerator of b(x(λ)) with x(λ) = (1 + 2λA)⁻¹(u − λa).

    None where two different points share a multiplier, on the axes of the conic.
    """
    a, b, cc, d, e, f = (flint.fmpq(k) for k in c)
    one, multiplier = flint.fmpq_poly([1]), flint.fmpq_poly([0, 1])
    m11, m12, m22 = one + 2 * a * multiplier, b * multiplier, one + 2 * cc * multiplier
    r1, r2 = (flint.fmpq(w.numerator, w.denominator) - k * multiplier for w, k in zip(u, (d, e), strict=True))
    x, y, w = m22 * r1 - m12 * r2, m11 * r2 - m12 * r1, m11 * m22 - m12 * m12
    numerator = a * x * x + b * x * y + cc * y * y + (d * x + e * y) * w + f * w * w
    if numerator.gcd(w).degree() > 0:
        if w.degree() == 1 or numerator.gcd(w * w) != w * w / w[2] ** 2:
            return None
        numerator = numerator // (w * w)
    return real_roots(numerator)


def check_regions(name: str, points: int, seed: int) -> None:
    coefficients = CONICS[name]
    monomials = ("x**2", "x*y", "y**2", "x", "y", "1")
    boundary = boundary_of(" + ".join(f"({c})*{m}" for c, m in zip(coefficients, monomials, strict=True)))
    found = ed_discriminant(boundary)
    labels: dict[int, set[int]] = {1: set(), -1: set()}
    generator = random.Random(seed)
    for _ in range(points):
        u = (Fraction(generator.randrange(-4096, 4096), 1024), Fraction(generator.randrange(-4096, 4096), 1024))
        sign, count = found.sign(u), count_by_sturm(coefficients, u)
        if sign and count is not None:
            labels[sign].add(count)
    assert sorted(map(sorted, labels.values())) == ([[1], [3]] if name == "parabola" else [[2], [4]])


@pytest.mark.parametrize("name", CONICS)
def test_sign_labels_the_regions(name: str) -> None:
    check_regions(name, 500, 1)


@pytest.mark.slow
@pytest.mark.parametrize("name", CONICS)
def test_sign_labels_the_regions_at_ten_thousand_points(name: str) -> None:
    check_regions(name, 10_000, 2)


@pytest.mark.parametrize("text", ["y**2 - x**3 + x + 1", "x**3 + y**3 - 3*x*y + 1/5", "x**3 - y + x*y"])
def test_sign_and_real_critical_points_of_cubics(text: str) -> None:
    """Crossing D = 0 changes the number of real critical points by two: the sign fixes it modulo four."""
    boundary = boundary_of(text)
    found = ed_discriminant(boundary)
    generator = random.Random(5)
    seen: dict[int, set[int]] = {1: set(), -1: set()}
    for _ in range(12):
        u = [Fraction(generator.randrange(-20, 20), 5) for _ in range(2)]
        critical = critical_points_with_multiplicity(boundary, u)
        assert (found.sign(u) == 0) == bool(critical.merged)
        if found.sign(u):
            seen[found.sign(u)].add(len(critical.real_points) % 4)
    assert all(len(counts) <= 1 for counts in seen.values())
    assert seen[1].isdisjoint(seen[-1])


# -- the object --------------------------------------------------------------------------------------


def test_forms_of_the_result() -> None:
    sympy = pytest.importorskip("sympy")
    found = ed_discriminant(boundary_of("y - x**2"))
    assert str(found.generators[0]) == "16*u2^3 - 27*u1^2 - 24*u2^2 + 12*u2 - 2"
    assert found.latex() == "16 u_{2}^{3} - 27 u_{1}^{2} - 24 u_{2}^{2} + 12 u_{2} - 2"
    u1, u2 = sympy.symbols("u1 u2")
    (expression,) = found.sympy()
    assert sympy.expand(expression - (2 * (2 * u2 - 1) ** 3 - 27 * u1**2)) == 0
    assert found.variables == ("u1", "u2")
    assert "hypersurface of degree 3" in repr(found)


def test_values_at_points() -> None:
    found = ed_discriminant(boundary_of("y - x**2"))
    points = np.random.default_rng(0).normal(size=(20, 2))
    values = found(points)
    for point, value in zip(points, values, strict=True):
        (exact,) = found.at(point)
        assert value == pytest.approx(float(exact), rel=1e-12, abs=1e-12)
        assert found.sign(point) == (exact > 0) - (exact < 0)
    assert found([0.0, 0.5]) == 0.0
    assert found.contains([0, Fraction(1, 2)])
    assert found.factors == (found.polynomial,)
    for wrong in ([1.0], [1.0, 2.0, 3.0]):
        with pytest.raises(pm.InputError, match="expected"):
            found.at(wrong)
        with pytest.raises(pm.InputError, match="expected"):
            found(wrong)


def test_pieces_of_different_size() -> None:
    found = ed_discriminant(boundary_of("x**2 + y**2 + 4*z**2 - 4", "x y z"))
    assert [component.codimension for component in found.components] == [1, 2]
    assert [str(g) for g in found.components[1].generators] == ["u1", "u2"]
    assert found.describe() == "hypersurface of degree 6 and 1 smaller piece"
    assert found.contains([0, 0, 7])  # the axis
    assert found.sign([0, 0, 7]) == 0
    assert [generator.total_degree() for generator in found.generators] == [7, 7]


def test_empty() -> None:
    for text in ("x + 2*y - 1", "(x - y)**2 - 1", "(x - y)**2"):
        found = ed_discriminant(boundary_of(text))
        assert (found.describe(), found.degree, found.codimension, found.components) == ("empty", 0, None, ())
        assert [str(g) for g in found.generators] == ["1"]
        assert found.sign([0, 0]) == 1


def test_a_network_with_three_inputs_and_two_neurons() -> None:
    """The discriminant in the inputs is that of the plane, pulled back: constant along what the neurons do not see."""
    layers = ([[1.0, 2.0, 0.0], [0.0, 1.0, 1.0]], [1.0, -1.0]), ([[1.0, 2.0], [0.0, 0.0]], [1.0, 0.0])
    boundary = pm.Boundary.from_network(pm.PolynomialNetwork(layers, degree=3), 0, 1)
    found = ed_discriminant(boundary)
    assert (found.method, found.degree, len(found.variables)) == ("plane", 18, 3)
    u = [Fraction(1, 3), Fraction(-2), Fraction(5, 7)]
    moved = [x + 3 * unseen for x, unseen in zip(u, (2, -1, 1), strict=True)]
    assert found.at(moved) == found.at(u) != (0,)


def test_refusals() -> None:
    with pytest.raises(pm.InputError, match="method 'groebner'"):
        ed_discriminant(boundary_of("x*y - 1"), method="groebner")
    with pytest.raises(pm.InputError, match="degree 3"):
        ed_discriminant(boundary_of("x**3 - y"), method="quadric")
    with pytest.raises(pm.InputError, match="3 variables"):
        ed_discriminant(boundary_of("x**2 + 2*y**2 + 3*z**2 - 1", "x y z"), method="plane")
    six = boundary_of("a**2 + 2*b**2 + 3*c**2 + 4*d**2 + 5*e**2 + 6*f**2 - 1", "a b c d e f")
    with pytest.raises(pm.InputError, match="written out for at most 5"):
        ed_discriminant(six, method="quadric")
    twice = boundary_of("x**2 - y**2 + 2*x*y + z**2 - w**2 + 2*z*w - 1", "x y z w")  # eigenvalues ±√2, each twice
    with pytest.raises(pm.InputError, match="irrational eigenvalue"):
        ed_discriminant(twice)
    with pytest.raises(pm.InputError, match="up to 1,562,275 terms"):
        ed_discriminant(boundary_of("(a + b + c + d)**3 + 2*(e + f + g - h)**3 - 1", "a b c d e f g h"))
    with pytest.raises(pm.InputError, match="constant"):
        ed_discriminant(boundary_of("x - x + 2"))


@pytest.mark.parametrize(
    ("text", "names", "method"),
    [
        ("x**3 + 2*y**3 - x*y + x**2 - 2*y + 1", "x y", "plane"),
        ("x**2 + 2*y**2 + 3*z**2 + 5*w**2 - 1", "x y z w", "quadric"),
        pytest.param("x**3 + 2*y**3 - x*y + x**2 - 2*y + 1", "x y", "elimination", marks=needs_singular),
    ],
)
def test_out_of_time(text: str, names: str, method: str) -> None:
    with pytest.raises(OutOfTimeError, match="timeout="):
        ed_discriminant(boundary_of(text, names), method=method, timeout=1e-9)


# -- multiplicities ----------------------------------------------------------------------------------


@needs_singular
def test_multiplicities_in_space() -> None:
    ellipsoid = boundary_of("x**2 + 2*y**2 + 3*z**2 - 1", "x y z")
    centre = critical_points_with_multiplicity(ellipsoid, [0, 0, 0])
    assert (centre.total, len(centre.real_points), centre.merged, centre.method) == (6, 6, (), "Singular")
    (third,) = critical_points_with_multiplicity(ellipsoid, [Fraction(1, 2), 0, 0]).merged
    assert (third.multiplicity, third.rational_point) == (3, (1, 0, 0))
    spheroid = critical_points_with_multiplicity(boundary_of("x**2 + y**2 + 4*z**2 - 4", "x y z"), [0, 0, 1])
    assert [c.dimension for c in spheroid.merged] == [1]
    assert spheroid.total is None
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
