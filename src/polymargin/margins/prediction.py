"""The class at a point, decided exactly where doubles cannot."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from polymargin.networks.network import Network

# Terms of the logits must stay within these sizes; their powers and quotients must not leave the range of doubles.
SMALLEST_TERM, LARGEST_TERM = 1e-150, 1e150


def rounding_noise(network: Network, u: NDArray[np.float64]) -> float:
    """About how much rounding can change a logit: the logits of the same network without signs, times the unit roundoff.

    Infinite where the terms of the logits leave the range in which doubles keep their precision.
    """
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        largest = float(network.without_signs.logits(np.abs(u)).max())
    if largest and not SMALLEST_TERM <= largest <= LARGEST_TERM:
        return math.inf
    return 4 * float(np.finfo(np.float64).eps) * largest


def predicted_class(network: Network, u: NDArray[np.float64]) -> tuple[int, int | None]:
    """The class of the largest logit, and another class if the two tie exactly."""
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        logits = network(u)
        order = np.argsort(-logits, kind="stable")
        noise = rounding_noise(network, u)
    label, second = int(order[0]), int(order[1])
    if logits[label] - logits[second] > 100 * noise:
        return label, None
    exact: list[Fraction] = network.exact_logits(u)
    largest = max(exact)
    top = [index for index, value in enumerate(exact) if value == largest]
    return top[0], top[1] if len(top) > 1 else None
