"""Networks made to mislead floating point, each with the true margin at one point.

Every family starts from weights that are exact numbers, so the truth is that of the very polynomial that the network is.
Polynomials in one variable are composed with a direction in up to four inputs, plane curves with two orthogonal directions of
equal length.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import flint
import numpy as np
from adversarial.truth import nearest_in_plane, nearest_root, plane_variables

import polymargin as pm

# Rows of equal length ρ, orthogonal to each other: (n, ρ, rows).
FRAMES = {
    1: (1, [[1]]),
    2: (1, [[1, 0], [0, 1]]),
    3: (3, [[1, 2, 2], [2, 1, -2]]),
    4: (2, [[1, 1, 1, 1], [1, -1, 1, -1]]),
}


@dataclass(frozen=True, eq=False)
class Case:
    """A network of two classes, a point, and the distance to the nearest tie."""

    family: str
    network: pm.PolynomialNetwork
    point: np.ndarray
    truth: float


Generator = np.random.Generator


def case(index: int, seed: int = 0) -> Case:
    """Case number `index`, of the families in turn."""
    generator = np.random.default_rng([seed, index])
    names = sorted(FAMILIES)
    while True:
        family = names[index % len(names)]
        made = FAMILIES[family](generator)
        if made is not None:
            return Case(family, *made)


Made = tuple[pm.Network, np.ndarray, float] | None


# -- one active direction ------------------------------------------------------------------------------


def _on_a_line(coefficients: list[float], weight: float, bias: float, t: float, generator: Generator) -> Made:
    """p(w·x + b) for a direction in one to four inputs; the point has w·x = weight·t."""
    inputs = int(generator.integers(1, 5))
    length, frame = FRAMES[inputs]
    row = weight * np.array(frame[0], dtype=float)
    point = np.array(frame[0], dtype=float) * t
    exact = [Fraction(c) for c in coefficients]
    place = Fraction(weight) * length**2 * Fraction(t) + Fraction(bias)
    truth = nearest_root(exact, place) / (abs(weight) * length)
    if truth == 0:
        return None
    network = pm.PolynomialNetwork([(row[None, :], [bias]), ([[1.0], [0.0]], [0.0, 0.0])], activations=coefficients)
    return network, point, truth


def _expanded(roots: list[Fraction], pairs: list[tuple[Fraction, Fraction]]) -> list[float]:
    """The coefficients of Π(t − r) Π((t − a)² + b²), rounded to doubles: the truth is that of the rounded polynomial."""
    product = [Fraction(1)]
    for factor in [[-r, Fraction(1)] for r in roots] + [[a * a + b * b, -2 * a, Fraction(1)] for a, b in pairs]:
        product = [
            sum((factor[j] * product[k - j] for j in range(len(factor)) if 0 <= k - j < len(product)), Fraction(0))
            for k in range(len(product) + len(factor) - 1)
        ]
    return [float(c) for c in product]


def cluster_of_roots(generator: Generator) -> Made:
    size = int(generator.integers(2, 6))
    spread = Fraction(2.0 ** -float(generator.integers(6, 30)))
    centre = Fraction(int(generator.integers(-8, 9)), 4)
    roots = [centre + spread * int(k) for k in generator.integers(-8, 9, size=size)]
    return _on_a_line(_expanded(roots, []), 1.0, 0.0, float(generator.integers(-16, 17)) / 8, generator)


def flat_cluster(generator: Generator) -> Made:
    """t^k + t^(k+1) − ε: k roots on a small circle."""
    k = int(generator.integers(2, 8))
    level = -(10.0 ** -float(generator.integers(4, 20)))
    return _on_a_line([level] + [0.0] * (k - 1) + [1.0, 1.0], 1.0, 0.0, 0.5, generator)


def nearly_real_pair(generator: Generator) -> Made:
    a = Fraction(int(generator.integers(-6, 7)), 4)
    b = Fraction(2.0 ** -float(generator.integers(4, 25)))
    roots = [Fraction(int(generator.integers(-12, 13)), 4)]
    return _on_a_line(_expanded(roots, [(a, b)]), 1.0, 0.0, float(generator.integers(-8, 9)) / 8, generator)


def cancellation(generator: Generator) -> Made:
    """A polynomial around a centre far away, expanded."""
    centre = int(generator.integers(20, 400))
    level = int(generator.integers(1, 20))
    degree = int(generator.integers(2, 5))
    coefficients = [float(math.comb(degree, k) * (-centre) ** (degree - k)) for k in range(degree + 1)]
    coefficients[0] -= level
    return _on_a_line(coefficients, 1.0, 0.0, centre + float(generator.integers(-20, 21)) / 4, generator)


def far_scales(generator: Generator) -> Made:
    exponent = float(generator.integers(-60, 61))
    coefficients = generator.integers(-8, 9, size=int(generator.integers(3, 6))).astype(float).tolist()
    coefficients[-1] = coefficients[-1] or 1.0
    return _on_a_line(
        coefficients, 2.0**exponent, 0.0, float(generator.integers(-8, 9)) / 4 * 2.0**-exponent, generator
    )


# -- plane curves --------------------------------------------------------------------------------------


def _in_a_plane(
    weights: np.ndarray,
    bias: np.ndarray,
    readout: np.ndarray,
    constant: float,
    activation: list[float],
    point: np.ndarray,
    generator: Generator,
    inputs: int | None = None,
) -> Made:
    """Σ a_j σ(w_j·y + b_j) + c in the plane, with y the coordinates of x along two orthogonal directions."""
    inputs = int(generator.integers(2, 5)) if inputs is None else inputs
    length, frame = FRAMES[inputs]
    rows = np.array(frame, dtype=float)
    place = rows @ rows.T @ point  # y at x = rowsᵀ·point
    if [Fraction(v) for v in place] != [length**2 * Fraction(v) for v in point]:
        return None
    outer = weights @ rows
    for j, k in np.ndindex(outer.shape):
        if Fraction(outer[j, k]) != sum(Fraction(weights[j, i]) * frame[i][k] for i in range(2)):
            return None
    truth = nearest_in_plane(_polynomial(weights, bias, readout, constant, activation), tuple(map(Fraction, place)))
    if truth is None or truth == 0:
        return None
    layers = [(outer, bias), (np.stack([readout, np.zeros(len(readout))]), [constant, 0.0])]
    return pm.PolynomialNetwork(layers, activations=activation), rows.T @ point, truth / length


def _polynomial(
    weights: np.ndarray, bias: np.ndarray, readout: np.ndarray, constant: float, activation: list[float]
) -> Any:
    x, y = plane_variables()
    total = _rational(constant) + 0 * x
    for row, b, a in zip(weights, bias, readout, strict=True):
        form = _rational(row[0]) * x + _rational(row[1]) * y + _rational(b)
        for power, c in enumerate(activation):
            if c:
                total += _rational(a) * _rational(c) * form**power
    return total


def _rational(value: float) -> Any:
    exact = Fraction(float(value))
    return flint.fmpq(exact.numerator, exact.denominator)


def _small(generator: Generator, *shape: int) -> np.ndarray:
    return generator.integers(-3, 4, size=shape).astype(float)


def _activation(generator: Generator) -> list[float]:
    return [[0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0, 1.0]][
        generator.integers(0, 4)
    ]


def _plain(generator: Generator, change: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]) -> Made:
    width = int(generator.integers(2, 4))
    weights, bias = change(_small(generator, width, 2), _small(generator, width))
    readout = _small(generator, width)
    if not weights.any() or not readout.any():
        return None
    point = generator.integers(-8, 9, size=2) / 4
    return _in_a_plane(
        weights, bias, readout, float(generator.integers(-3, 4)), _activation(generator), point, generator
    )


def small_integers(generator: Generator) -> Made:
    return _plain(generator, lambda weights, bias: (weights, bias))


def dead_input(generator: Generator) -> Made:
    weak = 2.0 ** -float(generator.integers(4, 40))
    return _plain(generator, lambda weights, bias: (weights * np.array([weak, 1.0]), bias))


def mixed_scales(generator: Generator) -> Made:
    """diag(2^a, 2^b) before, the inverse powers after: the curve is well scaled, its factors are not."""
    exponents = generator.integers(-40, 41, size=2)
    activation = [0.0] * int(generator.integers(2, 5)) + [1.0]
    degree = len(activation) - 1
    scale = 2.0 ** exponents.astype(float)
    readout = generator.choice([-2.0, -1.0, 1.0, 2.0], size=2) * scale ** (-degree)
    point = generator.integers(-8, 9, size=2) / 8
    return _in_a_plane(
        np.diag(scale), np.zeros(2), readout, float(generator.choice([-1, 1])), activation, point, generator, inputs=2
    )


def nearly_parallel(generator: Generator) -> Made:
    """Rank one, rounded to float32."""
    row, column = generator.normal(size=2), generator.normal(size=3)
    weights = np.float32(np.outer(column, row)).astype(float)
    point = generator.integers(-8, 9, size=2) / 4
    constant = float(generator.integers(-3, 4))
    return _in_a_plane(
        weights, _small(generator, 3), _small(generator, 3), constant, [0.0, 0.0, 0.0, 1.0], point, generator, inputs=2
    )


def parallel_to_the_last_bits(generator: Generator) -> Made:
    tilt = 2.0 ** -float(generator.integers(8, 44))

    def change(weights: np.ndarray, bias: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        rows = np.outer(weights[:, 0], [1.0, 1.0])
        rows[:, 1] += tilt * weights[:, 1]
        return rows, bias

    return _plain(generator, change)


def near_acnode(generator: Generator) -> Made:
    """p x² + q y² + cubic + ε: an isolated point, nothing, or a tiny oval."""
    weights = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    readout = np.array([2.0, 3.0, 0.5, 0.5]) * generator.choice([1.0, 2.0])
    level = float(generator.choice([0.0, 1.0, -1.0])) * 2.0 ** -float(generator.integers(10, 45))
    point = generator.integers(-8, 9, size=2) / 4
    return _in_a_plane(weights, np.zeros(4), readout, level, [0.0, 0.0, 1.0, 1.0], point, generator)


def isolated_points_behind_a_rotation(generator: Generator) -> Made:
    """A sum of even powers of forms with decimal weights: one point, which no double can name."""
    angle = generator.uniform(0, 2 * np.pi)
    weights = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    activation = [0.0, 0.0, 1.0] if generator.random() < 0.5 else [0.0, 0.0, 0.0, 0.0, 1.0]
    readout = generator.integers(1, 4, size=2).astype(float)
    point = generator.integers(-8, 9, size=2) / 4
    bias = generator.normal(size=2)
    truth = _distance_to_common_zero(weights, bias, point)
    layers = [(weights, bias), (np.stack([readout, np.zeros(2)]), [0.0, 0.0])]
    return (pm.PolynomialNetwork(layers, activations=activation), point, truth) if truth > 0 else None


def _distance_to_common_zero(weights: np.ndarray, bias: np.ndarray, point: np.ndarray) -> float:
    (a, b), (c, d) = [[Fraction(v) for v in row] for row in weights.tolist()]
    e, f = (-Fraction(v) for v in bias.tolist())
    determinant = a * d - b * c
    x, y = (e * d - b * f) / determinant, (a * f - e * c) / determinant
    return math.sqrt((x - Fraction(point[0])) ** 2 + (y - Fraction(point[1])) ** 2)


def nearly_flat_quadric(generator: Generator) -> Made:
    """x² ± 2^−2k y² + c: the second direction is all but gone."""
    weak = 2.0 ** -float(generator.integers(2, 40))
    weights = np.diag([1.0, weak])
    signs = generator.choice([-1.0, 1.0], size=2)
    bias = np.array([0.0, float(generator.integers(-2, 3))])
    point = generator.integers(-8, 9, size=2) / 4
    constant = float(generator.choice([-1.0, 1.0, 0.25]))
    return _in_a_plane(weights, bias, signs, constant, [0.0, 0.0, 1.0], point, generator)


def decimal_weights(generator: Generator) -> Made:
    width = int(generator.integers(2, 4))
    weights = np.round(generator.normal(size=(width, 2)), 2)
    bias, readout = np.round(generator.normal(size=width), 2), np.round(generator.normal(size=width), 2)
    point = np.round(generator.normal(size=2), 2)
    return _in_a_plane(
        weights, bias, readout, round(float(generator.normal()), 2), _activation(generator), point, generator, inputs=2
    )


def large_biases(generator: Generator) -> Made:
    """Neurons far from their zeros, whose large values cancel."""
    size = 10.0 ** float(generator.integers(1, 6))

    def change(weights: np.ndarray, bias: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return weights, bias + np.round(size)

    return _plain(generator, change)


FAMILIES: dict[str, Callable[[Generator], Made]] = {
    function.__name__: function
    for function in (
        cluster_of_roots,
        flat_cluster,
        nearly_real_pair,
        cancellation,
        far_scales,
        small_integers,
        dead_input,
        mixed_scales,
        nearly_parallel,
        parallel_to_the_last_bits,
        near_acnode,
        isolated_points_behind_a_rotation,
        nearly_flat_quadric,
        decimal_weights,
        large_biases,
    )
}
