"""Ranges of rests that are quadratic forms, from their extreme eigenvalues.

Where the first layer squares linear forms, w_i = Σ_v M_iv c_v (a_v·δ)² is a quadratic form in δ for a neuron of the next
layer. With ‖Dδ‖² ≤ b on the region and the rows a_v D⁻¹ of F it lies between b times the extreme eigenvalues of
Fᵀ diag(M_iv c_v) F. Intervals let all squares be largest at once, which no δ can do (docs/theorems.md, section 10).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from polymargin.bounds.regions.expansion import FormAround, RegionExpansion, reaches

Array = NDArray[np.float64]

# Eigenvalues of as many matrices as there are neurons: beyond so many operations linear algebra takes seconds.
MOST_WORK = 1e9
# τ of G = FFᵀ + τ, as a part of the largest diagonal entry: as the checker has it.
SHARE = 2.0**-24
# Ranges are this much wider than eigenvalues say, relative to the largest of them.
ROOM = 1e-6


def curved_ranges(expansion: RegionExpansion) -> list[Array | None] | None:
    """lo and hi (h, 2) by form that has a rest, None where it is no such form; None if that holds for all."""
    found = [_of_form(expansion, form) for at in expansion.at for form in at.forms if form.rest is not None]
    return found if any(one is not None for one in found) else None


def _of_form(expansion: RegionExpansion, form: FormAround) -> Array | None:
    if len(form.reached) != 1:
        return None
    ((source, block),) = form.reached.items()
    below = expansion.at[source - 1]
    if below.taylor is None or below.taylor.shape[1] != 3 or below.forms[0].rest is not None:
        return None
    weights = (block.toarray() if sparse.issparse(block) else block) * below.taylor[:, 2]
    height, width = weights.shape
    if height * width**3 > MOST_WORK:
        return None
    scales, bound = reaches(expansion.region, expansion.centre)
    scaled = below.forms[0].slopes * scales
    gram = scaled @ scaled.T
    gram[np.arange(width), np.arange(width)] += SHARE * gram.diagonal().max(initial=0.0)
    try:
        root = np.linalg.cholesky(gram)
    except np.linalg.LinAlgError:
        return None
    ends = np.empty((height, 2))
    for row, end in zip(weights, ends, strict=True):
        values = linalg.eigvalsh(root.T @ (row[:, None] * root), check_finite=False)
        end[:] = bound * min(values[0], 0.0), bound * max(values[-1], 0.0)
    room = ROOM * float(np.abs(ends).max(initial=0.0)) + 1e-300
    return ends + room * np.array([-1.0, 1.0])
