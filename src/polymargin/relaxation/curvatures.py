"""Ranges of remainders that are quadratic forms of δ, from their extreme eigenvalues.

Where w_i = δᵀQ_iδ and δ lies in the ellipsoid ‖Dδ‖ ≤ 1, w_i lies between the extreme eigenvalues of D⁻¹Q_iD⁻¹. With the rows A of
the forms that are multiplied, in coordinates in which the ellipsoid is the unit ball,

    Q_i = ½ Σ_j m_ij (a_j a'_jᵀ + a'_j a_jᵀ),

so that a product of all Q_i with a vector each is two products of matrices. In many dimensions Lanczos' method finds the
eigenvalues; it may stop short of them, so that ranges are stretched a little. The checker proves them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from polymargin.relaxation.algebra import NUMPY
from polymargin.relaxation.constraints.ellipsoid import EllipsoidShape
from polymargin.relaxation.expansion import Expansion, Group
from polymargin.relaxation.lanczos import extremes
from polymargin.relaxation.space import ProgramCoordinates

Array = NDArray[np.float64]

SMALL = 160
"""Sides up to which all eigenvalues are computed."""
BISECTIONS = 60
OUTWARD = 1e-7
"""Room of stated ends, relative to the sizes of what was added up, for each variable of a group."""
STEPS = 60
STRETCH = 1e-3
"""Of ranges that Lanczos' method found, and of exact ones."""
ROUNDING = 1e-5
CANCELLED = 1e-9
"""Of what was added up: curvatures that cancel are not shown to be smaller."""


@dataclass(eq=False)
class CurvatureCache:
    """Extreme eigenvalues of curvatures that were found before, of the same rows: they depend on the network alone.

    Ranges are theirs times the square of the radius, so that all radii and points share them.
    """

    _found: dict[bytes, tuple[Array, Array]] = field(default_factory=dict, repr=False)

    def ends(
        self, expansion: Expansion, group: Group, coordinates: ProgramCoordinates, shape: EllipsoidShape
    ) -> tuple[Array, Array]:
        """Return ends (h,) of the remainders of a group, which are quadratic forms of δ, a little outside of them."""
        m, left, right, _ = _on_unit_ball(expansion, group, coordinates, shape)
        unit = float(np.abs(left).max(initial=0.0)) or 1.0
        key = blake2b(np.round(left / unit, 9).tobytes(), digest_size=16)
        for part in (np.round(right / unit, 9), m):
            key.update(part.tobytes())
        if key.digest() not in self._found:
            self._found[key.digest()] = _extreme(m, left / unit, right / unit)
        least, most = self._found[key.digest()]
        return least * unit**2, most * unit**2


@dataclass(frozen=True, eq=False)
class ArgumentEnds:
    """One-sided bounds (h,) of arguments t = a·δ + δᵀQδ, and the multipliers of the ellipsoid that prove them."""

    bounds: Array
    multipliers: Array


def argument_ends(
    expansion: Expansion, group: Group, coordinates: ProgramCoordinates, shape: EllipsoidShape
) -> tuple[ArgumentEnds, ArgumentEnds] | None:
    """Return the least and largest values of t on the ellipsoid, a little outside; None in many dimensions.

    The least value of aᵀs + sᵀQs on the unit ball is the largest of −μ − Σ ¼ a_i²/(λ_i + μ) over μ ≥ max(0, −λ_min).
    """
    m, left, right, slopes = _on_unit_ball(expansion, group, coordinates, shape)
    if left.shape[1] > SMALL:
        return None
    stack = np.stack([left.T @ (row[:, None] * right) for row in m])
    eigenvalues, vectors = np.linalg.eigh((stack + np.swapaxes(stack, 1, 2)) / 2)
    squares = np.einsum("iab,ia->ib", vectors, slopes) ** 2 / 4
    sizes = np.abs(eigenvalues).max(axis=1) + np.sqrt(squares.sum(axis=1)) + 1e-300
    sizes = np.maximum(sizes, CANCELLED / OUTWARD * _sizes(m, left, right))
    result = []
    for sign in (1.0, -1.0):
        values = sign * eigenvalues
        low = np.maximum(0.0, -values.min(axis=1)) + 1e-9 * sizes
        high = low + np.sqrt(squares.sum(axis=1)) + 1e-9 * sizes
        for _ in range(BISECTIONS):
            middle = (low + high) / 2
            steep = (squares / (values + middle[:, None]) ** 2).sum(axis=1) > 1
            low, high = np.where(steep, middle, low), np.where(steep, high, middle)
        mu = high + 1e-5 * sizes
        bounds = -mu - (squares / (values + mu[:, None])).sum(axis=1)
        bounds -= OUTWARD * len(m) * sizes
        result.append(ArgumentEnds(sign * bounds, mu))
    return result[0], result[1]


def _on_unit_ball(
    expansion: Expansion, group: Group, coordinates: ProgramCoordinates, shape: EllipsoidShape
) -> tuple[Array, Array, Array, Array]:
    """Return m, the rows a and a', and the slopes of the group, in coordinates in which the ellipsoid is the unit ball.

    Where rows span less than everything, the coordinates are those of an orthonormal basis of them.
    """
    m = np.hstack(list(group.products.values()))
    factors = [expansion.values[source].factors for source in group.products]
    rows = [[expansion.groups[pair[side]].slopes for pair in factors] for side in (0, 1)]
    same = all(first == second for first, second in factors)
    if coordinates.is_diagonal:
        scale = 1 / np.sqrt(shape.squares)
        left, right, slopes = (part * scale for part in (*map(np.concatenate, rows), group.slopes))
    else:  # columns with the length that the ellipsoid gives them
        unit = coordinates.spread / np.sqrt(shape.squares @ coordinates.spread**2)
        left, right, slopes = (part @ unit for part in (*map(np.concatenate, rows), group.slopes))
    every = left if same else np.concatenate([left, right])
    if len(every) < every.shape[1]:
        basis = np.linalg.qr(every.T)[0]
        outside = np.linalg.norm(slopes - (slopes @ basis) @ basis.T, axis=1)
        # What slopes see besides is one more coordinate, in which nothing is curved.
        left, right = (np.append(part @ basis, np.zeros((len(part), 1)), axis=1) for part in (left, right))
        slopes = np.append(slopes @ basis, outside[:, None], axis=1)
    return m, left, left if same else right, slopes


def _sizes(m: Array, left: Array, right: Array) -> Array:
    """Return what curvatures are sums of, without signs (h,)."""
    return np.asarray(np.abs(m) @ (np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)))


def _extreme(m: Array, left: Array, right: Array) -> tuple[Array, Array]:
    count, side = len(m), left.shape[1]
    if side <= SMALL:
        stack = np.stack([left.T @ (row[:, None] * right) for row in m])
        values = np.linalg.eigvalsh((stack + np.swapaxes(stack, 1, 2)) / 2)
        least, most, stretch = values[:, 0], values[:, -1], ROUNDING
    else:

        def multiply(vectors: Array) -> Array:
            if left is right:
                return np.asarray(((vectors @ left.T) * m) @ left)
            return np.asarray((((vectors @ left.T) * m) @ right + ((vectors @ right.T) * m) @ left) / 2)

        found = extremes(NUMPY, multiply, count, side, STEPS)
        least, most, stretch = found.least, found.largest, STRETCH
    room = stretch * np.maximum(np.abs(least), np.abs(most)) + CANCELLED * _sizes(m, left, right) + 1e-300
    return np.minimum(least, 0.0) - room, np.maximum(most, 0.0) + room
