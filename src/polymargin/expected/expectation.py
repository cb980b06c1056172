"""`expected_real_critical_points`: the theorem for wide shallow networks, and how the number grows with the degree.

It grows like d^{n/2}, the square root of the complex number. The theorem bounds it by C d^{n/2}; the leading term is exact. For
large d the part −rZ dominates p(I − rM) in the determinant of `tangent`, except near the test point; what remains is
c(x) · 2σ² r^{n−1} E|det Z|. With Z = √B_P G √B_P and det B · (ωᵀB⁻¹ω) = det B_P it equals a constant times √det B dx, the area
element of the sphere, whatever the test point:

    E ~ (2π)^{−(n+1)/2} Φ'(1)^{1−n/2} |Sⁿ| E|det G|,      Cov G = Φ''(1)(δᵢₖδⱼₗ + δᵢₗδⱼₖ) + O(d) δᵢⱼδₖₗ,

and with Φ'(1) ~ d/2, Φ''(1) ~ d²/4 this is d^{n/2} · 2^{−n/2} (2π)^{−(n+1)/2} |Sⁿ| E|det GOE_{n−1}|.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from polymargin.arguments import checked
from polymargin.boundary import generic_critical_count
from polymargin.errors import InputError
from polymargin.expected.families import ShallowFamily
from polymargin.expected.integral import as_point, expected_for_field
from polymargin.expected.kernel import ShallowKernel
from polymargin.expected.random_polynomials import ShallowEnsemble
from polymargin.expected.result import ExpectedCount
from polymargin.expected.simulation import simulate_real_counts
from polymargin.work import Workers

# E|det| of symmetric Gaussian matrices of size 0, 1, 2 with variance 2 on the diagonal and 1 beside it.
MEAN_DETERMINANTS = (1.0, 2 / math.sqrt(math.pi), 2 * math.sqrt(2) - 1)


@checked()
def expected_real_critical_points(
    dimension: int,
    degree: int,
    point: ArrayLike | None = None,
    *,
    simulate: int | None = None,
    seed: int = 0,
    tolerance: float | None = None,
    threads: int | None = None,
    executor: Workers | None = None,
    progress: Callable[[int], None] | None = None,
) -> ExpectedCount:
    """Return the expected number of real critical points of the distance from a point to a random shallow network boundary.

    The network has `dimension` inputs, activation z^degree and infinitely many hidden units (`ShallowKernel` says which).

    Parameters
    ----------
    point       the point u, the origin by default; in one variable the answer does not depend on it
    simulate    also count the critical points of this many random networks
    seed        of the simulation, and of the sampled Hessians in four and more variables
    tolerance   wanted relative error of the value
    threads, executor, progress   of the simulation, see `simulate_real_counts`

    >>> expected_real_critical_points(1, 5)
    ExpectedCount(1.666666667 ± 2e-16 by closed form)
    >>> found = expected_real_critical_points(2, 3, [1.0, 0.5], simulate=1000)
    >>> round(found.value, 5), abs(found.simulation.mean - found.value) < 5 * found.simulation.standard_error
    (2.21569, True)
    """
    kernel = ShallowKernel(dimension, degree)
    u = as_point(point, dimension)
    if dimension == 1:
        value = degree / math.sqrt(2 * degree - 1)
        found = ExpectedCount(value, float(np.spacing(value)), "closed form", 1, degree, u)
    else:
        found = expected_for_field(kernel, u, tolerance=tolerance, seed=seed)
    found = replace(found, degree=int(degree), complex_count=generic_critical_count(dimension, degree))
    if simulate is None:
        return found
    family = ShallowFamily(ShallowEnsemble(dimension, degree))
    simulation = simulate_real_counts(
        family, simulate, u, seed=seed, threads=threads, executor=executor, progress=progress
    )
    return replace(found, simulation=simulation)


def leading_constant(dimension: int) -> float:
    """Return the limit of E / d^{n/2} for n ≤ 3; it does not depend on the point.

    >>> [round(leading_constant(n), 6) for n in (1, 2, 3)]        # 1/√2, √2/π, (4 − √2)/8
    [0.707107, 0.450158, 0.323223]
    """
    if not 1 <= dimension <= len(MEAN_DETERMINANTS):
        raise InputError(f"dimension {dimension}: the constant is known for 1 to {len(MEAN_DETERMINANTS)}")
    n = dimension
    sphere = 2 * math.pi ** ((n + 1) / 2) / math.gamma((n + 1) / 2)
    return float(2 ** (-n / 2) * (2 * math.pi) ** (-(n + 1) / 2) * sphere * MEAN_DETERMINANTS[n - 1])
