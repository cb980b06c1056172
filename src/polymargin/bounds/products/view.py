"""f_label − f_rival of a network of products, with gradients at many points, product by product.

Forward the values of all products, level by level; backward their adjoints y_j = ∂B/∂v_j. With Jacobians L' and R' of the factors

    ∇B = Σ_j y_j (R_j L'_j + L_j R'_j)  over the inputs' parts of the factors.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polymargin.bounds.products.wiring import NO_SUM, Side, Wiring, wiring_of
from polymargin.networks.network import Network

Array = NDArray[np.float64]

_bases: WeakKeyDictionary[Network, Array] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class ProductView:
    """The network around the point u, in coordinates η of the space that its factors see: x = u + Qη."""

    network: Network
    point: Array

    @cached_property
    def wiring(self) -> Wiring:
        return wiring_of(self.network)

    @cached_property
    def basis(self) -> Array:
        """Q (n, m): orthonormal columns."""
        if self.network not in _bases:
            rows = self.network.input_forms.weights
            height, width = rows.shape
            _bases[self.network] = np.eye(width) if height >= width else np.linalg.qr(rows.T)[0]
        return _bases[self.network]

    @property
    def dimension(self) -> int:
        return int(self.basis.shape[1])

    @cached_property
    def sides(self) -> tuple[_Inputs, _Inputs]:
        return _Inputs.of(self.wiring.left, self), _Inputs.of(self.wiring.right, self)

    # What its proofs say needs no translation into layers.
    lowering = None

    def boundary(self, label: int, rival: int, points: Array) -> Array:
        """B in floating point."""
        logits = self.network(points)
        return np.asarray(logits[..., label] - logits[..., rival])

    def evaluate(self, places: Array, label: int, rivals: NDArray[np.int64]) -> tuple[Array, Array]:
        """Return B and ∇B."""
        wiring, (left, right) = self.wiring, self.sides
        inputs, products, bias = wiring.readout
        factors = [side.shift + places @ side.inputs.T for side in (left, right)]
        atoms = np.zeros((len(places), wiring.products))
        for own in self.levels:
            for factor, side in zip(factors, (left, right), strict=True):
                factor[:, own] += (side.products[own] @ atoms.T).T
            atoms[:, own] = factors[0][:, own] * factors[1][:, own]
        adjoint = products[label] - products[rivals]
        direct = (inputs[label] - inputs[rivals]) @ self.basis
        start = (inputs[label] - inputs[rivals]) @ self.point + bias[label] - bias[rivals]
        values = start + (direct * places).sum(axis=1) + (adjoint * atoms).sum(axis=1)
        slopes = direct.copy()
        for own in reversed(self.levels):
            for side, other in ((left, factors[1]), (right, factors[0])):
                inner = adjoint[:, own] * other[:, own]
                slopes += inner @ side.inputs[own]
                adjoint = adjoint + (side.products[own].T @ inner.T).T
        return values, slopes

    @cached_property
    def levels(self) -> list[NDArray[np.int64]]:
        levels = self.wiring.levels
        return [np.flatnonzero(levels == level) for level in np.unique(levels)]


@dataclass(frozen=True, eq=False)
class _Inputs:
    """The factors of one side as shift + inputs·η + products·v."""

    shift: Array
    inputs: Array
    products: Any

    @classmethod
    def of(cls, side: Side, view: ProductView) -> _Inputs:
        count = view.wiring.products
        seen = np.flatnonzero(side.sums != NO_SUM)
        chosen = sparse.csr_array(
            (np.ones(len(seen)), (seen, side.sums[seen])), shape=(count, view.wiring.sums.shape[0])
        )
        shift = np.asarray(side.weights @ view.point + side.bias)
        return cls(shift, np.asarray(side.weights @ view.basis), (chosen @ view.wiring.sums).tocsr())
