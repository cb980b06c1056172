"""The best bound of a quadratic on a box that one multiplier for each coordinate proves.

    maximise γ   such that   Z = base − (γ + Σ λ_i) e₀e₀ᵀ + Diag(0, λ) is positive semidefinite,   λ ≥ 0,

for ξ = (1, s) and |s_i| ≤ 1. The dual problem asks for vectors with |v_0| = 1 and |v_i| ≤ 1 that make Σ base_ij v_i·v_j least.
One vector after the other is set to its best place, v_i = −g_i / max(|g_i|, base_ii) with g_i = Σ_{j≠i} base_ij v_j (Wang,
Chang and Kolter 2017). There λ_i = −v_i · Σ_j base_ij v_j. Some tens of sweeps come close to the optimum; what λ lacks to
make Z definite is added to all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from polymargin.deadlines import NEVER, Deadline

Array = NDArray[np.float64]

BLOCK = 49
"""Vectors whose sums g are formed by one product."""
FIRST, LARGEST = 12, 400
"""Sweeps before the bound is computed for the first time, and in all; the number between doubles."""
ROOM, DEFINITE = 1e-9, 1e-10


@dataclass(frozen=True, eq=False)
class BoxBound:
    """γ with multipliers λ ≥ 0 for which Z is positive definite."""

    value: float
    multipliers: Array


def box_bound(base: Array, tolerance: float, seed: int = 0, deadline: Deadline = NEVER) -> BoxBound | None:
    """Bound base as a form in (1, s) from below, to a tolerance; None if rounding spoils it."""
    vectors = np.random.default_rng(seed).normal(size=(len(base), isqrt(2 * len(base)) + 2))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    best: BoxBound | None = None
    done, sweeps = 0, FIRST
    while done < LARGEST:
        for _ in range(sweeps):
            _sweep(base, vectors)
        done += sweeps
        products = ((base @ vectors) * vectors).sum(axis=1)
        made = _completed(base, -products)
        if made is not None and (best is None or made.value > best.value):
            best = made
        if (best is not None and products.sum() - best.value <= tolerance) or deadline.passed:
            break
        sweeps = done
    return best


def _sweep(base: Array, vectors: Array) -> None:
    places = np.einsum("ii->i", base)
    for start in range(0, len(base), BLOCK):
        block = slice(start, start + BLOCK)
        sums, among = base[block] @ vectors, base[block, block]
        for k in range(len(sums)):
            number = start + k
            own = sums[k] - places[number] * vectors[number]
            length = np.sqrt(own @ own)
            if number:
                length = max(length, places[number])
            if length <= 0:
                continue
            place = -own / length
            sums += among[:, k, None] * (place - vectors[number])
            vectors[number] = place


def _completed(base: Array, multipliers: Array) -> BoxBound | None:
    """Return the bound of multipliers, the one of ξ_0 first, that are raised until the whole form is definite."""
    multipliers = np.append(multipliers[:1], np.maximum(0.0, multipliers[1:]))
    whole = base + np.diag(multipliers)
    least = float(linalg.eigh(whole, eigvals_only=True, subset_by_index=[0, 0], check_finite=False)[0])
    more = max(0.0, -least) + DEFINITE * float(np.abs(base).max(initial=0.0))
    multipliers = multipliers[1:] + more
    inner, border = base[1:, 1:] + np.diag(multipliers), base[1:, 0]
    try:
        factor = linalg.cho_factor(inner, lower=True, check_finite=False)
    except linalg.LinAlgError:
        return None
    value = float(base[0, 0] - multipliers.sum() - border @ linalg.cho_solve(factor, border, check_finite=False))
    return BoxBound(value - ROOM * abs(value), multipliers)
