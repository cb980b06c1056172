"""The network around the point, as lifted proofs see it.

With x = u + δ every pre-activation is value + linear part + rest, zˡ = pˡ + aˡδ + wˡ, where a¹ = W¹, aˡ⁺¹ = Wˡ⁺¹ diag(σ'(pˡ)) aˡ
and w¹ = 0. Values, linear parts and derivatives are enclosures, computed once for all leaves of a proof.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from flint import arb, arb_poly, fmpq

from polymargin_checker.dyadics import ball
from polymargin_checker.enclosures import Balls
from polymargin_checker.model import Matrix, Model

Range = tuple[fmpq, fmpq]
Ranges = tuple[list[Range], ...]
"""One list per lifted layer: 2, …, L."""


@dataclass(frozen=True)
class HiddenLayer:
    """p as balls, a (h, n), σ'(p) as a column, the coefficient c of z² in σ, and the weights."""

    value: list[arb]
    slopes: Any
    rise: Any
    bend: fmpq
    weights: Any
    source: Matrix


class HiddenLayers:
    """The hidden layers around the point; `output`·σ(z) + `constant` is B, and `centre` is B(u)."""

    def __init__(
        self, model: Model, point: Sequence[fmpq], label: int, rival: int, radius: fmpq, arithmetic: type[Any]
    ) -> None:
        self.arithmetic, self.radius, self.dimension = arithmetic, radius, model.dimension
        self.layers: list[HiddenLayer] = []
        values = arithmetic.of(len(point), 1, list(point))
        for index, (matrix, bias, coefficients) in enumerate(
            zip(model.weights[:-1], model.biases[:-1], model.activations, strict=True)
        ):
            weights = arithmetic.of(matrix.rows, matrix.columns, matrix.values)
            z = weights @ values + arithmetic.of(len(bias), 1, list(bias))
            c0, c1, c2 = (_rational(c) for c in (*coefficients, 0.0, 0.0)[:3])
            rise = z.times(2 * c2) + self._constant(matrix.rows, c1)
            slopes = weights
            if index:
                below = self.layers[-1]
                slopes = weights @ below.slopes.entrywise(below.rise)
            self.layers.append(HiddenLayer(z.entries(), slopes, rise, c2, weights, matrix))
            values = z.entrywise(z).times(c2) + z.times(c1) + self._constant(matrix.rows, c0)
        last, bias = model.weights[-1], model.biases[-1]
        difference = [_rational(a) - _rational(b) for a, b in zip(last.row(label), last.row(rival), strict=True)]
        self.output = arithmetic.of(len(difference), 1, difference)
        self.factors = [ball(factor) for factor in difference]
        self.constant = arithmetic.of(1, 1, [_rational(bias[label]) - _rational(bias[rival])])
        self.centre = self.output.transpose @ values + self.constant
        self.last = arb_poly([arb(c) for c in model.activations[-1]])

    def _constant(self, rows: int, value: fmpq) -> Any:
        return self.arithmetic.of(rows, 1, [value] * rows)

    @cached_property
    def gram(self) -> Any:
        """W¹W¹ᵀ."""
        return self.layers[0].weights @ self.layers[0].weights.transpose

    def squared_curvatures(self, theta: list[fmpq]) -> Any:
        """Σ θ_i Q_i² = c² W¹ᵀ (W¹W¹ᵀ ∘ W²ᵀ diag(θ) W²) W¹, where w²_i = δᵀQ_iδ."""
        first, second = self.layers[0], self.layers[1]
        mixed = second.weights.transpose @ second.weights.entrywise(self.arithmetic.of(len(theta), 1, theta))
        result = first.weights.transpose @ (self.gram.entrywise(mixed) @ first.weights)
        return result.times(first.bend * first.bend)

    @cached_property
    def sum_of_squared_curvatures(self) -> Any:
        """Σ Q_i², neuron by neuron where each sees few inputs."""
        first, second = self.layers[0], self.layers[1]
        if 2 * len(self.seen(0)[1]) > self.dimension:
            return self.squared_curvatures([fmpq(1)] * second.source.rows)
        total = self.arithmetic.of(self.dimension, self.dimension, [0.0] * self.dimension**2)
        for neuron in range(second.source.rows):
            rows, columns = self.seen(neuron)
            weights = self.arithmetic.of(len(rows), 1, [second.source.row(neuron)[k] for k in rows]).times(first.bend)
            curvature = first.weights.part(rows, columns).weighted_squares(weights)
            total = total.add_at(columns, curvature @ curvature)
        return total

    def seen(self, neuron: int) -> tuple[list[int], list[int]]:
        """First-layer neurons that one of the second layer listens to, and the inputs that these see; all if that is most."""
        second = self.layers[1].source
        rows = [k for k, weight in enumerate(second.row(neuron)) if weight]
        if 2 * len(rows) > second.columns or self.arithmetic is Balls:
            return list(range(second.columns)), list(range(self.dimension))
        return rows, sorted(set().union(*(self._inputs[k] for k in rows)))

    @cached_property
    def _inputs(self) -> list[list[int]]:
        first = self.layers[0].source
        return [[c for c, weight in enumerate(first.row(k)) if weight] for k in range(first.rows)]


def _rational(value: float) -> fmpq:
    return fmpq(*value.as_integer_ratio()) if isinstance(value, float) else fmpq(value)
