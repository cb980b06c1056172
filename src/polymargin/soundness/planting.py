"""The data of one setting: points, labels, and the counterexamples that training is to plant.

    x₀ uniform in [−1, 1]ⁿ,   y a random class,   x_cex = x₀ + m·z/‖z‖,   z standard normal,   m uniform in [0.98 ε, ε].

Everything is rounded to float32, as the networks and the ONNX files are; whether a counterexample still lies in its ball and
wins there is decided afterwards in exact arithmetic.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from polymargin.networks import Network
from polymargin.soundness.settings import Setting

Array = NDArray[np.float64]
# Share of the radius at which counterexamples begin: a thin shell is harder for attacks to hit.
SHELL = 0.98


@dataclass(frozen=True, eq=False)
class PlantedData:
    """Points (m, n) with labels (m,), the unverifiable ones first, and a counterexample with its class for each of those."""

    setting: Setting
    points: Array
    labels: NDArray[np.int64]
    counterexamples: Array
    targets: NDArray[np.int64]


def attempt_seeds(setting: Setting, seed: int, attempt: int) -> list[int]:
    """Return the seeds of an attempt."""
    return [seed, zlib.crc32(setting.name.encode()), attempt]


def draw_data(setting: Setting, seed: int, attempt: int) -> PlantedData:
    """Draw the data of one attempt."""
    generator = np.random.default_rng(attempt_seeds(setting, seed, attempt))
    count, planted = setting.unverifiable + setting.clean, setting.unverifiable
    points = _float32(generator.uniform(-1.0, 1.0, (count, setting.inputs)))
    labels = generator.integers(setting.classes, size=count)
    directions = generator.normal(size=(planted, setting.inputs))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    magnitudes = generator.uniform(SHELL * setting.epsilon, setting.epsilon, (planted, 1))
    # Any other class; for two classes this is the flipped label.
    targets = (labels[:planted] + generator.integers(1, setting.classes, size=planted)) % setting.classes
    return PlantedData(setting, points, labels, _float32(points[:planted] + magnitudes * directions), targets)


def is_planted(network: Network, data: PlantedData) -> bool:
    """Return whether every point has its label and every counterexample its class, inside the ball, all in exact arithmetic."""
    radius = Fraction(data.setting.epsilon) ** 2
    near = all(squared_distance(x, u) <= radius for x, u in zip(data.counterexamples, data.points, strict=False))
    return near and all(
        _wins(network, x, int(label))
        for points, labels in ((data.points, data.labels), (data.counterexamples, data.targets))
        for x, label in zip(points, labels, strict=True)
    )


def squared_distance(x: Array, u: Array) -> Fraction:
    """Return ‖x − u‖² exactly."""
    return sum(((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(x.tolist(), u.tolist(), strict=True)), Fraction(0))


def _wins(network: Network, point: Array, label: int) -> bool:
    logits = network.exact_logits(point)
    return all(value < logits[label] for rival, value in enumerate(logits) if rival != label)


def _float32(values: Array) -> Array:
    return values.astype(np.float32).astype(np.float64)
