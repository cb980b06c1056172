"""The quotient by an ideal with finitely many zeros, by linear algebra over the rationals or modulo a prime.

V is a space of polynomials of degree at most d inside the ideal, kept in echelon form with monomials of high degree first. Every
polynomial of V of degree less than d is multiplied by every variable, and what is new joins V, until nothing is new. If then each
monomial of degree d and d − 1 leads a polynomial of V, the monomials that lead none are a basis of the quotient: reduction by V
defines multiplication by the variables on their span, these maps commute because x_i x_j times a basis monomial has degree at
most d, and they satisfy the equations. Otherwise d grows by one (Mourrain, "A new criterion for normal form algorithms", 1999).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

from polymargin.geometry.algebra.equations import System
from polymargin.geometry.algebra.rings import Ring

Rows = NDArray[Any]
Exponents = tuple[int, ...]

# Entries of the largest matrix: beyond them Gröbner engines are faster.
MOST_ENTRIES = 4_000_000


@dataclass(frozen=True, eq=False)
class Quotient:
    """V by its rows over the monomials, and the places of those that are a basis of the quotient."""

    ring: Ring
    monomials: list[Exponents]
    space: Rows
    basis: list[int]

    def __len__(self) -> int:
        return len(self.basis)

    def multiplication(self, variable: int) -> Any:
        """Return the matrix of multiplication by a variable; its columns are the images of the basis."""
        places = {monomial: place for place, monomial in enumerate(self.monomials)}
        leads = {int(place): row for row, place in enumerate((self.space != 0).argmax(axis=1))}
        columns = []
        for place in self.basis:
            image = places[_raised(self.monomials[place], variable)]
            columns.append(
                [-self.space[leads[image], k] for k in self.basis]
                if image in leads
                else [int(k == image) for k in self.basis]
            )
        return self.ring.matrix(columns, len(self)).transpose()


def quotient_dimension_modulo(system: System, most_entries: int = MOST_ENTRIES) -> int | None:
    """Return the dimension, multiplicities included; None if a matrix would be larger, as it is for infinitely many zeros.

    >>> ring = Ring(("x", "y"), 1073741789)
    >>> x, y = ring.variables
    >>> quotient_dimension_modulo(System(ring, (x**2 - y, y**2 - 1)))
    4
    """
    found = quotient(system, most_entries)
    return None if found is None else len(found)


def quotient(system: System, most_entries: int = MOST_ENTRIES) -> Quotient | None:
    """Return the quotient by the ideal; None if a matrix would be larger."""
    ring, size = system.ring, len(system.ring.names)
    polynomials = [p for p in system.polynomials if not p.is_zero()]
    degree = max(int(p.total_degree()) for p in polynomials)
    monomials = [m for d in range(degree, -1, -1) for m in _of_degree(size, d)]
    space = _echelon(ring, _rows(ring, polynomials, monomials))
    multiplied: set[Exponents] = set()
    while True:
        leads = (space != 0).argmax(axis=1)
        degrees = np.array([sum(monomial) for monomial in monomials])
        fresh = [i for i, k in enumerate(leads) if degrees[k] < degree and monomials[k] not in multiplied]
        if fresh:
            if (len(space) + size * len(fresh)) * len(monomials) > most_entries:
                return None
            multiplied.update(monomials[leads[i]] for i in fresh)
            space = _echelon(ring, np.concatenate([space, *_multiples(space[fresh], monomials, degree)]))
            continue
        basis = np.setdiff1d(np.arange(len(monomials)), leads)
        if degrees[basis].max(initial=-1) <= degree - 2:
            return Quotient(ring, monomials, space, basis.tolist())
        degree += 1
        new = _of_degree(size, degree)
        monomials = new + monomials
        if len(space) * len(monomials) > most_entries:
            return None
        space = np.concatenate([np.zeros((len(space), len(new)), dtype=space.dtype), space], axis=1)


def _of_degree(size: int, degree: int) -> list[Exponents]:
    """Return the monomials of one degree."""
    chosen = combinations_with_replacement(range(size), degree)
    return [tuple(variables.count(i) for i in range(size)) for variables in chosen]


def _raised(monomial: Exponents, variable: int) -> Exponents:
    return (*monomial[:variable], monomial[variable] + 1, *monomial[variable + 1 :])


def _rows(ring: Ring, polynomials: list[Any], monomials: list[Exponents]) -> Rows:
    places = {monomial: place for place, monomial in enumerate(monomials)}
    rows = np.zeros((len(polynomials), len(monomials)), dtype=np.int64 if ring.prime else object)
    for row, polynomial in zip(rows, polynomials, strict=True):
        for exponents, coefficient in polynomial.to_dict().items():
            row[places[exponents]] = int(coefficient) if ring.prime else coefficient
    return rows


def _multiples(rows: Rows, monomials: list[Exponents], degree: int) -> list[Rows]:
    """Return each row times each variable, for rows of degree less than `degree`."""
    places = {monomial: place for place, monomial in enumerate(monomials)}
    low = [place for place, monomial in enumerate(monomials) if sum(monomial) < degree]
    result = []
    for variable in range(len(monomials[0])):
        product = np.zeros_like(rows)
        product[:, [places[_raised(monomials[place], variable)] for place in low]] = rows[:, low]
        result.append(product)
    return result


def _echelon(ring: Ring, rows: Rows) -> Rows:
    """Return the reduced echelon form without its rows of zeros."""
    if not ring.prime:
        reduced, rank = flint.fmpq_mat(len(rows), rows.shape[1], rows.ravel().tolist()).rref()
        return np.array(reduced.entries(), dtype=object).reshape(rows.shape)[:rank]
    residues, rank = flint.nmod_mat(len(rows), rows.shape[1], rows.ravel().tolist(), ring.prime).rref()
    entries = np.fromiter((int(entry) for entry in residues.entries()), dtype=np.int64, count=rows.size)
    return entries.reshape(rows.shape)[:rank]
