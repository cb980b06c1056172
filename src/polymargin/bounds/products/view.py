"""f_label − f_rival of a network of products, with gradients and Hessians at many points, product by product.

Forward the values of all products, level by level; backward their adjoints y_j = ∂B/∂v_j. With Jacobians L' and R' of the factors

    ∇B = Σ_j y_j (R_j L'_j + L_j R'_j)  over the inputs' parts of the factors,      ∇²B = Σ_j y_j (L'_j R'_jᵀ + R'_j L'_jᵀ).
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
    def natural_length(self) -> float:
        """How far one goes to move a factor of the inputs by its own size."""
        lengths = np.concatenate([np.linalg.norm(side.inputs, axis=1) for side in self.sides])
        shifts = np.concatenate([side.shift for side in self.sides])
        moved = lengths > 0  # the others see products alone
        return float(np.median((1 + np.abs(shifts[moved])) / lengths[moved])) if moved.any() else 1.0

    @cached_property
    def sides(self) -> tuple[_Inputs, _Inputs]:
        return _Inputs.of(self.wiring.left, self), _Inputs.of(self.wiring.right, self)

    # What its proofs say needs no translation into layers.
    lowering = None

    def shares(self, other: Any) -> bool:
        """Whether the other view is of the same network."""
        return isinstance(other, ProductView) and other.network is self.network

    def in_subspace(self, basis: Array) -> Array:
        """What `evaluate_twice` takes for η = basis ξ."""
        return basis

    def boundary(self, label: int, rival: int, points: Array) -> Array:
        """B in floating point."""
        logits = self.network(points)
        return np.asarray(logits[..., label] - logits[..., rival])

    def evaluate(self, places: Array, label: int, rivals: NDArray[np.int64]) -> tuple[Array, Array]:
        values, slopes, _ = self._passes(places, label, rivals, None)
        return values, slopes

    def evaluate_twice(
        self, places: Array, label: int, rivals: NDArray[np.int64], subspace: Array | None
    ) -> tuple[Array, Array, Array]:
        """B, ∇B and ∇²B, all in the coordinates of the subspace where there is one."""
        basis = np.eye(self.dimension) if subspace is None else subspace
        values, slopes, hessians = self._passes(places @ basis.T, label, rivals, basis)
        return values, slopes @ basis, hessians

    def _passes(
        self, places: Array, label: int, rivals: NDArray[np.int64], basis: Array | None
    ) -> tuple[Array, Array, Array]:
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
        return values, slopes, self._hessians(factors, adjoint, basis)

    def _hessians(self, factors: list[Array], adjoint: Array, basis: Array | None) -> Array:
        if basis is None:
            return np.zeros((len(adjoint), 0, 0))
        result = np.zeros((len(adjoint), basis.shape[1], basis.shape[1]))
        inner = [side.inputs @ basis for side in self.sides]
        for row, weights in enumerate(adjoint):
            jacobians = [part.copy() for part in inner]
            atoms = np.zeros((self.wiring.products, basis.shape[1]))
            for own in self.levels:
                for jacobian, side in zip(jacobians, self.sides, strict=True):
                    jacobian[own] += side.products[own] @ atoms
                a, b = factors[0][row, own, None], factors[1][row, own, None]
                atoms[own] = b * jacobians[0][own] + a * jacobians[1][own]
            half = jacobians[0].T @ (weights[:, None] * jacobians[1])
            result[row] = half + half.T
        return result

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
