"""A primal-dual interior-point method for `SemidefiniteProgram`.

With a dual matrix X ⪰ 0 and numbers x ≥ 0 the optimality conditions are

    b + ⟨A, X⟩ + x = 0  (b = e_0; x on the signed unknowns only),      X Z = τI,      x y = τ,      τ → 0.

Each step linearises them (HKM direction with Mehrotra's predictor and corrector; Helmberg, Rendl, Vanderbei, Wolkowicz
1996). y is strictly feasible from the start to the end, so that every iterate is a bound and the search may stop as soon as
y_0 is large enough; X becomes feasible on the way. A barrier method in y alone needs hundreds of steps for these
programs: eigenvalues of Z that start too small double once a step. Here ten to twenty do.

Z, X and the normal matrix belong to the program's `Algebra`, on the CPU or on a GPU; y and x are NumPy's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.bounds.lifted.algebra import Algebra, Matrix
from polymargin.bounds.lifted.lanczos import extremes
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

    The work is done where the program's matrices are.
    Stops early once y_0 > `enough`, once the optimum is known to be below `hopeless`, or before a step that would end too late.
    """
    signed, order, algebra = program.signed, program.order, program.algebra
    Z = program.matrix(y)
    root = algebra.inverse_root(Z)
    if root is None:
        return None
    S = algebra.gram(root)
    tau = 0.3 * scale
    X, x = tau * S, tau / y[signed]
    infeasible, iterations, gap = 1.0, 0, math.inf
    objective = np.zeros(program.unknowns)
    objective[0] = 1.0
    pace, left = 0.0, deadline.left
    while True:
        total = algebra.inner(X, Z) + float(x @ y[signed])
        gap = total if infeasible < 1e-3 else math.inf
        done = gap < tolerance * scale or y[0] > enough or y[0] + gap < hopeless
        if done or iterations == ITERATIONS or left <= pace:
            break
        iterations += 1
        with np.errstate(all="ignore"):  # a program that breaks down stops at its last good y
            moved = _Step(program, y, Z, root, S, X, x, objective).take(total / order)
        if moved is None:
            break
        y, Z, root, X, x, kept = moved
        S = algebra.gram(root)
        infeasible *= kept
        if deadline.exists:
            before, left = left, deadline.left
            pace = max(pace, before - left)
    return Optimum(y, gap, algebra.get(X), iterations)


class _Step:
    """One linearisation: two directions share the factor of the normal matrix."""

    def __init__(
        self,
        program: SemidefiniteProgram,
        y: Array,
        Z: Matrix,
        root: Matrix,
        S: Matrix,
        X: Matrix,
        x: Array,
        objective: Array,
    ) -> None:
        self.program, self.y, self.Z, self.root, self.S, self.X, self.x = program, y, Z, root, S, X, x
        self.objective, self.algebra = objective, program.algebra
        self.slack = y[program.signed]
        image_S = program.forms @ S
        normal = program.normal_matrix(X, S, program.forms @ X, image_S)
        self.centre = program.adjoint(S, image_S)
        own = np.zeros(len(y))
        own[program.signed] = x / self.slack
        diagonal = self.algebra.diagonal(normal)
        diagonal += self.algebra.put(own)
        self.scaling = 1 / np.sqrt(np.maximum(self.algebra.get(diagonal), 1e-300))
        scaling = self.algebra.put(self.scaling)
        normal *= scaling[:, None] * scaling
        diagonal += 1e-14
        self.normal = normal

    def direction(self, target: float, second: Matrix | None, second_x: Array | float) -> tuple[Any, ...]:
        """The step towards X Z = target·I, with second-order terms of a previous one."""
        signed, algebra = self.program.signed, self.algebra
        right = self.objective + target * self.centre
        right[signed] += target / self.slack - second_x
        if second is not None:
            right -= self.program.adjoint(second)
        dy = self.scaling * algebra.get(self.solve(algebra.put(self.scaling * right)))
        dZ = self.program.change(dy)
        product = (self.X @ dZ) @ self.S
        dX = target * self.S - self.X - (product + product.T) / 2
        if second is not None:
            dX -= second
        dx = target / self.slack - self.x - self.x * dy[signed] / self.slack - second_x
        return dy, dZ, dX, dx

    def lengths(self, dy: Array, dZ: Matrix, dX: Matrix, dx: Array) -> tuple[float, float]:
        up = min(_longest(self.algebra, self.root, dZ), _ratio(self.slack, dy[self.program.signed]))
        down = min(_longest(self.algebra, self.dual_root, dX), _ratio(self.x, dx))
        return up, down

    def take(self, tau: float) -> tuple[Array, Matrix, Matrix, Matrix, Array, float] | None:
        """The next iterate, and what part of the dual residual is left; None where there is no way on."""
        signed, algebra = self.program.signed, self.algebra
        dual_root = algebra.inverse_root(self.X)
        if dual_root is None or not algebra.finite(self.normal):
            return None
        solve = algebra.solver(self.normal)
        if solve is None:
            return None
        self.solve, self.dual_root = solve, dual_root
        dy, dZ, dX, dx = self.direction(0.0, None, 0.0)
        up, down = (min(1.0, length) for length in self.lengths(dy, dZ, dX, dx))
        after = algebra.inner(self.X + down * dX, self.Z + up * dZ)
        after += float((self.x + down * dx) @ (self.slack + up * dy[signed]))
        centring = max(after / (tau * self.program.order), 0.01) ** 2
        if min(up, down) < 0.1:
            centring = max(centring, 0.3)
        second = (dX @ dZ) @ self.S
        dy, dZ, dX, dx = self.direction(centring * tau, (second + second.T) / 2, dx * dy[signed] / self.slack)
        up, down = (min(1.0, STEP * length) for length in self.lengths(dy, dZ, dX, dx))
        if not np.isfinite(dy).all() or not algebra.finite(dX):
            return None
        root = algebra.inverse_root(self.Z + up * dZ)
        while root is None and up > SHORTEST:
            up /= 2
            root = algebra.inverse_root(self.Z + up * dZ)
        while down > SHORTEST and algebra.inverse_root(self.X + down * dX) is None:
            down /= 2
        if root is None or max(up, down) <= SHORTEST:
            return None
        return self.y + up * dy, self.Z + up * dZ, root, self.X + down * dX, self.x + down * dx, 1.0 - down


def _ratio(values: Array, changes: Array) -> float:
    """The largest step that keeps the values nonnegative."""
    return 1 / max(float((-changes / values).max(initial=0.0)), 1e-30)


def _longest(algebra: Algebra, root: Matrix, change: Matrix) -> float:
    """The largest step that keeps L Lᵀ + step·change positive semidefinite, or a little less; the root is L⁻¹.

    Unless Lanczos has missed the least eigenvalue of L⁻¹ change L⁻ᵀ altogether: whoever takes the step looks at its end.
    """
    if len(root) <= SMALL:
        relative = algebra.get(root @ change @ root.T)
        least = float(np.linalg.eigvalsh((relative + relative.T) / 2)[0])
    else:
        found = extremes(algebra, lambda v: root @ (change @ (root.T @ v)), len(root), LANCZOS)
        least = found.least - found.least_error
    return 1 / max(-least, 1e-30)
