"""Extreme eigenvalues of a symmetric operator from a few of its products: Lanczos with full orthogonalisation."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from polymargin.bounds.lifted.algebra import Algebra, Matrix

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Extremes:
    """The least and the largest Ritz value, which lie between the extreme eigenvalues, and how far each may be from one."""

    least: float
    largest: float
    least_error: float
    largest_error: float


def extremes(algebra: Algebra, multiply: Callable[[Matrix], Matrix], side: int, steps: int) -> Extremes:
    """From so many products at most, of an operator on vectors of this length."""
    steps = min(steps, side)
    start = np.random.default_rng(0).normal(size=side)
    basis = np.zeros((steps + 1, side))
    basis[0] = start / np.linalg.norm(start)
    vectors = algebra.put(basis)
    alphas, betas = np.zeros(steps), np.zeros(steps)
    count = steps
    for k in range(steps):
        image = multiply(vectors[k])
        alphas[k] = algebra.inner(image, vectors[k])
        for _ in range(2):
            image = image - vectors[: k + 1].T @ (vectors[: k + 1] @ image)
        betas[k] = math.sqrt(algebra.inner(image, image))
        if not betas[k] > 1e-12 * (1 + abs(alphas[k])):
            count = k + 1
            break
        vectors[k + 1] = image / float(betas[k])
    values, ritz = linalg.eigh_tridiagonal(alphas[:count], betas[: count - 1])
    errors = betas[count - 1] * np.abs(ritz[-1])
    return Extremes(float(values[0]), float(values[-1]), float(errors[0]), float(errors[-1]))
