"""Reduced Gröbner bases of small ideals, with python-flint alone.

For ideals of a few points or linear spaces, so that equal ideals are written in the same way whichever method found them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flint


def reduced_basis(polynomials: Sequence[Any]) -> tuple[Any, ...]:
    """Return the reduced basis of integer polynomials by degree: primitive, leading coefficients positive, lowest degree first.

    >>> u, v = flint.fmpz_mpoly_ctx.get(("u", "v"), flint.Ordering.degrevlex).gens()
    >>> reduced_basis([u * v, u * (1 - v), 3 * v - 3, u * u])
    (u, v - 1)
    """
    vector: Any = flint.fmpz_mpoly_vec(list(polynomials), polynomials[0].context())
    basis = [entry.primitive()[1] for entry in vector.buchberger_naive().autoreduction(groebner=True)]
    signed = [entry if entry.leading_coefficient() > 0 else -entry for entry in basis]
    return tuple(sorted(signed, key=lambda p: (p.total_degree(), [-power for power in p.monoms()[0]])))
