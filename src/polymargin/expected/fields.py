"""Centred Gaussian random fields, as far as the expected number of critical points sees them.

The theorem of Kac and Rice asks for the joint law of (f, ∇f, ∇²f) at one point at a time. For a centred Gaussian field with
kernel K that law is a covariance, made of derivatives of K on the diagonal:

    Cov(f, ∂ₖf) = ∂ₖ'K,  Cov(∂ᵢf, ∂ₖf) = ∂ᵢ∂ₖ'K,  Cov(∂ᵢⱼf, f) = ∂ᵢⱼK,  Cov(∂ᵢⱼf, ∂ₖf) = ∂ᵢⱼ∂ₖ'K,  Cov(∂ᵢⱼf, ∂ₖₗf) = ∂ᵢⱼ∂ₖₗ'K,

with ∂ for the first argument and ∂' for the second one. `Jets` holds them for a batch of points.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from polymargin.errors import InputError

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Jets:
    """Covariances of (f, ∇f, ∇²f) at T points of R^n.

    value             (T,)           Var f
    value_gradient    (T, n)         Cov(f, ∂ₖf)
    gradient          (T, n, n)      Cov(∂ᵢf, ∂ₖf)
    hessian_value     (T, n, n)      Cov(∂ᵢⱼf, f)
    hessian_gradient  (T, n, n, n)   Cov(∂ᵢⱼf, ∂ₖf)
    hessian           (T, n, n, n, n)  Cov(∂ᵢⱼf, ∂ₖₗf)
    """

    value: Array
    value_gradient: Array
    gradient: Array
    hessian_value: Array
    hessian_gradient: Array
    hessian: Array


@runtime_checkable
class GaussianField(Protocol):
    """A centred Gaussian field on R^n with a kernel that is four times differentiable."""

    @property
    def dimension(self) -> int:
        """Return the number of variables."""
        ...

    @property
    def isotropic(self) -> bool:
        """Return whether the law stays the same when the space is turned about the origin."""
        ...

    @property
    def length(self) -> float:
        """Return a length over which the law changes; answers do not depend on it, only how fast they are found."""
        ...

    def jets(self, points: Array) -> Jets:
        """Return the covariances at points (T, n)."""
        ...


@dataclass(frozen=True, eq=False)
class KernelField:
    """Any field given by the derivatives of its kernel: `derivatives` maps points (T, n) to their `Jets`.

    >>> wave = KernelField(1, lambda x: Jets(*(np.full((len(x), *[1] * k), c)
    ...                                        for k, c in ((0, 1.0), (1, 0.0), (2, 1.0), (2, -1.0), (3, 0.0), (4, 3.0)))))
    >>> wave.jets(np.zeros((2, 1))).gradient.shape         # K(x, y) = exp(−(x − y)²/2)
    (2, 1, 1)
    """

    dimension: int
    derivatives: Callable[[Array], Jets]
    isotropic: bool = False
    length: float = 1.0

    def __post_init__(self) -> None:
        if self.dimension < 1:
            raise InputError(f"dimension {self.dimension}: a field needs at least one variable")
        if not 0 < self.length < np.inf:
            raise InputError(f"length {self.length}: expected a positive number")

    def jets(self, points: Array) -> Jets:
        """Return the covariances at points (T, n)."""
        found = self.derivatives(points)
        count, n = points.shape
        orders = {
            "value": 0,
            "value_gradient": 1,
            "gradient": 2,
            "hessian_value": 2,
            "hessian_gradient": 3,
            "hessian": 4,
        }
        for name, order in orders.items():
            shape = np.shape(getattr(found, name))
            if shape != (count, *[n] * order):
                raise InputError(f"{name} of the kernel has shape {shape}; expected {(count, *[n] * order)}")
        return found
