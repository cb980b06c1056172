"""Laws for a critical point in a given direction: the law of the gradient along it and of the Hessian across it.

The theorem counts zeros of F(x, λ) = (f(x), x − u + λ∇f(x)) by the integral over (x, λ) of

    |λ|^{−n} p(0, (u−x)/λ) E[ |vᵀ adj(I + λ∇²f) v|  given f(x) = 0, ∇f(x) = v = (u−x)/λ ].

Write x = u + rω with |ω| = 1. Where ∇f = pω the multiplier is λ = −r/p, and vᵀ adj(A) v = p² det(PᵀAP) for an orthonormal basis
P of the hyperplane across ω. Given f = 0 and ∇f = pω the Hessian is normal with a mean that is linear in p, so across ω it is
pM + Z with a fixed matrix M and a centred Gaussian matrix Z independent of p. With dλ = (r/p²) dp the integral becomes

    ∫dω ∫dr  c(x) ∫dp |p| e^{−p²/2σ²} E|det(p(I − rM) − rZ)|,      c = (2π)^{−(n+1)/2} (k det S)^{−1/2},

where k = Var f, S = Cov(∇f | f = 0) and σ² = 1/(ωᵀS⁻¹ω). The factor r^{n−1} of polar coordinates has cancelled the singularity
at x = u, and λ is gone: what remains of it is the normal variable p.

The law of a combination of finitely many functions with standard normal coefficients, f = v·ζ, ∇f = g·ζ, ∇²f = h·ζ at a point,
comes from projections of vectors (`law_of_vectors`): far from the origin covariances would lose what is left of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from polymargin.errors import InputError

Array = NDArray[np.float64]

# Variances below this share of the largest one are what rounding leaves of zero.
RANK_TOLERANCE = 1e-13


@dataclass(frozen=True, eq=False)
class TangentLaw:
    """The law at T pairs of a point x and a direction ω, in m = n − 1 coordinates across ω.

    density  (T,)       c(x) · √(2π) σ: density of {f = 0, ∇f parallel to ω}, so that p is a normal variable
    spread   (T,)       σ, the standard deviation of p
    mean     (T, m, m)  M
    root     (T, m(m+1)/2, m(m+1)/2)  lower triangular L with Z = L ζ in the order of `entries`, ζ standard normal
    """

    density: Array
    spread: Array
    mean: Array
    root: Array


@runtime_checkable
class GaussianField(Protocol):
    """A centred Gaussian field on R^n with a kernel that is four times differentiable."""

    @property
    def dimension(self) -> int:
        """Return the number n of variables."""
        ...

    @property
    def isotropic(self) -> bool:
        """Return whether the law stays the same when the space is turned about the origin."""
        ...

    @property
    def length(self) -> float:
        """Return a length over which the law changes; only the speed depends on it."""
        ...

    def tangent_law(self, points: Array, directions: Array) -> TangentLaw:
        """Return the law along and across unit directions (T, n) at points (T, n)."""
        ...


def entries(size: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return rows and columns of the upper triangle of a symmetric matrix; the first diagonal entry comes last."""
    rows, columns = np.triu_indices(size)
    return rows[::-1], columns[::-1]


def law_of_vectors(value: Array, slope: Array, bend: Array, directions: Array) -> TangentLaw:
    """Return the law of v·ζ with gradient g·ζ and Hessian h·ζ, for v (T, c), g (T, n, c), h (T, n², c) and directions (T, n)."""
    n = directions.shape[1]
    if not value.any(axis=1).all():
        raise InputError("the field has no variance at some point; its zeros there are not random")
    size = 1 / np.linalg.norm(value, axis=1)  # the size of f moves no critical point
    along = (value * size[:, None])[:, :, None]
    slope = _without(slope * size[:, None, None], along)
    rows, columns = entries(n - 1)
    across = orthonormal_complements(directions)
    pick = (across[:, :, None, rows] * across[:, None, :, columns]).reshape(len(directions), n * n, -1)
    turned = _without(pick.transpose(0, 2, 1) @ (bend * size[:, None, None]), along)
    basis, triangle = np.linalg.qr(slope.transpose(0, 2, 1))  # Cov(∇f | f = 0) = RᵀR
    diagonal = np.abs(np.einsum("tii->ti", triangle))
    if not (diagonal > 0).all():
        raise InputError("the gradient of the field is degenerate where the field vanishes; Kac–Rice does not apply")
    lever = np.linalg.solve(triangle.transpose(0, 2, 1), directions[:, :, None])[:, :, 0]
    spread = 1 / np.linalg.norm(lever, axis=1)
    mean = np.zeros((len(directions), n - 1, n - 1))
    mean[:, rows, columns] = mean[:, columns, rows] = np.einsum("tac,tcn,tn->ta", turned, basis, lever)
    turned = _without(turned, basis)
    density = (2 * np.pi) ** (-n / 2) * spread / diagonal.prod(axis=1)
    return TangentLaw(density, spread, mean, semidefinite_root(turned @ turned.transpose(0, 2, 1)))


def _without(vectors: Array, basis: Array) -> Array:
    """Return row vectors (T, m, c) less their parts along orthonormal columns (T, c, k)."""
    return np.asarray(vectors - (vectors @ basis) @ basis.transpose(0, 2, 1))


def orthonormal_complements(directions: Array) -> Array:
    """Return orthonormal bases (T, n, n−1) of the hyperplanes across unit vectors (T, n), by Householder reflections."""
    n = directions.shape[1]
    mirror = directions.copy()
    mirror[:, 0] += np.where(directions[:, 0] < 0, -1.0, 1.0)
    scaled = mirror * (2 / (mirror**2).sum(axis=1))[:, None]
    return np.asarray((np.eye(n) - mirror[:, :, None] * scaled[:, None, :])[:, :, 1:])


def semidefinite_root(matrices: Array) -> Array:
    """Lower triangular L with L Lᵀ = A for positive semidefinite matrices (T, m, m), singular ones included."""
    rest = matrices.copy()
    root = np.zeros_like(rest)
    smallest = RANK_TOLERANCE * np.einsum("tii->ti", matrices).max(axis=1, initial=0.0)
    for j in range(rest.shape[1]):
        pivot = rest[:, j, j]
        present = pivot > smallest
        column = np.where(present[:, None], rest[:, :, j], 0.0) / np.sqrt(np.where(present, pivot, 1.0))[:, None]
        column[:, :j] = 0.0
        root[:, :, j] = column
        rest = rest - column[:, :, None] * column[:, None, :]
    return root
