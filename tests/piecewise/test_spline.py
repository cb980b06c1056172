"""Spline networks: the same answers as ReLU and polynomial networks where they are one, and dense sampling elsewhere."""

from __future__ import annotations

import math

import numpy as np
import pytest
from piecewise.networks import (
    BUMP,
    CUBIC_STEP,
    HARD_SWISH,
    LEAKY,
    RELU,
    SQUARED_RELU,
    random_point,
    random_spline,
)
from piecewise.standings import expected_standing
from scipy.optimize import brentq, minimize

import polymargin as pm
from polymargin.networks import Network, ReLUNetwork, SplineNetwork
from polymargin.piecewise.spline.minorants import minorants

CURVED = {"squared ReLU": SQUARED_RELU, "hard swish": HARD_SWISH, "bump": BUMP, "cubic step": CUBIC_STEP}


def lead(network: Network, label: int, x: np.ndarray) -> np.ndarray:
    """f_label minus the largest other logit: its zeros are the boundary of the class."""
    logits = network(x)
    return logits[..., label] - np.delete(logits, label, axis=-1).max(axis=-1)


def first_zero_along_line(network: Network, u: float, label: int) -> float:
    """One input: the nearest sign change on a fine grid to both sides, refined by bisection."""
    best = math.inf
    for side in (1.0, -1.0):
        steps = np.linspace(0.0, 40.0, 100_001)
        behind = np.flatnonzero(lead(network, label, u + side * steps[:, None]) <= 0)
        if behind.size:
            low, high = steps[behind[0] - 1], steps[behind[0]]
            best = min(
                best,
                brentq(lambda t, s=side: float(lead(network, label, np.array([u + s * t]))), low, high, xtol=1e-14),
            )
    return best


def nearest_by_sampling(network: Network, u: np.ndarray, label: int, reach: float) -> float:
    """Two or more inputs: first crossings on many rays, the best of them improved by a local optimiser."""
    generator = np.random.default_rng(0)
    directions = generator.normal(size=(2000, len(u)))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    steps = np.linspace(0.0, reach, 200)
    behind = lead(network, label, u + steps[:, None, None] * directions) <= 0
    first = np.where(behind.any(axis=0), steps[np.argmax(behind, axis=0)], math.inf)
    best = math.inf
    for index in np.argsort(first)[:5]:
        if not np.isfinite(first[index]):
            continue
        found = minimize(
            lambda d: float(d @ d),
            first[index] * directions[index],
            jac=lambda d: 2 * d,
            constraints={"type": "ineq", "fun": lambda d: -float(lead(network, label, u + d))},
            method="SLSQP",
            options={"maxiter": 200, "ftol": 1e-14},
        )
        if lead(network, label, u + found.x) <= 1e-9:
            best = min(best, float(np.linalg.norm(found.x)))
    return min(best, float(first.min()))


@pytest.mark.parametrize("name", CURVED)
def test_one_input_against_a_fine_grid(name: str) -> None:
    for seed in range(5):
        network, u = random_spline([1, 5, 3], seed, CURVED[name]), random_point(1, seed)
        found = pm.margin(network, u, proof=False)
        assert found.standing is expected_standing(found)
        expected = first_zero_along_line(network, float(u[0]), found.label)
        assert found.radius == pytest.approx(expected, abs=1e-9) or (math.isinf(expected) and found.radius > 40)


@pytest.mark.parametrize("inputs", [2, 3])
@pytest.mark.parametrize("name", CURVED)
def test_against_dense_sampling(name: str, inputs: int) -> None:
    for seed in range(3):
        network, u = random_spline([inputs, 5, 3], seed, CURVED[name]), random_point(inputs, seed)
        found = pm.margin(network, u, proof=False)
        assert found.standing is expected_standing(found)
        if math.isinf(found.radius):
            assert math.isinf(nearest_by_sampling(network, u, found.label, 30.0))
            continue
        # Nothing nearer was missed; that the point is a tie, exact arithmetic says.
        assert found.radius <= nearest_by_sampling(network, u, found.label, 1.3 * found.radius) + 1e-9
        logits = network.exact_logits(found.point)
        assert logits[found.rival] >= logits[found.label]


@pytest.mark.parametrize("widths", [[1, 6, 2], [2, 8, 3], [4, 7, 3]])
def test_relu_as_a_spline(widths: list[int]) -> None:
    for seed in range(3):
        spline, u = random_spline(widths, seed, RELU), random_point(widths[0], seed)
        relu = ReLUNetwork([(layer.weights, layer.bias) for layer in spline.chain.layers])
        mine, theirs = pm.margin(spline, u, proof=False), pm.margin(relu, u, proof=False)
        assert mine.radius == pytest.approx(theirs.radius, rel=1e-9)


def test_leaky_relu_as_two_relus() -> None:
    """ρ(z) − ¼ρ(−z) is the leaky activation: a network with twice as many neurons."""
    for seed in range(3):
        spline, u = random_spline([3, 5, 3], seed, LEAKY), random_point(3, seed)
        first, last = spline.chain.layers
        twice = ReLUNetwork(
            [
                (np.vstack([first.weights, -first.weights]), np.concatenate([first.bias, -first.bias])),
                (np.hstack([last.weights, -0.25 * last.weights]), last.bias),
            ]
        )
        assert pm.margin(spline, u, proof=False).radius == pytest.approx(
            pm.margin(twice, u, proof=False).radius, rel=1e-9
        )


@pytest.mark.parametrize("coefficients", [[0.0, 0.0, 1.0], [0.5, -1.0, 0.0, 1.0]])
def test_equal_pieces_are_a_polynomial_network(coefficients: list[float]) -> None:
    """A breakpoint between equal pieces is none: the margin is that of critical points on the whole boundary."""
    for seed in range(3):
        spline = random_spline([2, 3, 3], seed, ([-0.3, 0.4], [coefficients] * 3))
        layers = [(layer.weights, layer.bias) for layer in spline.chain.layers]
        u = random_point(2, seed)
        whole = pm.margin(pm.PolynomialNetwork(layers, activations=coefficients), u, proof=False)
        assert pm.margin(spline, u, proof=False).radius == pytest.approx(whole.radius, rel=1e-8)


def test_nearest_points_on_a_face_of_a_region() -> None:
    """The tie leaves a kink of the activation: the nearest point is where two curves meet, critical on neither."""
    # f₀ − f₁ = 1 − x² − 4 ρ(y)² ... with σ(z) = z² for z ≥ 0 and z for z < 0: a kink at 0.
    activation = ([0.0], [[0.0, 1.0], [0.0, 0.0, 1.0]])
    layers = [([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0]), ([[-1.0, 4.0], [0.0, 0.0]], [1.0, 0.0])]
    network = SplineNetwork([tuple(layer) for layer in layers], *activation)
    found = pm.margin(network, [0.2, 0.3], proof=False)
    # Within y < 0 the tie is 1 − σ(x) + 4y = 0; its part with x ≥ 0 is the parabola y = (x² − 1)/4 up to the corner (1, 0).
    x = np.linspace(-6.0, 6.0, 2_000_001)
    square = np.where(x >= 0, x**2, x)
    below = np.where(square - 1 <= 0, (square - 1) / 4, np.sqrt(np.maximum((square - 1) / 4, 0)))
    expected = float(np.hypot(x - 0.2, below - 0.3).min())
    assert found.radius == pytest.approx(expected, abs=1e-9)
    from_the_corner = pm.margin(network, [1.1 - 1.0, 0.9], proof=False)
    expected = float(np.hypot(x - 0.1, below - 0.9).min())
    assert from_the_corner.radius == pytest.approx(expected, abs=1e-9)


def test_a_circle_around_the_point() -> None:
    """Every point of the circle is nearest; the region of the wall x ≤ 0 cuts it."""
    activation = ([0.0], [[0.0, 0.0, 1.0], [0.0, 0.0, 1.0]])
    network = SplineNetwork([np.eye(2), ([[-1.0, -1.0], [0.0, 0.0]], [4.0, 0.0])], *activation)
    assert pm.margin(network, [0.0, 0.0], proof=False).radius == pytest.approx(2.0, rel=1e-12)
    half = SplineNetwork([np.eye(2), ([[-1.0, -1.0], [0.0, 0.0]], [4.0, 0.0])], [0.0], [[0.0], [0.0, 0.0, 1.0]])
    assert pm.margin(half, [0.0, 0.0], proof=False).radius == pytest.approx(2.0, rel=1e-12)


def test_minorants_lie_below_and_touch() -> None:
    generator = np.random.default_rng(0)
    for activation in (*CURVED.values(), RELU, LEAKY):
        network = random_spline([2, 40, 2], 0, activation)
        low = generator.uniform(-4, 3, size=40)
        high = low + generator.uniform(0, 4, size=40) * (generator.uniform(size=40) > 0.1)
        factors = generator.normal(size=40)
        slopes, constants = minorants(network.stages[0], factors, low, high, generator.uniform(-4, 4, size=40))
        z = low + np.linspace(0, 1, 2001)[:, None] * (high - low)
        room = factors * network.stages[0].activate(z) - slopes * z - constants
        assert room.min() >= -1e-12
        assert room.min(axis=0).max() <= 1e-3  # it touches, up to the grid


def test_slopes_are_derivatives() -> None:
    (stage,) = random_spline([1, 2, 2], 0, CUBIC_STEP).stages
    z = np.array([-2.0, -0.5, 0.3, 0.99, 4.0])
    step = 1e-6
    assert np.allclose(stage.slopes(z), (stage.activate(z + step) - stage.activate(z - step)) / (2 * step), atol=1e-6)


@pytest.mark.parametrize(
    ("layers", "breakpoints", "pieces", "message"),
    [
        ([np.eye(2)] * 2, [1.0, 0.0], [[0.0]] * 3, "increasing"),
        ([np.eye(2)] * 2, [0.0], [[0.0]] * 3, "one more piece"),
        ([np.eye(2)] * 2, [0.0], [[1.0], [0.0, 1.0]], "jumps from 1 to 0"),
        ([np.eye(2)] * 2, [0.0], [[0.0], [0.0, np.inf]], "finite number"),
        ([np.eye(2)] * 2, [], [[0.0]], "expected 1 to 1000 increasing"),
    ],
)
def test_bad_networks(layers: list, breakpoints: list, pieces: list, message: str) -> None:
    with pytest.raises(pm.InputError, match=message):
        SplineNetwork(layers, breakpoints, pieces)


def test_deep_splines_have_bounds_without_polyhedra() -> None:
    deep = SplineNetwork([np.eye(2)] * 3, [0.0], [[0.0], [0.0, 0.0, 1.0]])
    assert deep([2.0, -1.0]).tolist() == [16.0, 0.0]
    found = pm.margin(deep, [2.0, -1.0], timeout=5)  # (x₊²)₊² against (y₊²)₊²: both are zero at (0, −1)
    assert 0 < found.lower <= 2 <= found.upper
    assert found.method == "bounds"


def test_exact_logits_and_fingerprint() -> None:
    network = random_spline([3, 5, 2], 0, HARD_SWISH)
    x = np.random.default_rng(0).normal(size=3)
    assert np.allclose([float(value) for value in network.exact_logits(x)], network(x), rtol=1e-13)
    assert network.fingerprint != random_spline([3, 5, 2], 0, SQUARED_RELU).fingerprint
    assert repr(network) == "Network(3-5-2, piecewise of degree 2, pieces of degree 2)"
