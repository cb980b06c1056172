"""Algorithm 2 of the paper: the ED degree by exact algebra.

The ideal of the critical points for one random point u is formed exactly, over the rationals or modulo primes, and a Gröbner
engine, linear algebra, or in two variables a resultant counts its solutions. See `algebra.critical_ideals` for the two forms of
the ideal, why they agree, and why every solution is simple for a general u.

**What is proved.** No count is too large, whatever u and whatever the prime, as long as the prime divides no denominator and the
polynomial stays squarefree modulo it: the solutions for all u together form a complete intersection, which is flat over the space
of (prime, u) where a fibre is finite, so every solution modulo the prime, with its multiplicity, comes from solutions in
characteristic zero. **What is not:** that none is missing. A count is too small only if u lies on the ED discriminant or the
prime is one of finitely many. A weight can be chosen to be divisible by a prime that is known beforehand. So the primes are
drawn from a hash of the boundary itself: two of them, each with a point u of its own. If they disagree a third one decides, and
the largest number is the answer. Both are too small with a probability around (degree of an unknown discriminant / 2³⁰)².
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from typing import Any

from polymargin.boundary import Architecture, Boundary, Metric
from polymargin.boundary.residues import random_prime
from polymargin.errors import InputError, MissingExtraError
from polymargin.geometry.algebra.critical_ideals import lagrange_system, minors_system
from polymargin.geometry.algebra.engines import DEFAULT_TIMEOUT, EngineError, find_engine
from polymargin.geometry.algebra.hypersurface import Hypersurface, exact_hypersurface, random_hypersurface
from polymargin.geometry.algebra.linear_quotient import quotient_dimension_modulo
from polymargin.geometry.algebra.msolve import count_solutions
from polymargin.geometry.algebra.plane import plane_ed_degree
from polymargin.geometry.algebra.rings import gradient
from polymargin.geometry.algebra.singular import quotient_dimension

ENGINES = {"lagrange": ("msolve", "Singular", "linear algebra"), "minors": ("resultants", "Singular")}
# msolve's change of ordering takes no larger primes.
PRIME_BITS = 30


@dataclass(frozen=True)
class SymbolicEDDegree:
    """The ED degree of a hypersurface and how it was found.

    value      number of regular critical points of the distance from a general point: the largest of the counts
    counts     one for each of the `primes`; one for the rationals
    primes     modulo which solutions were counted; none for field="rational"
    form       "lagrange" or "minors", the ideal that was used
    engine     "msolve", "Singular", "resultants" or "linear algebra"
    variables  in how many variables the count was made: as many as the polynomial depends on
    repeated   the polynomial had a repeated factor; the value is that of its zero set, with each factor taken once
    """

    value: int
    counts: tuple[int, ...]
    primes: tuple[int, ...]
    form: str
    engine: str
    variables: int
    repeated: bool
    seed: int
    seconds: float

    def __int__(self) -> int:
        return self.value

    @property
    def description(self) -> str:
        """How it was found, in one line."""
        field = f"modulo {' and '.join(map(str, self.primes))}" if self.primes else "over the rationals"
        counts = "" if len(set(self.counts)) == 1 else f" (counts {', '.join(map(str, self.counts))})"
        return f"{self.form} form {field}{counts} in {self.variables} variables by {self.engine}, seed {self.seed}"


def symbolic_ed_degree(
    source: Boundary | Architecture,
    *,
    form: str | None = None,
    field: str = "modular",
    engine: str | None = None,
    prime: int | None = None,
    metric: Metric | None = None,
    seed: int = 0,
    timeout: float = DEFAULT_TIMEOUT,
) -> SymbolicEDDegree:
    """The ED degree of a boundary with exactly its coefficients, or of an architecture with random weights.

    form     "lagrange" (fast) or "minors" (Algorithm 2 to the letter: saturated by the gradient)
    field    "modular" or "rational"; architectures are counted modulo one prime
    engine   for the Lagrange form "msolve", "Singular", or "linear algebra" (no engine needed, few variables); for the minors
             "resultants" (at most two variables, no engine needed) or "Singular"; chosen if not given
    prime    this one alone; two or three drawn from a hash of the boundary if not given
    metric   of an architecture; a boundary has its own

    >>> int(symbolic_ed_degree(Boundary.from_expression("x**2 + 4*y**2 - 4")))
    4
    """
    start = time.perf_counter()
    if field not in ("modular", "rational"):
        raise InputError(f"field {field!r}: expected 'modular' or 'rational'")
    if field == "rational" and not isinstance(source, Boundary):
        raise InputError("an architecture is counted modulo a prime; give a boundary with weights for field='rational'")
    name = source.fingerprint if isinstance(source, Boundary) else repr(source)
    generator = random.Random(f"symbolic ED degree of {name}, seed {seed}")
    wanted = 2 if prime is None and field == "modular" and isinstance(source, Boundary) else 1
    radicands = source.radicands if isinstance(source, Boundary) else () if metric is None else metric.radicands
    counts: list[int] = []
    primes: list[int] = []
    while len(counts) < wanted:
        if field == "modular":
            primes.append(prime or random_prime(generator, PRIME_BITS, radicands))
        surface = _hypersurface(source, primes[-1] if primes else None, generator, metric)
        form, engine = _choice(form, engine, surface.dimension, field)
        point = [surface.ring.random_scalar(generator) for _ in range(surface.rows.ncols())]
        remaining = timeout - (time.perf_counter() - start)
        counts.append(_count(surface, surface.coordinates(point), form, engine, generator, remaining))
        if len(counts) == 2 and counts[0] != counts[1]:
            wanted = 3
    return SymbolicEDDegree(
        value=max(counts),
        counts=tuple(counts),
        primes=tuple(primes),
        form=str(form),
        engine=str(engine),
        variables=surface.dimension,
        repeated=surface.repeated,
        seed=seed,
        seconds=time.perf_counter() - start,
    )


def _hypersurface(
    source: Boundary | Architecture, prime: int | None, generator: random.Random, metric: Metric | None
) -> Hypersurface:
    if isinstance(source, Boundary):
        return exact_hypersurface(source, prime)
    return random_hypersurface(source, prime or 0, generator, metric)


def _choice(form: str | None, engine: str | None, variables: int, field: str) -> tuple[str, str]:
    plane = variables <= 2
    form = form or ("minors" if engine == "resultants" or (engine is None and plane) else "lagrange")
    if engine is None and form == "minors":
        engine = "resultants" if plane else "Singular"
    elif engine is None:
        engine = "msolve" if field == "rational" or find_engine("msolve") else "linear algebra"
    if engine not in ENGINES.get(form, ()):
        pairs = ", ".join(f"{f} with {e}" for f, engines in ENGINES.items() for e in engines)
        raise InputError(f"form {form!r} with engine {engine!r}: expected one of {pairs}")
    if engine == "resultants" and not plane:
        raise InputError(f"{variables} variables: resultants count in at most two; use engine='msolve' or 'Singular'")
    return form, engine


def _count(
    surface: Hypersurface, point: list[Any], form: str, engine: str, generator: random.Random, timeout: float
) -> int:
    if engine == "resultants":
        return plane_ed_degree(surface, point, generator)
    if form == "minors":
        slopes = gradient(surface.polynomial, surface.dimension)
        value = quotient_dimension(minors_system(surface, point), saturate=slopes, timeout=timeout)
    elif engine == "linear algebra":
        value = quotient_dimension_modulo(lagrange_system(surface, point))
        if value is None:
            raise MissingExtraError(
                "the matrices would be too large for linear algebra: this computation needs msolve; "
                "install it with: pip install 'polymargin[symbolic]'"
            )
    elif engine == "Singular":
        value = quotient_dimension(lagrange_system(surface, point), timeout=timeout)
    else:
        count = count_solutions(lagrange_system(surface, point), timeout=timeout)
        value = count.distinct if count and count.distinct == count.with_multiplicity else None
    if value is None:
        raise EngineError(
            "the critical points of a random point are not finitely many different ones: the prime or the point is unlucky; "
            "try another seed= or prime="
        )
    return value
