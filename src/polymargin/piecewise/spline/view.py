"""A spline network seen from a point: the coordinates y of `relu_view`, and B in them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polymargin.piecewise.spline.network import SplineNetwork

Array = NDArray[np.float64]


class SplineView:
    """One network at one point u of class `label`; z = matrix @ y + offset before the activation, B = f_label − f_rival."""

    def __init__(self, network: SplineNetwork, u: Array, label: int) -> None:
        self.network, self.u, self.label = network, u, label
        first = network.layers[0]
        self.basis = np.linalg.qr(first.weights.T)[0] if len(first.weights) < network.dimension else None
        self.matrix = first.weights if self.basis is None else first.weights @ self.basis
        self.offset = first(u)
        self.offset_sizes = np.abs(first.weights) @ np.abs(u) + np.abs(first.bias)
        self.size = int(self.matrix.shape[1])
        self.rivals = [rival for rival in range(network.class_count) if rival != label]

    def lift(self, y: Array) -> Array:
        """x = u + Q y."""
        return np.asarray(self.u + (y if self.basis is None else y @ self.basis.T))

    def difference(self, rival: int) -> tuple[Array, float]:
        """B = factors·σ(z) + constant."""
        last = self.network.layers[1]
        return last.weights[self.label] - last.weights[rival], float(last.bias[self.label] - last.bias[rival])

    def boundary(self, rival: int, y: Array) -> Array:
        """B at one y (m,) or a batch."""
        factors, constant = self.difference(rival)
        return np.asarray(self.network.activate(y @ self.matrix.T + self.offset) @ factors + constant)
