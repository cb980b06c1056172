"""The lifted relaxation of f_label − f_rival on a ball, as a semidefinite program.

Variables are δ and the rests w of all deeper layers (`expansion.py`); B is quadratic in them, and so is everything known:

    w_i = Σ_j W_ij (σ'(p_j) w_j + c t_j²)          a multiplier ν_i of any sign,
    (w_i − l_i)(u_i − w_i) ≥ 0                     κ_i ≥ 0,
    r² − ‖δ‖² ≥ 0                                  μ ≥ 0,
    Σ_i α_i (r²‖Q_i δ‖² − (w²_i)²) ≥ 0             θ ≥ 0: Cauchy and Schwarz on w²_i = δᵀQ_iδ, for chosen α ≥ 0,
    (t¹_k − l_k)(u_k − t¹_k) ≥ 0                   η_k ≥ 0, for first-layer neurons whose range was cut,
    2 Σ_j x_j (a²_j·δ) w²_j + r b‖δ‖² + (r/b)δᵀRδ ≥ 0   θ ≥ 0, for chosen x and b (`cubic_cut.py`),
    (v_k·δ)(s_k − Σ_i C_ki w_i) = 0                any sign, for combinations s of the last layer's rests (`combinations.py`).

If B − γ minus these terms times their multipliers is a positive semidefinite form in (1, δ, w), then B ≥ γ on the ball: the
best γ is Shor's bound. All variables are scaled to the unit ball and the interval [−1, 1].

The relaxation knows δδᵀ and w, but of w² only what ranges say, which costs most where B is concave in w. One cut with
α the negative parts of its curvatures there (`cuts.cut_weights`) gives nearly all that a multiplier for every neuron would, and
Σ α_i Q_i² = W¹ᵀ (W¹W¹ᵀ ∘ W²ᵀ diag(α) W²) W¹ c² is a single matrix.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from polymargin.bounds.lifted.assembly import assembled
from polymargin.bounds.lifted.cubic_cut import CubicCut
from polymargin.bounds.lifted.expansion import LiftedExpansion
from polymargin.bounds.lifted.local import LocalRows
from polymargin.bounds.lifted.top import Top
from polymargin.relaxation.program import SemidefiniteProgram

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Multipliers:
    """What proves a bound, for the variables as they are: μ, per lifted layer ν and κ, θα summed over the cuts, η, how much
    of the products in each direction combinations take over, and θx and θb of the cubic cut."""

    ball: float
    equalities: tuple[Array, ...]
    intervals: tuple[Array, ...]
    cuts: Array
    first: Array
    exchanges: Array
    cubic: tuple[Array, float] | None = None


@dataclass(frozen=True, eq=False)
class LiftedRelaxation:
    """A quadratic in the t^L of the last layer on the ball of this radius.

    top      its coefficients
    size     what a bound is compared with: the functional at the point itself
    ranges   (h, 2) for every lifted layer
    cuts     (k, h₂): the weights α of each cut
    first    ranges of first-layer neurons that are narrower than the ball makes them
    worst    the worst δ known: a second guess at the multipliers starts there
    cubic    the cut for products of the second layer's rests, which is not the last; None if there is none
    """

    expansion: LiftedExpansion
    top: Top
    size: float
    radius: float
    ranges: tuple[Array, ...]
    cuts: Array
    first: Mapping[int, tuple[float, float]] = field(default_factory=dict)
    worst: Array | None = None
    cubic: CubicCut | None = None

    @cached_property
    def middles(self) -> list[Array]:
        return [limits.mean(axis=1) for limits in self.ranges]

    @cached_property
    def halves(self) -> list[Array]:
        return [(limits[:, 1] - limits[:, 0]) / 2 for limits in self.ranges]

    @cached_property
    def places(self) -> list[slice]:
        """Where the rests of each lifted layer are among (1, δ, w)."""
        ends = np.cumsum([1 + self.expansion.dimension, *map(len, self.ranges)])
        return [slice(int(a), int(b)) for a, b in pairwise(ends)]

    @cached_property
    def unknowns(self) -> list[tuple[slice, slice]]:
        """Where ν and κ of each lifted layer are among the unknowns γ, μ, ν, κ, …, θ."""
        result, first = [], 2
        for limits in self.ranges:
            middle, end = first + len(limits), first + 2 * len(limits)
            result.append((slice(first, middle), slice(middle, end)))
            first = end
        return result

    @property
    def cut_place(self) -> slice:
        start = self.unknowns[-1][1].stop if self.unknowns else 2
        return slice(start, start + len(self.cuts))

    @property
    def cubic_place(self) -> slice:
        return slice(self.cut_place.stop, self.cut_place.stop + (self.cubic is not None))

    @property
    def first_place(self) -> slice:
        return slice(self.cubic_place.stop, self.cubic_place.stop + len(self.first))

    @property
    def exchange_place(self) -> slice:
        count = 0 if self.expansion.combinations is None else len(self.expansion.combinations.weights)
        return slice(self.first_place.stop, self.first_place.stop + count)

    @property
    def unknown_count(self) -> int:
        return int(self.exchange_place.stop)

    @cached_property
    def first_halves(self) -> Array:
        return np.array([(high - low) / 2 for low, high in self.first.values()])

    @cached_property
    def cut_scales(self) -> Array:
        """What makes the block of w of a cut about one."""
        return np.asarray(self.cuts @ self.halves[0] ** 2) if len(self.cuts) else np.zeros(0)

    @cached_property
    def program(self) -> SemidefiniteProgram:
        return assembled(self)

    @cached_property
    def exchange_scales(self) -> Array:
        """What makes the matrix of an exchange about one."""
        count = self.exchange_place.stop - self.exchange_place.start
        return self.radius * self.halves[-1][len(self.halves[-1]) - count :] if count else np.zeros(0)

    def products(self, y: Array) -> Array:
        """Rows g_i (h, m) of the last layer: its rests meet δ in 2 Σ (g_i·δ) w_i."""
        slopes = self.expansion.layers[-1].slopes
        result = self.top.square[:, None] * slopes
        combinations = self.expansion.combinations
        if combinations is None:
            return result
        return combinations.exchanged(result, slopes, self._shares(y))

    def _shares(self, y: Array) -> Array:
        """How much of the products in each direction combinations take over."""
        return np.asarray(y[self.exchange_place] / self.exchange_scales / 2)

    def reduced(self, y: Array) -> Array:
        """Z(y) as a form in (1, δ/r), the rests minimised over: they meet each other nowhere, so that is a division each.

        Infinite where Z is not convex in a rest.
        """
        m, r = self.expansion.dimension, self.radius
        terms = self.terms(y)
        if terms is None:
            return np.full((1 + m, 1 + m), np.inf)
        corner, border, weights = terms
        inner = y[1] * np.eye(m)
        for squares, factors in weights:
            inner += r * r * squares.weighted(factors)
        for index, multiplier in enumerate(y[self.cut_place] / self.cut_scales):
            inner -= multiplier * r**4 * self.squared_curvatures[index]
        if self.cubic is not None:
            inner -= self._cubic_share(y) * r * r * self.cubic.inner(r)
        result = np.empty((1 + m, 1 + m))
        result[0, 0], result[1:, 1:] = corner, inner
        result[0, 1:] = result[1:, 0] = border
        return result

    def terms(self, y: Array) -> tuple[float, Array, list[tuple[LocalRows, Array]]] | None:
        """Corner and border of that form, and the factors of the squares in it, (a_j·δ)² of every layer and (g_j·δ)² where
        they differ; None where it is not convex."""
        r, layers = self.radius, self.expansion.layers
        corner, border = self.top.constant - y[0] - y[1], r * (layers[-1].slopes.T @ self.top.linear) / 2
        outers = self._outers(y)
        squares = [*(layer.bend * outer for layer, outer in zip(layers, outers, strict=False)), self.top.square]
        slopes = [*(layer.rise * outer for layer, outer in zip(layers, outers, strict=False)), self.top.linear]
        theta = (y[self.cut_place] / self.cut_scales) @ self.cuts if len(self.cuts) else np.zeros(0)
        for row, (neuron, (low, high)) in enumerate(self.first.items(), start=self.first_place.start):
            eta = y[row] / ((high - low) / 2) ** 2
            squares[0][neuron] += eta
            corner += eta * low * high
            border -= eta * (low + high) / 2 * r * layers[0].slopes[neuron]
        weights = [(layers[0].squares, squares[0])]
        for k, ((nu, kappa), middle, half) in enumerate(zip(self.unknowns, self.middles, self.halves, strict=True)):
            layer, square, slope = layers[k + 1], squares[k + 1], slopes[k + 1]
            own = square * half**2 + y[kappa]
            pull = square * middle * half + (slope * half + y[nu]) / 2
            corner += float(square @ middle**2 + slope @ middle + y[nu] @ (middle / half) - y[kappa].sum())
            if k == 0 and len(theta):
                own = own + theta * half**2
                pull = pull + theta * middle * half
                corner += float(theta @ middle**2)
            if own.min() <= 0:
                return None
            if k + 1 == len(self.ranges) and self.expansion.combinations is not None:
                products = self.products(y)
                weights += [(layer.squares, square), (LocalRows(products), -(half**2) / own)]
                border += r * (products.T @ (middle - half * pull / own))
            else:
                meets = square if k else self._without_cubic(square, y)
                weights.append((layer.squares, square - (meets * half) ** 2 / own))
                border += r * (layer.slopes.T @ (meets * (middle - half * pull / own)))
            corner -= float((pull**2 / own).sum())
        return float(corner), border, weights

    def _outers(self, y: Array) -> list[Array]:
        """What multiplies σ'(p_j) w_j + c t_j² of every layer but the last."""
        layers = self.expansion.layers[1:]
        found = zip(layers, self.unknowns, self.halves, strict=True)
        return [-(layer.weights.T @ (y[nu] / half)) for layer, (nu, _), half in found]

    def second_squares(self, y: Array) -> Array:
        """The factors x_j of (t²_j)², of the second layer below the last: its products are 2 Σ x_j (a_j·δ) w_j."""
        return np.asarray(self.expansion.layers[1].bend * self._outers(y)[1])

    def _cubic_share(self, y: Array) -> float:
        return float(y[self.cubic_place][0]) / abs(self.size)

    def _without_cubic(self, square: Array, y: Array) -> Array:
        """What is left of the factors of second-layer products."""
        return square if self.cubic is None else square - self._cubic_share(y) * self.cubic.weights

    def minimiser(self, y: Array) -> Array:
        """δ where Z(y) is least, the rests minimised over."""
        form = self.reduced(y)
        return np.asarray(-self.radius * linalg.solve(form[1:, 1:], form[1:, 0], assume_a="sym"))

    @cached_property
    def squared_curvatures(self) -> list[Array]:
        return [self.expansion.squared_curvature(weights) for weights in self.cuts]

    def scale(self, value: float) -> float:
        """The size of the numbers in a program that starts at this value: that at the point, unless the start is far below."""
        return max(abs(self.size), 0.01 * abs(value))

    def natural(self, y: Array) -> Multipliers:
        """The multipliers in the variables as they are."""
        return Multipliers(
            ball=float(y[1]) / self.radius**2,
            equalities=tuple(y[nu] / half for (nu, _), half in zip(self.unknowns, self.halves, strict=True)),
            intervals=tuple(y[kappa] / half**2 for (_, kappa), half in zip(self.unknowns, self.halves, strict=True)),
            cuts=(y[self.cut_place] / self.cut_scales) @ self.cuts,
            first=y[self.first_place] / self.first_halves**2,
            exchanges=self._shares(y),
            cubic=self._natural_cubic(y),
        )

    def _natural_cubic(self, y: Array) -> tuple[Array, float] | None:
        if self.cubic is None:
            return None
        share = self._cubic_share(y)
        return share * self.cubic.weights, share * self.cubic.balance

    def with_room(self, y: Array) -> Array:
        """Multipliers that prove the functional positive where y_0 > 0, with what y_0 leaves put to use.

        Half of it goes to μ and a quarter to all κ: the matrix for γ = 0 is then positive definite by a margin.
        """
        result = y.copy()
        result[0] = 0.0
        result[1] += y[0] / 2
        for _, kappa in self.unknowns:
            result[kappa] += y[0] / (4 * sum(map(len, self.ranges)))
        return result
