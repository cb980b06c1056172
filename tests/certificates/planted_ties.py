"""Networks whose nearest tie is known as a rational number, with ties that touch, nearly touch, or have a high order.

Two kinds. B = p(w·x + b) has its ties on hyperplanes where p has planted roots; the distance to a hyperplane in a norm, inside
a box, is a few steps of rational arithmetic. B = Σ (w_i·x + b_i)² with as many forms as inputs touches zero at one point. All
numbers are small dyadic rationals, so that networks of doubles hold them exactly.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from problems import asked

import polymargin as pm

NORMS = ("linf", "l1", "l2")
FAMILIES = ("touching", "high order", "near double", "crossing", "no tie", "point")


@dataclass(frozen=True)
class PlantedTie:
    """A network at a point; `power` of the distance to the nearest tie is rational: the distance itself, or its square for L2."""

    family: str
    network: pm.PolynomialNetwork
    point: list[float]
    norm: str
    power: Fraction | None  # None: no tie
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def distance(self) -> float:
        if self.power is None:
            return float("inf")
        return float(self.power) ** 0.5 if self.norm == "l2" else float(self.power)

    def allows(self, radius: float) -> bool:
        """Whether no tie is nearer than the radius."""
        return self.power is None or self._power(radius) <= self.power

    def reached_by(self, radius: float) -> bool:
        """Whether a tie is at most so far away."""
        return self.power is not None and self._power(radius) >= self.power

    def _power(self, radius: float) -> Fraction:
        exact = Fraction(radius)
        return exact * exact if self.norm == "l2" else exact


def planted_tie(number: int) -> PlantedTie:
    """The same for the same number."""
    generator = random.Random(number)
    family, norm = FAMILIES[number % len(FAMILIES)], NORMS[number // len(FAMILIES) % len(NORMS)]
    size = generator.choice((1, 2, 2, 3))
    point = [_dyadic(generator) for _ in range(size)]
    boxed = generator.random() < 0.6
    rooms = [abs(_dyadic(generator)) + Fraction(1, 4) if boxed else None for _ in range(2 * size)]
    low = [None if room is None else x - room for x, room in zip(point, rooms[:size], strict=True)]
    high = [None if room is None else x + room for x, room in zip(point, rooms[size:], strict=True)]
    options: dict[str, Any] = {"norm": norm}
    if boxed:
        options["domain"] = ([float(v) for v in low], [float(v) for v in high])  # type: ignore[arg-type]
    if family == "point":
        network, tie = _touching_at_a_point(generator, point, low, high)
        steps = [abs(a - b) for a, b in zip(tie, point, strict=True)]
        power = {"linf": max(steps), "l1": sum(steps), "l2": sum(s * s for s in steps)}[norm]
        return PlantedTie(family, network, list(map(float, point)), norm, Fraction(power), options)
    weights = [_dyadic(generator) or Fraction(1) for _ in range(size)]
    bias = _dyadic(generator)
    at = bias + sum(w * x for w, x in zip(weights, point, strict=True))
    coefficients, roots = _polynomial(generator, family, at)
    network = pm.PolynomialNetwork(
        [([list(map(float, weights))], [float(bias)]), ([[1.0], [0.0]], None)],
        activations=[list(map(float, coefficients))],
    )
    assert [Fraction(c) for c in network.chain.activations[0]] == coefficients
    powers = [_to_hyperplane(norm, weights, root - at, point, low, high) for root in roots]
    power = min((p for p in powers if p is not None), default=None)
    return PlantedTie(family, network, list(map(float, point)), norm, power, options)


def _polynomial(generator: random.Random, family: str, at: Fraction) -> tuple[list[Fraction], list[Fraction]]:
    """Coefficients of p with p(at) > 0, and its real roots that are near."""
    root = at + (_dyadic(generator) or Fraction(1))
    factors: list[list[Fraction]]
    if family == "touching":
        factors, roots = [[-root, Fraction(1)]] * 2, [root]
    elif family == "high order":
        factors, roots = [[-root, Fraction(1)]] * generator.randint(3, 6), [root]
    elif family == "crossing":
        other = at + (_dyadic(generator) or Fraction(1))
        factors, roots = [[-root, Fraction(1)], [-other, Fraction(1)]], [root, other]
    else:
        apart = Fraction(1, 2 ** generator.choice((6, 10, 14, 18)))
        middle = [root * root, -2 * root, Fraction(1)]
        if family == "near double":
            middle[0] -= apart * apart
            roots = [root - apart, root + apart]
        else:
            middle[0] += apart * apart
            roots = []
        factors = [middle]
    product = [Fraction(1)]
    for factor in factors:
        product = _times(product, factor)
    value = sum(c * at**k for k, c in enumerate(product))
    if value == 0:
        return _polynomial(generator, family, at)
    return [c if value > 0 else -c for c in product], roots


def _touching_at_a_point(
    generator: random.Random, point: list[Fraction], low: list[Any], high: list[Any]
) -> tuple[pm.Network, list[Fraction]]:
    """Σ (w_i·(x − tie))² with independent rows w_i: a lower triangle with ones on the diagonal, in both orders."""
    size = len(point)
    tie = [
        (a + b) / 2
        if a is not None and b is not None and (a + b) / 2 != x
        else x + Fraction(generator.randint(1, 6), 4)
        for x, a, b in zip(point, low, high, strict=True)
    ]
    for i in range(size):
        if low[i] is not None and not low[i] <= tie[i] <= high[i]:
            tie[i] = high[i]
    rows = [[_dyadic(generator) if j < i else Fraction(int(i == j)) for j in range(size)] for i in range(size)]
    biases = [-sum(w * x for w, x in zip(row, tie, strict=True)) for row in rows]
    layers: list[Any] = [
        ([list(map(float, row)) for row in rows], list(map(float, biases))),
        ([[1.0] * size, [0.0] * size], None),
    ]
    network = pm.PolynomialNetwork(layers, degree=2)
    assert [Fraction(b) for b in network.chain.layers[0].bias.tolist()] == biases
    return network, tie


def _to_hyperplane(
    norm: str, weights: list[Fraction], gap: Fraction, point: list[Fraction], low: list[Any], high: list[Any]
) -> Fraction | None:
    """The least length of δ with w·δ = gap inside the box, squared for L2; None if the box does not reach so far."""
    gap, signs = abs(gap), [1 if (w > 0) == (gap > 0) else -1 for w in weights]
    pieces = [
        (abs(w), None if end is None else abs(end - x))
        for w, x, end in (
            (w, x, b if sign > 0 else a) for w, x, a, b, sign in zip(weights, point, low, high, signs, strict=True)
        )
        if w
    ]
    if all(room is not None for _, room in pieces) and sum(w * room for w, room in pieces) < gap:
        return None
    return {"linf": _uniform, "l1": _greedy, "l2": _projected}[norm](pieces, gap)


def _uniform(pieces: list[Any], gap: Fraction) -> Fraction:
    """All move by s as far as they can."""
    return _rising(pieces, gap, lambda w: Fraction(1))


def _greedy(pieces: list[Any], gap: Fraction) -> Fraction:
    """The heaviest first."""
    length = Fraction(0)
    for w, room in sorted(pieces, key=lambda piece: -piece[0]):
        step = gap / w if room is None else min(room, gap / w)
        length, gap = length + step, gap - w * step
        if gap == 0:
            return length
    raise AssertionError


def _projected(pieces: list[Any], gap: Fraction) -> Fraction:
    """All move by λw as far as they can."""
    multiplier = _rising(pieces, gap, lambda w: w)
    return sum(((s := multiplier * w) if room is None else (s := min(room, multiplier * w))) * s for w, room in pieces)


def _rising(pieces: list[Any], gap: Fraction, speed: Callable[[Fraction], Fraction]) -> Fraction:
    """The least s with Σ w·min(room, s·speed(w)) = gap."""
    ends = sorted({room / speed(w) for w, room in pieces if room is not None})

    def reach(s: Fraction) -> Fraction:
        return sum((w * (s * speed(w) if room is None else min(room, s * speed(w))) for w, room in pieces), Fraction(0))

    before = Fraction(0)
    for end in ends:
        if reach(end) >= gap:
            break
        before = end
    slope = sum((w * speed(w) for w, room in pieces if room is None or room / speed(w) > before), Fraction(0))
    return before + (gap - reach(before)) / slope


def _times(a: list[Fraction], b: list[Fraction]) -> list[Fraction]:
    product = [Fraction(0)] * (len(a) + len(b) - 1)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            product[i + j] += x * y
    return product


def _dyadic(generator: random.Random) -> Fraction:
    return Fraction(generator.randint(-12, 12), 4)


def wrong_words(planted: PlantedTie, factor: float, timeout: float = 5.0) -> tuple[str, str]:
    """The answer of `verify` at a share of the truth, and what is wrong about it; empty if nothing is."""
    radius = factor * (planted.distance if np.isfinite(planted.distance) else 2.0)
    verdict = pm.verify(planted.network, planted.point, radius, timeout=timeout, **asked(**planted.options))
    answer = verdict.answer.name
    if answer == "ROBUST" and not planted.allows(radius):
        return answer, f"{planted.family}, {planted.options}: ROBUST at {radius}, the tie is at {planted.distance}"
    if answer == "VULNERABLE" and not planted.reached_by(radius):
        return answer, f"{planted.family}, {planted.options}: VULNERABLE at {radius}, the tie is at {planted.distance}"
    if not planted.allows(verdict.lower):
        return answer, f"{planted.family}, {planted.options}: lower {verdict.lower}, the tie is at {planted.distance}"
    return answer, ""
