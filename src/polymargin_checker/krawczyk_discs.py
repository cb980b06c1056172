"""Krawczyk's test in doubles for many boxes at once: products of discs around midpoints (docs/theorems.md, section 5).

A box X has the midpoint z = (x, λ) and the radii R, one for the coordinates of x and one for λ. With F(x, λ) = (x − u + λ∇B, B),
J an enclosure of F' on X and any matrix Y, if

    s_i = |Y F(z)|_i + Σ_j |1 − Y J|_ij R_j < R_i    for all i,

then X contains exactly one zero of F, this zero is regular, and it lies within s of z. The multiplier λ of the midpoint is chosen
here: −⟨∇B, x − u⟩/⟨∇B, ∇B⟩, real for real x. Y is an approximate inverse of the midpoint of J.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polymargin_checker.discs import SAFE, TINY, UNIT, Complexes, Discs, Floats, sizes
from polymargin_checker.jets import Classes, Jets
from polymargin_checker.work import spend_doubles

_AT_ONCE = 1 << 15
"""Entries of the Jacobians of boxes that are tested together."""


@dataclass(frozen=True, eq=False)
class Boxes:
    """Boxes (places, …): midpoints x (n), radii of x and of λ, centres u (n), classes; whether x is to be real."""

    x: Complexes
    radii: Floats
    u: Floats
    labels: Classes
    rivals: Classes
    real: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, place: slice) -> Boxes:
        return Boxes(
            self.x[place],
            self.radii[place],
            self.u[place],
            self.labels[place],
            self.rivals[place],
            self.real[place],
        )


@dataclass(frozen=True, eq=False)
class Contracted:
    """The outcome of the test: whether it is passed, the λ of the midpoints, and s (places, n + 1)."""

    passed: NDArray[np.bool_]
    multipliers: Complexes
    reach: Floats


def contract_boxes(jets: Jets, boxes: Boxes) -> Contracted:
    """Test all boxes."""
    n, count = jets.dimension, len(boxes)
    spend_doubles(count * (jets.work + 32 * (n + 1) ** 3), f"Krawczyk's test in {n} variables")
    size = max(1, _AT_ONCE // (n + 1) ** 2)
    parts = [_contract(jets, boxes[start : start + size]) for start in range(0, count, size)]
    if not parts:
        return Contracted(np.zeros(0, dtype=bool), np.zeros(0, dtype=np.complex128), np.zeros((0, n + 1)))
    return Contracted(
        np.concatenate([part.passed for part in parts]),
        np.concatenate([part.multipliers for part in parts]),
        np.concatenate([part.reach for part in parts]),
    )


def _contract(jets: Jets, boxes: Boxes) -> Contracted:
    n, count = jets.dimension, len(boxes)
    at = jets.at(Discs.exact(boxes.x), boxes.labels, boxes.rivals, hessian=False)
    offset = Discs.exact(boxes.x) - Discs.exact(boxes.u)
    slope = at.gradient.middle
    multipliers = -(slope.conj() * offset.middle).sum(axis=1) / (slope.conj() * slope).sum(axis=1)
    multipliers = np.where(boxes.real, multipliers.real, multipliers)
    residual = Discs.stacked([offset + Discs.exact(multipliers[:, None]) * at.gradient, at.value], axis=1)

    radii = np.concatenate([np.repeat(boxes.radii[:, :1], n, axis=1), boxes.radii[:, 1:]], axis=1)
    whole = jets.at(Discs(boxes.x, radii[:, :n]), boxes.labels, boxes.rivals, hessian=True)
    assert whole.hessian is not None
    bent = Discs(multipliers[:, None, None], radii[:, n:, None]) * whole.hessian + Discs.exact(np.eye(n))
    middle = np.zeros((count, n + 1, n + 1), dtype=np.complex128)
    radius = np.zeros((count, n + 1, n + 1))
    for array, block, edge in (
        (middle, bent.middle, whole.gradient.middle),
        (radius, bent.radius, whole.gradient.radius),
    ):
        array[:, :n, :n], array[:, :n, n], array[:, n, :n] = block, edge, edge
    inverse, usable = _inverses(middle)
    return Contracted(*_judged(inverse, usable, residual, Discs(middle, radius), radii, multipliers))


def _judged(
    inverse: Complexes, usable: NDArray[np.bool_], residual: Discs, jacobian: Discs, radii: Floats, lambdas: Complexes
) -> tuple[NDArray[np.bool_], Complexes, Floats]:
    side = inverse.shape[1]
    rounding = (4 * side + 16) * UNIT
    weights = sizes(inverse)
    step = _product(inverse, residual.middle[:, :, None])[:, :, 0]
    deviation = np.eye(side) - _product(inverse, jacobian.middle)
    # What the products do not show: radii, and their own rounding; |1 − fl(p)| is rounded by UNIT (1 + |p|) more at most.
    hidden = residual.radius + rounding * sizes(residual.middle)
    around = ((jacobian.radius + rounding * sizes(jacobian.middle)) @ radii[:, :, None])[:, :, 0]
    reach = sizes(step) + (sizes(deviation) @ radii[:, :, None])[:, :, 0]
    reach = reach + (weights @ (hidden + around)[:, :, None])[:, :, 0]
    reach = SAFE * (reach + 4 * UNIT * radii) + TINY
    return usable & (reach < radii).all(axis=1), lambdas, reach


def _product(left: Complexes, right: Complexes) -> Complexes:
    """Return the products of stacks of matrices by products of real ones."""
    m, n = left.shape[1], right.shape[2]
    over = np.concatenate([left.real, left.imag], axis=1)
    parts = over @ np.concatenate([right.real, right.imag], axis=2)
    found = np.empty((len(left), m, n), dtype=np.complex128)
    found.real, found.imag = parts[:, :m, :n] - parts[:, m:, n:], parts[:, :m, n:] + parts[:, m:, :n]
    return found


def _inverses(matrices: Complexes) -> tuple[Complexes, NDArray[np.bool_]]:
    """Return approximate inverses, and which of them may be any good."""
    usable = np.asarray(np.isfinite(matrices).all(axis=(1, 2)))
    safe = np.where(usable[:, None, None], matrices, np.eye(matrices.shape[1]))
    try:
        found = np.linalg.inv(safe)
    except np.linalg.LinAlgError:
        found = np.zeros_like(safe)
        for place, matrix in enumerate(safe):
            try:
                found[place] = np.linalg.inv(matrix)
            except np.linalg.LinAlgError:
                usable[place] = False
    return np.asarray(found, dtype=np.complex128), np.asarray(usable & np.isfinite(found).all(axis=(1, 2)))
