"""Which forms are multiples of each other: z · (2z) is a polynomial of z, and not a product of two expressions."""

from __future__ import annotations

import numpy as np

from polymargin.networks.tape.operations import PARALLEL, Array, Indices, OperationTape


def multiples(tape: OperationTape, first: Indices, second: Indices) -> Array:
    """Return numbers r with first = r · second for two lists of directions; NaN where there is none."""
    rows, others = tape.rows(first), tape.rows(second)
    for matrix in (rows, others):
        matrix.sort_indices()
    tape.spend(rows.nnz + others.nnz)
    result = np.full(len(first), np.nan)
    lengths = np.diff(rows.indptr)
    same = np.flatnonzero((lengths == np.diff(others.indptr)) & (lengths > 0))
    if not len(same):
        return result
    rows, others = rows[same], others[same]
    starts = rows.indptr[:-1]
    with np.errstate(all="ignore"):
        fits = np.logical_and.reduceat(rows.indices == others.indices, starts)
        # The ratio at the largest entry; all entries must agree with it up to one rounding.
        owner = np.repeat(np.arange(len(same)), np.diff(rows.indptr))
        sizes = np.abs(others.data)
        largest = np.maximum.reduceat(sizes, starts)
        places = np.full(len(same), rows.nnz)
        candidates = np.flatnonzero(sizes == largest[owner])
        np.minimum.at(places, owner[candidates], candidates)
        ratios = rows.data[places] / others.data[places]
        error = np.abs(rows.data - ratios[owner] * others.data)
        fits &= np.logical_and.reduceat(error <= PARALLEL * np.abs(rows.data), starts)
    result[same[fits]] = ratios[fits]
    return result
