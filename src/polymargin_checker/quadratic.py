"""The S-lemma step: a quadratic in y = W¹δ is positive on the ball ‖δ‖ ≤ r.

Let q(δ) = Σ_j (p_j y_j² + t_j y_j) + c. If q(δ) + μ(‖δ‖² − r²) > 0 for all δ and μ ≥ 0, then q > 0 on the closed ball.
Write δ = Vᵀη + δ⊥ with δ⊥ orthogonal to the rows of V, where V holds the rows of W¹ that are not zero (or is the
identity): then y = Mη with M = W¹Vᵀ, and with K = VVᵀ the left side is μ‖δ⊥‖² plus the quadratic form of

    [[Mᵀ diag(p) M + μK, Mᵀt/2], [tᵀM/2, c − μr²]]

at (η, 1). So it is enough that this matrix is positive definite; we take the smaller of the two spaces first.
"""

from __future__ import annotations

from functools import cached_property

from flint import arb, arb_mat, ctx, fmpq

from polymargin_checker.definite import positive_definite
from polymargin_checker.dyadics import ball
from polymargin_checker.views import Matrix, real_matrix
from polymargin_checker.work import spend

_LARGEST_SECOND_TRY = 300
"""Inputs up to which the full space is tried after the smaller one failed (dependent rows of W¹)."""

_WORK = "the positive definite tests of an exclusion proof"


class BallQuadratic:
    """Quadratics Σ (p_j y_j² + t_j y_j) + c on the ball of radius r."""

    def __init__(self, weights: Matrix, radius: fmpq) -> None:
        self._weights = weights
        self._square = ball(radius * radius)
        self._rows = [row for row in map(weights.row, range(weights.rows)) if any(row)]
        self._small = 0 < len(self._rows) < weights.columns

    def positive(self, p: list[arb], t: list[arb], c: arb, multiplier: arb) -> bool:
        """True only if the quadratic is positive on the closed ball; the multiplier is not negative."""
        spend(self._products(self._small), ctx.prec, _WORK)
        if self._small and self._definite(*self._row_space, p, t, c, multiplier):
            return True
        if self._small and self._weights.columns > _LARGEST_SECOND_TRY:
            return False
        if self._small:
            spend(self._products(False), ctx.prec, _WORK)
        return self._definite(*self._full_space, p, t, c, multiplier)

    def _products(self, small: bool) -> int:
        """For M and K, the block with M, and the test."""
        rows, columns = self._weights.rows, self._weights.columns
        variables = len(self._rows) if small else columns
        return (variables + 1) ** 2 * (max(rows, variables) + (columns if small else 0))

    @cached_property
    def _row_space(self) -> tuple[arb_mat, arb_mat]:
        """M and K for V = the rows that are not zero."""
        basis = arb_mat([[arb(entry) for entry in row] for row in self._rows]).transpose()
        return real_matrix(self._weights) * basis, basis.transpose() * basis

    @cached_property
    def _full_space(self) -> tuple[arb_mat, arb_mat]:
        """M and K for V = the identity."""
        n = self._weights.columns
        return real_matrix(self._weights), arb_mat(n, n, [int(i == j) for i in range(n) for j in range(n)])

    def _definite(self, m: arb_mat, k: arb_mat, p: list[arb], t: list[arb], c: arb, multiplier: arb) -> bool:
        columns = m.ncols()
        entries = m.entries()
        scaled = [factor * entries[j * columns + i] for j, factor in enumerate(p) for i in range(columns)]
        transposed = m.transpose()
        block = (transposed * arb_mat(len(p), columns, scaled) + k * multiplier).tolist()
        border = (transposed * arb_mat(len(t), 1, [entry / 2 for entry in t])).entries()
        rows = [[*row, entry] for row, entry in zip(block, border, strict=True)]
        return positive_definite(arb_mat([*rows, [*border, c - multiplier * self._square]]))
