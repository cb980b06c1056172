"""A primal-dual interior-point method for a batch of small conic programs.

    maximise θ   subject to   cones(x) ⪰ 0,      a few symmetric matrices, all affine in x.

With dual matrices X the optimality conditions are b + adjoint(X) = 0, X·cone = τI, τ → 0. Each step linearises them
(HKM direction with Mehrotra's predictor and corrector; Helmberg, Rendl, Vanderbei, Wolkowicz 1996, and Mehrotra 1992).
x is strictly feasible from the start to the end, so every iterate is a valid bound and a program may stop as soon as its
θ is good enough.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from polymargin.bounds.relaxation import GramRelaxation
from polymargin.deadlines import NEVER, Deadline

Array = NDArray[np.float64]

STEP = 0.95
ITERATIONS = 40
# On an empty leaf θ has no upper bound; it is not followed farther than this many times the scale of the program.
CEILING = 100.0


@dataclass(frozen=True, eq=False)
class BatchOptimum:
    """x (B, N) strictly feasible; θ is at most `gap` below the optimum; `duals`: the dual matrices of the cones."""

    x: Array
    gap: Array
    duals: list[Array]
    iterations: int

    @property
    def theta(self) -> Array:
        return np.asarray(self.x[:, -2])


def maximise(
    program: GramRelaxation, *, tolerance: float = 1e-8, decide: bool = False, deadline: Deadline = NEVER
) -> BatchOptimum:
    """Solve every program of the batch to a gap of `tolerance` times its scale, as far as the time allows.

    With decide=True a program also stops once the sign of its optimal θ is known.
    """
    x, X, scale = start(program)
    batch = len(x)
    result = BatchOptimum(x.copy(), np.full(batch, np.inf), [dual.copy() for dual in X], 0)
    active = np.arange(batch)
    ceiling = x[:, -2] + CEILING * scale
    iterations, longest = 0, 0.0
    while len(active) and iterations < ITERATIONS and deadline.left > longest:
        iterations, began = iterations + 1, deadline.clock()
        try:
            with np.errstate(all="ignore"):  # a program that breaks down stops below, at its last good x
                x, X, residual, moved = _step(program, x, X, ceiling)
        except np.linalg.LinAlgError:
            break  # one of the systems is singular: all stop at their last good x
        gap = np.where(residual < 1e-6, _inner(X, program.cones(x)), np.inf)
        result.x[active], result.gap[active] = x, gap
        for kept, dual in zip(result.duals, X, strict=True):
            kept[active] = dual
        theta = x[:, -2]
        done = (gap < tolerance * scale) | ~moved | (theta >= ceiling - scale)
        if decide:
            done |= (theta > 0.02 * scale) | (theta + gap < 0) | ((theta > 0) & (gap < 0.5 * theta))
        if done.any():
            keep = np.flatnonzero(~done)
            program, x, X, scale = program.take(keep), x[keep], [dual[keep] for dual in X], scale[keep]
            active, ceiling = active[keep], ceiling[keep]
        longest = max(longest, deadline.clock() - began)
    return BatchOptimum(result.x, result.gap, result.duals, iterations)


def start(program: GramRelaxation) -> tuple[Array, list[Array], Array]:
    """Flat minorants well below the neurons and the perfectly centred dual; also the scale of every program."""
    x = np.zeros((len(program.parts), program.unknowns))
    top = program.groups[0]
    wanted = top.gamma[..., None] * top.offset
    flat = wanted[:, :, 1:] @ np.linalg.pinv(top.form.minorant[1:]).T
    x[:, top.block] = flat.reshape(len(x), -1)
    need = np.zeros_like(top.gamma)
    for gram, units in zip(program.cones(x), top.form.units, strict=False):
        root = _inverse_root(np.tensordot(top.form.interior, units, 1))
        need = np.maximum(need, -np.linalg.eigvalsh(root @ gram @ root.T)[..., 0])
    scale = np.maximum(need.sum(axis=1), 1e-9 * np.abs(program.parts[:, -2]) + 1e-100)
    for group in program.groups:
        floor = np.broadcast_to(scale[:, None] / group.middle.shape[1], group.middle.shape)
        drop = np.maximum(2 * need, floor) if group is top else floor
        x[:, group.block] += (drop[..., None] * group.form.interior).reshape(len(x), -1)
    x[:, -1] = scale
    x[:, -2] = program.cones(x)[-1][:, 0, -1, -1] - scale
    return x, [scale[:, None, None, None] * _inverses(cone) for cone in program.cones(x)], scale


def _inverses(matrices: Array) -> Array:
    """For a program that is singular in doubles from the start something that does not end those beside it."""
    try:
        return np.asarray(np.linalg.inv(matrices))
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.pinv(matrices, hermitian=True))


def _step(
    program: GramRelaxation, x: Array, X: list[Array], ceiling: Array
) -> tuple[Array, list[Array], Array, NDArray[np.bool_]]:
    """One predictor-corrector step; also the size of the dual residual after it, and whether it got anywhere."""
    Z = program.cones(x)
    Z_roots, X_roots = [_inverse_root(cone) for cone in Z], [_inverse_root(dual) for dual in X]
    S = [np.swapaxes(root, -1, -2) @ root for root in Z_roots]
    normal = program.normal_matrix(X, S)
    diagonal = np.arange(program.unknowns)
    scaling = 1 / np.sqrt(np.maximum(normal[:, diagonal, diagonal], 1e-300))
    normal *= scaling[:, :, None] * scaling[:, None, :]
    normal[:, diagonal, diagonal] += 1e-14
    solve = _solver(normal)
    objective = np.zeros_like(x)
    objective[:, -2] = 1.0
    order = sum(cone.shape[1] * cone.shape[2] for cone in Z)
    tau = _inner(X, Z) / order

    def direction(target: Array, second: list[Array] | None) -> tuple[Array, list[Array], list[Array]]:
        """The step towards X·cone = target, with the second-order terms of a previous one."""
        aims = [target[:, None, None, None] * inverse for inverse in S]
        if second is not None:
            aims = [aim - _symmetric(term @ inverse) for aim, term, inverse in zip(aims, second, S, strict=True)]
        right = objective + program.adjoint(aims)
        dx = scaling * solve(scaling * right)
        dZ = program.cones(dx, affine=False)
        dX = [a - x_ - _symmetric(x_ @ dz @ s) for a, x_, dz, s in zip(aims, X, dZ, S, strict=True)]
        return dx, dZ, dX

    dx, dZ, dX = direction(np.zeros(len(x)), None)
    up, down = np.minimum(1.0, _longest(Z_roots, dZ)), np.minimum(1.0, _longest(X_roots, dX))
    after = _inner(_moved(X, down, dX), _moved(Z, up, dZ)) / order
    centring = np.clip(after / tau, 0.1, 1.0) ** 3
    dx, dZ, dX = direction(centring * tau, [dual @ cone for dual, cone in zip(dX, dZ, strict=True)])
    up = np.minimum(1.0, STEP * _longest(Z_roots, dZ))
    up = np.where(x[:, -2] + up * dx[:, -2] > ceiling, (ceiling - x[:, -2]) / dx[:, -2], up)
    down = np.minimum(1.0, STEP * _longest(X_roots, dX))
    moved = (np.maximum(up, down) > 1e-7) & np.isfinite(dx).all(axis=-1)
    x, X = np.where(moved[:, None], x + up[:, None] * dx, x), _moved(X, np.where(moved, down, 0.0), dX)
    return x, X, np.abs((objective + program.adjoint(X)) * scaling).max(axis=-1), moved


def _solver(normal: Array) -> Callable[[Array], Array]:
    """Solutions for a batch of right sides; a single program is factorised once for both of its directions."""
    if len(normal) > 1:
        return lambda right: np.asarray(np.linalg.solve(normal, right[..., None])[..., 0], dtype=np.float64)
    factor = linalg.lu_factor(normal[0], check_finite=False)
    return lambda right: np.asarray(linalg.lu_solve(factor, right[0], check_finite=False))[None]


def _moved(matrices: list[Array], step: Array, change: list[Array]) -> list[Array]:
    steps = step[:, None, None, None]
    return [np.where(steps > 0, m + steps * move, m) for m, move in zip(matrices, change, strict=True)]


def _inner(left: list[Array], right: list[Array]) -> Array:
    return np.asarray(sum((a * b).sum(axis=(1, 2, 3)) for a, b in zip(left, right, strict=True)))


def _symmetric(matrix: Array) -> Array:
    return (matrix + np.swapaxes(matrix, -1, -2)) / 2


def _inverse_root(matrix: Array) -> Array:
    """L⁻¹ with matrix = L Lᵀ, or the like from eigenvectors where rounding has spoilt definiteness."""
    try:
        return np.asarray(np.linalg.inv(np.linalg.cholesky(matrix)))
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(matrix)
        values = np.maximum(values, 1e-16 * np.abs(values).max(axis=-1, keepdims=True) + 1e-300)
        return np.asarray(np.swapaxes(vectors, -1, -2) / np.sqrt(values)[..., None])


def _longest(roots: list[Array], changes: list[Array]) -> Array:
    """The largest step that keeps every matrix positive semidefinite; roots are L⁻¹."""
    steepest = np.zeros(len(roots[0]))
    for root, change in zip(roots, changes, strict=True):
        relative = root @ change @ np.swapaxes(root, -1, -2)
        broken = ~np.isfinite(relative).all(axis=(1, 2, 3))
        relative[broken] = 0.0
        steepest = np.minimum(steepest, np.where(broken, -1e300, least_eigenvalue(relative).min(axis=-1)))
    return np.asarray(1 / np.maximum(-steepest, 1e-30))


def least_eigenvalue(matrix: Array) -> Array:
    """Of symmetric matrices; in closed form for the many small ones."""
    if matrix.shape[-1] == 1:
        return np.asarray(matrix[..., 0, 0])
    if matrix.shape[-1] == 2:
        mean, half = (matrix[..., 0, 0] + matrix[..., 1, 1]) / 2, (matrix[..., 0, 0] - matrix[..., 1, 1]) / 2
        return np.asarray(mean - np.hypot(half, matrix[..., 0, 1]))
    return np.asarray(np.linalg.eigvalsh(matrix)[..., 0])
