"""A primal-dual interior-point method for `SemidefiniteProgram`.

With a dual matrix X ⪰ 0 and numbers x ≥ 0 the optimality conditions are

    b + ⟨A, X⟩ + x = 0  (b = e_0; x on the signed unknowns only),      X Z = τI,      x y = τ,      τ → 0.

Each step linearises them (HKM direction with Mehrotra's predictor and corrector; Helmberg, Rendl, Vanderbei, Wolkowicz
1996). y is strictly feasible from the start to the end, so that every iterate is a bound and the search may stop as soon as
y_0 is large enough; X becomes feasible on the way. A barrier method in y alone needs hundreds of steps for these
programs: eigenvalues of Z that start too small double once a step. Here six to ten do, provided that no step asks for more
feasibility than complementarity: the corrector leaves the same share of both. One that asked for all of it stalled for dozens
of steps, with a single eigenvalue of X Z close to zero. So did, on LeNet, correctors that trusted the second-order terms of a
predictor that could go a tenth of its way: where a corrector gets nowhere, they count as much as the predictor went.

Z, X and the normal matrix belong to the program's `Algebra`, on the CPU or on a GPU; y and x are NumPy's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.deadlines import NEVER, Deadline
from polymargin.relaxation.algebra import Algebra, Matrix
from polymargin.relaxation.lanczos import extremes
from polymargin.relaxation.program import SemidefiniteProgram

Array = NDArray[np.float64]

STEP = 0.95
ITERATIONS = 60
# A corrector that goes less far than this is made again; none is made after a predictor whose lengths have a smaller product.
SHORT, NOWHERE = 0.6, 0.02
# Smaller steps than this get nowhere.
SHORTEST = 1e-6
# Sizes up to which the largest step is computed from all eigenvalues, and Lanczos steps beyond.
SMALL = 64
LANCZOS = 14
# Iterations after which less than this should be left of the dual residual, or the start was a bad one.
PATIENCE, HARDLY = 15, 0.5
# What may be left of the dual residual for a gap to be believed, and to end the search by it.
FEASIBLE, SURE = 1e-3, 1e-6


@dataclass(frozen=True, eq=False)
class Optimum:
    """y strictly feasible; y_0 is at most `gap` below the optimum (infinite as long as X is not feasible); X the dual.

    It has `converged` if it ended with the accuracy, or the sign, that was asked for.
    """

    y: Array
    gap: float
    X: Array
    iterations: int
    converged: bool

    @property
    def value(self) -> float:
        return float(self.y[0])


def maximise(
    program: SemidefiniteProgram,
    y: Array,
    scale: float,
    *,
    tau: float = 0.3,
    tolerance: float = 1e-6,
    enough: float = math.inf,
    hopeless: float = -math.inf,
    deadline: Deadline = NEVER,
) -> Optimum | None:
    """Maximise from a strictly feasible y to a gap of tolerance·scale; None if rounding has made the start infeasible.

    Stops early once y_0 > `enough`, once the optimum is known to be below `hopeless`, or before a step that would end too late.
    The work is done where the program's matrices are.
    """
    now = _Point.first(program, y, tau * scale)
    if now is None:
        return None
    iterations, pace, left = 0, 0.0, deadline.left
    while True:
        gap = now.total if now.infeasible < FEASIBLE else math.inf
        is_hopeless = now.infeasible < SURE and now.y[0] + gap < hopeless
        done = gap < tolerance * scale or now.y[0] > enough or is_hopeless
        stalled = iterations >= PATIENCE and now.infeasible > HARDLY
        if done or stalled or iterations == ITERATIONS or left <= pace:
            break
        iterations += 1
        with np.errstate(all="ignore"):  # a program that breaks down stops at its last good y
            moved = _Step(now).take()
        if moved is None:
            break
        now = moved
        if deadline.exists:
            before, left = left, deadline.left
            pace = max(pace, before - left)
    return Optimum(now.y, gap, program.algebra.get(now.X), iterations, done)


@dataclass(frozen=True, eq=False)
class _Point:
    """y and Z(y) with its root L⁻¹ and inverse S; X with its root, and x; what part of the dual residual of the start is left."""

    program: SemidefiniteProgram
    y: Array
    Z: Matrix
    root: Matrix
    X: Matrix
    dual_root: Matrix
    x: Array
    infeasible: float

    @classmethod
    def first(cls, program: SemidefiniteProgram, y: Array, tau: float) -> _Point | None:
        """Return the point with X Z = τI, whatever the dual residual."""
        Z = program.matrix(y)
        root = program.algebra.inverse_root(Z)
        if root is None:
            return None
        X = tau * program.algebra.gram(root)
        dual_root = program.algebra.inverse_root(X)
        return None if dual_root is None else cls(program, y, Z, root, X, dual_root, tau / y[program.signed], 1.0)

    @cached_property
    def S(self) -> Matrix:
        return self.program.algebra.gram(self.root)

    @cached_property
    def total(self) -> float:
        """Return ⟨X, Z⟩ + x·y."""
        return self.program.algebra.inner(self.X, self.Z) + float(self.x @ self.y[self.program.signed])


class _Step:
    """One linearisation: two directions share the factor of the normal matrix."""

    def __init__(self, now: _Point) -> None:
        program, algebra = now.program, now.program.algebra
        self.now, self.program, self.algebra = now, program, algebra
        self.slack = now.y[program.signed]
        image_X, image_S = program.forms @ now.X, program.forms @ now.S
        normal = program.normal_matrix(now.X, now.S, image_X, image_S)
        self.centre = program.adjoint(now.S, image_S)
        self.centre[program.signed] += 1 / self.slack
        self.residual = program.adjoint(now.X, image_X)
        self.residual[0] += 1.0
        self.residual[program.signed] += now.x
        own = np.zeros(len(now.y))
        own[program.signed] = now.x / self.slack
        diagonal = algebra.diagonal(normal)
        diagonal += algebra.put(own)
        self.scaling = 1 / np.sqrt(np.maximum(algebra.get(diagonal), 1e-300))
        scaling = algebra.put(self.scaling)
        normal *= scaling[:, None] * scaling
        diagonal += 1e-14
        self.normal = normal

    def direction(self, share: float, tau: float, second: Matrix | None, second_x: Array | float) -> tuple[Any, ...]:
        """Return the step that leaves a share of X Z = τI and of the dual residual, with second-order terms of a previous one."""
        now, signed, algebra = self.now, self.program.signed, self.algebra
        target = share * tau
        right = target * self.centre - share * self.residual
        right[0] += 1.0
        right[signed] -= second_x
        if second is not None:
            right -= self.program.adjoint(second)
        dy = self.scaling * algebra.get(self.solve(algebra.put(self.scaling * right)))
        dZ = self.program.change(dy)
        product = (now.X @ dZ) @ now.S
        dX = target * now.S - now.X - (product + product.T) / 2
        if second is not None:
            dX -= second
        dx = target / self.slack - now.x - now.x * dy[signed] / self.slack - second_x
        return dy, dZ, dX, dx

    def lengths(self, dy: Array, dZ: Matrix, dX: Matrix, dx: Array) -> tuple[float, float]:
        up, down = _longest(self.algebra, (self.now.root, dZ), (self.now.dual_root, dX))
        return min(up, _ratio(self.slack, dy[self.program.signed])), min(down, _ratio(self.now.x, dx))

    def take(self) -> _Point | None:
        """Return the next iterate; None where there is no way on."""
        now, program, algebra = self.now, self.program, self.algebra
        signed, tau = program.signed, now.total / program.order
        if not algebra.finite(self.normal):
            return None
        solve = algebra.solver(self.normal)
        if solve is None:
            return None
        self.solve = solve
        dy, dZ, dX, dx = self.direction(0.0, tau, None, 0.0)
        up, down = (min(1.0, length) for length in self.lengths(dy, dZ, dX, dx))
        after = algebra.inner(now.X + down * dX, now.Z + up * dZ)
        after += float((now.x + down * dx) @ (self.slack + up * dy[signed]))
        share = min(1.0, max(after / now.total, 0.01))
        second, second_x, trust = (dX @ dZ) @ now.S, dx * dy[signed] / self.slack, up * down
        second = (second + second.T) / 2
        for trusted in (1.0, trust) if trust > NOWHERE else (trust,):
            dy, dZ, dX, dx = self.direction(share, tau, trusted * second, trusted * second_x)
            up, down = (min(1.0, STEP * length) for length in self.lengths(dy, dZ, dX, dx))
            if min(up, down) >= SHORT:
                break
        if not np.isfinite(dy).all() or not algebra.finite(dX):
            return None
        up, root = self._kept(now.Z, dZ, up)
        down, dual_root = self._kept(now.X, dX, down)
        if root is None or dual_root is None or max(up, down) <= SHORTEST:
            return None
        left = now.infeasible * (1.0 - down * (1.0 - share))
        y, Z, X, x = now.y + up * dy, now.Z + up * dZ, now.X + down * dX, now.x + down * dx
        return _Point(program, y, Z, root, X, dual_root, x, left)

    def _kept(self, matrix: Matrix, change: Matrix, length: float) -> tuple[float, Matrix | None]:
        """Return a step of this length or less that keeps the matrix positive definite, and the root there."""
        root = self.algebra.inverse_root(matrix + length * change)
        while root is None and length > SHORTEST:
            length /= 2
            root = self.algebra.inverse_root(matrix + length * change)
        return length, root


def _ratio(values: Array, changes: Array) -> float:
    """Return the largest step that keeps the values nonnegative."""
    return 1 / max(float((-changes / values).max(initial=0.0)), 1e-30)


def _longest(algebra: Algebra, *pairs: tuple[Matrix, Matrix]) -> list[float]:
    """Return the largest steps that keep L Lᵀ + step·change positive semidefinite, or a little less, for pairs (L⁻¹, change).

    Unless Lanczos has missed the least eigenvalue of L⁻¹ change L⁻ᵀ altogether: callers check the end of the step. All
    pairs go through it together: a GPU waits for Python rather than for products of a matrix with a vector.
    """
    side = len(pairs[0][0])
    if side <= SMALL:
        relatives = [algebra.get(root @ change @ root.T) for root, change in pairs]
        least = [float(np.linalg.eigvalsh((relative + relative.T) / 2)[0]) for relative in relatives]
    else:

        def multiply(vectors: Matrix) -> Matrix:
            images = [((v @ root) @ change) @ root.T for v, (root, change) in zip(vectors, pairs, strict=True)]
            return algebra.stack(images)

        found = extremes(algebra, multiply, len(pairs), side, LANCZOS)
        least = (found.least - found.least_error).tolist()
    return [1 / max(-value, 1e-30) for value in least]
