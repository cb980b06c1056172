"""A primal-dual interior-point method for `SemidefiniteProgram`.

With a dual matrix X ⪰ 0 and numbers x ≥ 0 the optimality conditions are

    b + ⟨A, X⟩ + x = 0  (b = e_0; x on the signed unknowns only),      X Z = τI,      x y = τ,      τ → 0.

Each step linearises them (HKM direction with Mehrotra's predictor and corrector; Helmberg, Rendl, Vanderbei, Wolkowicz
1996). y is strictly feasible from the start to the end, so that every iterate is a bound and the search may stop as soon as
y_0 is large enough; X becomes feasible on the way. A barrier method in y alone needs hundreds of steps for these
programs: eigenvalues of Z that start too small double once a step. Here ten to twenty do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from polymargin.bounds.lifted.program import SemidefiniteProgram
from polymargin.deadlines import NEVER, Deadline

Array = NDArray[np.float64]

STEP = 0.95
ITERATIONS = 40
# Smaller steps than this get nowhere.
SHORTEST = 1e-6
# Sizes up to which the largest step is computed from all eigenvalues, and Lanczos steps beyond.
SMALL = 64
LANCZOS = 14


@dataclass(frozen=True, eq=False)
class Optimum:
    """y strictly feasible; y_0 is at most `gap` below the optimum (infinite as long as X is not feasible); X the dual."""

    y: Array
    gap: float
    X: Array
    iterations: int

    @property
    def value(self) -> float:
        return float(self.y[0])


def maximise(
    program: SemidefiniteProgram,
    y: Array,
    scale: float,
    *,
    tolerance: float = 1e-6,
    enough: float = math.inf,
    hopeless: float = -math.inf,
    deadline: Deadline = NEVER,
) -> Optimum | None:
    """From a strictly feasible y to a gap of tolerance·scale; None if rounding has made the start infeasible.

    Stops early once y_0 > `enough`, once the optimum is known to be below `hopeless`, or before a step that would end too late.
    """
    signed, order = program.signed, program.order
    factor = _factor(program.matrix(y))
    if factor is None:
        return None
    S = _inverse(factor)
    tau = 0.3 * scale
    X, x = tau * S, tau / y[signed]
    Z = program.matrix(y)
    infeasible, iterations, gap = 1.0, 0, math.inf
    objective = np.zeros(program.unknowns)
    objective[0] = 1.0
    pace, left = 0.0, deadline.left
    while True:
        total = float(np.vdot(X, Z) + x @ y[signed])
        gap = total if infeasible < 1e-3 else math.inf
        done = gap < tolerance * scale or y[0] > enough or y[0] + gap < hopeless
        if done or iterations == ITERATIONS or left <= pace:
            break
        iterations += 1
        with np.errstate(all="ignore"):  # a program that breaks down stops at its last good y
            moved = _Step(program, y, Z, factor, S, X, x, objective).take(total / order)
        if moved is None:
            break
        y, Z, factor, X, x, kept = moved
        S = _inverse(factor)
        infeasible *= kept
        if deadline.exists:
            before, left = left, deadline.left
            pace = max(pace, before - left)
    return Optimum(y, gap, X, iterations)


class _Step:
    """One linearisation: two directions share the factor of the normal matrix."""

    def __init__(
        self,
        program: SemidefiniteProgram,
        y: Array,
        Z: Array,
        factor: Array,
        S: Array,
        X: Array,
        x: Array,
        objective: Array,
    ) -> None:
        self.program, self.y, self.Z, self.factor, self.S, self.X, self.x = program, y, Z, factor, S, X, x
        self.objective = objective
        self.slack = y[program.signed]
        image_S = program.forms @ S
        normal = program.normal_matrix(X, S, program.forms @ X, image_S)
        normal[program.signed, program.signed] += x / self.slack
        self.centre = program.adjoint(S, image_S)
        diagonal = np.arange(len(y))
        self.scaling = 1 / np.sqrt(np.maximum(normal[diagonal, diagonal], 1e-300))
        normal *= self.scaling[:, None] * self.scaling
        normal[diagonal, diagonal] += 1e-14
        self.normal = normal

    def direction(self, target: float, second: Array | None, second_x: Array | float) -> tuple[Array, ...]:
        """The step towards X Z = target·I, with second-order terms of a previous one."""
        signed = self.program.signed
        right = self.objective + target * self.centre
        right[signed] += target / self.slack - second_x
        if second is not None:
            right -= self.program.adjoint(second)
        dy = self.scaling * linalg.cho_solve(self.solver, self.scaling * right, check_finite=False)
        dZ = self.program.change(dy)
        product = (self.X @ dZ) @ self.S
        dX = target * self.S - self.X - (product + product.T) / 2
        if second is not None:
            dX -= second
        dx = target / self.slack - self.x - self.x * dy[signed] / self.slack - second_x
        return dy, dZ, dX, dx

    def lengths(self, dy: Array, dZ: Array, dX: Array, dx: Array) -> tuple[float, float]:
        up = min(_longest(self.factor, dZ), _ratio(self.slack, dy[self.program.signed]))
        down = min(_longest(self.dual_factor, dX), _ratio(self.x, dx))
        return up, down

    def take(self, tau: float) -> tuple[Array, Array, Array, Array, Array, float] | None:
        """The next iterate, and what part of the dual residual is left; None where there is no way on."""
        signed = self.program.signed
        dual_factor = _factor(self.X)
        if dual_factor is None or not np.isfinite(self.normal).all():
            return None
        try:
            self.solver = linalg.cho_factor(self.normal, check_finite=False)
        except linalg.LinAlgError:
            return None
        self.dual_factor = dual_factor
        dy, dZ, dX, dx = self.direction(0.0, None, 0.0)
        up, down = (min(1.0, length) for length in self.lengths(dy, dZ, dX, dx))
        after = np.vdot(self.X + down * dX, self.Z + up * dZ) + (self.x + down * dx) @ (self.slack + up * dy[signed])
        centring = max(float(after) / (tau * self.program.order), 0.01) ** 2
        if min(up, down) < 0.1:
            centring = max(centring, 0.3)
        second = (dX @ dZ) @ self.S
        dy, dZ, dX, dx = self.direction(centring * tau, (second + second.T) / 2, dx * dy[signed] / self.slack)
        up, down = (min(1.0, STEP * length) for length in self.lengths(dy, dZ, dX, dx))
        if not np.isfinite(dy).all() or not np.isfinite(dX).all():
            return None
        factor = _factor(self.Z + up * dZ)
        while factor is None and up > SHORTEST:
            up /= 2
            factor = _factor(self.Z + up * dZ)
        while down > SHORTEST and _factor(self.X + down * dX) is None:
            down /= 2
        if factor is None or max(up, down) <= SHORTEST:
            return None
        return self.y + up * dy, self.Z + up * dZ, factor, self.X + down * dX, self.x + down * dx, 1.0 - down


def _factor(matrix: Array) -> Array | None:
    """The lower Cholesky factor, None if the matrix is not positive definite."""
    factor, info = linalg.lapack.dpotrf(matrix, lower=1, clean=1)
    return np.asarray(factor) if info == 0 and np.isfinite(factor[-1, -1]) else None


def _inverse(factor: Array) -> Array:
    inverse = linalg.lapack.dpotri(factor, lower=1)[0]
    return np.asarray(np.where(np.tri(len(inverse), dtype=bool), inverse, inverse.T))


def _ratio(values: Array, changes: Array) -> float:
    """The largest step that keeps the values nonnegative."""
    return 1 / max(float((-changes / values).max(initial=0.0)), 1e-30)


def _longest(factor: Array, change: Array) -> float:
    """The largest step that keeps L Lᵀ + step·change positive semidefinite, or a little less."""
    side = len(factor)
    if side <= SMALL:
        half = linalg.solve_triangular(factor, change, lower=True, check_finite=False)
        relative = linalg.solve_triangular(factor, half.T, lower=True, check_finite=False)
        least = float(np.linalg.eigvalsh((relative + relative.T) / 2)[0])
        return 1 / max(-least, 1e-30)
    return 1 / max(-_least_by_lanczos(factor, change), 1e-30)


def _least_by_lanczos(factor: Array, change: Array) -> float:
    """A number close to the least eigenvalue of L⁻¹ change L⁻ᵀ, and below it unless Lanczos has missed it altogether."""
    side = len(factor)
    vectors = np.zeros((LANCZOS + 1, side))
    vectors[0] = np.random.default_rng(0).normal(size=side)
    vectors[0] /= np.linalg.norm(vectors[0])
    alphas, betas = np.zeros(LANCZOS), np.zeros(LANCZOS)
    count = LANCZOS
    for k in range(LANCZOS):
        image = linalg.solve_triangular(factor, vectors[k], lower=True, trans=1, check_finite=False)
        image = linalg.solve_triangular(factor, change @ image, lower=True, check_finite=False)
        alphas[k] = image @ vectors[k]
        image -= vectors[: k + 1].T @ (vectors[: k + 1] @ image)
        image -= vectors[: k + 1].T @ (vectors[: k + 1] @ image)
        betas[k] = np.linalg.norm(image)
        if betas[k] <= 1e-12 * (1 + abs(alphas[k])):
            count = k + 1
            break
        vectors[k + 1] = image / betas[k]
    values, ritz = linalg.eigh_tridiagonal(alphas[:count], betas[: count - 1])
    return float(values[0] - betas[count - 1] * abs(ritz[-1, 0]))
