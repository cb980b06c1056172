"""How much the rests of a layer can curve: numbers λ⁻ ≤ 0 ≤ λ⁺ with λ⁻‖δ‖² ≤ w_i ≤ λ⁺‖δ‖² on a ball of radius r.

The rests of the second layer are quadratic forms, w_i = δᵀQ_iδ. To second order the rest of any layer is one,
w_i = δᵀM_iδ + e_i, with M_i = Σ_k a^kᵀ diag(d^k_i) a^k over the layers k below, d^{l−1}_i = c W_i and d^k_i = c_k times what
W_i ∘ σ'(p) becomes on its way down to layer k; and with x_j = c W_ij

    e_i = Σ_j W_ij σ'(p_j) e_j + Σ_j (2 x_j (a_j·δ) w_j + x_j w_j²).

For α > x the last terms are at most x²/(α − x) (a·δ)² + α w². With α = t|x|, t > 1, and w_j² ≤ r² δᵀN_jδ, where N_j = Q_j² by
Cauchy and Schwarz, all of it is one form, whose parts have their maximum at one δ:

    w_i ≤ δᵀ(M_i + Σ_j y_j a_j a_jᵀ + t r² Σ_j |x_j| N_j)δ,      y_j = |x_j|/(t − 1) where x_j > 0, |x_j|/(t + 1) elsewhere,

and so is −w_i with −x for x. Above the third layer N_j = max(λ⁺, −λ⁻)² of the layer below, and ε_i = Σ_j |W_ij σ'(p_j)| η_j is
added, with η_j ≥ 0 such that |e_j| ≤ η_j ‖δ‖².
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from polymargin.bounds.bound import hexadecimal
from polymargin.bounds.lifted.algebra import NUMPY, Algebra, Matrix, algebra_for
from polymargin.bounds.lifted.curvatures import curvatures, squared_curvatures
from polymargin.bounds.lifted.expansion import Expansion
from polymargin.bounds.lifted.lanczos import extremes
from polymargin.bounds.lifted.local import as_array, weighted_squares
from polymargin.deadlines import NEVER, Deadline
from polymargin.networks.polynomial_network import PolynomialNetwork

Array = NDArray[np.float64]

# The t of all layers: the best was seen between 2.1 and 3.3, and hardly matters.
STRETCH = 2.5
# Sides up to which all eigenvalues are computed; beyond, the extreme ones are guessed and confirmed.
SMALL = 160
# Guessed eigenvalues are stretched by this, and by four times as much for every time that it was not enough.
GUESSED = 0.01
LANCZOS = 40
# Matrices that a GPU has at a time.
BLOCK = 32
# Room for rounding, here and in the checker, per row and relative to the largest entry.
OUTWARD = 1e-9
# Ladder of radii for which a GPU finds eigenvalues anew: those of a larger radius hold for a smaller one.
RUNG = 1.02

_second: WeakKeyDictionary[PolynomialNetwork, Array] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class Curved:
    """What is known of the rests of a layer on a ball: λ (h, 2), and η (h,), which nobody needs of the last layer."""

    eigenvalues: Array
    errors: Array | None


@dataclass(frozen=True, eq=False)
class Below:
    """The layer below one from the fourth on: |w_j| ≤ largest_j ‖δ‖² and |e_j| ≤ errors_j ‖δ‖²."""

    largest: Array
    errors: Array


@dataclass(frozen=True, eq=False)
class Spectra:
    """What a checker is told besides the ranges beyond the second layer: t, and η of all these layers but the last."""

    errors: tuple[Array, ...]

    def to_proof(self) -> dict[str, Any]:
        return {"stretch": STRETCH.hex(), "errors": [hexadecimal(layer) for layer in self.errors]}


def spectra_are_known(expansion: Expansion) -> bool:
    """Whether nothing that takes long has to be computed for them, combinations aside."""
    deeper = range(3, len(expansion.layers) + 1)
    return expansion.view.layered in _second and all((Deeper, number) in expansion.plain.known for number in deeper)


def second_spectrum(expansion: Expansion, deadline: Deadline = NEVER) -> Array:
    """Eigenvalues (h, 2) with those of every Q_i between them, once per network."""
    network = expansion.view.layered
    if network not in _second:
        limits, seen = np.zeros((len(expansion.layers[1].value), 2)), dict[bytes, tuple[float, float]]()
        for neuron, (_, curvature) in enumerate(curvatures(expansion)):
            deadline.check()
            key = curvature.tobytes()  # convolutions repeat themselves
            if key not in seen:
                values = np.linalg.eigvalsh(curvature)
                seen[key] = (min(values[0], 0.0), max(values[-1], 0.0))  # zero elsewhere in the input
            limits[neuron] = seen[key]
        _second[network] = limits
    return _second[network]


def deeper_spectrum(expansion: Expansion, number: int, deadline: Deadline = NEVER) -> Deeper:
    """Of layer `number` ≥ 3, combinations aside, once per point."""
    known = expansion.plain.known
    if (Deeper, number) not in known:
        weights = as_array(expansion.plain.layers[number - 1].weights)
        known[Deeper, number] = Deeper(expansion.plain, number, weights, deadline)
    found: Deeper = known[Deeper, number]
    return found


def combined_spectrum(expansion: Expansion, deadline: Deadline = NEVER) -> Deeper:
    """Of the combinations in the last layer, once for them."""
    if Deeper not in expansion.known:
        count = len(expansion.plain.layers[-1].value)
        weights = as_array(expansion.layers[-1].weights)[count:]
        expansion.known[Deeper] = Deeper(expansion.plain, len(expansion.layers), weights, deadline)
    found: Deeper = expansion.known[Deeper]
    return found


class Deeper:
    """Neurons of layer `number` with these weights around a point: largest eigenvalues of the parts of its forms, which do not depend on the radius.

    A form of the third layer has a part that grows with the radius. A CPU adds its largest eigenvalue to that of the others; a
    GPU finds the eigenvalues of the whole for every radius, which are a fifth less.
    """

    def __init__(self, expansion: Expansion, number: int, weights: Array, deadline: Deadline) -> None:
        layers = expansion.layers
        self._weights, self._below = weights, layers[number - 2]
        self._factors = _factors(expansion, number, weights)
        self._is_last = number == len(layers)
        self._algebra = algebra = algebra_for(expansion.dimension)
        self._sums = [weighted_squares(algebra, layer.squares) for layer in layers[: number - 1]]
        self._squares = squared_curvatures(expansion, algebra) if number == 3 else None
        # What a form takes of Σ x_j (a_j·δ)² and Σ |x_j| (a_j·δ)²: below the second layer there are no rests.
        self._shares = (1.0, 0.0) if number == 2 else (STRETCH**2 / (STRETCH**2 - 1), STRETCH / (STRETCH**2 - 1))
        self._whole: dict[int, tuple[Array, Array | None]] = {}
        if not self._by_radius:
            self._flat = self._eigenvalues(0.0, deadline)
            self._growing = np.zeros(len(self._weights))
            if self._squares is not None:
                for rows in self._blocks(deadline):
                    form = self._squares(np.abs(self._factors[-1][rows]))
                    self._growing[rows] = STRETCH * largest_eigenvalues(algebra, form)

    @property
    def _by_radius(self) -> bool:
        return self._squares is not None and self._algebra is not NUMPY

    def on(self, radius: float, below: Below | None, deadline: Deadline = NEVER) -> Curved:
        """On the ball of this radius, given what is known of the layer below unless that is the second."""
        if self._by_radius:
            rung = int(np.ceil(np.log(radius) / np.log(RUNG)))
            if rung not in self._whole:
                self._whole[rung] = self._eigenvalues(RUNG**rung, deadline)
            limits, errors = self._whole[rung]
            more = np.zeros(len(limits))
        else:
            (limits, errors), more = self._flat, radius**2 * self._growing
        if below is not None:
            more = more + STRETCH * radius**2 * (np.abs(self._factors[-1]) @ below.largest**2)
            more = more + np.abs(self._weights * self._below.rise) @ below.errors
        more = more * (1 + OUTWARD)
        return Curved(limits + np.stack([-more, more], axis=-1), None if errors is None else errors + more)

    def _eigenvalues(self, radius: float, deadline: Deadline) -> tuple[Array, Array | None]:
        """λ and η of the forms on the ball of this radius; of the parts that do not depend on it for radius 0."""
        limits, errors = np.empty((len(self._weights), 2)), np.empty(len(self._weights))
        t, algebra = STRETCH, self._algebra
        for rows in self._blocks(deadline):
            *lower, own = (factor[rows] for factor in self._factors)
            even: Any = sum(weighted(part) for weighted, part in zip(self._sums[:-1], lower, strict=True))
            even = even + self._sums[-1](self._shares[0] * own)
            sizes = self._sums[-1](self._shares[1] * np.abs(own))
            grown = t * radius**2 * self._squares(np.abs(own)) if radius and self._squares is not None else 0.0
            limits[rows, 1] = largest_eigenvalues(algebra, even + sizes + grown)
            limits[rows, 0] = -largest_eigenvalues(algebra, sizes + grown - even)
            if not self._is_last:
                errors[rows] = largest_eigenvalues(algebra, (1 + 1 / t) * sizes + grown)
        return limits, None if self._is_last else errors

    def _blocks(self, deadline: Deadline) -> Iterator[slice]:
        size = 1 if self._algebra is NUMPY else BLOCK
        for first in range(0, len(self._weights), size):
            deadline.check()
            yield slice(first, first + size)


def _factors(expansion: Expansion, number: int, weights: Array) -> list[Array]:
    """d^k (h, h_k) for the layers k = 1 … number − 1."""
    factor: Any = weights
    result: list[Array] = []
    for k in reversed(range(number - 1)):
        layer = expansion.layers[k]
        result.insert(0, layer.bend * factor)
        if k:
            factor = np.asarray((factor * layer.rise) @ layer.weights)
    return result


def largest_eigenvalues(algebra: Algebra, matrices: Matrix) -> Array:
    """Of a stack (B, N, N): upper bounds with room for rounding, and above zero; a hundredth above the truth for large N."""
    count, side = matrices.shape[:2]
    if side <= SMALL:
        values = algebra.get(matrices)
        sizes = np.abs(values).max(axis=(1, 2), initial=0.0)
        return np.asarray(np.maximum(np.linalg.eigvalsh(values)[:, -1], 0.0) + OUTWARD * side * sizes + 1e-100)
    sizes = algebra.get((matrices * matrices).sum(axis=2).sum(axis=1)) ** 0.5 / side
    found = extremes(algebra, lambda v: (matrices @ v[:, :, None])[:, :, 0], count, side, LANCZOS)
    return _confirmed(algebra, matrices, found.largest, sizes, GUESSED)


def _confirmed(algebra: Algebra, matrices: Matrix, guesses: Array, sizes: Array, stretch: float) -> Array:
    """Guesses stretched until Cholesky's method shows that they are upper bounds; those of a stack that fails one by one."""
    while True:
        values = np.maximum(guesses, 0.0) + stretch * np.maximum(np.abs(guesses), 1e-6 * sizes) + 1e-300
        unit = algebra.put(np.eye(matrices.shape[1]))
        if algebra.definite(algebra.put(values)[:, None, None] * unit - matrices):
            return values
        if len(values) > 1:
            single = range(len(values))
            found = [
                _confirmed(algebra, matrices[i : i + 1], guesses[i : i + 1], sizes[i : i + 1], stretch) for i in single
            ]
            return np.concatenate(found)
        stretch *= 4
