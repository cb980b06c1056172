"""Networks, points, weights and domains of any size, against each other and against exact arithmetic.

A public function answers or refuses with a `PolymarginError`; nothing else may leave it, and no lower bound may exceed the length
of a perturbation at which exact logits tie.
"""

from __future__ import annotations

import math
import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from problems import asked, region
from quadric.exact_nearest import nearest_distance

import polymargin as pm
from polymargin import Standing
from polymargin.errors import PolymarginError
from polymargin.regions.lengths import length_above, root_above, rounded_up

SIZES = [1.0] * 6 + [1e-300, 1e-160, 1e-50, 1e-8, 1e8, 1e50, 1e160, 1e300]
ACTIVATIONS = [[0, 0, 1.0], [0, 1.0], [0.5, -1.0, 1.0], [0, 0, 0, 1.0], [1.0, 0, 0.5, 0.25]]


def size(generator: np.random.Generator) -> float:
    return SIZES[generator.integers(len(SIZES))]


def numbers(generator: np.random.Generator, *shape: int) -> np.ndarray:
    normal = generator.normal(size=shape)
    return [np.round(1.5 * normal), normal, np.round(normal, 1)][generator.integers(3)]


def hostile_network(generator: np.random.Generator) -> Any:
    kind, n, h, c = (int(value) for value in generator.integers([0, 1, 1, 2], [6, 4, 5, 4]))
    first = (size(generator) * numbers(generator, h, n), numbers(generator, h))
    if kind < 4:
        last = (size(generator) * numbers(generator, c, h), numbers(generator, c))
        return pm.PolynomialNetwork([first, last], activations=ACTIVATIONS[generator.integers(5)])
    if kind == 4:
        middle = (numbers(generator, 2, h), numbers(generator, 2))
        return pm.PolynomialNetwork([first, middle, numbers(generator, c, 2)], activations=[0, 0, 1.0])
    return pm.pi_net([first[0], numbers(generator, h, n)], numbers(generator, c, h))


def hostile_options(generator: np.random.Generator, u: np.ndarray) -> dict[str, Any]:
    options: dict[str, Any] = {"norm": ["l2", "linf", "l1"][generator.integers(3)]}
    n = len(u)
    if generator.random() < 0.3:
        options["weights"] = np.array([size(generator) for _ in u]) * (np.abs(generator.normal(size=n)) + 0.1)
    if generator.random() < 0.3:
        reach = np.abs(generator.normal(size=n)) * size(generator)
        options["domain"] = [(u - reach, u + 1), (u, u + reach), (u, u), (-np.inf, u + reach), (u - 1e308, u + 1e308)][
            generator.integers(5)
        ]
    if generator.random() < 0.3:
        options["movable"] = sorted(generator.choice(n, size=int(generator.integers(1, n + 1)), replace=False).tolist())
    return options


def hostile_case(seed: int) -> tuple[Any, np.ndarray, dict[str, Any]]:
    """Before anything is refused."""
    generator = np.random.default_rng(seed)
    while True:
        try:
            network = hostile_network(generator)
        except PolymarginError:
            continue
        u = size(generator) * numbers(generator, network.dimension)
        return network, u, hostile_options(generator, u)


def answers(
    network: Any, u: np.ndarray, options: dict[str, Any], radius: float
) -> tuple[list[float], list[np.ndarray]]:
    """Everything that is claimed: lower bounds, and points at which a tie is claimed."""
    options = asked(**options)
    lower: list[float] = []
    points: list[np.ndarray | None] = []
    numbers = pm.Verifier(network, settings=pm.Settings(limit=500), **options)
    for ask in (
        lambda: numbers.margin(u, proof=False, timeout=1),
        lambda: pm.attack(network, u, **options),
        lambda: pm.verify(network, u, radius, timeout=1, **options),
        lambda: pm.margin(network, u, timeout=1, **options),
    ):
        try:
            found = ask()
        except PolymarginError:
            continue
        if isinstance(found, pm.Verdict):
            lower += [radius] * (found.answer.name == "ROBUST")
            points.append(found.counterexample)
        elif found is not None:
            lower.append(getattr(found, "lower", 0.0))
            points.append(found.point)
    return lower, [point for point in points if point is not None]


def check(seed: int) -> None:
    network, u, options = hostile_case(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        try:
            asked(**options)
        except PolymarginError:
            return
        lower, points = answers(network, u, options, [0.01, 0.3, 1e-20, 1e20, 1e300][seed % 5])
    try:
        near = region(network.dimension, **options)
        logits = [Fraction(value) for value in network.exact_logits(u)]
    except PolymarginError:
        return
    label = logits.index(max(logits))
    for point in points:
        for nudge in (1.0, 1 + 1e-12, 1 + 1e-9):
            x = u + nudge * (point - u)
            exact = [Fraction(value) for value in network.exact_logits(x)]
            if any(value >= exact[label] for rival, value in enumerate(exact) if rival != label):
                length = length_above(
                    near, [Fraction(a) - Fraction(b) for a, b in zip(x.tolist(), u.tolist(), strict=True)]
                )
                assert max(lower, default=0.0) <= length * (1 + 1e-9), seed


@pytest.mark.parametrize("block", range(4))
def test_every_function_answers_or_refuses(block: int) -> None:
    for seed in range(20 * block, 20 * block + 20):
        check(seed)


@pytest.mark.slow
def test_two_thousand_cases() -> None:
    for seed in range(100, 2100):
        check(seed)


def quadric_case(seed: int, spread: int) -> tuple[list[np.ndarray], np.ndarray, float]:
    """A network with one layer of squares in two inputs whose units differ by up to 2^(2 spread), and the exact margin."""
    generator = np.random.default_rng(seed)
    hidden = int(generator.integers(1, 4))
    weights, bias = generator.integers(-4, 5, (hidden, 2)), generator.integers(-3, 4, hidden)
    last, shift = generator.integers(-3, 4, (2, hidden)), generator.integers(-3, 4, 2)
    units = np.ldexp(1.0, generator.integers(-spread, spread + 1, 2))
    u = 2 * generator.normal(size=2) / units
    rows = [[Fraction(w) for w in row] for row in (weights * units).tolist()]
    factors, b = [Fraction(int(f)) for f in last[0] - last[1]], [Fraction(int(v)) for v in bias]
    every = range(hidden)
    matrix = [[sum((factors[j] * rows[j][i] * rows[j][k] for j in every), Fraction(0)) for k in (0, 1)] for i in (0, 1)]
    linear = [sum((2 * factors[j] * rows[j][i] * b[j] for j in every), Fraction(0)) for i in (0, 1)]
    constant = sum((factors[j] * b[j] ** 2 for j in every), Fraction(int(shift[0] - shift[1])))
    truth = nearest_distance(matrix, linear, constant, [Fraction(value) for value in u.tolist()])
    return [weights * units, bias.astype(float), last.astype(float), shift.astype(float)], u, truth


@pytest.mark.parametrize("spread", [0, 60, 300, 900])
def test_quadrics_whose_inputs_have_any_units(spread: int) -> None:
    decided = 0
    for seed in range(60):
        (weights, bias, last, shift), u, truth = quadric_case(seed, spread)
        network = pm.PolynomialNetwork([(weights, bias), (last, shift)], activations=[0, 0, 1.0])
        try:
            found = pm.margin(network, u, proof=False)
        except pm.InputError:
            assert spread == 900  # terms beyond all doubles
            continue
        assert found.lower <= truth * (1 + 1e-13)
        assert found.upper >= truth * (1 - 1e-13)
        if found.standing is not Standing.BRACKETED:
            assert found.radius == pytest.approx(truth, rel=1e-8, abs=0)
        decided += found.standing is not Standing.BRACKETED
    assert decided >= 40


@pytest.mark.parametrize("norm", ["l2", "linf", "l1"])
def test_sizes_that_are_refused(norm: str) -> None:
    net = pm.PolynomialNetwork([[[1.0, 2.0], [3.0, 4.0]], [[1.0, 2.0], [3.0, -4.0]]], activations=[0, 0, 1.0])
    with pytest.raises(pm.InputError, match="range of doubles at the point"):
        pm.margin(net, [1e300, 1.0], proof=False, **asked(norm=norm))
    with pytest.raises(pm.InputError, match="weights from 1e-300 to 1"):
        pm.margin(net, [0.3, 1.0], proof=False, **asked(norm=norm, weights=[1e-300, 1]))
    with pytest.raises(pm.InputError, match="an end beyond"):
        pm.margin(net, [0.3, 1.0], proof=False, **asked(norm=norm, domain=(-1e308, 1e308)))
    with pytest.raises(pm.InputError, match="radius=1e"):
        pm.verify(net, [0.3, 1.0], 1e300, **asked(norm=norm))
    large = pm.PolynomialNetwork([[[1e200, 2.0], [3.0, 4.0]], [[1.0, 2.0], [3.0, -4.0]]], activations=[0, 0, 1.0])
    for ask in (pm.attack,):
        with pytest.raises(pm.InputError, match="largest weight of the first layer"):
            ask(large, [0.3, 1.0], **asked(norm=norm))


@pytest.mark.parametrize("norm", ["l2", "linf", "l1"])
def test_a_domain_of_one_point(norm: str) -> None:
    net = pm.PolynomialNetwork([[[1.0, 2.0], [3.0, 4.0]], [[1.0, 2.0], [3.0, -4.0]]], activations=[0, 0, 1.0])
    options = asked(norm=norm, domain=([0.3, 1.0], [0.3, 1.0]))
    assert pm.verify(net, [0.3, 1.0], 0.1, **options).answer.name == "ROBUST"
    assert math.isinf(pm.margin(net, [0.3, 1.0], proof=False, **options).radius)
    assert pm.attack(net, [0.3, 1.0], **options) is None


def test_lengths_of_any_size_are_rounded_up() -> None:
    generator = np.random.default_rng(0)
    for _ in range(200):
        value = Fraction(int(generator.integers(1, 10**9)), int(generator.integers(1, 10**9)))
        square = value**2 * Fraction(2) ** int(generator.integers(-2200, 2100))
        root = root_above(square)
        assert math.isinf(root) or Fraction(root) ** 2 >= square
        assert root < 1e-300 or math.isinf(root) or Fraction(root) ** 2 <= square * (1 + Fraction(1, 2**50))
    assert rounded_up(Fraction(10) ** 400) == math.inf
    assert rounded_up(Fraction(1, 3)) >= Fraction(1, 3)
