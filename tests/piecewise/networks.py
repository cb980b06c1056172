"""Networks that several tests share."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from polymargin.networks import Network, ReLUNetwork, SplineNetwork

# Activations as (breakpoints, pieces).
RELU = ([0.0], [[0.0], [0.0, 1.0]])
LEAKY = ([0.0], [[0.0, 0.25], [0.0, 1.0]])
SQUARED_RELU = ([0.0], [[0.0], [0.0, 0.0, 1.0]])
HARD_SWISH = ([-3.0, 3.0], [[0.0], [0.0, 0.5, 1 / 6], [0.0, 1.0]])
BUMP = ([-1.5, -0.5, 0.5, 1.5], [[0.0], [1.125, 1.5, 0.5], [0.75, 0.0, -1.0], [1.125, -1.5, 0.5], [0.0]])
CUBIC_STEP = ([-1.0, 1.0], [[-2.0], [0.0, 3.0, 0.0, -1.0], [2.0]])


def random_layers(widths: Sequence[int], seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Normal weights with variance 2 / inputs, so that activations keep their size, and biases of size one half."""
    generator = np.random.default_rng(seed)
    return [
        (generator.normal(size=(out, inputs)) * np.sqrt(2 / inputs), 0.5 * generator.normal(size=out))
        for inputs, out in pairwise(widths)
    ]


def random_relu(widths: Sequence[int], seed: int) -> Network:
    return ReLUNetwork(random_layers(widths, seed))


def random_spline(widths: Sequence[int], seed: int, activation: tuple[list[float], list[list[float]]]) -> Network:
    breakpoints, pieces = activation
    generator = np.random.default_rng(seed)
    inputs, hidden, classes = widths
    layers = [
        (generator.normal(size=(hidden, inputs)) * 2 / np.sqrt(inputs), generator.normal(size=hidden)),
        (generator.normal(size=(classes, hidden)), generator.normal(size=classes)),
    ]
    return SplineNetwork(layers, breakpoints, pieces)


def random_point(size: int, seed: int) -> np.ndarray:
    return np.random.default_rng([seed, 1]).normal(size=size)
