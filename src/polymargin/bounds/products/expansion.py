"""A network of products around a point: value, linear part and rest of every factor.

With δ = x − u = Qη a factor is p + a·η + w, and t = a·η + w its change. The product of two factors changes by

    (p_L a_R + p_R a_L)·η + p_L w_R + p_R w_L + t_L t_R,

so its rest is a quadratic in η and the rests of earlier sums, and the rest of a sum is the sum of these. To second order it is
the form Σ_j c_j (a_Lj·η)(a_Rj·η), with c from c_j = e_j + p_L c_R + p_R c_L.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polymargin.bounds.products.view import ProductView
from polymargin.bounds.products.wiring import NO_SUM, Wiring

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ProductFactor:
    """One side of all products: value (J,), slopes (J, m), sums (J,) the lifted variable in it or NO_SUM."""

    value: Array
    slopes: Array
    sums: Indices


@dataclass(frozen=True, eq=False)
class ProductExpansion:
    """The network around a point, in coordinates η of the space that its factors see."""

    view: ProductView
    left: ProductFactor
    right: ProductFactor
    atom_values: Array
    atom_slopes: Array

    @classmethod
    def of(cls, view: ProductView) -> ProductExpansion:
        wiring = view.wiring
        values, slopes = np.zeros(wiring.products), np.zeros((wiring.products, view.dimension))
        sides = [(side.shift.copy(), side.inputs.copy(), side.products) for side in view.sides]
        for own in view.levels:
            for value, slope, products in sides:
                value[own] += products[own] @ values
                slope[own] += products[own] @ slopes
            (p, a, _), (q, b, _) = sides
            values[own] = p[own] * q[own]
            slopes[own] = p[own, None] * b[own] + q[own, None] * a[own]
        factors = [
            ProductFactor(value, slope, side.sums)
            for (value, slope, _), side in zip(sides, (wiring.left, wiring.right), strict=True)
        ]
        return cls(view, factors[0], factors[1], values, slopes)

    @property
    def wiring(self) -> Wiring:
        return self.view.wiring

    @property
    def dimension(self) -> int:
        return self.view.dimension

    @property
    def sums(self) -> int:
        """Lifted variables."""
        return int(self.wiring.sums.shape[0])

    @property
    def variables(self) -> int:
        """Of the program: 1, η and all rests."""
        return 1 + self.dimension + self.sums

    @cached_property
    def order(self) -> list[Indices]:
        """The sums, level by level: those of a level depend on those before it."""
        levels = self.wiring.sum_level()
        return [np.flatnonzero(levels == level) for level in np.unique(levels)]

    @cached_property
    def single(self) -> tuple[Indices, Indices]:
        """The sums that are one product with weight one, and these products."""
        sums = self.wiring.sums
        alone = np.flatnonzero((np.diff(sums.indptr) == 1) & (np.add.reduceat(sums.data, sums.indptr[:-1]) == 1.0))
        return alone, sums.indices[sums.indptr[alone]]

    @cached_property
    def lengths(self) -> tuple[Array, Array]:
        """‖a_L‖ and ‖a_R‖ of all products."""
        return np.linalg.norm(self.left.slopes, axis=1), np.linalg.norm(self.right.slopes, axis=1)

    @cached_property
    def angles(self) -> Array:
        """a_L·a_R."""
        return np.asarray(np.einsum("jm,jm->j", self.left.slopes, self.right.slopes))

    @cached_property
    def passing(self) -> Any:
        """(J, S) sparse: p_L w_R + p_R w_L of every product, as rows over the rests."""
        rows = np.arange(self.wiring.products)
        terms = [(rows, self.right.sums, self.left.value), (rows, self.left.sums, self.right.value)]
        kept = [(row[col != NO_SUM], col[col != NO_SUM], value[col != NO_SUM]) for row, col, value in terms]
        shape = (len(rows), self.sums)
        return sum(sparse.csr_array((value, (row, col)), shape=shape) for row, col, value in kept)

    @cached_property
    def curvature(self) -> Any:
        """(S, J) sparse c: the rest of a sum is Σ_j c_j (a_Lj·η)(a_Rj·η) to second order."""
        count = self.wiring.products
        result = sparse.lil_array((self.sums, count))
        identity = sparse.csr_array(sparse.identity(count, format="csr"))
        for own in self.order:
            atoms = identity + self.passing @ result.tocsr()
            result[own] = self.wiring.sums[own] @ atoms
        return result.tocsr()

    def functional(self, label: int, rival: int) -> tuple[float, Array, Array]:
        """f_label − f_rival as value + linear·η + Σ_j weights_j · (rest of product j)."""
        inputs, products, bias = self.wiring.readout
        weights = products[label] - products[rival]
        direct = inputs[label] - inputs[rival]
        value = float(direct @ self.view.point + weights @ self.atom_values + bias[label] - bias[rival])
        return value, direct @ self.view.basis + weights @ self.atom_slopes, weights

    def rests(self, places: Array) -> Array:
        """(S,) at η = place."""
        rests = np.zeros(self.sums)
        for own in self.order:
            rests[own] = self.wiring.sums[own] @ self.product_rests(places, rests)
        return rests

    def product_rests(self, place: Array, rests: Array) -> Array:
        """(J,): the rests of all products, right for those whose factors' rests are."""
        padded = np.append(rests, 0.0)  # what NO_SUM points to
        moved = [side.slopes @ place + padded[side.sums] for side in (self.left, self.right)]
        return np.asarray(self.passing @ rests + moved[0] * moved[1])


_recent: list[ProductExpansion] = []


def products_at(view: ProductView) -> ProductExpansion:
    """The expansion around the view's point: the last one made if it is the same, with all that was computed from it."""
    for known in _recent:
        if known.view.network is view.network and np.array_equal(known.view.point, view.point):
            return known
    _recent[:] = [ProductExpansion.of(view)]
    return _recent[0]
