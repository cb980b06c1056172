"""The curvatures Q_i of the second layer, w²_i = δᵀQ_iδ with Q_i = c W¹ᵀ diag(W²_i) W¹, and sums of their squares.

A neuron of a convolution sees a patch, and so does its curvature. Neurons that see the same patch are a group: the sum of their
squares, each with a weight of its own, is one product of the weights with a stack of small matrices.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polymargin.bounds.lifted.algebra import Algebra, Matrix
from polymargin.bounds.lifted.expansion import Expansion
from polymargin.bounds.lifted.local import as_array

Array = NDArray[np.float64]
Places = NDArray[np.int64]


def curvatures(expansion: Expansion) -> Iterator[tuple[Places, Array]]:
    """Inputs that the rest of a second-layer neuron sees, and Q_i on them."""
    first, second = expansion.layers[0], expansion.layers[1]
    everything = np.arange(expansion.dimension)
    for i in range(len(second.value)):
        if is_local(expansion):
            row = second.weights[[i], :]
            seen = first.weights[row.indices, :]
            columns = np.unique(seen.indices)
            block = seen[:, columns].toarray()
            yield columns, first.bend * (block.T @ (row.data[:, None] * block))
        else:
            yield everything, first.squares.weighted(first.bend * as_array(second.weights[[i], :])[0])


def is_local(expansion: Expansion) -> bool:
    """Whether neurons of the second layer see a part of the input each."""
    return all(sparse.issparse(layer.weights) for layer in expansion.layers[:2])


def squared_curvatures(expansion: Expansion, algebra: Algebra) -> SquaredCurvatures:
    """Their sums of squares, prepared once for an expansion."""
    found: SquaredCurvatures = expansion.known.setdefault(SquaredCurvatures, SquaredCurvatures(expansion, algebra))
    return found


class SquaredCurvatures:
    """Σ_j θ_j Q_j² for many weights θ at a time, as matrices of an algebra."""

    def __init__(self, expansion: Expansion, algebra: Algebra) -> None:
        self._expansion, self._algebra = expansion, algebra

    def __call__(self, weights: Array) -> Matrix:
        """From weights (B, h₂) to sums (B, m, m)."""
        expansion, algebra = self._expansion, self._algebra
        if not is_local(expansion):
            return algebra.put(np.stack([expansion.squared_curvature(row) for row in weights]))
        m = expansion.dimension
        result, given = algebra.put(np.zeros((len(weights), m, m))), algebra.put(weights)
        for columns, neurons, stack in self._groups:
            width = len(columns)
            result[:, columns[:, None], columns] += (given[:, neurons] @ stack).reshape(len(weights), width, width)
        return result

    @cached_property
    def _groups(self) -> list[tuple[Places, Places, Matrix]]:
        """Inputs, neurons that see them, and Q_j² of each, written as a row."""
        found: dict[bytes, tuple[Places, list[int], list[Array]]] = {}
        for neuron, (columns, curvature) in enumerate(curvatures(self._expansion)):
            _, neurons, squares = found.setdefault(columns.tobytes(), (columns, [], []))
            neurons.append(neuron)
            squares.append((curvature @ curvature).ravel())
        groups = found.values()
        return [
            (columns, np.array(neurons), self._algebra.put(np.stack(squares))) for columns, neurons, squares in groups
        ]
