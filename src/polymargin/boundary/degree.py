"""The exact degree of a polynomial, and the number of critical points that goes with it.

The graph shows a degree that cancellation may lower (two logits with the same leading part). Restricting the polynomial to a
random line over a prime field gives a degree that is never too high, and too low only if the leading form vanishes there. So the
degree of the graph is right as soon as one prime shows it; a lower one has to be seen at several random lines and primes.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import flint

from polymargin.boundary.residues import PRIMES, ResidueField, residue_fields
from polymargin.boundary.sources import Source
from polymargin.polynomials import Graph, Program, evaluate, flatten, to_rational
from polymargin.polynomials.roots import Root


def exact_degree(source: Source) -> int:
    """Return the degree of the polynomial with exactly the given coefficients; −1 for the zero polynomial."""
    graph = Graph()
    polynomial = source.polynomial(graph.inputs(source.dimension))
    shown, program = graph.degree(polynomial), flatten(graph, [polynomial])
    largest = -1
    for restricted in _on_random_lines(source, program):
        largest = max(largest, int(restricted.degree()))
        if largest == shown:
            break
    return largest


def is_reduced(source: Source) -> bool:
    """Return whether the polynomial has no repeated factor: its roots on a random line are all different."""
    graph = Graph()
    program = flatten(graph, [source.polynomial(graph.inputs(source.dimension))])
    return any(
        bool(restricted.gcd(restricted.derivative()).degree() < 1) for restricted in _on_random_lines(source, program)
    )


def _on_random_lines(source: Source, program: Program) -> Iterator[Any]:
    """Yield the restrictions to random lines, modulo one prime each."""
    for field in residue_fields(source.fingerprint, PRIMES, source.radicands):
        line = [field.polynomial(field.random(), field.random()) for _ in range(source.dimension)]
        yield evaluate(program, line, lift=partial(_constant, field))[0]


def _constant(field: ResidueField, number: Fraction | Root) -> Any:
    return field.polynomial(field(number))


def axis_coefficients(source: Source, degree: int) -> list[float]:
    """Return |coefficient of y_j^degree| of the polynomial for every variable, from exact restrictions to the axes."""
    graph = Graph()
    program = flatten(graph, [source.polynomial(graph.inputs(source.dimension))])
    zero, variable = flint.fmpq_poly([0]), flint.fmpq_poly([0, 1])
    sizes = []
    for axis in range(source.dimension):
        line = [variable if i == axis else zero for i in range(source.dimension)]
        restricted = evaluate(program, line, lift=lambda number: flint.fmpq_poly([to_rational(_rational(number))]))[0]
        leading = restricted[degree]
        sizes.append(abs(int(leading.p) / int(leading.q)))
    return sizes


def _rational(number: Fraction | Root) -> Fraction:
    """Return the number itself, or so close to it that no size changes."""
    return number.approximation() if isinstance(number, Root) else number


def generic_critical_count(dimension: int, degree: int) -> int:
    """Return D Σ_{i<m} (D−1)^i: critical points of the distance to a generic hypersurface of degree D in m-space.

    No hypersurface of that degree has more isolated ones.

    >>> generic_critical_count(8, 3)
    765
    """
    if degree < 1 or dimension < 1:
        return 0
    layers: int = sum((degree - 1) ** i for i in range(dimension))
    return degree * layers
