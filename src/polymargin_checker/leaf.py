"""One leaf of an exclusion proof: ranges of neurons, and bounds that go down layer by layer to a quadratic.

A bound proves γ₀ + Σ γ_i aˡ_i > 0. A deep layer is replaced by lines below, a_i z + e_i ≤ γ_i σ(z) on the range of the
neuron, which turns the sum into one over the layer below; the first layer is replaced by parabolas below, and their
sum is positive on the ball by the S-lemma. Every replacement is one inequality in one variable.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from flint import arb, arb_mat, arb_poly, ctx, fmpq

from polymargin_checker.document import fields, items
from polymargin_checker.dyadics import ball, number
from polymargin_checker.quadratic import BallQuadratic
from polymargin_checker.refusal import Refused
from polymargin_checker.univariate import Interval, nonnegative, value_range
from polymargin_checker.views import Matrix, Model, real_column, real_matrix
from polymargin_checker.work import spend


class BallProblem:
    """What all leaves share; layers are numbered from 1, lists from 0."""

    def __init__(self, model: Model, point: Sequence[fmpq], radius: fmpq) -> None:
        self.weights = [real_matrix(weights) for weights in model.weights[:-1]]
        self.biases = [real_column(bias) for bias in model.biases[:-1]]
        self.activations = [arb_poly([arb(c) for c in coefficients]) for coefficients in model.activations]
        degree, first = self.activations[0].degree(), self.weights[0]
        spend(_products(first) + first.nrows() * (degree + 1) ** 2, ctx.prec, "the first layer of an exclusion proof")
        u = arb_mat(len(point), 1, [ball(coordinate) for coordinate in point])
        self.start: list[arb] = (self.weights[0] * u + self.biases[0]).entries()
        self.shifted = [self.activations[0](arb_poly([s, 1])) for s in self.start]  # y ↦ σ¹(s + y)
        self.quadratic = BallQuadratic(model.weights[0], radius)
        self.signed_weights = [_signed_parts(weights) for weights in model.weights[1:-1]]
        self._radius = ball(radius)
        self._first = model.weights[0]

    def root_ranges(self) -> list[Interval]:
        """|y_j| ≤ r‖w_j‖, rounded outward."""
        squares = [sum((arb(w) ** 2 for w in self._first.row(j)), arb(0)) for j in range(self._first.rows)]
        ends = [(self._radius * square.sqrt()).upper() for square in squares]
        return [(-end, end) for end in ends]


class ProvedRanges:
    """Ranges of the pre-activations of all layers proved so far."""

    def __init__(self, problem: BallProblem, name: str, ranges: list[Interval]) -> None:
        self._problem = problem
        self._name = name
        self._first = ranges
        self._ranges = [[(s + low, s + high) for s, (low, high) in zip(problem.start, ranges, strict=True)]]

    def add_layer(self, layer: int, entries: Any) -> None:
        """Prove the ranges of layer ≥ 2 from those of the layer below."""
        problem = self._problem
        name = f"{self._name}, ranges of layer {layer}"
        weights, biases = problem.weights[layer - 1].tolist(), problem.biases[layer - 1].entries()
        bounds = cache(lambda: self._interval_bounds(layer))
        ranges: list[Interval] = []
        for neuron, entry in enumerate(items(entries, name, len(biases))):
            where = f"{name}, neuron {neuron}"
            low_entry, high_entry, low_bound, high_bound = items(entry, where, 4)
            low, high = ball(number(low_entry, where)), ball(number(high_entry, where))
            if not low <= high:
                raise Refused(f"{where}: the range is empty")
            if low_bound is not None:
                self.prove(low_bound, f"{where}, lower end", weights[neuron], biases[neuron] - low, layer - 1)
            elif not low <= bounds()[neuron][0]:
                raise Refused(f"{where}: interval arithmetic does not prove the lower end")
            if high_bound is not None:
                negative = [-weight for weight in weights[neuron]]
                self.prove(high_bound, f"{where}, upper end", negative, high - biases[neuron], layer - 1)
            elif not bounds()[neuron][1] <= high:
                raise Refused(f"{where}: interval arithmetic does not prove the upper end")
            ranges.append((low, high))
        self._ranges.append(ranges)

    def prove(self, bound: Any, name: str, gamma: list[arb], constant: arb, layer: int) -> None:
        """constant + Σ gamma_i aˡ_i > 0 on the leaf, or refuse."""
        fields(bound, name, ("slopes", "quadratics", "multiplier"))
        slopes = items(bound["slopes"], f"{name}, slopes", layer - 1)
        for deep, lines in zip(range(layer, 1, -1), slopes, strict=True):
            gamma, constant = self._below(f"{name}, slopes of layer {deep}", lines, gamma, constant, deep)
        self._positive_on_ball(bound, name, gamma, constant)

    def _below(self, name: str, lines: Any, gamma: list[arb], constant: arb, layer: int) -> tuple[list[arb], arb]:
        """Replace γ_i σ(z_i) by lines below; the sum is then one over the layer below."""
        problem = self._problem
        activation = problem.activations[layer - 1]
        factors: list[arb] = []
        for neuron, line in enumerate(items(lines, name, len(gamma))):
            where = f"{name}, neuron {neuron}"
            slope, offset = (ball(number(entry, where)) for entry in items(line, where, 2))
            gap = activation * gamma[neuron] - arb_poly([offset, slope])
            if not nonnegative(gap, self._ranges[layer - 1][neuron]):
                raise Refused(f"{where}: the line is not shown to lie below the activation on its range")
            factors.append(slope)
            constant += offset
        spend(_products(problem.weights[layer - 1]), ctx.prec, name)
        row = arb_mat(1, len(factors), factors)
        constant += (row * problem.biases[layer - 1])[0, 0]
        return (row * problem.weights[layer - 1]).entries(), constant

    def _positive_on_ball(self, bound: Any, name: str, gamma: list[arb], constant: arb) -> None:
        multiplier = number(bound["multiplier"], f"{name}, multiplier")
        if multiplier < 0:
            raise Refused(f"{name}: the multiplier is negative")
        p: list[arb] = []
        t: list[arb] = []
        for neuron, entry in enumerate(items(bound["quadratics"], f"{name}, quadratics", len(gamma))):
            where = f"{name}, quadratic of neuron {neuron}"
            square, linear, free = (ball(number(part, where)) for part in items(entry, where, 3))
            gap = self._problem.shifted[neuron] * gamma[neuron] - arb_poly([free, linear, square])
            if not nonnegative(gap, self._first[neuron]):
                raise Refused(f"{where}: it is not shown to lie below the activation on its range")
            p.append(square)
            t.append(linear)
            constant += free
        if not self._problem.quadratic.positive(p, t, constant, ball(multiplier)):
            raise Refused(f"{name}: the matrix of the quadratic is not shown to be positive definite")

    def _interval_bounds(self, layer: int) -> list[Interval]:
        """Interval arithmetic through one layer: the ends of σ over the ranges below, times the weights by sign."""
        problem = self._problem
        spend(4 * _products(problem.weights[layer - 1]), ctx.prec, f"{self._name}, intervals of layer {layer}")
        below = [value_range(problem.activations[layer - 2], interval) for interval in self._ranges[layer - 2]]
        low = arb_mat(len(below), 1, [interval[0] for interval in below])
        high = arb_mat(len(below), 1, [interval[1] for interval in below])
        positive, negative = problem.signed_weights[layer - 2]
        bias = problem.biases[layer - 1]
        lower = (positive * low + negative * high + bias).entries()
        upper = (positive * high + negative * low + bias).entries()
        return list(zip(lower, upper, strict=True))


def _products(weights: arb_mat) -> int:
    return int(weights.nrows() * weights.ncols())


def _signed_parts(weights: Matrix) -> tuple[arb_mat, arb_mat]:
    positive = [arb(max(value, 0)) for value in weights.values]
    negative = [arb(min(value, 0)) for value in weights.values]
    shape = (weights.rows, weights.columns)
    return arb_mat(*shape, positive), arb_mat(*shape, negative)
