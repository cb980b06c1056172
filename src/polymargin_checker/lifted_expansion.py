"""The network around the point, as lifted proofs see it.

With x = u + δ every pre-activation is value + linear part + rest, zˡ = pˡ + aˡδ + wˡ, where a¹ = W¹, aˡ⁺¹ = Wˡ⁺¹ diag(σ'(pˡ)) aˡ
and w¹ = 0. Values, linear parts and derivatives are enclosures, computed once for all rivals and radii of a certificate.

Forms are tested in coordinates of δ, or of η where δ = W¹ᵀη + δ⊥ and there are fewer neurons in the first layer than inputs: all
that is said of δ but its length depends on W¹δ = Gη alone, G = W¹W¹ᵀ, and ‖δ‖² = ηᵀGη + ‖δ⊥‖².
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

from flint import arb, arb_poly, fmpq

from polymargin_checker.dyadics import ball
from polymargin_checker.views import Matrix, Model

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


@dataclass(frozen=True, eq=False)
class LiftedCoordinates:
    """LiftedCoordinates of δ: the slopes of all layers in them, and the form that ‖δ‖² is (None: the sum of squares)."""

    around: Surroundings
    slopes: list[Any]
    metric: Any | None

    def squared_curvatures(self, theta: Any) -> Any:
        """Σ θ_i Q_i² = c² W¹ᵀ (W¹W¹ᵀ ∘ W²ᵀ diag(θ) W²) W¹ for a column θ, where w²_i = δᵀQ_iδ."""
        second, bend = self.around.layers[1].weights, self.around.layers[0].bend
        mixed = second.transpose @ second.entrywise(theta)
        return self.slopes[0].congruence(self.around.gram.entrywise(mixed)).times(bend * bend)


class Surroundings:
    """The hidden layers around the point, and what follows from them alone; `outputs` are the values of the last."""

    def __init__(self, model: Model, point: Sequence[fmpq], arithmetic: type[Any]) -> None:
        self.arithmetic, self.dimension = arithmetic, model.dimension
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
        self.outputs = values

    def _constant(self, rows: int, value: fmpq) -> Any:
        return self.arithmetic.of(rows, 1, [value] * rows)

    @cached_property
    def lengths(self) -> list[list[arb]]:
        """‖a_j‖ from above, per layer."""
        return [layer.slopes.row_norms() for layer in self.layers]

    @cached_property
    def gram(self) -> Any:
        """W¹W¹ᵀ."""
        return self.layers[0].weights @ self.layers[0].weights.transpose

    @property
    def frames(self) -> Iterator[LiftedCoordinates]:
        """The smaller space first, which is of no use where rows of W¹ depend on each other."""
        if self.layers[0].source.rows < self.dimension:
            yield self.small
        yield self.full

    @cached_property
    def full(self) -> LiftedCoordinates:
        """δ itself."""
        return LiftedCoordinates(self, [layer.slopes for layer in self.layers], None)

    @cached_property
    def small(self) -> LiftedCoordinates:
        """η with δ = W¹ᵀη + δ⊥."""
        slopes = [self.gram]
        for below, layer in pairwise(self.layers):
            slopes.append(layer.weights @ slopes[-1].entrywise(below.rise))
        first = self.layers[0].weights.transpose
        return LiftedCoordinates(self, slopes, first.form(self._constant(self.dimension, fmpq(1))))

    def squared_curvatures(self, weights: Any) -> Any:
        """Σ θ_i Q_i² over δ for a column θ ≥ 0, neuron by neuron where each sees few inputs."""
        if 2 * len(self.seen(0)[1]) > self.dimension:
            return self.full.squared_curvatures(weights)
        return self._squares.sum(weights)

    @cached_property
    def _squares(self) -> Any:
        from polymargin_checker.float_squares import WeightedSquares  # balls do not look for zeros

        neurons = range(self.layers[1].source.rows)
        return WeightedSquares(self.dimension, ((self.seen(neuron)[1], self.curvature(neuron)) for neuron in neurons))

    def mixed_squares(self, weights: Any, symmetric: bool) -> Any:
        """R with (Σ_j x_j (a_j·δ) w²_j)² ≤ ‖δ‖⁴ δᵀRδ over δ for a column x.

        It is c² W¹ᵀ (W¹W¹ᵀ ∘ Z Zᵀ) W¹ for Z = W²ᵀ diag(x) a² or, of symmetric parts, its mean with c² W¹ᵀ (K ∘ Kᵀ) W¹, K = W¹Zᵀ.
        """
        first, second = self.layers[:2]
        if self._mixed is not None:
            return self._mixed.form(weights, symmetric).times(first.bend * first.bend)
        Z = second.weights.transpose @ second.slopes.entrywise(weights)
        core = self.gram.entrywise(Z @ Z.transpose)
        if symmetric:
            crossed = first.weights @ Z.transpose
            core = (core + crossed.entrywise(crossed.transpose)).times(fmpq(1, 2))
        return first.weights.congruence(core).times(first.bend * first.bend)

    @cached_property
    def _mixed(self) -> Any | None:
        """Place by place, where neurons see few inputs."""
        if 2 * len(self.seen(0)[1]) > self.dimension:
            return None
        from polymargin_checker.float_mixed import MixedSquares  # balls do not look for zeros

        first, second = self.layers[:2]
        return MixedSquares.of(first.weights, second.weights, second.slopes)

    def row_of_second(self, neuron: int) -> Any:
        """c W²_i as a column."""
        return self.layers[1].weights.row(neuron).times(self.layers[0].bend)

    def curvature(self, neuron: int) -> Any | None:
        """Q_i as a form over the inputs that the neuron sees; None if there are none."""
        rows, columns = self.seen(neuron)
        if not columns:
            return None
        block, weights = self.layers[0].weights, self.row_of_second(neuron)
        if len(columns) < self.dimension:
            block, weights = block.part(rows, columns), weights.part(rows, [0])
        return block.form(weights)

    def seen(self, neuron: int) -> tuple[list[int], list[int]]:
        """First-layer neurons that one of the second layer listens to, and the inputs that these see; all if that is most."""
        first, second = self.layers[0].weights, self.layers[1].weights
        rows = second.support([neuron])
        if 2 * len(rows) > second.shape[1]:
            return list(range(second.shape[1])), list(range(self.dimension))
        return rows, first.support(rows)


class HiddenLayers:
    """What is asked of a network around a point: `output`·σ(z) + `constant` is B, `centre` is B(u), on the ball of a radius."""

    def __init__(self, model: Model, around: Surroundings, label: int, rival: int, radius: fmpq) -> None:
        arithmetic = around.arithmetic
        self.around, self.layers, self.arithmetic = around, around.layers, arithmetic
        self.radius, self.dimension = radius, model.dimension
        last, bias = model.weights[-1], model.biases[-1]
        difference = [_rational(a) - _rational(b) for a, b in zip(last.row(label), last.row(rival), strict=True)]
        self.output = arithmetic.of(len(difference), 1, difference)
        self.factors = [ball(factor) for factor in difference]
        self.constant = arithmetic.of(1, 1, [_rational(bias[label]) - _rational(bias[rival])])
        self.centre = self.output.transpose @ around.outputs + self.constant
        self.last = arb_poly([arb(c) for c in model.activations[-1]])


def rational_above(value: arb) -> fmpq:
    """A rational that is not below the ball."""
    mantissa, exponent = value.upper().man_exp()
    return fmpq(mantissa) * (fmpq(2) ** int(exponent))


def _rational(value: float) -> fmpq:
    return fmpq(*value.as_integer_ratio()) if isinstance(value, float) else fmpq(value)
