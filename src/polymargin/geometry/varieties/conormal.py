"""Counting on the conormal variety modulo a prime: ED degrees and polar degrees of any set of equations.

Let X = {f₁ = … = f_s = 0} have codimension c in n-space, and let g₁, …, g_c be the f themselves if s = c, and otherwise random
combinations of them: at a smooth point of X their gradients span the normal space. For a vector v(x) the equations

    f₁ = … = f_s = 0,        v + G Σ μ_k ∇g_k = 0        in (x, μ)

find the smooth points at which v is normal to X. With v = x − u these are the critical points of the distance, with a constant v
those of a linear function. For general u and v singular points and components of smaller dimension take no part: they have a
dimension k < n − c, and with c multipliers reach vectors in dimension k + c < n only.

The *polar degree* bᵢ is the number of critical points of a general linear function on X ∩ (general affine subspace of codimension
i); the last one is the degree of X. Their sum is the ED degree in a general metric. For a cone b₀ = 0, and the others are the
polar degrees of the projective variety (Holme 1988; Draisma et al. 2016, section 5; Maxim, Rodriguez, Wang and Wu 2022).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from polymargin.errors import InputError, MissingExtraError
from polymargin.geometry.algebra.critical_ideals import System
from polymargin.geometry.algebra.engines import EngineError, find_engine
from polymargin.geometry.algebra.linear_quotient import MOST_ENTRIES, quotient_dimension_modulo
from polymargin.geometry.algebra.msolve import count_solutions
from polymargin.geometry.algebra.rings import Ring

# Systems with smaller matrices are counted by linear algebra, in less time than msolve takes to start.
FEW_ENTRIES = 20_000


@dataclass(frozen=True, eq=False)
class Equations:
    """Polynomials of a ring modulo a prime, and the matrix G of the metric in front of gradients."""

    ring: Ring
    polynomials: tuple[Any, ...]
    metric: Any

    @property
    def size(self) -> int:
        """Number of variables."""
        return len(self.ring.names)

    @property
    def homogeneous(self) -> bool:
        """Whether the set is a cone over a projective one."""
        return all(len({sum(powers) for powers in p.to_dict()}) == 1 for p in self.polynomials)

    def random_vector(self, generator: random.Random) -> list[Any]:
        """One random scalar for each variable."""
        return [self.ring.random_scalar(generator) for _ in range(self.size)]

    def system(self) -> System:
        """The equations as they are."""
        return System(self.ring, self.polynomials)

    def sliced(self, cuts: int, generator: random.Random) -> Equations:
        """The equations on a random affine subspace of this codimension, in fewer variables; the metric is left behind."""
        small = Ring(self.ring.names[: self.size - cuts], self.ring.prime)
        scalars = [[small.random_scalar(generator) for _ in range(len(small.names) + 1)] for _ in range(self.size)]
        place = [small.linear(row[:-1], small.variables, row[-1]) for row in scalars]
        polynomials = tuple(p.compose(*place, ctx=small.context) for p in self.polynomials)
        return Equations(small, polynomials, identity(small))

    def normal_to(self, codimension: int, vector: Sequence[Any], generator: random.Random) -> System:
        """Smooth points at which the vector, made of polynomials or scalars of the ring, is normal."""
        names = tuple(f"m{index}" for index in range(1, codimension + 1))
        ring = self.ring.extended(*names)
        chosen = self.polynomials
        if len(chosen) > codimension:
            chosen = tuple(
                sum((self.ring.random_scalar(generator) * p for p in self.polynomials), self.ring.constant(0))
                for _ in range(codimension)
            )
        sums = [ring.constant(0) for _ in range(self.size)]
        for multiplier, polynomial in zip(ring.variables[self.size :], chosen, strict=True):
            slopes = [polynomial.derivative(index) for index in range(self.size)]
            for index, row in enumerate(self.metric.table()):
                sums[index] += multiplier * ring.embed(self.ring.linear(row, slopes))
        lifted = [ring.embed(self.ring.constant(0) + entry) for entry in vector]
        equations = [v + total for v, total in zip(lifted, sums, strict=True)]
        return System(ring, (*(ring.embed(p) for p in self.polynomials), *equations))


def identity(ring: Ring) -> Any:
    """The identity matrix with as many rows as the ring has variables."""
    size = len(ring.names)
    return ring.matrix([[ring.scalar(int(i == j)) for j in range(size)] for i in range(size)], size)


def count(system: System, timeout: float) -> int | None:
    """The number of solutions modulo the prime, with multiplicity; None if there are infinitely many."""
    if any(p.is_constant() and not p.is_zero() for p in system.polynomials):
        return 0
    engine = find_engine("msolve")
    found = quotient_dimension_modulo(system, FEW_ENTRIES if engine else MOST_ENTRIES)
    if found is not None:
        return found
    if engine is None:
        raise MissingExtraError(
            "the matrices would be too large for linear algebra: this computation needs msolve; "
            "install it with: pip install 'polymargin[symbolic]'"
        )
    solutions = count_solutions(system, timeout=timeout)
    return None if solutions is None else solutions.with_multiplicity


def codimension(equations: Equations, generator: random.Random, timeout: float) -> int:
    """n − dim X: a general affine subspace of this dimension meets X in finitely many points, at least one."""
    for wanted in range(min(len(equations.polynomials), equations.size), 0, -1):
        part = equations.sliced(equations.size - wanted, generator)
        found = count(part.system(), timeout)
        if not found:
            continue
        if count(part.normal_to(wanted, part.random_vector(generator), generator), timeout) != found:
            raise InputError("a component of the variety counts more than once: expected equations of a radical ideal")
        return wanted
    raise InputError("the equations have no common zero: the variety is empty")


def ed_degree_modulo(equations: Equations, codimension: int, generator: random.Random, timeout: float) -> int:
    """The number of critical points of the distance from a random point."""
    point = equations.random_vector(generator)
    offsets = [variable - u for variable, u in zip(equations.ring.variables, point, strict=True)]
    return _finite(count(equations.normal_to(codimension, offsets, generator), timeout))


def polar_degrees_modulo(
    equations: Equations, codimension: int, generator: random.Random, timeout: float
) -> tuple[int, ...]:
    """(b₀, …, b_dim), without b₀ for a cone."""
    degrees = []
    for cuts in range(int(equations.homogeneous), equations.size - codimension + 1):
        part = equations.sliced(cuts, generator)
        direction = part.random_vector(generator)
        degrees.append(_finite(count(part.normal_to(codimension, direction, generator), timeout)))
    return tuple(degrees)


def agreeing(compute: Callable[[int], tuple[int, ...]], primes: Sequence[int]) -> tuple[int, ...]:
    """The entrywise largest of what is counted modulo several primes: no count is too large."""
    return tuple(max(entries) for entries in zip(*(compute(prime) for prime in primes), strict=True))


def _finite(found: int | None) -> int:
    if found is None:
        raise EngineError(
            "there are infinitely many critical points: the equations do not generate a radical ideal, "
            "or the prime is unlucky; try another seed="
        )
    return found
