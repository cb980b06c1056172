"""All real points of the boundary that are critical on one face, found by the tracker as everywhere else.

For L2 they are the critical points of the distance from the foot of u on the face: `critical_points` or
`quadric_critical_points`. For L∞ and L1 they are the solutions of ∂_yB = 0, B = 0 in (y, t). The system has as many equations of
degree D − 1 as y has entries and one of degree D, and D(D − 1)^f solutions for a generic boundary: as many as the total-degree
start system has paths. Of degree two it is a linear system and one quadratic.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polymargin.boundary import Boundary
from polymargin.continuation import PathEnd, Tracker
from polymargin.continuation.same_points import CLEARLY_COMPLEX, imaginary_shares
from polymargin.continuation.solve import solve_expressions
from polymargin.enumeration.critical_points import critical_points_by
from polymargin.margins.faces.face import Face
from polymargin.margins.line import real_roots
from polymargin.margins.pairs import Enumeration
from polymargin.polynomials import Graph, gradient
from polymargin.quadric import QuadricForm, quadric_critical_points

Array = NDArray[np.float64]

# A linear system with a larger condition number is solved by continuation, which can tell a family from a point.
LARGEST_CONDITION = 1e8


@dataclass(frozen=True, eq=False)
class Candidates:
    """points (k, n): those that may be real; `complete`: no others are critical on the face; `found`: with the complex ones."""

    points: Array
    complete: bool
    found: int


def candidates(boundary: Boundary, face: Face, search: Enumeration, tracker: Tracker) -> Candidates:
    """Return the critical points on the face."""
    columns = face.columns
    if columns.shape[1] == 1:
        roots, count = real_roots(boundary, face.origin, columns[:, 0])
        return Candidates(face.origin + np.multiply.outer(roots, columns[:, 0]), True, count)
    restricted = Boundary(boundary.source.on_subspace(columns, face.origin))
    if restricted.degree < 1:
        # Constant: no point ties, or all of them, and then those of a smaller face are as near.
        return Candidates(np.zeros((0, boundary.dimension)), True, 0)
    if face.step is None:
        return _euclidean(restricted, face, search, tracker)
    if restricted.degree == 2 and (known := _quadratic(restricted, face)) is not None:
        return known
    return _critical(restricted, face, search, tracker)


def _euclidean(restricted: Boundary, face: Face, search: Enumeration, tracker: Tracker) -> Candidates:
    foot = np.zeros(restricted.dimension)
    if restricted.degree == 2 and restricted.dimension > 1:
        quadric = quadric_critical_points(restricted, foot)
        return _placed(face, quadric.points, not quadric.families.any() and bool((quadric.multiplicities == 1).all()))
    found = critical_points_by(tracker, restricted, foot, seed=search.seed, limit=search.limit, cache=False)
    return _placed(face, found.points, found.audit.complete and bool((found.multiplicities == 1).all()))


def _critical(restricted: Boundary, face: Face, search: Enumeration, tracker: Tracker) -> Candidates:
    graph = Graph()
    unknowns = graph.inputs(restricted.dimension)
    value = restricted.source.polynomial(unknowns)
    equations = [*gradient(value, unknowns)[:-1], value]
    constants = [graph.constant_value(equation) for equation in equations]
    if any(constant is not None for constant in constants):
        # B grows along some y everywhere, or does not depend on it: then a smaller face has points as near.
        return Candidates(np.zeros((0, len(face.origin))), True, 0)
    names = [f"y{index}" for index in range(len(unknowns))]
    found = solve_expressions(equations, unknowns, names, tracker, seed=search.seed, limit=search.limit)
    return _placed(face, found.points, all(end in (PathEnd.CONVERGED, PathEnd.AT_INFINITY) for end in found.ends))


def _quadratic(restricted: Boundary, face: Face) -> Candidates | None:
    """Solve ∂_yB = 0, which is linear, by y = y₀ + y₁t, and the quadratic in t; None if the system is nearly singular."""
    form = QuadricForm.from_boundary(restricted)
    A, b, f = form.matrix, form.linear, restricted.dimension - 1
    if f and np.linalg.cond(A[:f, :f]) > LARGEST_CONDITION:
        return None
    lines = np.linalg.solve(2 * A[:f, :f], -np.column_stack([b[:f], 2 * A[:f, f]])) if f else np.zeros((0, 2))
    start, slope = np.append(lines[:, 0], 0.0), np.append(lines[:, 1], 1.0)
    coefficients = [slope @ A @ slope, 2 * slope @ A @ start + b @ slope, start @ A @ start + b @ start + form.constant]
    roots = np.roots(coefficients) if coefficients[0] or coefficients[1] else np.zeros(0)
    return _placed(face, start + np.multiply.outer(roots.astype(np.complex128), slope), True)


def _placed(face: Face, solutions: NDArray[np.complex128], complete: bool) -> Candidates:
    """Return candidates in the input space; complex pairs that may be real are kept for an exact test."""
    real = imaginary_shares(solutions) < CLEARLY_COMPLEX
    return Candidates(face.origin + solutions[real].real @ face.columns.T, complete, len(solutions))
