"""Laws for a critical point in a given direction: the law of the gradient along it and of the Hessian across it.

The theorem counts zeros of F(x, λ) = (f(x), x − u + λ∇f(x)) by the integral over (x, λ) of

    |λ|^{−n} p(0, (u−x)/λ) E[ |vᵀ adj(I + λ∇²f) v|  given f(x) = 0, ∇f(x) = v = (u−x)/λ ].

Write x = u + rω with |ω| = 1. Where ∇f = pω the multiplier is λ = −r/p, and vᵀ adj(A) v = p² det(PᵀAP) for an orthonormal basis
P of the hyperplane across ω. Given f = 0 and ∇f = pω the Hessian is normal with a mean that is linear in p, so across ω it is
pM + Z with a fixed matrix M and a centred Gaussian matrix Z independent of p. With dλ = (r/p²) dp the integral becomes

    ∫dω ∫dr  c(x) ∫dp |p| e^{−p²/2σ²} E|det(p(I − rM) − rZ)|,      c = (2π)^{−(n+1)/2} (k det S)^{−1/2},

where k = Var f, S = Cov(∇f | f = 0) and σ² = 1/(ωᵀS⁻¹ω). The factor r^{n−1} of polar coordinates has cancelled the singularity
at x = u, and λ is gone: what remains of it is the normal variable p.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from polymargin.errors import InputError
from polymargin.expected.fields import Array, GaussianField, Jets

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
class ClosedLaw(Protocol):
    """A field that knows the law in closed form: far from the origin the covariances are nearly singular."""

    def tangent_law(self, points: Array, directions: Array) -> TangentLaw:
        """Return the law along and across unit directions (T, n) at points (T, n)."""
        ...


def entries(size: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return rows and columns of the upper triangle of a symmetric matrix; the first diagonal entry comes last."""
    rows, columns = np.triu_indices(size)
    return rows[::-1], columns[::-1]


def tangent_law(field: GaussianField, points: Array, directions: Array) -> TangentLaw:
    """Return the law at points (T, n) for unit directions (T, n)."""
    if isinstance(field, ClosedLaw):
        return field.tangent_law(points, directions)
    jets, n = field.jets(points), field.dimension
    if not (jets.value > 0).all():
        raise InputError("the field has no variance at some point; its zeros there are not random")
    determinant = np.linalg.det(S := _given_zero(jets))
    if not (determinant > 0).all():
        raise InputError("the gradient of the field is degenerate where the field vanishes; Kac–Rice does not apply")
    inverse = np.linalg.inv(S)
    spread = 1 / np.sqrt(np.einsum("ti,tij,tj->t", directions, inverse, directions))
    # The entries (a, b) of the Hessian across ω are PᵀHP: sums of n² entries of H with these coefficients.
    rows, columns = entries(n - 1)
    across = orthonormal_complements(directions)
    pick = (across[:, :, None, rows] * across[:, None, :, columns]).reshape(len(points), n * n, -1)
    turned = pick.transpose(0, 2, 1)
    H_f = turned @ jets.hessian_value.reshape(-1, n * n, 1)
    H_v = (
        turned @ jets.hessian_gradient.reshape(-1, n * n, n)
        - H_f * (jets.value_gradient / jets.value[:, None])[:, None]
    )
    H_H = (
        turned @ jets.hessian.reshape(-1, n * n, n * n) @ pick
        - H_f * H_f.transpose(0, 2, 1) / jets.value[:, None, None]
    )
    slope = H_v @ inverse
    covariance = H_H - slope @ H_v.transpose(0, 2, 1)
    mean = np.zeros((len(points), n - 1, n - 1))
    mean[:, rows, columns] = mean[:, columns, rows] = np.einsum("tak,tk->ta", slope, directions)
    constant = (2 * np.pi) ** (-(n + 1) / 2) / np.sqrt(jets.value * determinant)
    return TangentLaw(constant * np.sqrt(2 * np.pi) * spread, spread, mean, semidefinite_root(covariance))


def _given_zero(jets: Jets) -> Array:
    """Return Cov(∇f | f = 0)."""
    share = jets.value_gradient / jets.value[:, None]
    return np.asarray(jets.gradient - share[:, :, None] * jets.value_gradient[:, None, :])


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
