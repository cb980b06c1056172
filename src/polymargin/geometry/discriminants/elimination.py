"""The ED discriminant by elimination: Algorithm 3 of the paper, with Singular.

In Q[y, λ, v]: the Lagrange equations, the determinant of their Jacobian by (y, λ), saturated by the minors of the Jacobian of one
size less (where it loses two ranks), then y and λ eliminated. The radical of what remains is the intersection of its minimal
primes, which are what Singular is asked for.
"""

from __future__ import annotations

import random
from itertools import combinations

from polymargin.geometry.algebra.equations import Equations, System
from polymargin.geometry.algebra.rings import determinant, gradient
from polymargin.geometry.algebra.singular import eliminated_primes
from polymargin.geometry.discriminants.result import DiscriminantComponent


def eliminated_components(surface: Equations, *, timeout: float) -> list[DiscriminantComponent]:
    """Return the pieces in variables u1, u2, … in place of v: the minimal primes of the eliminated ideal."""
    size = surface.dimension
    names = [f"u{index}" for index in range(1, size + 1)]
    variables = surface.ring.extended("m1", *names).variables
    offsets = [y - v for y, v in zip(variables[:size], variables[size + 1 :], strict=True)]
    lagrange = surface.normal_to(1, offsets, random.Random(0), *names)
    jacobian = [gradient(equation, size + 1) for equation in lagrange.polynomials]
    everything = range(size + 1)
    minors = [
        determinant([[jacobian[i][j] for j in columns] for i in rows])
        for rows in combinations(everything, size)
        for columns in combinations(everything, size)
    ]
    system = System(lagrange.ring, (*lagrange.polynomials, determinant(jacobian)))
    primes = eliminated_primes(system, size, saturate=minors, timeout=timeout)
    return [DiscriminantComponent(tuple(prime), size - dimension) for dimension, prime in primes]
