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
from polymargin_checker.model import Matrix, Model

Range = tuple[fmpq, fmpq]


@dataclass(frozen=True)
class Layer:
    """p as balls, a (h, n), σ'(p) as a column, the coefficient c of z² in σ, and the weights."""

    value: list[arb]
    slopes: Any
    rise: Any
    bend: fmpq
    weights: Any
    source: Matrix


class Expansion:
    """The hidden layers around the point; `output`·σ(z) + `constant` is B, and `centre` is B(u)."""

    def __init__(
        self, model: Model, point: Sequence[fmpq], label: int, rival: int, radius: fmpq, arithmetic: type[Any]
    ) -> None:
        self.arithmetic, self.radius, self.dimension = arithmetic, radius, model.dimension
        self.layers: list[Layer] = []
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
            self.layers.append(Layer(z.entries(), slopes, rise, c2, weights, matrix))
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


def _rational(value: float) -> fmpq:
    return fmpq(*value.as_integer_ratio()) if isinstance(value, float) else fmpq(value)
