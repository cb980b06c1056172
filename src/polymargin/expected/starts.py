"""One member of a family with all its critical points, from which all others are reached.

If every polynomial of its degree belongs to the family, B₀ = Σ a_j x_j^D − c does, and its critical points are known in closed
form (`continuation.start_systems`). For the boundaries of an architecture, which may have fewer critical points,
enumeration finds those of a random member, in its reduced coordinates x = centre + scale · Q y.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polymargin.boundary import Boundary
from polymargin.continuation import Tracker, critical_start
from polymargin.enumeration.base_solutions import base_solutions
from polymargin.enumeration.cache import Cache
from polymargin.errors import PolymarginError
from polymargin.expected.tangent import Array

ComplexArray = NDArray[np.complex128]


@dataclass(frozen=True, eq=False)
class Start:
    """Parameters (θ, u, ε) and all solutions (x, λ) of x − u + λ∇B(x; θ) = 0, B(x; θ) = ε."""

    parameters: ComplexArray
    solutions: ComplexArray


def start_at_powers(dimension: int, degree: int, exponents: Sequence[tuple[int, ...]], seed: int) -> Start:
    """Return Σ a_j x_j^D − c at the origin, with the coefficients of the given monomials as parameters."""
    start = critical_start(dimension, degree, np.random.default_rng([20267, seed]))
    coefficients = dict.fromkeys(exponents, 0j)
    coefficients[(0,) * dimension] = -start.level
    for axis, slope in enumerate(start.slopes):
        coefficients[tuple(degree * int(i == axis) for i in range(dimension))] = complex(slope)
    origin = np.zeros(dimension + 1)
    return Start(np.array([*coefficients.values(), *origin]), start.points)


def start_at_boundary(boundary: Callable[[Array], Boundary], parameters: Array, seed: int) -> Start:
    """Return a member of an architecture, at a generic complex point and level."""
    member = boundary(parameters)
    base = base_solutions(member, Tracker(), seed=seed, cache=Cache.from_option(False))
    if base.unjudged:
        raise PolymarginError(
            f"it stayed open whether all critical points of {member.name} were found; try another seed"
        )
    reduction = member.reduction
    back = reduction.scale * reduction.basis
    u = reduction.centre + back @ base.parameters[:-1]
    x = reduction.centre + base.solutions[:, :-1] @ back.T
    # In reduced coordinates both the variables and B were scaled.
    multipliers = base.solutions[:, -1] * reduction.scale**2 / reduction.factor
    level = reduction.factor * base.parameters[-1]
    return Start(np.array([*parameters, *u, level]), np.column_stack([x, multipliers]))
