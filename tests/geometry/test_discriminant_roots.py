"""The sign of the ED discriminant against exact counts: double roots on it, real roots on either side."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import pairwise

import flint
import pytest
from geometry.discriminants import HYPERBOLA, boundary_of

from polymargin.geometry.discriminants.ed_discriminant import ed_discriminant
from polymargin.geometry.ed_degrees.multiplicities import critical_points_with_multiplicity


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
