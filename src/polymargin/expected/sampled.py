"""The expectation over radius, direction and Hessian by quasi-Monte Carlo: in four and more variables, and given sampled weights.

One coordinate is integrated in closed form first. The determinant is linear in the first diagonal entry of Z, and the root of the
covariance is lower triangular with that entry last, so given all other coordinates the determinant is a normal variable and
its mean absolute value is known. That removes the kinks of |det| nearly everywhere, which quasi-Monte Carlo rewards.

The spread over independently scrambled Sobol sequences gives the error.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from polymargin.expected.determinants import LARGEST_CLOSED, mean_absolute_determinant
from polymargin.expected.quadrature import Scales, frame
from polymargin.expected.tangent import Array, TangentLaw, entries

SCRAMBLINGS = 16
# Numbers in the Hessian covariances handled at once: what fits into a cache; and samples in few variables.
BATCH_NUMBERS, BATCH = 200_000, 1024
# Normal coordinates this close to 0 or 1 would be infinite.
SMALLEST_CHANCE = 1e-15

# The law at points (T, n) for directions (T, n), given further uniform coordinates (T, k).
Law = Callable[[Array, Array, Array], TangentLaw]


def sampled_expectation(
    law_at: Law, point: Array, length: float, count: int, seed: int, *, turned: bool = True, more: int = 0
) -> tuple[float, float]:
    """Return the value and three standard errors from `count` samples in each scrambling.

    `turned` says that the law has no symmetry about the origin; `more` is the number of further coordinates.
    """
    values = np.array(
        [_one_scrambling(law_at, point, length, count, turned, more, [seed, i]) for i in range(SCRAMBLINGS)]
    )
    return float(values.mean()), 3 * float(values.std(ddof=1)) / math.sqrt(SCRAMBLINGS)


def _one_scrambling(
    law_at: Law, point: Array, length: float, count: int, turned: bool, more: int, seed: list[int]
) -> float:
    from scipy.stats import qmc

    n = len(point)
    place = 1 + n if turned else 2  # radius, angle, and normals across the axis
    inner = n * (n - 1) // 2 if n - 1 > LARGEST_CLOSED else 0
    sequence = qmc.Sobol(place + inner + more, seed=np.random.default_rng(seed)).random(count)
    sequence = np.clip(sequence, SMALLEST_CHANCE, 1 - SMALLEST_CHANCE)
    scales = Scales(float(np.linalg.norm(point)), length)
    batch = max(1, min(BATCH, BATCH_NUMBERS // n**4))
    total = 0.0
    for start in range(0, count, batch):
        places, chances, others = np.split(sequence[start : start + batch], [place, place + inner], axis=1)
        angles, shares = _angles(places[:, 1], n, scales)
        radii, slopes = scales.radii(places[:, 0], angles)
        directions = _directions(angles, places[:, 2:], point)
        law = law_at(point + radii[:, None] * directions, directions, others)
        means = _given_chances(law, radii, chances) if inner else mean_absolute_determinant(law, radii)
        total += float((shares * slopes * law.density * means).sum())
    return total / count


def folded_mean(mean: Array, spread: Array) -> Array:
    """Return E|X| for X ~ N(mean, spread²)."""
    from scipy.special import erf

    safe = np.where(spread > 0, spread, 1.0)
    ratio = mean / safe
    folded = safe * math.sqrt(2 / math.pi) * np.exp(-(ratio**2) / 2) + mean * erf(ratio / math.sqrt(2))
    return np.where(spread > 0, folded, np.abs(mean))


def _given_chances(law: TangentLaw, radii: Array, chances: Array) -> Array:
    """Return E[|p| |det(p(I − rM) − rZ)|] over the last coordinate of Z, given the others and p, by uniform coordinates.

    With the weight |p| the normal variable p becomes a Rayleigh variable.
    """
    from scipy.special import ndtri

    p = law.spread * np.sqrt(-2 * np.log(chances[:, 0]))
    size = law.mean.shape[1]
    rows, columns = entries(size)
    matrix = p[:, None, None] * (np.eye(size) - radii[:, None, None] * law.mean)
    matrix[:, rows, columns] -= radii[:, None] * np.einsum("tij,tj->ti", law.root[:, :, :-1], ndtri(chances[:, 1:]))
    matrix[:, columns, rows] = matrix[:, rows, columns]
    spread = np.abs(radii * law.root[:, -1, -1] * np.linalg.det(matrix[:, 1:, 1:]))
    return math.sqrt(2 / math.pi) * law.spread * folded_mean(np.linalg.det(matrix), spread)


def _angles(chance: Array, dimension: int, scales: Scales) -> tuple[Array, Array]:
    """Return angles to −u, and dφ/dt times the area of the parallel: uniform on the sphere from nearby."""
    from scipy.special import betaincinv

    if dimension == 1:
        return np.where(chance < 0.5, 0.0, np.pi), np.full(len(chance), 2.0)
    if not scales.near:
        angles, slopes = scales.angles(chance)
        parallel = 2 * math.pi ** ((dimension - 1) / 2) / math.gamma((dimension - 1) / 2)
        return angles, slopes * parallel * np.sin(angles) ** (dimension - 2)
    half = (dimension - 1) / 2
    sphere = 2 * math.pi ** (dimension / 2) / math.gamma(dimension / 2)
    return np.arccos(2 * betaincinv(half, half, chance) - 1), np.full(len(chance), sphere)


def _directions(angles: Array, chances: Array, point: Array) -> Array:
    """Return unit vectors at the angles from −u; what turns them about it is normal, or fixed for laws that do not see it."""
    from scipy.special import ndtri

    vectors = np.zeros((len(angles), len(point)))
    if chances.shape[1]:
        normals = ndtri(chances)
        vectors[:, :-1] = normals / np.linalg.norm(normals, axis=1, keepdims=True)
    else:
        vectors[:, 0] = 1.0
    vectors[:, :-1] *= np.sin(angles)[:, None]
    vectors[:, -1] = np.cos(angles)
    return np.asarray(vectors @ frame(-point))
