"""Random networks in one and two inputs against rational arithmetic: small integers, quarters, tenths and normal numbers.

Plateaus on which two classes tie identically, and classes that touch without crossing, are frequent among the first three.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from piecewise.exact_truth import in_the_plane, on_a_line
from piecewise.networks import BUMP, CUBIC_STEP, LEAKY, RELU, SQUARED_RELU

import polymargin as pm
from polymargin.networks import Network, ReLUNetwork, SplineNetwork
from polymargin.standing import Standing

HARD_TANH = ([-1.0, 1.0], [[-1.0], [0.0, 1.0], [1.0]])
TENT = ([-1.0, 0.0, 1.0], [[0.0], [1.0, 1.0], [1.0, -1.0], [0.0]])
SMOOTH_STEP = ([-4.0, 4.0], [[0.0], [0.0, 0.5, 0.125], [0.0, 1.0]])
LINEAR = [HARD_TANH, RELU, LEAKY, TENT]
CURVED = [SQUARED_RELU, SMOOTH_STEP, BUMP, CUBIC_STEP]


def numbers(generator: np.random.Generator, kind: int, *shape: int) -> np.ndarray:
    normal = generator.normal(size=shape)
    return [np.round(1.5 * normal), np.round(4 * normal) / 4, np.round(normal, 1), normal][kind]


def random_case(
    seed: int, inputs: int, activation: tuple[list[float], list[list[float]]]
) -> tuple[Network, np.ndarray]:
    generator = np.random.default_rng([seed, inputs])
    kind, hidden, classes = (int(value) for value in generator.integers([0, 1, 2], [4, 5, 4]))
    layers = [
        (numbers(generator, kind, hidden, inputs), numbers(generator, kind, hidden)),
        (numbers(generator, kind, classes, hidden), numbers(generator, kind, classes)),
    ]
    return SplineNetwork(layers, *activation), 2 * numbers(generator, kind, inputs)


def check(network: Network, u: np.ndarray, truth: float) -> bool:
    """Whether the margin is not merely bracketed; in any case nothing that is said may be wrong."""
    found = pm.margin(network, u, proof=False)
    assert found.lower <= truth * (1 + 1e-12)
    assert found.upper >= truth * (1 - 1e-12)
    if found.standing is not Standing.BRACKETED:
        assert found.radius == pytest.approx(truth, rel=1e-7)
    if 0 < truth < math.inf:
        assert pm.verify(network, u, 0.5 * truth).answer.name != "VULNERABLE"
        assert pm.verify(network, u, 1.5 * truth).answer.name != "ROBUST"
    return found.standing is not Standing.BRACKETED or math.isinf(truth)


def share_decided(seeds: range, inputs: int) -> float:
    activations = LINEAR + CURVED if inputs == 1 else LINEAR
    decided = 0
    for seed in seeds:
        network, u = random_case(seed, inputs, activations[seed % len(activations)])
        decided += check(network, u, on_a_line(network, float(u[0])) if inputs == 1 else in_the_plane(network, u))
    return decided / len(seeds)


@pytest.mark.parametrize("inputs", [1, 2])
def test_a_hundred_networks(inputs: int) -> None:
    assert share_decided(range(100), inputs) >= 0.98


@pytest.mark.slow
@pytest.mark.parametrize("inputs", [1, 2])
def test_thousands_of_networks(inputs: int) -> None:
    assert share_decided(range(100, 4100), inputs) >= 0.98


def test_relu_networks() -> None:
    for seed in range(60):
        spline, u = random_case(seed, 1 + seed % 2, RELU)
        network = ReLUNetwork([(layer.weights, layer.bias) for layer in spline.chain.layers])
        check(network, u, on_a_line(spline, float(u[0])) if len(u) == 1 else in_the_plane(spline, u))


def test_a_plateau_on_which_two_classes_tie() -> None:
    """1 − hardtanh(x) against 0: they tie from x = 1 on."""
    network = SplineNetwork([([[1.0]], [0.0]), ([[-1.0], [0.0]], [1.0, 0.0])], *HARD_TANH)
    found = pm.margin(network, [-3.0], proof=False)
    assert found.standing is Standing.NUMERICAL
    assert found.radius == 4.0
    assert pm.verify(network, [-3.0], 10.0).answer.name == "VULNERABLE"
    near = pm.verify(network, [-3.0], 3.99)
    assert (near.answer.name, near.standing, near.lower) == ("ROBUST", Standing.CERTIFIED, 3.99)


def test_a_plateau_that_rounding_hides() -> None:
    """0.1 + 0.2 − 0.3 is not zero in doubles: the plateau is a tie only in decimals, and exact arithmetic says so."""
    layers = [(np.ones((3, 2)), np.zeros(3)), ([[-0.1, -0.2, 0.3], [0.0, 0.0, 0.0]], [1e-17, 0.0])]
    network = SplineNetwork(layers, *HARD_TANH)
    u = np.array([-3.0, -3.0])
    check(network, u, in_the_plane(network, u))


def test_classes_that_touch_along_a_line() -> None:
    """3 − 3 tent(x − 1): zero on the line x = 1 alone, which is 5 away."""
    network = SplineNetwork([([[1.0, 0.0]], [-1.0]), ([[0.0], [-3.0]], [0.0, 3.0])], *TENT)
    assert pm.margin(network, [-4.0, -4.0], proof=False).radius == pytest.approx(5.0, rel=1e-9)
