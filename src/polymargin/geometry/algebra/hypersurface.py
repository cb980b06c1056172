"""A boundary as an exact polynomial in as few variables as it depends on.

If B(x) = b(Wx) with independent rows W, then x − u + λ∇B(x) = 0 says that x − u lies in the row space, and y = Wx obeys

    y − Wu + λ G ∇b(y) = 0,     b(y) = 0,     G = W Wᵀ,     or G = W Q⁻¹ Wᵀ in a metric Q.

So the critical points live in as many variables as W has rows, at the price of a matrix G in front of the gradient. Unlike
an orthonormal basis, W can be chosen in the field of the coefficients: nothing is rounded. The smallest W is found exactly:
Σ c_i ∂_i B = 0 exactly for the vectors c to which all coefficient vectors of ∇B are orthogonal.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from polymargin.boundary import Architecture, Boundary, Metric
from polymargin.errors import InputError
from polymargin.geometry.algebra.rings import Ring, gradient, squarefree_part
from polymargin.polynomials import Graph, evaluate, exact, flatten


@dataclass(frozen=True, eq=False)
class Hypersurface:
    """{b = 0} in the variables y = W x: `rows` is W, `metric` is G, both matrices over the field of the ring.

    `repeated` says that B had a repeated factor; b is squarefree in any case.
    """

    ring: Ring
    polynomial: Any
    rows: Any
    metric: Any
    repeated: bool

    @property
    def dimension(self) -> int:
        """Number of variables y."""
        return len(self.ring.names)

    @property
    def degree(self) -> int:
        """Degree of b."""
        return int(self.polynomial.total_degree())

    def conormal(self) -> list[Any]:
        """G ∇b: the direction in which a critical point is seen."""
        slopes = gradient(self.polynomial, self.dimension)
        return [self.ring.linear(row, slopes) for row in self.metric.table()]

    def coordinates(self, point: Sequence[Any]) -> list[Any]:
        """W u for a point u of field elements."""
        return [sum((w * c for w, c in zip(row, point, strict=True)), self.ring.scalar(0)) for row in self.rows.table()]


def exact_hypersurface(boundary: Boundary, prime: int | None = None) -> Hypersurface:
    """The boundary with exactly its coefficients, over the rationals or modulo a prime.

    >>> exact_hypersurface(Boundary.from_expression("(x + y)**3 - z**2", "x y z")).polynomial
    x1^3 - x2^2
    """
    source = boundary.source
    if boundary.degree < 1:
        raise InputError(
            f"the boundary ({boundary.name}) is constant: a hypersurface needs a polynomial of degree at least 1"
        )
    first = Ring(_names(source.dimension), prime)
    rows = first.matrix(_identity(first), source.dimension)
    forms = source.forms()
    if forms is not None:
        rows = _row_space(first, [[first.scalar(exact(entry)) for entry in row] for row in forms[0].tolist()])
    ring = Ring(_names(rows.nrows()), prime)
    graph = Graph()
    program = flatten(graph, [source.polynomial(graph.inputs(source.dimension))])
    inverse = None if boundary.metric is None else _inverse(ring, boundary.metric)
    return _smallest(ring, evaluate(program, _section(ring, rows), lift=ring.constant)[0], rows, inverse)


def random_hypersurface(
    architecture: Architecture, prime: int, generator: random.Random, metric: Metric | None = None
) -> Hypersurface:
    """The boundary of an architecture with random weights modulo a prime: as good as generic ones."""
    ring = Ring(_names(architecture.inputs), prime)
    polynomial = architecture.polynomial(ring.variables, lambda _: ring.random_scalar(generator))
    polynomial += ring.random_scalar(generator)
    inverse = None if metric is None else _inverse(ring, metric)
    return _smallest(ring, polynomial, ring.matrix(_identity(ring), architecture.inputs), inverse)


def _inverse(ring: Ring, metric: Metric) -> Any:
    """Q⁻¹ over the field of the ring."""
    matrix = ring.matrix([[ring.scalar(entry) for entry in row] for row in metric.matrix], len(metric.matrix))
    if matrix.det() == 0:
        raise InputError(f"the metric is degenerate modulo the prime {ring.prime}: choose another prime= or seed=")
    return matrix.inv()


def _smallest(ring: Ring, polynomial: Any, rows: Any, inverse: Any | None) -> Hypersurface:
    """Leave out the directions on which the polynomial does not depend, and repeated factors."""
    slopes = [slope.to_dict() for slope in gradient(polynomial, len(ring.names))]
    monomials = sorted(set().union(*slopes))
    if not monomials:
        raise InputError("the polynomial is constant modulo the prime: choose another prime or another seed")
    active = _row_space(ring, [[slope.get(monomial, ring.scalar(0)) for slope in slopes] for monomial in monomials])
    if active.nrows() < len(ring.names):
        smaller = Ring(_names(active.nrows()), ring.prime)
        polynomial = polynomial.compose(*_section(smaller, active), ctx=smaller.context)
        ring, rows = smaller, active * rows
    repeated = not _is_squarefree(ring, polynomial)
    if repeated:
        polynomial = squarefree_part(polynomial)
    raised = rows.transpose() if inverse is None else inverse * rows.transpose()
    return Hypersurface(ring, polynomial, rows, rows * raised, repeated)


def _row_space(ring: Ring, rows: list[list[Any]]) -> Any:
    """A basis of the row space in reduced echelon form: rational rows stay as short as they can."""
    columns = len(rows[0])
    reduced, rank = ring.matrix(rows, columns).rref()
    return ring.matrix(reduced.table()[:rank], columns)


def _section(ring: Ring, rows: Any) -> list[Any]:
    """Linear forms x(y) with W x(y) = y for W in reduced echelon form; which ones does not matter to a polynomial in W x."""
    pivots = [next(column for column, entry in enumerate(row) if entry != 0) for row in rows.table()]
    zero = ring.constant(0)
    return [ring.variables[pivots.index(i)] if i in pivots else zero for i in range(rows.ncols())]


def _is_squarefree(ring: Ring, polynomial: Any) -> bool:
    """A line that keeps the degree and all roots apart is a proof; otherwise the factorisation decides."""
    line = Ring(("t",), ring.prime)
    generator = random.Random(20263)
    t = line.variables[0]
    arguments = [line.random_scalar(generator) * t + line.random_scalar(generator) for _ in ring.names]
    restricted = polynomial.compose(*arguments, ctx=line.context)
    if (
        restricted.total_degree() == polynomial.total_degree()
        and restricted.gcd(restricted.derivative(0)).is_constant()
    ):
        return True
    return all(multiplicity == 1 for _, multiplicity in polynomial.factor_squarefree()[1])


def _names(count: int) -> tuple[str, ...]:
    return tuple(f"x{index}" for index in range(1, count + 1))


def _identity(ring: Ring) -> list[list[Any]]:
    size = len(ring.names)
    return [[ring.scalar(int(i == j)) for j in range(size)] for i in range(size)]
