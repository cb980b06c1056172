"""Start systems whose solutions are known in closed form.

**Critical equations.** For B₀(x) = Σ a_j x_j^D − c and u = 0 they read x_j (1 + λ D a_j x_j^{D−2}) = 0.
Choose the support S of x. On it all a_j x_j^{D−2} agree, so x_j = μ r_j with r_j = ζ_j a_j^{−1/(D−2)}, (D−2)-th roots of
unity ζ_j (the first one may be taken as 1), and B₀ = 0 leaves D values of μ. Rays r are counted by their first coordinate that
is not zero and, for each after it, one of D − 1 digits: absent, or which root. The number of solutions, D Σ_{i<m} (D−1)^i, is the
generic number of critical points: no path is wasted.

**Total degree.** For a square system of degrees d_i: the equations x_i^{d_i} = c_i.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polymargin.continuation.parts import for_each, slices

ComplexArray = NDArray[np.complex128]

# Rays that are made at a time.
AT_A_TIME = 1 << 14


@dataclass(frozen=True, eq=False)
class CriticalStart:
    """Coefficients of B₀ and all critical points (x, λ) of the distance from the origin to {B₀ = 0}."""

    slopes: ComplexArray
    level: complex
    points: ComplexArray


def critical_start(dimension: int, degree: int, generator: np.random.Generator) -> CriticalStart:
    """Return the start system of critical equations of degree ≥ 2 in `dimension` variables, with random a and c."""
    slopes = near_unit_circle(dimension, generator)
    return critical_start_of(slopes, complex(near_unit_circle(1, generator)[0]), degree)


def critical_start_of(slopes: ComplexArray, level: complex, degree: int, threads: int = 1) -> CriticalStart:
    """Return the start system of given a and c."""
    dimension = len(slopes)
    # The length of a quadric's rays, the axes, is free.
    sizes = slopes ** (-1.0 / (degree - 2)) if degree > 2 else np.ones(dimension)
    roots = np.exp(2j * np.pi * np.arange(degree - 2) / max(degree - 2, 1))
    choices = sizes[:, None] * np.append(0, roots)  # what a coordinate of a ray may be, by its digit
    counts = [(degree - 1) ** (dimension - 1 - first) for first in range(dimension)]
    turns = np.exp(2j * np.pi * np.arange(degree) / degree)
    points = np.empty((sum(counts), degree, dimension + 1), dtype=np.complex128)

    def fill(part: tuple[int, slice]) -> None:
        """Return rays whose first nonzero coordinate has this number, and the others the digits of a number in this slice."""
        first, numbers = part
        rays = np.zeros((numbers.stop - numbers.start, dimension), dtype=np.complex128)
        rays[:, first] = sizes[first]
        rest = np.arange(numbers.start, numbers.stop)
        for axis in range(first + 1, dimension):
            rest, digit = np.divmod(rest, degree - 1)
            rays[:, axis] = choices[axis][digit]
        # On the ray μ·r all a_j x_j^{D−2} are s μ^{D−2}, so that B₀ = 0 is s μ^D Σ r_j² = c, and 1 + λ D s μ^{D−2} = 0.
        common = 1 if degree > 2 else slopes[first]
        lengths = (level / common / np.einsum("ij,ij->i", rays, rays))[:, None] ** (1 / degree) * turns
        before = sum(counts[:first])
        mine = points[before + numbers.start : before + numbers.stop]
        np.multiply(rays[:, None, :], lengths[:, :, None], out=mine[..., :-1])
        mine[..., -1] = -1.0 / (degree * common * lengths ** (degree - 2))

    parts = ((first, part) for first, count in enumerate(counts) for part in slices(count, AT_A_TIME))
    for_each(parts, fill, threads if len(points) > AT_A_TIME else 1)
    return CriticalStart(slopes, level, points.reshape(-1, dimension + 1))


@dataclass(frozen=True, eq=False)
class TotalDegreeStart:
    """Right-hand sides c of x_i^{d_i} = c_i and all Π d_i solutions."""

    levels: ComplexArray
    points: ComplexArray


def total_degree_start(degrees: list[int], generator: np.random.Generator) -> TotalDegreeStart:
    """Return the total-degree start system with random levels."""
    levels = near_unit_circle(len(degrees), generator)
    columns = [
        level ** (1 / degree) * np.exp(2j * np.pi * np.arange(degree) / degree)
        for level, degree in zip(levels, degrees, strict=True)
    ]
    grid = np.meshgrid(*columns, indexing="ij")
    return TotalDegreeStart(levels, np.stack([axis.ravel() for axis in grid], axis=1))


def near_unit_circle(count: int, generator: np.random.Generator) -> ComplexArray:
    """Return generic complex numbers of comparable size."""
    return np.asarray(generator.uniform(0.7, 1.3, count) * np.exp(2j * np.pi * generator.random(count)))


def random_phase(generator: np.random.Generator) -> complex:
    """Return the γ of the gamma trick, a random point of the unit circle."""
    return complex(np.exp(2j * np.pi * generator.random()))
