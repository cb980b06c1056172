"""The dimension of the quotient by an ideal with finitely many zeros, by linear algebra modulo a prime.

V is a space of polynomials of degree at most d inside the ideal, kept in echelon form with monomials of high degree first. Every
polynomial of V of degree less than d is multiplied by every variable, and what is new joins V, until nothing is new. If then each
monomial of degree d and d − 1 leads a polynomial of V, the monomials that lead none are a basis of the quotient: reduction by V
defines multiplication by the variables on their span, these maps commute because x_i x_j times a basis monomial has degree at
most d, and they satisfy the equations. Otherwise d grows by one (Mourrain, "A new criterion for normal form algorithms", 1999).
"""

from __future__ import annotations

from itertools import combinations_with_replacement
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

from polymargin.errors import InputError
from polymargin.geometry.algebra.critical_ideals import System

Rows = NDArray[np.int64]
Exponents = tuple[int, ...]

# Entries of the largest matrix: beyond them Gröbner engines are faster.
MOST_ENTRIES = 4_000_000


def quotient_dimension_modulo(system: System, most_entries: int = MOST_ENTRIES) -> int | None:
    """The dimension, multiplicities included; None if a matrix would be larger, as it is for infinitely many zeros.

    >>> from polymargin.geometry.algebra.rings import Ring
    >>> ring = Ring(("x", "y"), 1073741789)
    >>> x, y = ring.variables
    >>> quotient_dimension_modulo(System(ring, (x**2 - y, y**2 - 1)))
    4
    """
    prime, size = system.ring.prime, len(system.ring.names)
    if prime is None:
        raise InputError("linear algebra counts modulo a prime; use engine='msolve' or 'Singular' over the rationals")
    polynomials = [p for p in system.polynomials if not p.is_zero()]
    degree = max(int(p.total_degree()) for p in polynomials)
    monomials = [m for d in range(degree, -1, -1) for m in _of_degree(size, d)]
    space = _echelon(_rows(polynomials, monomials), prime)
    multiplied: set[Exponents] = set()
    while True:
        leads = (space != 0).argmax(axis=1)
        degrees = np.array([sum(monomial) for monomial in monomials])
        fresh = [i for i, k in enumerate(leads) if degrees[k] < degree and monomials[k] not in multiplied]
        if fresh:
            if (len(space) + size * len(fresh)) * len(monomials) > most_entries:
                return None
            multiplied.update(monomials[leads[i]] for i in fresh)
            space = _echelon(np.concatenate([space, *_multiples(space[fresh], monomials, degree)]), prime)
            continue
        basis = np.setdiff1d(np.arange(len(monomials)), leads)
        if degrees[basis].max(initial=-1) <= degree - 2:
            return len(basis)
        degree += 1
        new = _of_degree(size, degree)
        monomials = new + monomials
        if len(space) * len(monomials) > most_entries:
            return None
        space = np.pad(space, ((0, 0), (len(new), 0)))


def _of_degree(size: int, degree: int) -> list[Exponents]:
    """The monomials of one degree."""
    chosen = combinations_with_replacement(range(size), degree)
    return [tuple(variables.count(i) for i in range(size)) for variables in chosen]


def _rows(polynomials: list[Any], monomials: list[Exponents]) -> Rows:
    places = {monomial: place for place, monomial in enumerate(monomials)}
    rows = np.zeros((len(polynomials), len(monomials)), dtype=np.int64)
    for row, polynomial in zip(rows, polynomials, strict=True):
        for exponents, coefficient in polynomial.to_dict().items():
            row[places[exponents]] = int(coefficient)
    return rows


def _multiples(rows: Rows, monomials: list[Exponents], degree: int) -> list[Rows]:
    """Each row times each variable, for rows of degree less than `degree`."""
    places = {monomial: place for place, monomial in enumerate(monomials)}
    low = [place for place, monomial in enumerate(monomials) if sum(monomial) < degree]
    result = []
    for variable in range(len(monomials[0])):
        higher = [(*m[:variable], m[variable] + 1, *m[variable + 1 :]) for m in (monomials[place] for place in low)]
        product = np.zeros_like(rows)
        product[:, [places[monomial] for monomial in higher]] = rows[:, low]
        result.append(product)
    return result


def _echelon(rows: Rows, prime: int) -> Rows:
    """The reduced echelon form without its rows of zeros."""
    reduced, rank = flint.nmod_mat(len(rows), rows.shape[1], rows.ravel().tolist(), prime).rref()
    entries = np.fromiter((int(entry) for entry in reduced.entries()), dtype=np.int64, count=rows.size)
    return entries.reshape(rows.shape)[:rank]
