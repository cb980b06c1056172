"""The class at a point, decided exactly where doubles cannot."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from polymargin.networks.network import Network

# Terms of the logits must stay within these sizes; their powers and quotients must not leave the range of doubles.
SMALLEST_TERM, LARGEST_TERM = 1e-150, 1e150
# Rounding noise above this share of the difference of two logits makes what doubles see of their boundary doubtful.
LARGEST_NOISE = 1e-3
# A logit ahead by this many times the noise is ahead.
CLEARLY = 100


def rounding_noise(network: Network, points: NDArray[np.float64]) -> NDArray[np.float64]:
    """About how much rounding can change a logit at points (…, n): the logits of the same network without signs, times the
    unit roundoff.

    Infinite where the terms of the logits leave the range in which doubles keep their precision.
    """
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        largest = network.term_sizes(points).max(axis=-1)
    ordinary = (largest == 0) | ((largest >= SMALLEST_TERM) & (largest <= LARGEST_TERM))
    return np.where(ordinary, 4 * float(np.finfo(np.float64).eps) * largest, np.inf)


def clear_classes(
    logits: NDArray[np.float64], noise: NDArray[np.float64]
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """The classes (p,) of the largest logits (p, k), and whether each is ahead of the second by far more than the noise (p,)."""
    labels = logits.argmax(axis=1)
    second = np.partition(logits, -2, axis=1)[:, -2]
    with np.errstate(invalid="ignore"):
        return labels, np.asarray(logits[np.arange(len(labels)), labels] - second > CLEARLY * noise)


def predicted_class(network: Network, u: NDArray[np.float64]) -> tuple[int, int | None]:
    """The class of the largest logit, and another class if the two tie exactly."""
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        (label,), (clear,) = clear_classes(network(u)[None], rounding_noise(network, u)[None])
    if clear:
        return int(label), None
    exact: list[Fraction] = network.exact_logits(u)
    largest = max(exact)
    top = [index for index, value in enumerate(exact) if value == largest]
    return top[0], top[1] if len(top) > 1 else None
