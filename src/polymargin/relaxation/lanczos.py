"""Extreme eigenvalues of symmetric operators from a few of their products: Lanczos with full orthogonalisation.

Many operators of the same size at once: a GPU needs that to be busy. Nothing is looked at before the end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polymargin.relaxation.algebra import Algebra, Matrix

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Extremes:
    """The least and the largest Ritz values (B,), which lie between the extreme eigenvalues, and how far they may be from one.

    A zero may be among the values of an operator with few different eigenvalues.
    """

    least: Array
    largest: Array
    least_error: Array
    largest_error: Array


def extremes(algebra: Algebra, multiply: Callable[[Matrix], Matrix], count: int, side: int, steps: int) -> Extremes:
    """From so many products at most; `multiply` takes and returns (count, side), a vector for each operator."""
    start = np.random.default_rng(0).normal(size=side)
    small, beyond = _tridiagonal(algebra, multiply, start / np.linalg.norm(start), count, min(steps, side))
    values, ritz = np.linalg.eigh(small)
    errors = beyond[:, None] * np.abs(ritz[:, -1, :])
    return Extremes(values[:, 0], values[:, -1], errors[:, 0], errors[:, -1])


def _tridiagonal(
    algebra: Algebra, multiply: Callable[[Matrix], Matrix], start: Array, count: int, steps: int
) -> tuple[Array, Array]:
    """Operators (count,) in the spaces of their first products with the start, (steps, steps) each, and what leads out."""
    vectors = algebra.zeros((count, len(start), steps + 1))
    alphas, betas = algebra.zeros((count, steps)), algebra.zeros((count, steps))
    vectors[:, :, 0] = algebra.put(start)
    for k in range(steps):
        image = multiply(vectors[:, :, k])
        alphas[:, k] = (image * vectors[:, :, k]).sum(axis=1)
        known = vectors[:, :, : k + 1]
        for _ in range(2):
            along = (image[:, None, :] @ known).reshape(count, k + 1, 1)
            image = image - (known @ along)[:, :, 0]
        length = (image * image).sum(axis=1) ** 0.5
        betas[:, k] = length
        # An operator whose products span nothing new goes on with zeros.
        scale = (length > 1e-12 * (1 + abs(alphas[:, k]))) / (length + 1e-300)
        vectors[:, :, k + 1] = image * scale[:, None]
    diagonal, beside = algebra.get(alphas), algebra.get(betas)
    small = np.zeros((count, steps, steps))
    places = np.arange(steps)
    small[:, places, places] = diagonal
    small[:, places[1:], places[:-1]] = beside[:, :-1]
    return small, beside[:, -1]
