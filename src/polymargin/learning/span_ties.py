"""Ties of a network of degree two in the span of its first layer.

The first layer sees a point only through its projection to the span of the weights, so everything is solved in there: with
W = LQᵀ, a tie of u is u + Q(z − Qᵀu), where z is the tie of Qᵀu for the network that begins with L. The quadric of each pair of
classes is diagonalised once for all points. What rounding may have decided is not looked at twice.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from polymargin.networks import Network, PolynomialNetwork
from polymargin.quadric import NetworkSolvers

Array = NDArray[np.float64]
Classes = NDArray[np.int64]


class Span:
    """Points (m, n) in the orthonormal `basis` (n, h) of the span, and their logits (m, k)."""

    def __init__(self, network: Network, points: Array) -> None:
        chain = network.expect_chain()
        first, *later = chain.layers
        self.basis, triangle = np.linalg.qr(first.weights.T)
        inner = PolynomialNetwork([(triangle.T, first.bias), *map(tuple, later)], activations=chain.activations)
        self._places, self._solvers = points @ self.basis, NetworkSolvers(inner)
        self.logits = inner.logits(self._places)

    def moves_to_ties(self, labels: Classes, wanted: NDArray[np.bool_] | None = None) -> tuple[Array, Classes, Array]:
        """Return signed distances (m, k − 1) to the ties with every rival, the rivals, and the moves to the ties in the basis.

        Only `wanted` (m, k − 1) ones are computed if given; the others are infinite.
        """
        logits, places = self.logits, self._places
        rows, classes = np.arange(len(labels)), logits.shape[1]
        rivals = np.arange(classes - 1) + (np.arange(classes - 1) >= labels[:, None])
        lengths, moves = np.full(rivals.shape, np.inf), np.zeros((*rivals.shape, places.shape[1]))
        for one, other in combinations(range(classes), 2):
            mine = np.flatnonzero((labels == one) | (labels == other))
            column = np.where(labels[mine] == one, other - 1, one)
            if wanted is not None:
                mine, column = mine[wanted[mine, column]], column[wanted[mine, column]]
            if not len(mine):
                continue
            found = self._solvers.pair(one, other).nearest_batch(places[mine])
            lengths[mine, column] = found.distances
            exists = np.isfinite(found.distances)[:, None]
            moves[mine, column] = np.where(exists, found.points - places[mine], 0.0)
        ahead = logits[rows, labels][:, None] >= np.take_along_axis(logits, rivals, axis=1)
        return np.where(ahead, lengths, -lengths), rivals, moves

    def nearest_ties(self, labels: Classes) -> tuple[Array, Array, Classes]:
        """Return signed distances (m,), moves (m, h), and the other classes: the nearest rival, or the winner."""
        rows, winners = np.arange(len(labels)), self.logits.argmax(axis=1)
        lost = winners != labels
        column_of_winner = winners - (winners > labels)
        wanted = ~lost[:, None] | (np.arange(self.logits.shape[1] - 1) == column_of_winner[:, None])
        distances, rivals, moves = self.moves_to_ties(labels, wanted)
        column = np.where(lost, column_of_winner, np.abs(distances).argmin(axis=1))
        return distances[rows, column], moves[rows, column], rivals[rows, column]
