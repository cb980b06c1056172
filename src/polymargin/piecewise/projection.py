"""The point of a polyhedron {y : A y ≤ b} nearest to the origin, and a lower bound of its distance that needs no trust.

Any weights λ ≥ 0 combine the inequalities into one, (λA)·y ≤ λ·b. If λ·b < 0 it excludes the origin, and every point of the
polyhedron is at least −λ·b / ‖λA‖ away. The best weights are the multipliers of the quadratic program, for which equality
holds; for an empty polyhedron they make the bound as large as rounding allows. So the bound is computed from the weights, and
a solver that errs can only make it weaker.

DAQP (a dual active-set method) answers, warm-started from the multipliers of a similar program, and stops as soon as its
weights prove what the caller wants to know. Where it finds neither point nor proof, a second method decides: Lawson and
Hanson's reduction to nonnegative least squares, which always returns weights.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.errors import InputError, MissingExtraError

Array = NDArray[np.float64]

# Violation that DAQP may leave, in units of the largest distance to a violated half-space.
PRIMAL_TOLERANCE = 1e-12
# How well DAQP's point must agree with its weights and its inequalities to be believed.
AGREEMENT = 1e-9
# Stands for infinity in DAQP.
LARGEST = 1e30
EPSILON = float(np.finfo(np.float64).eps)
# Nonnegative least squares: a residual below this means that the polyhedron is empty, up to rounding.
EMPTY_RESIDUAL = 1e-14
MISSED = 1e-7


@dataclass(frozen=True, eq=False)
class Projection:
    """The nearest point of a polyhedron, or a proof that there is none nearby.

    point    (n,), None if none was found: the polyhedron is empty, or out of reach, as far as `lower` proves it
    lower    no point of the polyhedron is nearer to the origin
    normal   unit vector v with v·y ≥ lower on the polyhedron; zero if lower is 0
    weights  (rows,) ≥ 0 that prove it, for the rows as given
    """

    point: Array | None
    lower: float
    normal: Array
    weights: Array


def project_origin(rows: Array, limits: Array, *, reach: float = math.inf, warm: Array | None = None) -> Projection:
    """Return the nearest point to the origin in {y : rows @ y ≤ limits}.

    A proof that there is no point within `reach` is answer enough. `warm` may hold weights that are nearly right.

    >>> found = project_origin(np.array([[-1.0, 0.0], [0.0, -1.0]]), np.array([-3.0, -4.0]))
    >>> found.point.tolist(), round(found.lower, 12)
    ([3.0, 4.0], 5.0)
    """
    count, dimension = rows.shape
    if not np.isfinite(rows).all() or np.isnan(limits).any():
        raise InputError("the regions have numbers beyond the range of doubles; rescale the weights")
    # Norms without squares that leave the range of doubles.
    largest = np.abs(rows).max(axis=1, initial=0.0)
    sizes = np.linalg.norm(rows / np.where(largest > 0, largest, 1.0)[:, None], axis=1) * largest
    flat = sizes == 0.0
    if (limits[flat] < 0).any():  # 0 ≤ negative: empty
        weights = np.where(flat & (limits < 0), 1.0, 0.0)
        return Projection(None, math.inf, np.zeros(dimension), weights)
    sizes = np.where(flat, 1.0, sizes)
    unit_rows, levels = rows / sizes[:, None], np.where(flat, math.inf, limits / sizes)
    nearest_level = float(levels.min(initial=math.inf))
    if nearest_level >= 0:
        return Projection(np.zeros(dimension), 0.0, np.zeros(dimension), np.zeros(count))
    scale = -nearest_level
    point, weights = _solve(unit_rows, levels / scale, reach / scale, None if warm is None else warm * sizes)
    lower, normal = _proved(weights, unit_rows, levels)
    return Projection(None if point is None else point * scale, lower, normal, weights / sizes)


def _proved(weights: Array, rows: Array, levels: Array) -> tuple[float, Array]:
    """Return the bound that the weights prove for unit rows, and its unit normal; nothing if they are not finite.

    Their size does not matter, but that of their products does: next to 1e-310 a length vanishes and seems to prove everything.
    """
    largest = float(weights.max(initial=0.0))
    if not 0.0 < largest < math.inf:
        return 0.0, np.zeros(rows.shape[1])
    weights = weights / largest
    normal = -(weights @ rows)
    terms = weights * np.where(weights > 0, levels, 0.0)
    # Rounding must not exclude a polyhedron that is a single point: the combined inequality holds with this much more room.
    rounding = EPSILON * len(weights)
    length = float(np.linalg.norm(normal)) + rounding * float(weights.sum())
    depth = -float(terms.sum()) - rounding * float(np.abs(terms).sum())
    if depth <= 0:
        return 0.0, np.zeros(rows.shape[1])
    return (depth / length, normal / length) if length > 0 else (math.inf, normal)


def _solve(rows: Array, levels: Array, reach: float, warm: Array | None) -> tuple[Array | None, Array]:
    """Return point and weights for unit rows and levels of which the least is −1."""
    dimension = rows.shape[1]
    with_start = {} if warm is None or not (warm > 0).any() else {"dual_start": warm}
    y, _, exit_flag, info = _daqp()(
        np.eye(dimension),
        np.zeros(dimension),
        rows,
        np.minimum(levels, LARGEST),
        primal_tol=PRIMAL_TOLERANCE,
        fval_bound=min(0.5 * reach * reach, LARGEST),
        **with_start,
    )
    # Where it finds no point, DAQP 0.11 leaves in them what was in memory: any numbers at all, and any that are finite will do.
    weights = np.nan_to_num(np.maximum(np.asarray(info["lam"]), 0.0), posinf=0.0)
    lower = _proved(weights, rows, levels)[0]
    if lower >= reach:
        return None, weights
    distance = float(np.linalg.norm(y))
    slack = AGREEMENT * (1 + distance)
    if exit_flag == 1 and abs(distance - lower) <= slack and (rows @ y - levels).max() <= slack:
        return np.asarray(y), weights
    point, weights = _least_squares(rows, levels)
    return (None if _proved(weights, rows, levels)[0] >= reach else point), weights


def _least_squares(rows: Array, levels: Array) -> tuple[Array | None, Array]:
    """Return min ‖Ew − e‖ over w ≥ 0 with E = −[rowsᵀ; levels], e = (0, …, 0, 1): the residual r gives y = −r / r_last."""
    from scipy.optimize import nnls

    useful = levels < LARGEST
    system = -np.vstack([rows[useful].T, levels[useful]])
    target = np.zeros(len(system))
    target[-1] = 1.0
    weights = np.zeros(len(levels))
    try:
        weights[useful], _ = nnls(system, target, maxiter=100 * len(levels))
    except RuntimeError:  # too many iterations; the most violated inequality alone still proves something
        weights[np.argmin(levels)] = 1.0
        return None, weights
    residual = system @ weights[useful] - target
    if residual[-1] >= -EMPTY_RESIDUAL:
        return None, weights
    y = -residual[:-1] / residual[-1]
    # Far out the residual is all rounding: a point that misses the polyhedron is none.
    return (y if (rows @ y - levels).max() <= MISSED else None), weights


def _daqp() -> Any:
    try:
        from daqp import solve
    except ImportError:
        raise MissingExtraError(
            "piecewise networks need the quadratic programming solver daqp; "
            "install it with: pip install 'polymargin[piecewise]'"
        ) from None
    return solve
