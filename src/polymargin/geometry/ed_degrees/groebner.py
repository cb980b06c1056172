"""Algorithm 2 of the paper: the ED degree by exact algebra.

The ideal of the critical points for one random point u is formed exactly, over the rationals or modulo a large prime, and a
Gröbner engine (or a resultant, in two variables) counts its solutions. See `algebra.critical_ideals` for the two forms of the
ideal, why they agree, and why every solution is simple for a general u.

Over the rationals the answer is wrong only if the random u lies on the ED discriminant; modulo a prime also if the prime is
one of finitely many. Both have a probability around (degree of an unknown discriminant) / (range of the random numbers). With
msolve the solutions found are checked to be different, so such an accident does not pass silently as a count of too many.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from typing import Any

from polymargin.boundary import Architecture, Boundary
from polymargin.errors import InputError
from polymargin.geometry.algebra.critical_ideals import lagrange_system, minors_system
from polymargin.geometry.algebra.engines import DEFAULT_TIMEOUT, EngineError
from polymargin.geometry.algebra.hypersurface import Hypersurface, exact_hypersurface, random_hypersurface
from polymargin.geometry.algebra.msolve import count_solutions
from polymargin.geometry.algebra.plane import plane_ed_degree
from polymargin.geometry.algebra.rings import DEFAULT_PRIME, gradient
from polymargin.geometry.algebra.singular import quotient_dimension

ENGINES = {"lagrange": ("msolve", "Singular"), "minors": ("resultants", "Singular")}


@dataclass(frozen=True)
class SymbolicEDDegree:
    """The ED degree of a hypersurface and how it was found.

    value      number of regular critical points of the distance from a general point
    form       "lagrange" or "minors", the ideal that was used
    field      "modular" or "rational"; `prime` is None for the latter
    engine     "msolve", "Singular" or "resultants"
    variables  in how many variables the count was made: as many as the polynomial depends on
    point      the random point u, as numbers of the field
    repeated   the polynomial had a repeated factor; the value is that of its zero set, with each factor taken once
    """

    value: int
    form: str
    field: str
    prime: int | None
    engine: str
    variables: int
    point: tuple[int, ...]
    repeated: bool
    seed: int
    seconds: float

    def __int__(self) -> int:
        return self.value

    @property
    def description(self) -> str:
        """How it was found, in one line."""
        field = "over the rationals" if self.prime is None else f"modulo {self.prime}"
        return f"{self.form} form {field} in {self.variables} variables by {self.engine}, seed {self.seed}"


def symbolic_ed_degree(
    source: Boundary | Architecture,
    *,
    form: str | None = None,
    field: str = "modular",
    engine: str | None = None,
    prime: int = DEFAULT_PRIME,
    seed: int = 0,
    timeout: float = DEFAULT_TIMEOUT,
) -> SymbolicEDDegree:
    """The ED degree of a boundary with exactly its coefficients, or of an architecture with random weights.

    form     "lagrange" (fast) or "minors" (Algorithm 2 to the letter: saturated by the gradient)
    field    "modular" or "rational"; architectures are counted modulo the prime
    engine   "msolve" or "Singular" for the Lagrange form, "resultants" (at most two variables, no engine needed) or
             "Singular" for the minors; chosen if not given

    >>> int(symbolic_ed_degree(Boundary.from_expression("x**2 + 4*y**2 - 4")))
    4
    """
    start = time.perf_counter()
    generator = random.Random(seed)
    surface = _hypersurface(source, field, prime, generator)
    form, engine = _choice(form, engine, surface.dimension)
    point = [surface.ring.random_scalar(generator) for _ in range(surface.rows.ncols())]
    value = _count(surface, surface.coordinates(point), form, engine, generator, timeout)
    return SymbolicEDDegree(
        value=value,
        form=form,
        field=field,
        prime=surface.ring.prime,
        engine=engine,
        variables=surface.dimension,
        point=tuple(int(coordinate) for coordinate in point),
        repeated=surface.repeated,
        seed=seed,
        seconds=time.perf_counter() - start,
    )


def _hypersurface(source: Boundary | Architecture, field: str, prime: int, generator: random.Random) -> Hypersurface:
    if field not in ("modular", "rational"):
        raise InputError(f"field {field!r}: expected 'modular' or 'rational'")
    if isinstance(source, Boundary):
        return exact_hypersurface(source, prime if field == "modular" else None)
    if field == "rational":
        raise InputError("an architecture is counted modulo a prime; give a boundary with weights for field='rational'")
    return random_hypersurface(source, prime, generator)


def _choice(form: str | None, engine: str | None, variables: int) -> tuple[str, str]:
    if engine is None:
        form = form or ("minors" if variables <= 2 else "lagrange")
        engine = "resultants" if form == "minors" and variables <= 2 else {"minors": "Singular"}.get(form, "msolve")
    form = form or ("minors" if engine == "resultants" else "lagrange")
    if engine not in ENGINES.get(form, ()):
        pairs = ", ".join(f"{f} with {e}" for f, engines in ENGINES.items() for e in engines)
        raise InputError(f"form {form!r} with engine {engine!r}: expected one of {pairs}")
    if engine == "resultants" and variables > 2:
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
