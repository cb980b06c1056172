"""The class of a point, in exact arithmetic where it is close."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from polymargin.class_names import class_name
from polymargin.errors import InputError
from polymargin.networks.network import Network
from polymargin.networks.noise import CLEARLY, check_scale, check_terms, rounding_noise

Array = NDArray[np.float64]


def label_at(network: Network, u: Array) -> int:
    """Return the class with the largest logit, in exact arithmetic where it is close; refuse a tie."""
    check_scale(network)
    check_terms(network, u)
    noise = float(rounding_noise(network, u))
    with np.errstate(all="ignore"):
        values = network(u)
        first, second = np.argsort(-values, kind="stable")[:2]
        if np.isfinite(noise) and values[first] - values[second] > CLEARLY * noise:
            return int(first)
    logits: list[Fraction] = network.exact_logits(u)
    largest = max(logits)
    top = [index for index, value in enumerate(logits) if value == largest]
    if len(top) > 1:
        tied = " and ".join(class_name(network, number) for number in top[:2])
        raise InputError(f"classes {tied} tie exactly at the point: the margin is 0")
    return top[0]
