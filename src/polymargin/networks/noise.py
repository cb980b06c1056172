"""How much rounding can change the logits at a point, and whether doubles can hold their terms at all."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polymargin.errors import InputError
from polymargin.networks.network import Network
from polymargin.networks.rounding import EPSILON

Array = NDArray[np.float64]

# Terms of the logits must stay within these sizes; their powers and quotients must not leave the range of doubles.
SMALLEST_TERM, LARGEST_TERM = 1e-150, 1e150
# Of the largest weight of the first layer.
SMALLEST_WEIGHT, LARGEST_WEIGHT = 1e-60, 1e60
# A logit ahead by this many times the noise is ahead: both may be off by the noise, and their difference is rounded.
CLEARLY = 4


def rounding_noise(network: Network, points: Array) -> Array:
    """Return bounds (…) of how much rounding can change a logit at points (…, n).

    Infinite where the terms of the logits leave the range in which doubles keep their precision.
    """
    return _noise(network.rounding_errors(points))


def largest_noise(network: Network, points: Array) -> float:
    """Return one bound for all points (p, n), and everything between them."""
    return float(_noise(network.largest_rounding_errors(np.maximum(points.max(axis=0), -points.min(axis=0)))))


def _noise(errors: Array) -> Array:
    largest = errors.max(axis=-1) / EPSILON
    ordinary = (largest == 0) | ((largest >= SMALLEST_TERM) & (largest <= LARGEST_TERM))
    return np.where(ordinary, EPSILON * largest, np.inf)


def check_terms(network: Network, u: Array) -> None:
    """Refuse a point at which the terms of the logits are too large."""
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        fits = bool((network.rounding_errors(u) <= EPSILON * LARGEST_TERM).all())
    if not fits:
        raise InputError(
            "terms of the logits leave the range of doubles at the point; rescale the weights or the inputs"
        )


def check_scale(network: Network) -> None:
    """Refuse first layers with which distances, or slopes of the logits, leave the range of doubles when squared."""
    largest = float(np.abs(network.input_forms.weights).max(initial=0.0))
    if not largest:
        return
    if not SMALLEST_WEIGHT <= largest <= LARGEST_WEIGHT:
        raise InputError(
            f"the largest weight of the first layer is {largest:.3g}: expected {SMALLEST_WEIGHT:g} to {LARGEST_WEIGHT:g}; "
            "rescale the inputs"
        )
    check_terms(network, np.full(network.dimension, 1 / largest))
