"""A primal-dual interior-point method for `SemidefiniteProgram`.

With a dual matrix X ⪰ 0 and numbers x ≥ 0 the optimality conditions are

    b + ⟨A, X⟩ + x = 0  (b = e_0; x on the signed unknowns only),      X Z = τI,      x y = τ,      τ → 0.

Each step linearises them (HKM direction with Mehrotra's predictor and corrector; Helmberg, Rendl, Vanderbei, Wolkowicz
1996). y is strictly feasible from the start to the end, so that every iterate is a bound and the search may stop as soon as
y_0 is large enough; X is so too where a feasible one is known, and becomes it on the way elsewhere. A barrier method in y alone
needs hundreds of steps for these programs: eigenvalues of Z that start too small double once a step. Here six to ten do, and up
to forty if X was not feasible.

Z, X and the normal matrix belong to the program's `Algebra`, on the CPU or on a GPU; y and x are NumPy's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
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
# What may be left of the dual residual for a gap to be believed; a step that leaves more of it than this gets nowhere.
FEASIBLE = 1e-3
STALLED = 0.7


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


# A way to a pair of strictly feasible points (y, X), or to none.
Central = Callable[[], "tuple[Array, Matrix] | None"]


def maximise(
    program: SemidefiniteProgram,
    y: Array,
    scale: float,
    *,
    central: Central = lambda: None,
    tolerance: float = 1e-6,
    enough: float = math.inf,
    hopeless: float = -math.inf,
    deadline: Deadline = NEVER,
) -> Optimum | None:
    """From a strictly feasible y to a gap of tolerance·scale; None if rounding has made the start infeasible.

    The first X is in the centre for y, but not feasible; should that not go well, `central` offers other points to start from.
    Stops early once y_0 > `enough`, once the optimum is known to be below `hopeless`, or before a step that would end too late.
    The work is done where the program's matrices are.
    """
    algebra = program.algebra
    objective = np.zeros(program.unknowns)
    objective[0] = 1.0
    now = _Point.first(program, y, scale)
    if now is None:
        return None
    best, started_again, iterations = now, False, 0
    pace, left = 0.0, deadline.left
    while True:
        gap = now.gap
        done = gap < tolerance * scale or now.y[0] > enough or now.y[0] + gap < hopeless
        if done or iterations == ITERATIONS or left <= pace:
            break
        iterations += 1
        with np.errstate(all="ignore"):  # a program that breaks down stops at its last good y
            moved = _Step(program, now, objective).take()
        stalled = moved is None or moved.infeasible > max(FEASIBLE, STALLED * now.infeasible)
        if stalled and not started_again:
            started_again, pair = True, central()
            elsewhere = None if pair is None else _Point.feasible(program, *pair)
            moved = elsewhere or moved
        if moved is None:
            break
        now = moved
        best = now if now.y[0] > best.y[0] else best
        if deadline.exists:
            before, left = left, deadline.left
            pace = max(pace, before - left)
    now = best if gap == math.inf or now.y[0] < best.y[0] else now
    return Optimum(now.y, gap, algebra.get(now.X), iterations)


@dataclass(frozen=True, eq=False)
class _Point:
    """y and Z(y) with its root L⁻¹ and inverse S; X and x; what part of the dual residual of the start is left."""

    program: SemidefiniteProgram
    y: Array
    Z: Matrix
    root: Matrix
    X: Matrix
    x: Array
    infeasible: float

    @classmethod
    def first(cls, program: SemidefiniteProgram, y: Array, scale: float) -> _Point | None:
        """X Z = τI, whatever the dual residual."""
        Z = program.matrix(y)
        root = program.algebra.inverse_root(Z)
        if root is None:
            return None
        tau = 0.3 * scale
        return cls(program, y, Z, root, tau * program.algebra.gram(root), tau / y[program.signed], 1.0)

    @classmethod
    def feasible(cls, program: SemidefiniteProgram, y: Array, X: Matrix) -> _Point | None:
        """Nothing is left of the dual residual."""
        Z, x = program.matrix(y), program.dual_slacks(X)
        root = program.algebra.inverse_root(Z)
        return None if root is None or x.min() <= 0 else cls(program, y, Z, root, X, x, 0.0)

    @cached_property
    def S(self) -> Matrix:
        return self.program.algebra.gram(self.root)

    @cached_property
    def total(self) -> float:
        """⟨X, Z⟩ + x·y."""
        return self.program.algebra.inner(self.X, self.Z) + float(self.x @ self.y[self.program.signed])

    @property
    def gap(self) -> float:
        return self.total if self.infeasible < FEASIBLE else math.inf


class _Step:
    """One linearisation: two directions share the factor of the normal matrix."""

    def __init__(self, program: SemidefiniteProgram, now: _Point, objective: Array) -> None:
        self.program, self.now, self.objective, self.algebra = program, now, objective, program.algebra
        self.y, self.Z, self.S, self.X, self.x = now.y, now.Z, now.S, now.X, now.x
        S, X, x, y = now.S, now.X, now.x, now.y
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
        up = min(_longest(self.algebra, self.now.root, dZ), _ratio(self.slack, dy[self.program.signed]))
        down = min(_longest(self.algebra, self.dual_root, dX), _ratio(self.x, dx))
        return up, down

    def take(self) -> _Point | None:
        """The next iterate; None where there is no way on."""
        tau = self.now.total / self.program.order
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
        left = self.now.infeasible * (1.0 - down)
        return _Point(
            self.program, self.y + up * dy, self.Z + up * dZ, root, self.X + down * dX, self.x + down * dx, left
        )


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
