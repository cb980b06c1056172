"""How much the rests of a layer can curve: what is radius-free in their ranges.

To second order the rest of any layer is a quadratic form, w_i = δᵀM_iδ + e_i, with M_i = Σ_k a^kᵀ diag(d^k_i) a^k over the layers
k below,

    d^{l−1}_i = c W_i,      d^k_i = c_k times what W_i ∘ σ'(p) becomes on its way down to layer k.

For the second layer e = 0, M_i = Q_i does not depend on the point, and ‖w²‖² = Σ (δᵀQ_iδ)² ≤ ‖δ‖² Σ ‖Q_iδ‖² ≤ r⁴Λ with Λ the
largest eigenvalue of Σ Q_i². Above it, with ω ≥ ‖w‖ and ε ≥ ‖e‖ of the layer below and σ_i the norm of diag(c W_i) a,

    |e_i| ≤ ‖W_i ∘ σ'(p)‖ ε + 2 r σ_i ω + max_j |c W_ij| ω²,

because e_i = Σ_j W_ij (σ'(p_j) e_j + 2c (a_j·δ) w_j + c w_j²). All neurons at once cannot be at the ends of their ranges, and ω
knows it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polymargin.bounds.bound import hexadecimal
from polymargin.bounds.lifted.algebra import NUMPY, Algebra, Matrix, algebra_for
from polymargin.bounds.lifted.expansion import Expansion
from polymargin.bounds.lifted.lanczos import extremes
from polymargin.bounds.lifted.local import as_array, weighted_squares
from polymargin.deadlines import NEVER, Deadline
from polymargin.networks.polynomial_network import PolynomialNetwork

Array = NDArray[np.float64]

# Sides up to which all eigenvalues are computed; beyond, the extreme ones are guessed and confirmed.
SMALL = 160
# Guessed eigenvalues are stretched by this, and by four times as much for every time that it was not enough.
STRETCH = 0.01
LANCZOS = 40
# Matrices that a GPU has at a time.
BLOCK = 32
# Room for rounding, here and in the checker, per row and relative to the largest entry.
OUTWARD = 1e-9

_second: WeakKeyDictionary[PolynomialNetwork, Second] = WeakKeyDictionary()
_deeper: WeakKeyDictionary[Expansion, dict[int, Deeper]] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class Second:
    """Of the second layer: eigenvalues (h, 2) with those of every Q_i between them, and Λ (None for two layers)."""

    eigenvalues: Array
    together: float | None


@dataclass(frozen=True, eq=False)
class Deeper:
    """Of a deeper layer: eigenvalues (h, 2) with those of every M_i between them; spreads σ (h,)."""

    eigenvalues: Array
    spreads: Array


@dataclass(frozen=True, eq=False)
class Spectra:
    """What the ranges beyond the second layer rest on: a little above what was computed, so that a proof has room."""

    together: float
    layers: tuple[Deeper, ...]

    def to_proof(self) -> dict[str, Any]:
        rows = [np.column_stack([layer.eigenvalues, layer.spreads]) for layer in self.layers]
        return {"together": self.together.hex(), "layers": [hexadecimal(layer) for layer in rows]}


def spectra(expansion: Expansion, deadline: Deadline = NEVER) -> Spectra | None:
    """None for networks of two hidden layers or fewer."""
    if len(expansion.layers) < 3:
        return None
    together = second_spectrum(expansion, deadline).together
    layers = (deeper_spectrum(expansion, number, deadline) for number in range(3, len(expansion.layers) + 1))
    return Spectra(float(together or 0.0), tuple(layers))


def spectra_are_known(expansion: Expansion) -> bool:
    """Whether nothing has to be computed for them."""
    deeper = range(3, len(expansion.layers) + 1)
    return expansion.view.layered in _second and all(number in _deeper.get(expansion, {}) for number in deeper)


def second_spectrum(expansion: Expansion, deadline: Deadline = NEVER) -> Second:
    """Once per network."""
    network = expansion.view.layered
    if network not in _second:
        _second[network] = _of_second(expansion, deadline)
    return _second[network]


def deeper_spectrum(expansion: Expansion, number: int, deadline: Deadline = NEVER) -> Deeper:
    """Of layer `number` ≥ 3, once per point."""
    known = _deeper.setdefault(expansion, {})
    if number not in known:
        known[number] = _of_deeper(expansion, number, deadline)
    return known[number]


def _of_second(expansion: Expansion, deadline: Deadline) -> Second:
    count = len(expansion.layers[1].value)
    limits, seen = np.zeros((count, 2)), dict[bytes, tuple[float, float]]()
    together = np.zeros((expansion.dimension, expansion.dimension)) if len(expansion.layers) > 2 else None
    for neuron, (columns, curvature) in enumerate(_curvatures(expansion)):
        deadline.check()
        key = curvature.tobytes()  # convolutions repeat themselves
        if key not in seen:
            values = np.linalg.eigvalsh(curvature)
            seen[key] = (min(values[0], 0.0), max(values[-1], 0.0))  # zero elsewhere in the input
        limits[neuron] = seen[key]
        if together is not None:
            together[columns[:, None], columns] += curvature @ curvature
    return Second(limits, None if together is None else float(largest_eigenvalues(NUMPY, together[None])[0]))


def _curvatures(expansion: Expansion) -> Iterator[tuple[NDArray[np.int64], Array]]:
    """Inputs that the rest of a second-layer neuron sees, and Q_i on them."""
    first, second = expansion.layers[0], expansion.layers[1]
    everything = np.arange(expansion.dimension)
    for i in range(len(second.value)):
        if sparse.issparse(second.weights) and sparse.issparse(first.weights):
            row = second.weights[[i], :]
            seen = first.weights[row.indices, :]
            columns = np.unique(seen.indices)
            block = seen[:, columns].toarray()
            yield columns, first.bend * (block.T @ (row.data[:, None] * block))
        else:
            yield everything, first.squares.weighted(first.bend * as_array(second.weights[[i], :])[0])


def _of_deeper(expansion: Expansion, number: int, deadline: Deadline) -> Deeper:
    own, below = expansion.layers[number - 1], expansion.layers[number - 2]
    weights = as_array(own.weights)
    factors = _factors(expansion, number)
    algebra = algebra_for(expansion.dimension)
    sums = [weighted_squares(algebra, layer.squares) for layer in expansion.layers[: number - 1]]
    limits, spreads = np.empty((len(weights), 2)), np.empty(len(weights))
    block = 1 if algebra is NUMPY else BLOCK
    for first in range(0, len(weights), block):
        deadline.check()
        own_rows = slice(first, first + block)
        curvatures = sum(weighted(factor[own_rows]) for weighted, factor in zip(sums, factors, strict=True))
        limits[own_rows, 0] = -largest_eigenvalues(algebra, -curvatures)
        limits[own_rows, 1] = largest_eigenvalues(algebra, curvatures)
        spreads[own_rows] = np.sqrt(largest_eigenvalues(algebra, sums[-1]((below.bend * weights[own_rows]) ** 2)))
    return Deeper(limits, spreads)


def _factors(expansion: Expansion, number: int) -> list[Array]:
    """d^k (h, h_k) for the layers k = 1 … number − 1."""
    factor: Any = as_array(expansion.layers[number - 1].weights)
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
    return _confirmed(algebra, matrices, found.largest, sizes, STRETCH)


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
