"""Four and more variables: the expectation over the Hessian, the radius and the direction by quasi-Monte Carlo.

One coordinate is integrated in closed form first. The determinant is linear in the first diagonal entry of Z, and the root of the
covariance is lower triangular with that entry last, so given all other coordinates the determinant is a normal variable and
its mean absolute value is known. That removes the kinks of |det| nearly everywhere, which quasi-Monte Carlo rewards.

The spread over independently scrambled Sobol sequences gives the error.
"""

from __future__ import annotations

import math

import numpy as np

from polymargin.expected.fields import Array, GaussianField
from polymargin.expected.quadrature import Scales, frame
from polymargin.expected.tangent import TangentLaw, entries, tangent_law

SCRAMBLINGS = 16
# Numbers in the Hessian covariances handled at once: what fits into a cache.
BATCH_NUMBERS = 200_000
# Normal coordinates this close to 0 or 1 would be infinite.
SMALLEST_CHANCE = 1e-15


def folded_mean(mean: Array, spread: Array) -> Array:
    """Return E|X| for X ~ N(mean, spread²)."""
    from scipy.special import erf

    safe = np.where(spread > 0, spread, 1.0)
    ratio = mean / safe
    folded = safe * math.sqrt(2 / math.pi) * np.exp(-(ratio**2) / 2) + mean * erf(ratio / math.sqrt(2))
    return np.where(spread > 0, folded, np.abs(mean))


def mean_over_last(base: Array, factor: Array, root: Array, normals: Array) -> Array:
    """Return E|det(base − factor · Z)| over the last coordinate of Z = root · ζ, given the others as normals (T, k−1)."""
    size = base.shape[1]
    rows, columns = entries(size)
    shift = factor[:, None] * np.einsum("tij,tj->ti", root[:, :, :-1], normals)
    matrix = base.copy()
    matrix[:, rows, columns] -= shift
    matrix[:, columns, rows] = matrix[:, rows, columns]
    spread = np.abs(factor * root[:, -1, -1] * np.linalg.det(matrix[:, 1:, 1:]))
    return folded_mean(np.linalg.det(matrix), spread)


def sampled_expectation(
    field: GaussianField, point: Array, radius: float, tolerance: float, most_samples: int, seed: int
) -> tuple[float, float, int]:
    """Return value, three standard errors, and samples used, doubled until the error is below tolerance · value."""
    count = 1024
    while True:
        values = np.array([_one_scrambling(field, point, radius, count, [seed, i]) for i in range(SCRAMBLINGS)])
        value = float(values.mean())
        error = 3 * float(values.std(ddof=1)) / math.sqrt(SCRAMBLINGS)
        if error <= tolerance * value or 2 * count * SCRAMBLINGS > most_samples:
            return value, error, count * SCRAMBLINGS
        count *= 2


def _one_scrambling(field: GaussianField, point: Array, radius: float, count: int, seed: list[int]) -> float:
    from scipy.stats import qmc

    n = field.dimension
    place_coordinates = 2 if field.isotropic else 1 + n  # radius, angle, and normals across the axis
    sequence = qmc.Sobol(place_coordinates + n * (n - 1) // 2, seed=np.random.default_rng(seed)).random(count)
    sequence = np.clip(sequence, SMALLEST_CHANCE, 1 - SMALLEST_CHANCE)
    batch = max(1, BATCH_NUMBERS // n**4)
    scales = Scales(float(np.linalg.norm(point)), field.length, radius)
    total = 0.0
    for start in range(0, count, batch):
        place, chances = np.split(sequence[start : start + batch], [place_coordinates], axis=1)
        angles, weights = sampled_angles(place[:, 1], n, scales)
        radii, slopes = scales.radii(place[:, 0], angles)
        directions = directions_at(angles, place[:, 2:], point)
        law = tangent_law(field, point + radii[:, None] * directions, directions)
        total += float((weights * slopes * conditional_mean(law, radii, chances)).sum())
    return total / count


def conditional_mean(law: TangentLaw, radii: Array, chances: Array) -> Array:
    """Return density times E[|p| |det|]: with the weight |p| the normal variable p becomes a Rayleigh variable."""
    from scipy.special import ndtri

    p = law.spread * np.sqrt(-2 * np.log(chances[:, 0]))
    straight = np.eye(law.mean.shape[1]) - radii[:, None, None] * law.mean
    determinant = mean_over_last(p[:, None, None] * straight, radii, law.root, ndtri(chances[:, 1:]))
    return np.asarray(law.density * math.sqrt(2 / math.pi) * law.spread * determinant)


def sampled_angles(chance: Array, dimension: int, scales: Scales) -> tuple[Array, Array]:
    """Return angles to −u, and dφ/dt times the area of the parallel: uniform on the sphere from nearby."""
    from scipy.special import betaincinv

    if dimension == 1:
        return np.where(chance < 0.5, 0.0, np.pi), np.full(len(chance), 2.0)

    if scales.distance > scales.length and scales.everywhere:
        angles, slopes = scales.angles(chance)
        parallel = 2 * math.pi ** ((dimension - 1) / 2) / math.gamma((dimension - 1) / 2)
        return angles, slopes * parallel * np.sin(angles) ** (dimension - 2)
    half = (dimension - 1) / 2
    sphere = 2 * math.pi ** (dimension / 2) / math.gamma(dimension / 2)
    return np.arccos(2 * betaincinv(half, half, chance) - 1), np.full(len(chance), sphere)


def directions_at(angles: Array, chances: Array, point: Array) -> Array:
    """Return unit vectors at the angles from −u; turned about it by normals, or fixed for laws without that angle."""
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
