"""The Euclidean distance degree of a quadric.

Let r be the number of distinct nonzero eigenvalues of A and M = [[A, b/2], [bᵀ/2, c]]. The number of critical points with finite
multiplier for a generic point is (the paper's theorem on quadrics)

    2r + 1   if rank M = rank A + 2   (b has a part in the kernel of A: a paraboloid)
    2r       if rank M = rank A + 1   (smooth, with or without a centre: S ≠ 0)
    2r − 2   if rank M = rank A       (singular: S = 0, a cone or a cylinder over one).

Two cases the formula does not mean: the zero polynomial (refused), and a hyperplane counted twice (rank M = rank A = 1), where
∇B vanishes on all of {B = 0}: no critical point has a finite multiplier, so 2r − 2 = 0, while the hyperplane as a set has ED
degree 1. Both numbers are given.

Over the rationals everything is exact: ranks by elimination, r as the degree of the squarefree part of the characteristic
polynomial without its root 0. For floats, tolerances decide (see `spectrum`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from polymargin.boundary import Boundary, Metric
from polymargin.errors import InputError
from polymargin.quadric.form import QuadricForm, exact_form
from polymargin.quadric.nearest import QuadricSolver
from polymargin.quadric.spectrum import Spectrum
from polymargin.quadric.squares import SquareSum
from polymargin.quadric.structure import EXACT_DIMENSION, exact_structure


@dataclass(frozen=True)
class QuadricEDDegree:
    """`value`: critical points with finite multiplier; `of_set`: ED degree of the zero set, 1 for a double hyperplane.

    `distinct` is r; `exact` says whether ranks and r were found in exact arithmetic.
    """

    value: int
    of_set: int
    distinct: int
    rank_matrix: int
    rank_augmented: int
    exact: bool

    def __int__(self) -> int:
        return self.value


def quadric_ed_degree(
    source: Boundary | QuadricForm | SquareSum | QuadricSolver, *, exact: bool | None = None
) -> QuadricEDDegree:
    """Return the ED degree of a boundary of degree at most two, exact for few variables by default.

    >>> int(quadric_ed_degree(Boundary.from_expression("x**2 + 4*y**2 - 4")))
    4
    >>> int(quadric_ed_degree(Boundary.from_expression("x**2 + y**2 - 4")))
    2
    """
    if isinstance(source, Boundary) and source.metric is not None and exact is not None and not exact:
        raise InputError("a metric needs exact=True: tolerances were made for the Euclidean distance")
    if exact is None:
        exact = isinstance(source, Boundary) and (source.dimension <= EXACT_DIMENSION or source.metric is not None)
    if not exact:
        rounded = QuadricForm.from_boundary(source) if isinstance(source, Boundary) else source
        return _numerical((rounded if isinstance(rounded, QuadricSolver) else QuadricSolver(rounded)).spectrum)
    if isinstance(source, Boundary):
        return _exact(*exact_form(source), source.metric)
    if isinstance(source, QuadricForm):
        matrix = [[Fraction(entry) for entry in row] for row in source.matrix.tolist()]
        return _exact(matrix, [Fraction(entry) for entry in source.linear.tolist()], Fraction(source.constant))
    raise InputError("exact=True needs a Boundary or a QuadricForm; a network's boundary is Boundary.from_network(…)")


def _exact(
    matrix: list[list[Fraction]], linear: list[Fraction], constant: Fraction, metric: Metric | None = None
) -> QuadricEDDegree:
    found = exact_structure(matrix, linear, constant, metric)
    return ed_degree_by_ranks(found.distinct, found.rank, found.augmented_rank, exact=True)


def _numerical(spectrum: Spectrum) -> QuadricEDDegree:
    """Return the rank of M from the parts of b and c outside the range of A: b on ker A, and S."""
    rank = int(np.count_nonzero(spectrum.eigenvalues))
    extra = 2 if spectrum.kernel_slopes.any() else int(spectrum.least != 0)
    return ed_degree_by_ranks(len(spectrum.clusters()), rank, rank + extra, exact=False)


def ed_degree_by_ranks(distinct: int, rank: int, augmented: int, *, exact: bool) -> QuadricEDDegree:
    """Return the ED degree from the number of distinct nonzero eigenvalues of A and the ranks of A and M."""
    if augmented == 0:
        raise InputError("the polynomial is zero: its zero set is the whole space and has no ED degree")
    value = 2 * distinct + {2: 1, 1: 0, 0: -2}[augmented - rank]
    doubled = rank == augmented == 1
    return QuadricEDDegree(value, 1 if doubled else value, distinct, rank, augmented, exact)
