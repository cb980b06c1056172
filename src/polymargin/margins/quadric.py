"""The proof for a quadric: the multiplier of the secular equation.

At the nearest point, at distance d, δ + λ∇B = 0 and 1 + 2λσ ≥ 0 for every eigenvalue σ of B's matrix. So with μ = 1/(2λ) the form
B − μ(r² − ‖δ‖²) is not negative for r = d, and for r = d (1 − η) the multiplier μ (1 + η) leaves room in every direction: the
eigenvalues are at least ημ then, and what is left of the form is at least about ημr². The checker needs no more than that.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.margins.certificate import hexadecimal
from polymargin.margins.proofs import RivalProof
from polymargin.networks.network import Network

Array = NDArray[np.float64]
Classes = NDArray[np.int64] | NDArray[np.intp]

# Room that proofs leave, relative to the distance; the first that the checker accepts is taken.
ROOMS = (2.0**-30, 2.0**-24)
# A point beyond the tie by this share of the distance, where doubles see that the rival is ahead.
BEYOND = 2.0**-31


def quadric_proof(rival: int, distance: float, multiplier: float, room: float) -> RivalProof:
    """Return the proof of a distance a little below the one given; `multiplier` is λ at the nearest point."""
    if math.isinf(distance):
        return RivalProof(rival, math.inf, _entry(0.0))
    lower = distance * (1 - room)
    return RivalProof(rival, lower, _entry((1 + room) / (2 * abs(multiplier))))


def _entry(multiplier: float) -> dict[str, Any]:
    return {"kind": "quadric", "multiplier": hexadecimal(multiplier)}


def beyond_ties(network: Network, u: Array, ties: Array, labels: Classes, rivals: Classes) -> tuple[Array, Array]:
    """Return points just beyond ties (q, n) and upper bounds of their distances; NaN where doubles do not see the rival ahead."""
    x = u + (1 + BEYOND) * (ties - u)
    each = np.arange(len(u))
    logits = network(x)
    ahead = logits[each, rivals] > logits[each, labels]
    distances = np.linalg.norm(x - u, axis=1) * (1 + 2.0**-45)
    return x, np.where(ahead, distances, np.nan)
