"""Numbers of critical points by exact algebra modulo primes: ED degrees (Algorithm 2 of the paper) and polar degrees.

The equations of `equations` for one random point are counted by a resultant in two variables, by linear algebra where that is
quick, and otherwise by the Gröbner engine msolve.

**What is proved.** No count is too large, whatever u and whatever the prime, as long as the prime divides no denominator and the
polynomial stays squarefree modulo it: the solutions for all u together form a complete intersection, which is flat over the space
of (prime, u) where a fibre is finite, so every solution modulo the prime, with its multiplicity, comes from solutions in
characteristic zero. **What is not:** that none is missing. A count is too small only if u lies on the ED discriminant or the
prime is one of finitely many. A weight can be chosen to be divisible by a prime that is known beforehand. So the primes are
drawn from a hash of the boundary itself: two of them, each with a point u of its own. If they disagree a third one decides, and
the largest number is the answer. Both are too small with a probability around (degree of an unknown discriminant / 2³⁰)².

The *polar degree* bᵢ is the number of critical points of a general linear function on X ∩ (general affine subspace of codimension
i); the last one is the degree of X. Their sum is the ED degree in a general metric. For a cone b₀ = 0, and the others are the
polar degrees of the projective variety (Holme 1988; Draisma et al. 2016, section 5; Maxim, Rodriguez, Wang and Wu 2022).
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from polymargin.boundary import Architecture, Boundary, Metric
from polymargin.boundary.residues import random_prime
from polymargin.errors import InputError, MissingExtraError
from polymargin.geometry.algebra.engines import DEFAULT_TIMEOUT, EngineError, find_engine, run_engine
from polymargin.geometry.algebra.equations import Equations, System, exact_equations, random_equations
from polymargin.geometry.algebra.linear_quotient import MOST_ENTRIES, quotient_dimension_modulo
from polymargin.geometry.algebra.plane import plane_ed_degree

# msolve's change of ordering takes no larger primes.
PRIME_BITS = 30
# Systems with smaller matrices are counted by linear algebra, in less time than msolve takes to start.
FEW_ENTRIES = 20_000


@dataclass(frozen=True)
class ExactCount:
    """Numbers counted modulo `primes`, the largest of what each prime gives.

    engine     "resultants", "linear algebra" or "msolve"
    variables  in how many variables the count was made: as many as the polynomials depend on
    """

    values: tuple[int, ...]
    primes: tuple[int, ...]
    engine: str
    variables: int

    @property
    def value(self) -> int:
        """Return the only number."""
        (value,) = self.values
        return value

    @property
    def note(self) -> str:
        """Return how it was found, in one line."""
        return f"modulo {' and '.join(map(str, self.primes))} in {self.variables} variables by {self.engine}"


def exact_ed_degree(
    source: Sequence[Boundary] | Architecture,
    *,
    codimension: int = 1,
    metric: Metric | None = None,
    seed: int = 0,
    timeout: float = DEFAULT_TIMEOUT,
) -> ExactCount:
    """Return the ED degree of boundaries with exactly their coefficients, or of an architecture with random weights.

    >>> exact_ed_degree([Boundary.from_expression("x**2 + 4*y**2 - 4")]).values
    (4,)
    """

    def compute(equations: Equations, generator: random.Random, remaining: float) -> tuple[tuple[int, ...], str]:
        point = equations.random_vector(generator)
        if equations.dimension <= 2 and len(equations.polynomials) == 1:
            return (plane_ed_degree(equations, point, generator),), "resultants"
        system = equations.normal_to(codimension, equations.offsets(point), generator)
        found, engine = count(system, remaining)
        return (_finite(found),), engine

    return _largest(compute, source, metric, seed, timeout)


def exact_polar_degrees(
    source: Sequence[Boundary] | Architecture, *, codimension: int = 1, seed: int = 0, timeout: float = DEFAULT_TIMEOUT
) -> tuple[int, ...]:
    """Return (b₀, …, b_dim), without b₀ for a cone."""

    def compute(equations: Equations, generator: random.Random, remaining: float) -> tuple[tuple[int, ...], str]:
        degrees = [0] * (equations.rows.ncols() - equations.dimension)
        for cuts in range(int(equations.homogeneous), equations.dimension - codimension + 1):
            part = equations.sliced(cuts, generator)
            found, _ = count(part.normal_to(codimension, part.random_vector(generator), generator), remaining)
            degrees.append(_finite(found))
        return tuple(degrees), ""

    return _largest(compute, source, None, seed, timeout).values


def codimension_of(source: Sequence[Boundary]) -> int:
    """Return n − dim X: a general affine subspace of this dimension meets X in finitely many points, at least one."""
    generator = random.Random(f"codimension of {_name(source)}")
    equations = exact_equations(source, random_prime(generator, PRIME_BITS, _radicands(source)))
    for wanted in range(min(len(source), equations.dimension), 0, -1):
        part = equations.sliced(equations.dimension - wanted, generator)
        found, _ = count(part.system(), DEFAULT_TIMEOUT)
        if not found:
            continue
        if count(part.normal_to(wanted, part.random_vector(generator), generator), DEFAULT_TIMEOUT)[0] != found:
            raise InputError("a component of the variety counts more than once: expected equations of a radical ideal")
        return wanted
    raise InputError("the equations have no common zero: the variety is empty")


def has_no_singular_point(source: Sequence[Boundary], *, seed: int, timeout: float) -> bool:
    """Return whether no point of a complete intersection is singular: no μ ≠ 0 with Σ μ_k ∇f_k = 0."""

    def compute(equations: Equations, generator: random.Random, remaining: float) -> tuple[tuple[int, ...], str]:
        system = equations.normal_to(len(source), [0] * equations.dimension, generator)
        multipliers = system.ring.variables[equations.dimension :]
        weights = [system.ring.random_scalar(generator) for _ in multipliers]
        patch = system.ring.linear(weights, multipliers, system.ring.scalar(-1))
        found, engine = count(System(system.ring, (*system.polynomials, patch)), remaining)
        return (int(found != 0),), engine

    return _largest(compute, source, None, seed, timeout).value == 0


def count(system: System, timeout: float) -> tuple[int | None, str]:
    """Return the number of solutions modulo the prime with multiplicity, None if infinite, and the engine."""
    if any(p.is_constant() and not p.is_zero() for p in system.polynomials):
        return 0, "linear algebra"
    engine = find_engine("msolve")
    found = quotient_dimension_modulo(system, FEW_ENTRIES if engine else MOST_ENTRIES)
    if found is not None:
        return found, "linear algebra"
    if engine is None:
        raise MissingExtraError(
            "the matrices would be too large for linear algebra: this computation needs msolve; "
            "install it with: pip install 'polymargin[symbolic]'"
        )
    return msolve_count(system, timeout=timeout), "msolve"


def msolve_count(system: System, *, timeout: float) -> int | None:
    """Return the dimension of the quotient ring modulo the prime by msolve; None where it is infinite."""
    polynomials = [str(p) for p in system.polynomials if not p.is_zero()]
    text = f"{','.join(system.ring.names)}\n{system.ring.prime}\n" + ",\n".join(polynomials) + "\n"
    arguments = ["-f", "system", "-o", "answer", "-P", "2"]
    answer = "".join(run_engine("msolve", arguments, {"system": text}, timeout=timeout, output="answer").split())
    # [-1] no solution, [1,n,-1,[]] infinitely many, [0,[p,n,dimension,…: only the beginning is read.
    if answer.startswith("[-1]"):
        return 0
    if re.match(r"\[1,\d+,-1,", answer):
        return None
    found = re.match(r"\[0,\[\d+,\d+,(\d+),", answer)
    if found is None:
        raise EngineError(f"msolve gave an answer that cannot be read: {answer[:200]!r}")
    return int(found[1])


def _largest(
    compute: Callable[[Equations, random.Random, float], tuple[tuple[int, ...], str]],
    source: Sequence[Boundary] | Architecture,
    metric: Metric | None,
    seed: int,
    timeout: float,
) -> ExactCount:
    """Count modulo two primes, and a third if they disagree; modulo one for an architecture, whose weights are random anyway."""
    end = time.monotonic() + timeout
    generator = random.Random(f"{_name(source)}, seed {seed}")
    radicands = (*_radicands(source), *(() if metric is None else metric.radicands))
    counts: list[tuple[int, ...]] = []
    primes: list[int] = []
    wanted = 1 if isinstance(source, Architecture) else 2
    while len(counts) < wanted:
        primes.append(random_prime(generator, PRIME_BITS, radicands))
        if isinstance(source, Architecture):
            equations = random_equations(source, primes[-1], generator, metric)
        else:
            equations = exact_equations(source, primes[-1], metric)
        values, engine = compute(equations, generator, end - time.monotonic())
        counts.append(values)
        if len(counts) == 2 and counts[0] != counts[1]:
            wanted = 3
    largest = tuple(max(entries) for entries in zip(*counts, strict=True))
    return ExactCount(largest, tuple(primes), engine, equations.dimension)


def _name(source: Sequence[Boundary] | Architecture) -> str:
    if isinstance(source, Architecture):
        return repr(source)
    return " ".join(boundary.fingerprint for boundary in source)


def _radicands(source: Sequence[Boundary] | Architecture) -> tuple[int, ...]:
    if isinstance(source, Architecture):
        return ()
    return tuple(radicand for boundary in source for radicand in boundary.radicands)


def _finite(found: int | None) -> int:
    if found is None:
        raise EngineError(
            "there are infinitely many critical points: the equations do not generate a radical ideal, "
            "or the prime is unlucky; try another seed="
        )
    return found
