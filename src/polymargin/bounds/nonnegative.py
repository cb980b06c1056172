"""Polynomials that are nonnegative on [−1, 1], as pairs of positive semidefinite Gram matrices.

A polynomial R of degree D is nonnegative on [−1, 1] exactly if (Lukács, Markov)

    D = 2k      R = vᵀG₁v + (1 − ξ²) uᵀG₂u      v = (1, ξ, …, ξᵏ),  u = (1, …, ξᵏ⁻¹)
    D = 2k + 1  R = (1 + ξ) vᵀG₁v + (1 − ξ) vᵀG₂v

with G₁, G₂ ⪰ 0. Here R = γσ − q with a polynomial q of lower degree < width: the coefficients of R from ξ^width upwards
are given, the lower ones are free. `template` solves the given ones once and for all:

    packed entries of (G₁, G₂) = kernel·g + γ·particular·κ_high,      q = γ·κ_low − low·packed,

so that any g with positive semidefinite Gram matrices is a minorant q, and every minorant arises.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.polynomial import chebyshev, polynomial
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Template:
    """Constants for residuals of degree D and minorants with `width` coefficients.

    units       two arrays (q, s, s): how g enters G₁ and G₂
    particular  two arrays (D + 1 − width, s, s): how γκ_high enters them
    minorant    (width, q): minorant coefficients, lowest first, are γ·(κ_low − κ_high·shift) − minorant·g
    shift       (D + 1 − width, width)
    interior    (q,): g of the constant polynomial R = 1, with both Gram matrices positive definite
    """

    degree: int
    width: int
    units: tuple[Array, Array]
    particular: tuple[Array, Array]
    minorant: Array
    shift: Array
    interior: Array

    @property
    def free(self) -> int:
        return int(self.minorant.shape[1])


@lru_cache(maxsize=64)
def template(degree: int, width: int) -> Template:
    """The template for γσ of the given degree above a minorant of degree below `width`."""
    degree = max(degree, width - 1)
    sizes = (degree // 2 + 1, degree // 2) if degree % 2 == 0 else (degree // 2 + 1,) * 2
    factors = ([1.0], [1.0, 0.0, -1.0]) if degree % 2 == 0 else ([1.0, 1.0], [1.0, -1.0])
    pack = [(block, i, j) for block, size in enumerate(sizes) for i in range(size) for j in range(i, size)]
    expand = np.zeros((degree + 1, len(pack)))
    entries = tuple(np.zeros((len(pack), size, size)) for size in sizes)
    for column, (block, i, j) in enumerate(pack):
        for power, factor in enumerate(factors[block]):
            expand[i + j + power, column] += factor * (1.0 if i == j else 2.0)
        entries[block][column, i, j] = entries[block][column, j, i] = 1.0
    low, high = expand[:width], expand[width:]
    kernel = _kernel(high)
    particular = np.linalg.pinv(high) if len(high) else np.zeros((len(pack), 0))
    one = [_interior_gram(degree, block, sizes[block])[i, j] for block, i, j in pack]
    one = np.array(one) / (expand @ np.array(one))[0]
    return Template(
        degree=degree,
        width=width,
        units=(np.tensordot(kernel.T, entries[0], 1), np.tensordot(kernel.T, entries[1], 1)),
        particular=(np.tensordot(particular.T, entries[0], 1), np.tensordot(particular.T, entries[1], 1)),
        minorant=low @ kernel,
        shift=(low @ particular).T,
        interior=kernel.T @ one,
    )


def _kernel(matrix: Array) -> Array:
    """Orthonormal columns spanning the kernel."""
    if not len(matrix):
        return np.eye(matrix.shape[1])
    _, values, rows = np.linalg.svd(matrix)
    return np.asarray(rows[int((values > 1e-10 * values[0]).sum()) :].T)


def _interior_gram(degree: int, block: int, size: int) -> Array:
    """Σ_k of squares of Chebyshev polynomials of four kinds.

    T_k² + (1 − ξ²)U²_{k−1} = 1, and for odd degrees (1 + ξ)V_k² + (1 − ξ)W_k² = 2: summed over k they give a constant.
    """
    rows = np.zeros((size, size))
    for k in range(size):
        if degree % 2 == 0 and block == 0:
            row = chebyshev.cheb2poly([0.0] * k + [1.0])
        elif degree % 2 == 0:
            row = polynomial.polyder(chebyshev.cheb2poly([0.0] * (k + 1) + [1.0])) / (k + 1)
        else:  # V_k = U_k − U_{k−1} and W_k = U_k + U_{k−1}, with U_k = T'_{k+1} / (k + 1)
            upper = polynomial.polyder(chebyshev.cheb2poly([0.0] * (k + 1) + [1.0])) / (k + 1)
            lower = polynomial.polyder(chebyshev.cheb2poly([0.0] * k + [1.0])) / k if k else np.zeros(1)
            row = polynomial.polysub(upper, lower) if block == 0 else polynomial.polyadd(upper, lower)
        rows[k, : len(row)] = row
    return np.asarray(rows.T @ rows)
