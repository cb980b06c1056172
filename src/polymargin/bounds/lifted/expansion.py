"""A network around a point: value, linear part and nonlinear rest of every pre-activation.

All activations but the last one are quadratic.

    zˡ_j = pˡ_j + aˡ_j·δ + wˡ_j,       tˡ_j = zˡ_j − pˡ_j,       w¹ = 0.

With σ(z) = σ(p) + σ'(p) t + c t², c the coefficient of z² in σ, the next layer has

    aˡ⁺¹_i = Σ_j W_ij σ'(p_j) a_j,       wˡ⁺¹_i = Σ_j W_ij (σ'(p_j) w_j + c t_j²).

So the rest of a layer is a quadratic in δ and the rests of the layer below: nothing is lost by keeping it as a variable.
Everything here depends on the point alone, not on the rival or the radius.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.polynomial.polynomial import polyval
from numpy.typing import NDArray
from scipy import sparse

from polymargin.bounds.lifted.combinations import Combinations
from polymargin.bounds.lifted.local import LocalRows
from polymargin.bounds.view import View
from polymargin.relaxation.algebra import Algebra, Matrix, algebra_for

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ExpandedLayer:
    """One hidden layer.

    value      p (h,)
    slopes     a (h, m), in coordinates of the row space of W¹
    rise       σ'(p) (h,)
    bend       c, the coefficient of z² in σ
    weights    W (h, h below), sparse where most are zero; for the first layer those of the input in the coordinates above
    """

    value: Array
    slopes: Array
    rise: Array
    bend: float
    weights: Any

    @cached_property
    def squares(self) -> LocalRows:
        """Weighted sums of the squares (a_j·δ)²."""
        return LocalRows(self.slopes)


@dataclass(frozen=True, eq=False)
class LiftedExpansion:
    """All hidden layers of the network that the view sees, around its point.

    With `combinations` the last layer has further neurons; `without` is the same without them. `known` is for what others find
    out about it once.
    """

    view: View
    layers: tuple[ExpandedLayer, ...]
    combinations: Combinations | None = None
    without: LiftedExpansion | None = None
    known: dict[Any, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, view: View) -> LiftedExpansion:
        layers: list[ExpandedLayer] = []
        value, slopes = view.shift, view.factor
        for number in range(1, view.depth + 1):
            weights = view.first_operator
            if number > 1:
                weights, below = view.operator(number), layers[-1]
                sigma = polyval(below.value, view.activation(number - 1))
                value = weights @ sigma + view.bias(number)
                slopes = weights @ (below.rise[:, None] * below.slopes)
            coefficients = view.activation(number)
            rise = np.asarray(polyval(value, view.activation(number, 1)), dtype=np.float64)
            bend = float(coefficients[2]) if len(coefficients) > 2 else 0.0
            layers.append(ExpandedLayer(value, slopes, rise, bend, weights))
        return cls(view, tuple(layers))

    @property
    def plain(self) -> LiftedExpansion:
        return self if self.without is None else self.without

    def combined(self, combinations: Combinations) -> LiftedExpansion:
        """With combinations of the last layer's neurons as neurons of that layer, to which nobody listens."""
        last, C = self.layers[-1], combinations.weights
        stack = [last.weights, C @ last.weights]
        extended = ExpandedLayer(
            value=np.concatenate([last.value, C @ last.value]),
            slopes=np.concatenate([last.slopes, C @ last.slopes]),
            rise=np.concatenate([last.rise, np.zeros(len(C))]),
            bend=last.bend,
            weights=sparse.vstack(stack).tocsr() if sparse.issparse(last.weights) else np.concatenate(stack),
        )
        return LiftedExpansion(self.view, (*self.layers[:-1], extended), combinations, self)

    @property
    def dimension(self) -> int:
        """Coordinates of δ."""
        return int(self.view.factor.shape[1])

    @property
    def variables(self) -> int:
        """Of the lifted program: 1, δ and all rests."""
        return 1 + self.dimension + sum(len(layer.value) for layer in self.lifted)

    def rests(self, place: Array) -> list[tuple[Array, Array]]:
        """t and w of every hidden layer at δ = place."""
        states = self.view.preactivations(self.layers[0].weights @ place)
        if self.combinations is not None:
            states = [*states[:-1], np.concatenate([states[-1], self.combinations.weights @ states[-1]])]
        moved = [states[0], *(z - layer.value for z, layer in zip(states[1:], self.lifted, strict=True))]
        return [(t, t - layer.slopes @ place) for t, layer in zip(moved, self.layers, strict=True)]

    @property
    def lifted(self) -> tuple[ExpandedLayer, ...]:
        """The layers whose rests are variables: all but the first."""
        return self.layers[1:]

    @cached_property
    def algebra(self) -> Algebra:
        """Where matrices as large as the lifted program are best kept."""
        return algebra_for(self.variables)

    @cached_property
    def _first_two(self) -> tuple[Matrix, Matrix, Matrix]:
        """W¹, W¹W¹ᵀ and W² for the algebra."""
        slopes, weights = self.algebra.put(self.layers[0].slopes), self.algebra.put(self.layers[1].weights)
        return slopes, slopes @ slopes.T, weights

    def squared_curvature(self, weights: Array) -> Array:
        """Σ α_i Q_i²."""
        slopes, gram, second = self._first_two
        among = second.T @ (second * self.algebra.put(weights)[:, None])
        among = among.toarray() if hasattr(among, "toarray") else among
        return self.layers[0].bend ** 2 * self.algebra.get(slopes.T @ ((gram * among) @ slopes))


_recent: list[LiftedExpansion] = []


def expansion_at(view: View) -> LiftedExpansion:
    """The expansion around the view's point: the last one made if it is the same, with all that was computed from it."""
    for known in _recent:
        if known.view.layered is view.layered and np.array_equal(known.view.point, view.point):
            return known
    _recent[:] = [LiftedExpansion.of(view)]
    return _recent[0]


def can_lift(view: View) -> bool:
    """Whether all activations are quadratic but for the last one, which may be any polynomial; attention stays what it is."""
    deep = view.depth > 1 or view.lowering is None
    return deep and all(len(view.activation(number)) <= 3 for number in range(1, view.depth))
