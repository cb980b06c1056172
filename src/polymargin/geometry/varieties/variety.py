"""`Variety`: the common zeros of several polynomials, such as the points at which three classes tie."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

from numpy.typing import ArrayLike

from polymargin.arguments import DEFAULT_LIMIT, checked, checked_point
from polymargin.boundary import Boundary
from polymargin.boundary.metric import Metric
from polymargin.boundary.residues import random_prime
from polymargin.enumeration import CriticalPoints
from polymargin.errors import InputError
from polymargin.geometry.algebra.engines import DEFAULT_TIMEOUT
from polymargin.geometry.algebra.rings import Ring
from polymargin.geometry.varieties.conormal import Equations, agreeing, codimension, ed_degree_modulo, identity
from polymargin.geometry.varieties.critical import NearestPoint, critical_points_of, is_smooth, nearest_of
from polymargin.networks import Network
from polymargin.polynomials import Graph, evaluate, flatten, variable_names

# msolve takes no larger primes.
PRIME_BITS = 30
PRIMES = 2


@dataclass(frozen=True)
class PrimeCount:
    """A number and the primes modulo which it was counted."""

    value: int
    primes: tuple[int, ...]


@dataclass(frozen=True, eq=False, init=False)
class Variety:
    """{f₁ = … = f_s = 0} in n-space, given by polynomials or boundaries.

    The polynomials may be more than the codimension (minors of a matrix); they must generate a radical ideal.

    >>> curve = Variety(["x**2 + y**2 + z**2 - 1", "x*y - z"])
    >>> curve.dimension, curve.codimension
    (3, 2)
    """

    equations: tuple[Boundary, ...]

    def __init__(self, equations: Sequence[Any], variables: Any = None) -> None:
        if isinstance(equations, str) or not len(equations):
            raise InputError(f"equations {equations!r}: expected a list of polynomials or boundaries, at least one")
        if not all(isinstance(equation, Boundary) for equation in equations):
            names = variable_names(equations[0], variables) if variables is not None else _all_names(equations)
            equations = [Boundary.from_expression(equation, names) for equation in equations]
        if len({equation.dimension for equation in equations}) > 1:
            raise InputError("the equations have different numbers of inputs: expected the same for all")
        for equation in equations:
            if equation.degree < 1:
                raise InputError(f"the equation ({equation.name}) is constant; remove it")
        object.__setattr__(self, "equations", tuple(equations))

    @classmethod
    def of_ties(cls, network: Network, classes: Sequence[int]) -> Variety:
        """The points at which all these classes have the same logit."""
        if len(set(classes)) != len(classes) or len(classes) < 2:
            raise InputError(f"classes {list(classes)}: expected at least two different ones")
        return cls([Boundary.from_network(network, first, second) for first, second in pairwise(classes)])

    def __repr__(self) -> str:
        return f"Variety({', '.join(equation.name for equation in self.equations)}; {self.dimension} inputs)"

    @property
    def dimension(self) -> int:
        """Number of inputs n of the space around the variety."""
        return self.equations[0].dimension

    @cached_property
    def codimension(self) -> int:
        """n less the dimension of the variety, found modulo a prime."""
        (prime,) = self.primes(0, 1)
        return codimension(self.modulo(prime, None), random.Random(prime), DEFAULT_TIMEOUT)

    @property
    def degrees(self) -> tuple[int, ...]:
        """Degrees of the equations."""
        return tuple(equation.degree for equation in self.equations)

    def count(self, metric: Metric | None, *, seed: int, timeout: float) -> PrimeCount:
        """Critical points of the distance from a general point."""
        primes = self.primes(seed, PRIMES, () if metric is None else metric.radicands)

        def compute(prime: int) -> tuple[int, ...]:
            generator = random.Random(f"{prime} {seed}")
            return (ed_degree_modulo(self.modulo(prime, metric), self.codimension, generator, timeout),)

        return PrimeCount(agreeing(compute, primes)[0], tuple(primes))

    @checked()
    def critical_points(
        self,
        point: ArrayLike,
        *,
        metric: Any = None,
        seed: int = 0,
        threads: int | None = None,
        limit: int = DEFAULT_LIMIT,
        timeout: float = DEFAULT_TIMEOUT,
    ) -> CriticalPoints:
        """All critical points of the distance from a point to the smooth part; multipliers are (N, codimension).

        >>> Variety(["x**2 + y**2 + z**2 - 1", "z"]).critical_points([2.0, 1.0, 3.0])
        CriticalPoints(2 complex, 2 real; complete)
        """
        measured = Metric.of(metric, self.dimension, seed)
        return critical_points_of(self, checked_point(point, self.dimension), measured, seed, threads, limit, timeout)

    @checked()
    def nearest(
        self,
        point: ArrayLike,
        *,
        metric: Any = None,
        seed: int = 0,
        threads: int | None = None,
        limit: int = DEFAULT_LIMIT,
        timeout: float = DEFAULT_TIMEOUT,
    ) -> NearestPoint:
        """The nearest point of the variety.

        >>> Variety(["x**2 + y**2 + z**2 - 1", "z"]).nearest([2.0, 0.0, 3.0])
        NearestPoint(3.16227766, NUMERICAL)
        """
        options: dict[str, Any] = {"seed": seed, "threads": threads, "limit": limit, "timeout": timeout}
        found = self.critical_points(point, metric=metric, **options)
        return nearest_of(found, is_smooth(self, seed=seed, timeout=timeout))

    def primes(self, seed: int, number: int, others: Sequence[int] = ()) -> list[int]:
        """Primes drawn from a hash of the equations, modulo which their square roots and others exist."""
        generator = random.Random(f"{[equation.fingerprint for equation in self.equations]}, seed {seed}")
        radicands = [*others, *(radicand for equation in self.equations for radicand in equation.radicands)]
        return [random_prime(generator, PRIME_BITS, radicands) for _ in range(number)]

    def modulo(self, prime: int, metric: Metric | None) -> Equations:
        """The equations modulo a prime."""
        ring = Ring(tuple(f"x{index}" for index in range(1, self.dimension + 1)), prime)
        graph = Graph()
        variables = graph.inputs(self.dimension)
        program = flatten(graph, [equation.source.polynomial(variables) for equation in self.equations])
        polynomials = evaluate(program, list(ring.variables), lift=ring.constant)
        matrix = identity(ring)
        if metric is not None:
            rows = [[ring.scalar(entry) for entry in row] for row in metric.matrix]
            matrix = ring.matrix(rows, self.dimension).inv()
        return Equations(ring, tuple(polynomials), matrix)


def _all_names(equations: Sequence[Any]) -> list[str]:
    return sorted({name for equation in equations for name in variable_names(equation, None)})
