"""Growth of the expected number of real critical points with the degree: like d^{n/2}, the square root of the complex number.

The theorem bounds it by C d^{n/2}. The leading term is exact. For large d the part −rZ dominates p(I − rM) in the determinant
of `tangent`, except near the test point; what remains is c(x) · 2σ² r^{n−1} E|det Z|. With Z = √B_P G √B_P and
det B · (ωᵀB⁻¹ω) = det B_P it equals a constant times √det B dx, the area element of the sphere, whatever the test point:

    E ~ (2π)^{−(n+1)/2} Φ'(1)^{1−n/2} |Sⁿ| E|det G|,      Cov G = Φ''(1)(δᵢₖδⱼₗ + δᵢₗδⱼₖ) + O(d) δᵢⱼδₖₗ,

and with Φ'(1) ~ d/2, Φ''(1) ~ d²/4 this is d^{n/2} · 2^{−n/2} (2π)^{−(n+1)/2} |Sⁿ| E|det GOE_{n−1}|.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from polymargin.errors import InputError
from polymargin.expected.expectation import expected_real_critical_points
from polymargin.expected.fields import Array
from polymargin.expected.result import ExpectedCount

# E|det| of symmetric Gaussian matrices of size 0, 1, 2 with variance 2 on the diagonal and 1 beside it.
MEAN_DETERMINANTS = (1.0, 2 / math.sqrt(math.pi), 2 * math.sqrt(2) - 1)


@dataclass(frozen=True, eq=False)
class Growth:
    """Expected numbers for one dimension and several degrees, all at one point."""

    dimension: int
    expectations: tuple[ExpectedCount, ...]

    @property
    def degrees(self) -> Array:
        """Return the degrees."""
        return np.array([found.degree for found in self.expectations], dtype=np.float64)

    @property
    def values(self) -> Array:
        """Return the expectation for each degree."""
        return np.array([found.value for found in self.expectations])

    @property
    def complex_counts(self) -> Array:
        """Return the complex number for each degree."""
        return np.array([found.complex_count for found in self.expectations], dtype=np.float64)

    @property
    def exponent(self) -> float:
        """Return the slope of log E against log d, fitted over all degrees."""
        return float(np.polyfit(np.log(self.degrees), np.log(self.values), 1)[0])

    @property
    def complex_exponent(self) -> float:
        """Return the slope of log complex number against log degree."""
        return float(np.polyfit(np.log(self.degrees), np.log(self.complex_counts), 1)[0])

    @property
    def ratios(self) -> Array:
        """Return E / √(complex number); tends to `leading_constant`."""
        return np.asarray(self.values / np.sqrt(self.complex_counts))


def growth(dimension: int, degrees: Sequence[int], point: ArrayLike | None = None, *, seed: int = 0) -> Growth:
    """Return the expectation for every degree, at least two of them.

    >>> found = growth(2, [8, 16, 32, 64])
    >>> round(found.exponent, 3), round(found.complex_exponent, 3)
    (0.908, 2.0)
    """
    if len(set(degrees)) < 2:
        raise InputError(f"degrees {list(degrees)}: a growth rate needs at least two different ones")
    found = [expected_real_critical_points(dimension, degree, point, seed=seed) for degree in degrees]
    return Growth(dimension, tuple(found))


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
