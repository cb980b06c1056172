"""`polar_degrees`: counts modulo two primes, of which the larger is the answer.

No count is too large, and one is too small only if the random points lie on an unknown discriminant (see `ed_degrees.groebner`).
"""

from __future__ import annotations

import random
from typing import Any

from polymargin.arguments import checked
from polymargin.boundary import Architecture, AttentionArchitecture, Boundary, NetworkArchitecture
from polymargin.boundary.residues import random_prime
from polymargin.errors import InputError
from polymargin.geometry.algebra.engines import DEFAULT_TIMEOUT
from polymargin.geometry.algebra.hypersurface import Hypersurface, exact_hypersurface, random_hypersurface
from polymargin.geometry.varieties.conormal import (
    Equations,
    agreeing,
    identity,
    polar_degrees_modulo,
)
from polymargin.geometry.varieties.variety import PRIME_BITS, PRIMES, Variety


@checked(Boundary, Variety, NetworkArchitecture, AttentionArchitecture)
def polar_degrees(source: Any, *, seed: int = 0, timeout: float = DEFAULT_TIMEOUT) -> tuple[int, ...]:
    """Numbers of critical points of general linear functions on general sections, the degree of the variety last.

    Entry i belongs to sections by affine subspaces of codimension i. Of a cone (all polynomials homogeneous) they are the polar
    degrees of the projective variety. Their sum is the ED degree in a generic metric. Counted modulo two primes.

    >>> polar_degrees(Boundary.from_expression("x**2 + y**2 - 1"))
    (2, 2)
    >>> polar_degrees(Variety(["a*c - b**2", "b*d - c**2", "a*d - b*c"]))  # the twisted cubic
    (4, 3)
    """
    if isinstance(source, Variety):
        primes = source.primes(seed, PRIMES)
        return agreeing(
            lambda prime: polar_degrees_modulo(
                source.modulo(prime, None), source.codimension, random.Random(f"{prime} {seed}"), timeout
            ),
            primes,
        )
    if isinstance(source, Boundary) and source.degree < 1:
        raise InputError(f"the boundary ({source.name}) is constant: there is no hypersurface")
    name = source.fingerprint if isinstance(source, Boundary) else repr(source)
    generator = random.Random(f"polar degrees of {name}, seed {seed}")
    radicands = source.radicands if isinstance(source, Boundary) else ()
    primes = [random_prime(generator, PRIME_BITS, radicands) for _ in range(PRIMES)]

    def compute(prime: int) -> tuple[int, ...]:
        surface = _hypersurface(source, prime, generator)
        equations = Equations(surface.ring, (surface.polynomial,), identity(surface.ring))
        unseen = surface.rows.ncols() - surface.dimension
        return (0,) * int(unseen) + polar_degrees_modulo(equations, 1, generator, timeout)

    return agreeing(compute, primes)


def _hypersurface(source: Boundary | Architecture, prime: int, generator: random.Random) -> Hypersurface:
    if isinstance(source, Boundary):
        return exact_hypersurface(source, prime)
    return random_hypersurface(source, prime, generator)
