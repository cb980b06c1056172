"""A ReLU network seen from a point: coordinates with the point as origin, and the affine functions of its regions.

x = u + Q y with an orthonormal basis Q of a space that contains the rows of W₁. What is orthogonal to it never matters, so y
has at most as many coordinates as there are inputs or first neurons, and ‖y‖ is the distance from u.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polymargin.networks.layers import Chain

Array = NDArray[np.float64]
Signs = list[NDArray[np.bool_]]


class ReLUView:
    """One network at one point u of class `label`; B is f_label − f_rival."""

    def __init__(self, chain: Chain, u: Array, label: int) -> None:
        self.u, self.label = u, label
        first, *later = chain.layers
        self.basis = np.linalg.qr(first.weights.T)[0] if len(first.weights) < len(u) else None
        rows = first.weights if self.basis is None else first.weights @ self.basis
        shift = first.weights @ u + first.bias
        *self.hidden, (self.last, self.last_bias) = [(rows, shift), *((layer.weights, layer.bias) for layer in later)]
        self.size = int(rows.shape[1])
        self.rivals = [rival for rival in range(len(self.last_bias)) if rival != label]

    def lift(self, y: Array) -> Array:
        """Return X = u + Q y for one y (m,) or a batch."""
        return np.asarray(self.u + (y if self.basis is None else y @ self.basis.T))

    def values(self, y: Array) -> list[Array]:
        """Return the values before each activation."""
        found, current = [], y
        for weights, bias in self.hidden:
            found.append(current @ weights.T + bias)
            current = np.maximum(found[-1], 0.0)
        return found

    def difference(self, rival: int) -> tuple[Array, float]:
        """Return B = coefficients·ρ(z) + constant after the last hidden layer."""
        constant = float(self.last_bias[self.label] - self.last_bias[rival])
        return self.last[self.label] - self.last[rival], constant

    def boundary(self, rival: int, y: Array) -> Array:
        """Return B at one y (m,) or a batch."""
        coefficients, constant = self.difference(rival)
        activations = np.maximum(self.values(y)[-1], 0.0) if self.hidden else y
        return np.asarray(activations @ coefficients + constant)

    def signs(self, y: Array) -> Signs:
        """Return which neurons are active."""
        return [value > 0 for value in self.values(y)]

    def affine(self, rival: int, signs: Signs) -> tuple[Array, float]:
        """Return B(y) = slope·y + shift in the region with these active neurons."""
        slope, shift = self.difference(rival)
        for (weights, bias), active in zip(reversed(self.hidden), reversed(signs), strict=True):
            through = np.where(active, slope, 0.0)
            slope, shift = through @ weights, shift + float(through @ bias)
        return slope, shift

    def region(self, signs: Signs) -> tuple[Array, Array]:
        """Return the closed region rows @ y ≤ limits with these active neurons, one row per neuron."""
        rows, limits = [np.zeros((0, self.size))], [np.zeros(0)]
        matrix, offset = np.eye(self.size), np.zeros(self.size)
        for (weights, bias), active in zip(self.hidden, signs, strict=True):
            matrix, offset = weights @ matrix, weights @ offset + bias
            outward = np.where(active, -1.0, 1.0)
            rows.append(outward[:, None] * matrix)
            limits.append(-outward * offset)
            matrix, offset = np.where(active[:, None], matrix, 0.0), np.where(active, offset, 0.0)
        return np.concatenate(rows), np.concatenate(limits)
