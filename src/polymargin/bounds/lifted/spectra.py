"""How much the rests of a layer can curve: numbers λ⁻ ≤ 0 ≤ λ⁺ with λ⁻‖δ‖² ≤ w_i ≤ λ⁺‖δ‖² on a ball of radius r.

The rests of the second layer are quadratic forms, w_i = δᵀQ_iδ; for the third see `third_layer.py`. To second order the rest of
any layer is a form, w_i = δᵀM_iδ + e_i, with M_i = Σ_k a^kᵀ diag(d^k_i) a^k over the layers k below, d^{l−1}_i = c W_i and d^k_i
= c_k times what W_i ∘ σ'(p) becomes on its way down to layer k; and with x_j = c W_ij

    e_i = Σ_j W_ij σ'(p_j) e_j + Σ_j (2 x_j (a_j·δ) w_j + x_j w_j²).

For α > x the last terms are at most x²/(α − x) (a·δ)² + α w². With α = t|x|, t > 1, and |w_j| ≤ ρ_j‖δ‖²

    w_i ≤ δᵀ(M_i + Σ_j y_j a_j a_jᵀ)δ + (ε_i + t r² Σ_j |x_j| ρ_j²)‖δ‖²,

y_j = |x_j|/(t − 1) where x_j > 0 and |x_j|/(t + 1) elsewhere, and so is −w_i with −x for x; ε_i = Σ_j |W_ij σ'(p_j)| η_j, with
η_j ≥ 0 such that |e_j| ≤ η_j ‖δ‖².
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from polymargin.bounds.bound import hexadecimal
from polymargin.bounds.lifted.curvatures import curvatures
from polymargin.bounds.lifted.curved import Curved, factors_below
from polymargin.bounds.lifted.eigenvalues import OUTWARD, largest_eigenvalues
from polymargin.bounds.lifted.expansion import LiftedExpansion
from polymargin.bounds.lifted.local import as_array, weighted_squares
from polymargin.bounds.lifted.third_layer import BLOCK, ThirdLayer
from polymargin.deadlines import NEVER, Deadline
from polymargin.networks.layers import Chain
from polymargin.relaxation.algebra import NUMPY, algebra_for

Array = NDArray[np.float64]

# The t of all layers: the best was seen between 2.1 and 3.3, and hardly matters.
STRETCH = 2.5

_second: WeakKeyDictionary[Chain, Array] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class Below:
    """The layer below one from the fourth on: |w_j| ≤ largest_j ‖δ‖² and |e_j| ≤ errors_j ‖δ‖²."""

    largest: Array
    errors: Array


@dataclass(frozen=True, eq=False)
class Spectra:
    """What a checker is told besides the ranges beyond the second layer: t, η of all these layers but the last, and b."""

    errors: tuple[Array, ...]
    balances: Array

    def to_proof(self) -> dict[str, Any]:
        errors = [hexadecimal(layer) for layer in self.errors]
        return {"stretch": STRETCH.hex(), "errors": errors, "balances": hexadecimal(self.balances)}


def spectra_are_known(expansion: LiftedExpansion) -> bool:
    """Whether nothing that takes long has to be computed for them, combinations aside."""
    deeper = range(3, len(expansion.layers) + 1)
    return expansion.view.layered in _second and all((Curved, number) in expansion.plain.known for number in deeper)


def second_spectrum(expansion: LiftedExpansion, deadline: Deadline = NEVER) -> Array:
    """Eigenvalues (h, 2) with those of every Q_i between them, once per network."""
    network = expansion.view.layered
    if network not in _second:
        limits, seen = np.zeros((len(expansion.layers[1].value), 2)), dict[int, tuple[Array, Array]]()
        for group in curvatures(expansion):
            deadline.check()
            stack = group.curvatures
            if id(stack) not in seen:  # convolutions repeat themselves
                seen[id(stack)] = (stack, np.asarray(np.linalg.eigvalsh(stack), dtype=np.float64))
            values = seen[id(stack)][1]
            limits[group.neurons, 0] = np.minimum(values[:, 0], 0.0)  # zero elsewhere in the input
            limits[group.neurons, 1] = np.maximum(values[:, -1], 0.0)
        _second[network] = limits
    return _second[network]


def curved_layer(
    expansion: LiftedExpansion, number: int, radius: float, below: Below | None, deadline: Deadline = NEVER
) -> Curved:
    """Layer `number` ≥ 3 on the ball of this radius, combinations aside; `below` from the fourth on."""
    plain = expansion.plain
    return _on(plain, number, (Curved, number), plain.layers[number - 1].weights, radius, below, deadline)


def curved_combinations(
    expansion: LiftedExpansion, radius: float, below: Below | None, deadline: Deadline = NEVER
) -> Curved:
    """The combinations in the last layer."""
    count = len(expansion.plain.layers[-1].value)
    weights, name = expansion.layers[-1].weights[count:], (Curved, expansion.combinations)
    return _on(expansion.plain, len(expansion.layers), name, weights, radius, below, deadline)


def _on(
    expansion: LiftedExpansion,
    number: int,
    name: Any,
    weights: Any,
    radius: float,
    below: Below | None,
    deadline: Deadline,
) -> Curved:
    """Neurons of layer `number` with these weights; what does not depend on the radius is found once."""
    known = expansion.known
    if below is None:
        if name not in known:
            known[name] = ThirdLayer(expansion, as_array(weights), deadline)
        third: ThirdLayer = known[name]
        return third.on(radius, deadline)
    if name not in known:
        known[name] = Deeper(expansion, number, as_array(weights), deadline)
    deeper: Deeper = known[name]
    return deeper.on(radius, below)


class Deeper:
    """Neurons of layer `number` ≥ 4 with these weights around a point."""

    def __init__(self, expansion: LiftedExpansion, number: int, weights: Array, deadline: Deadline) -> None:
        layers, algebra = expansion.layers, algebra_for(expansion.dimension)
        factors, last = factors_below(expansion, number, weights), number == len(layers)
        sums = [weighted_squares(algebra, layer.squares) for layer in layers[: number - 1]]
        t = STRETCH
        self._limits, errors = np.empty((len(weights), 2)), np.empty(len(weights))
        for rows in _blocks(len(weights), 1 if algebra is NUMPY else BLOCK):
            deadline.check()
            *lower, own = (factor[rows] for factor in factors)
            even: Any = sum(weighted(part) for weighted, part in zip(sums[:-1], lower, strict=True))
            even = even + sums[-1](t**2 / (t**2 - 1) * own)
            sizes = sums[-1](t / (t**2 - 1) * np.abs(own))
            self._limits[rows, 1] = largest_eigenvalues(algebra, even + sizes)
            self._limits[rows, 0] = -largest_eigenvalues(algebra, sizes - even)
            if not last:
                errors[rows] = largest_eigenvalues(algebra, (1 + 1 / t) * sizes)
        self._errors = None if last else errors
        self._weights, self._rise, self._sizes = weights, layers[number - 2].rise, np.abs(factors[-1])

    def on(self, radius: float, below: Below) -> Curved:
        """On the ball of this radius, given what is known of the layer below."""
        more = STRETCH * radius**2 * (self._sizes @ below.largest**2)
        more = (more + np.abs(self._weights * self._rise) @ below.errors) * (1 + OUTWARD)
        return Curved(
            self._limits + np.stack([-more, more], axis=-1), None if self._errors is None else self._errors + more
        )


def _blocks(count: int, size: int) -> Iterator[slice]:
    for first in range(0, count, size):
        yield slice(first, first + size)
