"""The exact degree of a polynomial, and the number of critical points that goes with it.

The graph shows a degree that cancellation may lower (two logits with the same leading part). Restricting
the polynomial to a random line over a large prime field gives the true degree, except with probability
below degree / 2^60: the leading form would have to vanish at a random point.
"""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import flint

from polymargin.boundary.sources import Source
from polymargin.polynomials import Graph, evaluate, flatten

PRIME = (1 << 61) - 1


def exact_degree(source: Source) -> int:
    """Degree of the polynomial with exactly the given coefficients; −1 for the zero polynomial."""
    return int(_on_a_line(source).degree())


def is_reduced(source: Source) -> bool:
    """Whether the polynomial has no repeated factor: its roots on a random line are all different."""
    restricted = _on_a_line(source)
    return bool(restricted.gcd(restricted.derivative()).degree() < 1)


def _on_a_line(source: Source) -> Any:
    """The restriction to a random line modulo the prime."""
    graph = Graph()
    program = flatten(graph, [source.polynomial(graph.inputs(source.dimension))])
    generator = random.Random(20260)

    def lift(number: Fraction) -> Any:
        residue = flint.nmod(number.numerator, PRIME) / flint.nmod(number.denominator, PRIME)
        return flint.nmod_poly([int(residue)], PRIME)

    line = [
        flint.nmod_poly([generator.randrange(PRIME), generator.randrange(PRIME)], PRIME)
        for _ in range(source.dimension)
    ]
    return evaluate(program, line, lift=lift)[0]


def axis_coefficients(source: Source, degree: int) -> list[float]:
    """|coefficient of y_j^degree| of the polynomial for every variable, from exact restrictions to the axes."""
    graph = Graph()
    program = flatten(graph, [source.polynomial(graph.inputs(source.dimension))])
    zero, variable = flint.fmpq_poly([0]), flint.fmpq_poly([0, 1])

    def lift(number: Fraction) -> Any:
        return flint.fmpq_poly([flint.fmpq(number.numerator, number.denominator)])

    sizes = []
    for axis in range(source.dimension):
        line = [variable if i == axis else zero for i in range(source.dimension)]
        leading = evaluate(program, line, lift=lift)[0][degree]
        sizes.append(abs(int(leading.p) / int(leading.q)))
    return sizes


def generic_critical_count(dimension: int, degree: int) -> int:
    """D Σ_{i<m} (D−1)^i: critical points of the distance to a generic hypersurface of degree D in m-space.

    No hypersurface of that degree has more isolated ones.

    >>> generic_critical_count(8, 3)
    765
    """
    if degree < 1 or dimension < 1:
        return 0
    layers: int = sum((degree - 1) ** i for i in range(dimension))
    return degree * layers
