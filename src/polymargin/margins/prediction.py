"""The class at a point, decided exactly where doubles cannot."""

from __future__ import annotations

from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from polymargin.networks.network import Network
from polymargin.networks.noise import CLEARLY, SMALLEST_TERM, largest_noise, rounding_noise

Array = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]

# Rounding noise above this share of the difference of two logits makes what doubles see of their boundary doubtful.
LARGEST_NOISE = 1e-3


def clear_classes(network: Network, points: Array) -> tuple[NDArray[np.intp], Mask, Mask]:
    """Return the classes with the largest logits, which of them lead clearly, and which logits are close, at points (p, n).

    A clear lead (p,) is far above the noise; a logit (p, k) is close if doubles hardly distinguish it from the largest.

    Most points are so far ahead that a bound of the noise at all of them will do; the others get their own.
    """
    with np.errstate(all="ignore"):
        logits = network(points)
        labels = logits.argmax(axis=1)
        by_class = np.ascontiguousarray(logits.T)  # along the first axis NumPy takes the least of all points at once
        ahead = by_class.max(axis=0) - by_class
        own = labels, np.arange(len(labels))
        ahead[own] = np.inf
        gaps = ahead.min(axis=0)
        ahead[own] = 0.0
        clear = gaps > 2 * np.maximum(largest_noise(network, points) / LARGEST_NOISE, SMALLEST_TERM)
        cancelled = np.zeros(logits.shape, dtype=bool)
        if (doubted := np.flatnonzero(~clear)).size:
            noise, least = rounding_noise(network, points[doubted]), ahead[:, doubted].T
            clear[doubted] = np.isfinite(noise) & (gaps[doubted] > CLEARLY * noise)
            cancelled[doubted] = (least != 0) & (noise[:, None] > LARGEST_NOISE * least)
    return labels, clear, cancelled


def predicted_class(network: Network, u: Array) -> tuple[int, int | None]:
    """Return the class of the largest logit, and another class if the two tie exactly."""
    (label,), (clear,), _ = clear_classes(network, u[None])
    if clear:
        return int(label), None
    exact: list[Fraction] = network.exact_logits(u)
    largest = max(exact)
    top = [index for index, value in enumerate(exact) if value == largest]
    return top[0], top[1] if len(top) > 1 else None
