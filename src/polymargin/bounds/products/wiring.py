"""A network of products as one list of them: v_j = left_j · right_j, both affine forms of the inputs and of earlier products.

Activations are products too, z^(a+b) = z^a z^b and T_(a+b) = 2 T_a T_b − T_(a−b) (`layered/squares.py` writes them so,
without rounding, in the order that the checker knows). What later products see of earlier ones are *sums*: the different rows
over products that occur in forms. Around a point a form is value + linear part + rest, and its rest is that of its sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polymargin.bounds.layered.squares import Affine, Row, expanded
from polymargin.networks.network import Network
from polymargin.networks.recurrences import rounded

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

# Sums are numbered from 0; a form without products has this one.
NO_SUM = -1


@dataclass(frozen=True, eq=False)
class Side:
    """Forms, one per row: bias + weights @ x + (row `sums` of the wiring's sums) @ v."""

    weights: Any
    bias: Array
    sums: Indices


@dataclass(frozen=True, eq=False)
class Wiring:
    """All products of a network.

    left, right   the factors of the J products
    readout       weights over inputs (classes, n) and over products (classes, J), and the bias
    sums          (S, J) sparse: rows over products, in the order in which they occur
    levels        of the products: one more than the highest in their factors
    """

    left: Side
    right: Side
    readout: tuple[Array, Array, Array]
    sums: Any
    levels: Indices

    @property
    def products(self) -> int:
        return len(self.levels)

    @property
    def inputs(self) -> int:
        return int(self.left.weights.shape[1])

    def sum_level(self) -> Indices:
        """The highest level of a product in each sum."""
        return np.array([self.levels[row.indices].max() for row in self.sums], dtype=np.int64)


_known: WeakKeyDictionary[Network, Wiring] = WeakKeyDictionary()


def wiring_of(network: Network) -> Wiring:
    """Once per network."""
    if network not in _known:
        _known[network] = _wired(network)
    return _known[network]


def _wired(network: Network) -> Wiring:
    atoms, logits = expanded(network.stages, network.readout)
    inputs, count = network.dimension, len(atoms.products)
    names: dict[tuple[tuple[int, int, int], ...], int] = {}
    rows: list[Row] = []

    def sum_of(form: Affine) -> int:
        row = {atom - inputs: weight for atom, weight in form.row.items() if atom >= inputs}
        if not row:
            return NO_SUM
        found = names.setdefault(tuple((j, int(w.p), int(w.q)) for j, w in row.items()), len(rows))
        if found == len(rows):
            rows.append(row)
        return found

    pairs = [(left, right) for _, left, right in atoms.products]
    numbers = np.array([[sum_of(left), sum_of(right)] for left, right in pairs], dtype=np.int64).reshape(-1, 2)
    left, right = (Side(*_inputs([pair[k] for pair in pairs], inputs), numbers[:, k]) for k in range(2))
    weights, bias = _inputs(logits, inputs)
    over = _matrix([{a - inputs: w for a, w in form.row.items() if a >= inputs} for form in logits], count)
    levels = np.array(atoms.levels[inputs:], dtype=np.int64)
    return Wiring(left, right, (_dense(weights), over.toarray(), bias), _matrix(rows, count), levels)


def _inputs(forms: Sequence[Affine], inputs: int) -> tuple[Any, Array]:
    rows = [{atom: weight for atom, weight in form.row.items() if atom < inputs} for form in forms]
    matrix = _matrix(rows, inputs)
    dense = matrix.nnz > 0.25 * matrix.shape[0] * matrix.shape[1]
    return (matrix.toarray() if dense else matrix), np.array([rounded(form.constant) for form in forms])


def _matrix(rows: Sequence[Row], width: int) -> Any:
    starts = np.cumsum([0, *map(len, rows)])
    columns = np.array([column for row in rows for column in row], dtype=np.int64)
    values = np.array([rounded(weight) for row in rows for weight in row.values()], dtype=np.float64)
    return sparse.csr_array((values, columns, starts), shape=(len(rows), width))


def _dense(matrix: Any) -> Array:
    return np.asarray(matrix.toarray() if sparse.issparse(matrix) else matrix)
