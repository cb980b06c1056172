"""Start systems whose solutions are known in closed form.

**Critical equations.** For B₀(x) = Σ a_j x_j^D − c and u = 0 they read x_j (1 + λ D a_j x_j^{D−2}) = 0.
Choose the support S of x. On it all a_j x_j^{D−2} agree, so x_j = μ ζ_j a_j^{−1/(D−2)} with (D−2)-th roots of
unity ζ_j (the first one may be taken as 1) and B₀ = 0 leaves D values of μ. The number of solutions,
Σ_k C(m,k) (D−2)^{k−1} D = D Σ_{i<m} (D−1)^i, is the generic number of critical points: no path is wasted.

**Total degree.** For a square system of degrees d_i: the equations x_i^{d_i} = c_i.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, combinations, product

import numpy as np
from numpy.typing import NDArray

ComplexArray = NDArray[np.complex128]


@dataclass(frozen=True, eq=False)
class CriticalStart:
    """Coefficients of B₀ and all critical points (x, λ) of the distance from the origin to {B₀ = 0}."""

    slopes: ComplexArray
    level: complex
    points: ComplexArray


def critical_start(
    dimension: int, degree: int, generator: np.random.Generator, sizes: NDArray[np.float64] | None = None
) -> CriticalStart:
    """The start system for critical equations of degree ≥ 2 in `dimension` variables.

    `sizes` are wanted magnitudes of the coefficients a_j, so that B₀ resembles the target; 1 by default.
    """
    slopes = _near_unit_circle(dimension, generator)
    if sizes is not None:
        slopes = slopes * sizes
    level = complex(_near_unit_circle(1, generator)[0])
    rays = _quadric_supports(slopes) if degree == 2 else _higher_supports(slopes, degree)
    # On the ray μ·r the equation B₀ = 0 is μ^D Σ a_j r_j^D = c.
    radius = (level / (_power(rays, degree) @ slopes)) ** (1 / degree)
    turns = np.exp(2j * np.pi * np.arange(degree) / degree)
    lengths = radius[:, None] * turns
    points = np.empty((len(rays), degree, dimension + 1), dtype=np.complex128)
    np.multiply(rays[:, None, :], lengths[:, :, None], out=points[..., :-1])
    # λ from any coordinate of the support: 1 + λ D a_j x_j^{D−2} = 0.
    pivot = np.abs(rays).argmax(axis=1)
    coordinate = rays[np.arange(len(rays)), pivot][:, None] * lengths
    points[..., -1] = -1.0 / (degree * slopes[pivot][:, None] * coordinate ** (degree - 2))
    return CriticalStart(slopes, level, points.reshape(-1, dimension + 1))


def _power(numbers: ComplexArray, exponent: int) -> ComplexArray:
    """By products: NumPy takes complex powers through logarithms, a hundred times as long."""
    result = numbers
    for _ in range(exponent - 1):
        result = result * numbers
    return result


def _quadric_supports(slopes: ComplexArray) -> ComplexArray:
    return np.eye(len(slopes), dtype=np.complex128)


def _higher_supports(slopes: ComplexArray, degree: int) -> ComplexArray:
    dimension = len(slopes)
    base = slopes ** (-1.0 / (degree - 2))
    roots = np.exp(2j * np.pi * np.arange(degree - 2) / (degree - 2))
    rays = []
    for size in range(1, dimension + 1):
        signs = np.array([(1.0, *others) for others in product(roots, repeat=size - 1)])
        flat = np.fromiter(chain.from_iterable(combinations(range(dimension), size)), dtype=np.intp)
        supports = flat.reshape(-1, 1, size)
        block = np.zeros((len(supports), len(signs), dimension), dtype=np.complex128)
        np.put_along_axis(
            block, np.broadcast_to(supports, (len(supports), *signs.shape)), signs * base[supports], axis=2
        )
        rays.append(block.reshape(-1, dimension))
    return np.concatenate(rays)


@dataclass(frozen=True, eq=False)
class TotalDegreeStart:
    """Right-hand sides c of x_i^{d_i} = c_i and all Π d_i solutions."""

    levels: ComplexArray
    points: ComplexArray


def total_degree_start(degrees: list[int], generator: np.random.Generator) -> TotalDegreeStart:
    levels = _near_unit_circle(len(degrees), generator)
    columns = [
        level ** (1 / degree) * np.exp(2j * np.pi * np.arange(degree) / degree)
        for level, degree in zip(levels, degrees, strict=True)
    ]
    grid = np.meshgrid(*columns, indexing="ij")
    return TotalDegreeStart(levels, np.stack([axis.ravel() for axis in grid], axis=1))


def _near_unit_circle(count: int, generator: np.random.Generator) -> ComplexArray:
    """Generic complex numbers of comparable size."""
    return np.asarray(generator.uniform(0.7, 1.3, count) * np.exp(2j * np.pi * generator.random(count)))


def random_phase(generator: np.random.Generator) -> complex:
    """The γ of the gamma trick: a random point of the unit circle."""
    return complex(np.exp(2j * np.pi * generator.random()))
