"""Boundaries as exact polynomials in as few variables as they depend on, and the equations of their critical points.

If B(x) = b(Wx) with independent rows W, then x − u + λ∇B(x) = 0 says that x − u lies in the row space, and y = Wx obeys

    y − Wu + λ G ∇b(y) = 0,     b(y) = 0,     G = W Wᵀ,     or G = W Q⁻¹ Wᵀ in a metric Q.

So the critical points live in as many variables as W has rows, at the price of a matrix G in front of the gradient. Unlike
an orthonormal basis, W can be chosen in the field of the coefficients: nothing is rounded. The smallest W is found exactly:
Σ c_i ∂_i B = 0 exactly for the vectors c to which all coefficient vectors of ∇B are orthogonal.

**Several equations.** Let X = {f₁ = … = f_s = 0} have codimension c, and let g₁, …, g_c be the f themselves if s = c, otherwise
random combinations of them: at a smooth point of X their gradients span the normal space. For a vector v(y) the equations

    f₁ = … = f_s = 0,        v + G Σ μ_k ∇g_k = 0        in (y, μ)

find the smooth points at which v is normal to X. With v = y − Wu these are the critical points of the distance, with a constant v
those of a linear function. For general u and v singular points and components of smaller dimension take no part: they have a
dimension k < n − c, and with c multipliers reach vectors in dimension k + c < n only.

**Simple solutions.** The solutions for all u together are a smooth variety, the normal bundle of the smooth points, mapped to
u = y + G Σ μ_k ∇g_k. So in characteristic zero (and for all but finitely many primes) the fibre over a general u is smooth:
every solution is simple, and the dimension of the quotient ring is the number of points.
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
class System:
    """Polynomials of one ring, all to vanish."""

    ring: Ring
    polynomials: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Equations:
    """{f₁ = … = f_s = 0} in the variables y = W x: `rows` is W, `metric` is G, both matrices over the field of the ring."""

    ring: Ring
    polynomials: tuple[Any, ...]
    rows: Any
    metric: Any

    @property
    def polynomial(self) -> Any:
        """Return the equation of a hypersurface, which is squarefree."""
        return self.polynomials[0]

    @property
    def dimension(self) -> int:
        """Number of variables y."""
        return len(self.ring.names)

    @property
    def degree(self) -> int:
        """Return the largest degree."""
        return max(int(polynomial.total_degree()) for polynomial in self.polynomials)

    @property
    def homogeneous(self) -> bool:
        """Return whether the set is a cone over a projective one."""
        return all(len({sum(powers) for powers in p.to_dict()}) == 1 for p in self.polynomials)

    def system(self) -> System:
        """Return the equations as they are."""
        return System(self.ring, self.polynomials)

    def conormal(self, polynomial: Any) -> list[Any]:
        """Return G ∇f: the direction in which a critical point of a hypersurface is seen."""
        slopes = gradient(polynomial, self.dimension)
        return [self.ring.linear(row, slopes) for row in self.metric.table()]

    def coordinates(self, point: Sequence[Any]) -> list[Any]:
        """Return W u for a point u of field elements."""
        return [sum((w * c for w, c in zip(row, point, strict=True)), self.ring.scalar(0)) for row in self.rows.table()]

    def random_vector(self, generator: random.Random) -> list[Any]:
        """Return one random scalar for each variable."""
        return [self.ring.random_scalar(generator) for _ in range(self.dimension)]

    def offsets(self, point: Sequence[Any]) -> list[Any]:
        """Return y − v for a point v = W u."""
        return [variable - entry for variable, entry in zip(self.ring.variables, point, strict=True)]

    def sliced(self, cuts: int, generator: random.Random) -> Equations:
        """Return the equations on a random affine subspace of this codimension, in fewer variables; the metric is left behind."""
        small = Ring(self.ring.names[: self.dimension - cuts], self.ring.prime)
        scalars = [[small.random_scalar(generator) for _ in range(len(small.names) + 1)] for _ in self.ring.names]
        place = [small.linear(row[:-1], small.variables, row[-1]) for row in scalars]
        polynomials = tuple(p.compose(*place, ctx=small.context) for p in self.polynomials)
        return Equations(small, polynomials, identity(small), identity(small))

    def normal_to(self, codimension: int, vector: Sequence[Any], generator: random.Random, *more: str) -> System:
        """Return the system of smooth points at which the vector is normal, in y, multipliers m1, m2, … and `more` variables."""
        ring = self.ring.extended(*(f"m{index}" for index in range(1, codimension + 1)), *more)
        chosen = self.polynomials
        if len(chosen) > codimension:
            chosen = tuple(
                sum((self.ring.random_scalar(generator) * p for p in self.polynomials), self.ring.constant(0))
                for _ in range(codimension)
            )
        sums = [ring.embed(self.ring.constant(0) + entry) if not more else entry for entry in vector]
        for multiplier, polynomial in zip(ring.variables[self.dimension :], chosen, strict=False):
            for index, entry in enumerate(self.conormal(polynomial)):
                sums[index] += multiplier * ring.embed(entry)
        return System(ring, (*(ring.embed(p) for p in self.polynomials), *sums))


def exact_equations(
    boundaries: Sequence[Boundary], prime: int | None = None, metric: Metric | None = None
) -> Equations:
    """Return the boundaries with exactly their coefficients, over the rationals or modulo a prime.

    A single one is taken in its own metric, and without repeated factors.

    >>> exact_equations([Boundary.from_expression("(x + y)**3 - z**2", "x y z")]).polynomial
    x1^3 - x2^2
    """
    for boundary in boundaries:
        if boundary.degree < 1:
            raise InputError(f"the boundary ({boundary.name}) is constant: expected a polynomial of degree at least 1")
    size = boundaries[0].dimension
    metric = metric or (boundaries[0].metric if len(boundaries) == 1 else None)
    first = Ring(_names(size), prime)
    forms = [boundary.source.forms() for boundary in boundaries]
    rows = identity(first)
    if all(found is not None for found in forms):
        table = [row for found in forms if found is not None for row in found[0].tolist()]
        rows = _row_space(first, [[first.scalar(exact(entry)) for entry in row] for row in table])
    ring = Ring(_names(rows.nrows()), prime)
    graph = Graph()
    variables = graph.inputs(size)
    program = flatten(graph, [boundary.source.polynomial(variables) for boundary in boundaries])
    polynomials = evaluate(program, _section(ring, rows), lift=ring.constant)
    return _smallest(ring, polynomials, rows, metric)


def random_equations(
    architecture: Architecture, prime: int, generator: random.Random, metric: Metric | None = None
) -> Equations:
    """Return the boundary of an architecture with random weights modulo a prime: as good as generic ones."""
    ring = Ring(_names(architecture.inputs), prime)
    polynomial = architecture.polynomial(ring.variables, lambda _: ring.random_scalar(generator))
    polynomial += ring.random_scalar(generator)
    return _smallest(ring, [polynomial], identity(ring), metric)


def identity(ring: Ring) -> Any:
    """Return the identity matrix with as many rows as the ring has variables."""
    size = len(ring.names)
    return ring.matrix([[ring.scalar(int(i == j)) for j in range(size)] for i in range(size)], size)


def _smallest(ring: Ring, polynomials: Sequence[Any], rows: Any, metric: Metric | None) -> Equations:
    """Leave out the directions on which no polynomial depends, and the repeated factors of a single one."""
    size = len(ring.names)
    inverse = None
    if metric is not None:
        matrix = ring.matrix([[ring.scalar(entry) for entry in row] for row in metric.matrix], len(metric.matrix))
        if matrix.det() == 0:
            raise InputError(f"the metric is degenerate modulo the prime {ring.prime}: choose another seed=")
        inverse = matrix.inv()
    gradients = [[slope.to_dict() for slope in gradient(polynomial, size)] for polynomial in polynomials]
    if not all(any(slopes) for slopes in gradients):
        raise InputError("the polynomial is constant modulo the prime: choose another seed=")
    vectors = [
        [slope.get(monomial, ring.scalar(0)) for slope in slopes]
        for slopes in gradients
        for monomial in sorted(set().union(*slopes))
    ]
    active = _row_space(ring, vectors)
    if active.nrows() < size:
        smaller = Ring(_names(active.nrows()), ring.prime)
        polynomials = [p.compose(*_section(smaller, active), ctx=smaller.context) for p in polynomials]
        ring, rows = smaller, active * rows
    if len(polynomials) == 1 and not _is_squarefree(ring, polynomials[0]):
        polynomials = [squarefree_part(polynomials[0])]
    raised = rows.transpose() if inverse is None else inverse * rows.transpose()
    return Equations(ring, tuple(polynomials), rows, rows * raised)


def _row_space(ring: Ring, rows: list[list[Any]]) -> Any:
    """Return a basis of the row space in reduced echelon form: rational rows stay as short as they can."""
    columns = len(rows[0])
    reduced, rank = ring.matrix(rows, columns).rref()
    return ring.matrix(reduced.table()[:rank], columns)


def _section(ring: Ring, rows: Any) -> list[Any]:
    """Return linear forms x(y) with W x(y) = y for W in reduced echelon form; any such forms will do."""
    pivots = [next(column for column, entry in enumerate(row) if entry != 0) for row in rows.table()]
    zero = ring.constant(0)
    return [ring.variables[pivots.index(i)] if i in pivots else zero for i in range(rows.ncols())]


def _is_squarefree(ring: Ring, polynomial: Any) -> bool:
    """Return whether a polynomial is squarefree: a line that keeps degree and roots apart is a proof, else factors decide."""
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
