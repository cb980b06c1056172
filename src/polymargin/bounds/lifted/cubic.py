"""The cubic part of a third-layer rest, bounded by a quadratic form.

With x_j = c₂ W³_ij the third layer's w_i has the part 2 Σ_j x_j (a²_j·δ)(δᵀQ_jδ), Q_j = c₁ W¹ᵀ diag(W²_j) W¹. Summed over j
first, where most of it cancels, it is

    2 δᵀN(δ)δ,      N(δ) = c₁ Σ_l (W¹_l·δ) W¹_l z_lᵀ,      z_l the rows of Z = W²ᵀ diag(x) a²,

and a matrix is no longer than its Frobenius norm: the part is at most 2‖δ‖² √(δᵀRδ) with

    ‖N(δ)‖² = δᵀRδ,                 R = c₁² W¹ᵀ (W¹W¹ᵀ ∘ ZZᵀ) W¹,
    ‖(N(δ) + N(δ)ᵀ)/2‖² = δᵀRδ,     R = c₁² W¹ᵀ (W¹W¹ᵀ ∘ ZZᵀ + K ∘ Kᵀ) W¹ / 2,      K = W¹Zᵀ.

The second one is never larger; on LeNet its root is 0.72 to 0.88 of the other's. But K has few zeros where W¹W¹ᵀ has many:
without a GPU it takes more than twice as long as the first one, by places.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from polymargin.bounds.lifted.curvatures import is_local
from polymargin.bounds.lifted.expansion import LiftedExpansion
from polymargin.bounds.lifted.local import LocalRows, as_array
from polymargin.relaxation.algebra import NUMPY, Algebra, Matrix, algebra_for

Array = NDArray[np.float64]
Places = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class _HeardTogether:
    """Second-layer neurons that listen to the same first-layer ones: W² and a² where they are not zero."""

    neurons: Places
    heard: Places
    inputs: Places
    weights: Array
    slopes: Array


@dataclass(frozen=True, eq=False)
class _Neighbours:
    """First-layer neurons that see the same inputs, these and later ones that see some of them: W¹ of both, and their inner
    products, half of them where a pair comes twice; `crossed` is where z of the former may not be zero."""

    own: Places
    others: Places
    inputs: Places
    reached: Places
    crossed: Places
    own_weights: Array
    other_weights: Array
    products: Array


class CubicParts:
    """R for many x at a time, as matrices of an algebra: that of symmetric parts, but not of convolutions on a CPU."""

    def __init__(self, expansion: LiftedExpansion, algebra: Algebra) -> None:
        self._first, self._second, self.algebra = expansion.layers[0], expansion.layers[1], algebra
        self._place_by_place = algebra is NUMPY and is_local(expansion)

    def __call__(self, weights: Array) -> Matrix:
        """From x (B, h₂) to R (B, m, m)."""
        if self._place_by_place:
            return np.stack([self._by_places(x) for x in weights])
        return self.algebra.stack([self._symmetric(x) for x in self.algebra.put(weights)])

    def _symmetric(self, x: Matrix) -> Matrix:
        first, products, second, slopes = self._dense
        Z = self._first.bend * (second.T @ (x[:, None] * slopes))
        crossed = first @ Z.T
        return first.T @ ((products * (Z @ Z.T) + crossed * crossed.T) @ first) / 2

    @cached_property
    def _dense(self) -> tuple[Matrix, Matrix, Matrix, Matrix]:
        """W¹, W¹W¹ᵀ, W² and a²."""
        put = self.algebra.put
        first = put(self._first.slopes)
        return first, first @ first.T, put(as_array(self._second.weights)), put(self._second.slopes)

    def _by_places(self, x: Array) -> Array:
        """Without the zeros of convolutions: products are taken of neurons that see some input both."""
        m = self._first.slopes.shape[1]
        Z, result = np.zeros((len(self._first.value), m)), np.zeros((m, m))
        for group in self._listeners:
            part = group.weights.T @ (x[group.neurons, None] * group.slopes)
            Z[group.heard[:, None], group.inputs] += self._first.bend * part
        for near in self._neighbours:
            among = near.products * (Z[near.own[:, None], near.crossed] @ Z[near.others[:, None], near.crossed].T)
            result[near.inputs[:, None], near.reached] += near.own_weights.T @ (among @ near.other_weights)
        return result + result.T

    @cached_property
    def _listeners(self) -> list[_HeardTogether]:
        result = []
        for neurons, heard, block in LocalRows(as_array(self._second.weights)).groups:
            slopes = self._second.slopes[neurons]
            inputs = np.flatnonzero(slopes.any(axis=0))
            result.append(_HeardTogether(neurons, heard, inputs, block, slopes[:, inputs]))
        return result

    @cached_property
    def _neighbours(self) -> list[_Neighbours]:
        slopes, groups = self._first.slopes, self._first.squares.groups
        seen = np.zeros((len(groups), slopes.shape[1]), dtype=np.float32)
        for number, (_, inputs, _) in enumerate(groups):
            seen[number, inputs] = 1
        crossed = np.zeros(slopes.shape, dtype=bool)
        for group in self._listeners:
            crossed[group.heard[:, None], group.inputs] = True
        result = []
        for number, (own, inputs, block) in enumerate(groups):
            near = [k for k in range(number, len(groups)) if seen[number] @ seen[k]]
            others = np.concatenate([groups[k][0] for k in near])
            reached = np.flatnonzero(seen[near].any(axis=0))
            products = block @ slopes[np.ix_(others, inputs)].T
            products[:, : len(own)] /= 2
            result.append(
                _Neighbours(
                    own,
                    others,
                    inputs,
                    reached,
                    np.flatnonzero(crossed[own].any(axis=0)),
                    block,
                    slopes[np.ix_(others, reached)],
                    products,
                )
            )
        return result


def cubic_parts(expansion: LiftedExpansion) -> CubicParts:
    """Those of an expansion, made once."""
    if CubicParts not in expansion.known:
        expansion.known[CubicParts] = CubicParts(expansion, algebra_for(expansion.dimension))
    found: CubicParts = expansion.known[CubicParts]
    return found
