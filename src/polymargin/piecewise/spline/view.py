"""A spline network seen from a point: the coordinates y of `relu_view`, and B in them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polymargin.networks.layers import Chain
from polymargin.networks.stages import Piecewise

Array = NDArray[np.float64]


class SplineView:
    """One network at one point u of class `label`; z = matrix @ y + offset before the activation, B = f_label − f_rival."""

    def __init__(self, chain: Chain, u: Array, label: int) -> None:
        self.u, self.label = u, label
        (stage,), (first, self.last) = chain.stages, chain.layers
        assert isinstance(stage, Piecewise)
        self.function = stage
        self.breakpoints = np.array(stage.breakpoints)
        self.basis = np.linalg.qr(first.weights.T)[0] if len(first.weights) < len(u) else None
        self.matrix = first.weights if self.basis is None else first.weights @ self.basis
        self.offset = first.weights @ u + first.bias
        self.offset_sizes = np.abs(first.weights) @ np.abs(u) + np.abs(first.bias)
        self.size = int(self.matrix.shape[1])
        self.rivals = [rival for rival in range(len(self.last.bias)) if rival != label]

    def lift(self, y: Array) -> Array:
        """Return X = u + Q y."""
        return np.asarray(self.u + (y if self.basis is None else y @ self.basis.T))

    def difference(self, rival: int) -> tuple[Array, float]:
        """Return B = factors·σ(z) + constant."""
        last = self.last
        return last.weights[self.label] - last.weights[rival], float(last.bias[self.label] - last.bias[rival])

    def boundary(self, rival: int, y: Array) -> Array:
        """Return B at one y (m,) or a batch."""
        factors, constant = self.difference(rival)
        return np.asarray(self.function.activate(y @ self.matrix.T + self.offset) @ factors + constant)

    def largest_terms(self, sizes: Array) -> Array:
        """Return Σ_k |c_k| size^k for the largest coefficients of all pieces: no piece has larger terms up to that size."""
        return np.asarray(np.polynomial.polynomial.polyval(sizes, np.abs(self.function.table).max(axis=0)))
