"""Affine subspaces given by linear equations over the rationals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flint

from polymargin.geometry.algebra.rings import Ring, integer_form


def linear_forms(ring: Ring, rows: Sequence[Sequence[Any]]) -> tuple[Any, ...]:
    """Return independent equations Σ row[i] x_i + row[−1] = 0 as primitive integer polynomials, in reduced echelon form."""
    reduced, rank = flint.fmpq_mat([list(row) for row in rows]).rref()
    return tuple(integer_form(ring.linear(row[:-1], ring.variables, row[-1])) for row in reduced.table()[:rank])


def vanishes_on(polynomial: Any, forms: Sequence[Any]) -> bool:
    """Return whether an integer polynomial vanishes on the subspace where the forms of `linear_forms` do.

    >>> x, y, z = Ring(("x", "y", "z")).variables
    >>> forms = linear_forms(Ring(("x", "y", "z")), [[1, -1, 0, 0], [0, 1, 1, 2]])
    >>> vanishes_on(integer_form(x + z + 2), forms), vanishes_on(integer_form(x + z), forms)
    (True, False)
    """
    ring = Ring(tuple(polynomial.context().names()))
    values = list(ring.variables)
    for form in forms:
        rational = ring.context.from_dict(dict(form.to_dict().items()))
        pivot = next(i for i, degree in enumerate(rational.degrees()) if degree)
        values[pivot] = ring.variables[pivot] - rational / rational.derivative(pivot).leading_coefficient()
    return bool(ring.context.from_dict(dict(polynomial.to_dict().items())).compose(*values, ctx=ring.context).is_zero())


def kernel(matrix: Any) -> list[list[Any]]:
    """Return a basis of the kernel of a rational matrix.

    >>> kernel(flint.fmpq_mat([[1, 2, 0]]))
    [[-2, 1, 0], [0, 0, 1]]
    """
    reduced, rank = matrix.rref()
    rows, columns = reduced.table()[:rank], matrix.ncols()
    pivots = [next(j for j in range(columns) if row[j] != 0) for row in rows]
    basis = []
    for free in (j for j in range(columns) if j not in pivots):
        vector = [flint.fmpq(int(j == free)) for j in range(columns)]
        for row, pivot in zip(rows, pivots, strict=True):
            vector[pivot] = -row[free]
        basis.append(vector)
    return basis
