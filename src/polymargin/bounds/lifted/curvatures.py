"""The curvatures Q_i of the second layer, w²_i = δᵀQ_iδ with Q_i = c W¹ᵀ diag(W²_i) W¹, and sums of their squares.

A neuron of a convolution sees a patch, and so does its curvature. Neurons that see the same patch are a group: the sum of their
squares, each with a weight of its own, is one product of the weights with a stack of small matrices. Most groups of a convolution
have the same stack; it is made once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polymargin.bounds.lifted.expansion import LiftedExpansion
from polymargin.bounds.lifted.local import as_array
from polymargin.relaxation.algebra import Algebra, Matrix

Array = NDArray[np.float64]
Places = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class CurvedTogether:
    """Second-layer neurons that see the same inputs, and Q_i on these (B, w, w); groups that are alike share the array."""

    neurons: Places
    inputs: Places
    curvatures: Array


def curvatures(expansion: LiftedExpansion) -> Iterator[CurvedTogether]:
    """All of the second layer."""
    first, second = expansion.layers[0], expansion.layers[1]
    if not is_local(expansion):
        everything = np.arange(expansion.dimension)
        for i in range(len(second.value)):
            factors = first.bend * as_array(second.weights[[i], :])[0]
            yield CurvedTogether(np.array([i]), everything, first.squares.weighted(factors)[None])
        return
    alike: dict[bytes, list[int]] = {}
    for i in range(len(second.value)):
        heard = second.weights.indices[second.weights.indptr[i] : second.weights.indptr[i + 1]]
        alike.setdefault(heard.tobytes(), []).append(i)
    stacks: dict[tuple[bytes, bytes], Array] = {}
    for neurons in alike.values():
        rows = second.weights[neurons, :]
        heard = rows.indices[: rows.indptr[1]]
        seen = first.weights[heard, :]
        inputs = np.unique(seen.indices)
        block, factors = seen[:, inputs].toarray(), first.bend * rows.data.reshape(len(neurons), len(heard))
        key = (block.tobytes(), factors.tobytes())
        if key not in stacks:
            stacks[key] = np.stack([block.T @ (row[:, None] * block) for row in factors])
        yield CurvedTogether(np.array(neurons), inputs, stacks[key])


def is_local(expansion: LiftedExpansion) -> bool:
    """Whether neurons of the second layer see a part of the input each."""
    return all(sparse.issparse(layer.weights) for layer in expansion.layers[:2])


class SquaredCurvatures:
    """Σ_j θ_j Q_j² for many weights θ at a time, as matrices of an algebra."""

    def __init__(self, expansion: LiftedExpansion, algebra: Algebra) -> None:
        self._expansion, self._algebra = expansion, algebra

    def __call__(self, weights: Array) -> Matrix:
        """From weights (B, h₂) to sums (B, m, m)."""
        expansion, algebra = self._expansion, self._algebra
        if not is_local(expansion):
            return algebra.put(np.stack([expansion.squared_curvature(row) for row in weights]))
        m = expansion.dimension
        result, given = algebra.zeros((len(weights), m, m)), algebra.put(weights)
        for inputs, neurons, stack in self._groups:
            width = len(inputs)
            result[:, inputs[:, None], inputs] += (given[:, neurons] @ stack).reshape(len(weights), width, width)
        return result

    @cached_property
    def _groups(self) -> list[tuple[Places, Places, Matrix]]:
        """Inputs, neurons that see them, and Q_j² of each, written as a row."""
        squares: dict[int, tuple[Array, Matrix]] = {}
        result = []
        for group in curvatures(self._expansion):
            stack = group.curvatures
            if id(stack) not in squares:
                rows = np.stack([Q @ Q for Q in stack]).reshape(len(stack), -1)
                squares[id(stack)] = (stack, self._algebra.put(rows))  # who keeps the stack keeps its name
            result.append((group.inputs, group.neurons, squares[id(stack)][1]))
        return result
