"""Round coordinates: perturbations δ = E y whose length is √(δᵀMδ), as δ = E T z with ‖z‖ at most that length.

M is a stated matrix, diag(w²) or the identity; E are stated columns, or those of the identity. That TᵀEᵀMET − 1 is positive
definite is all that has to be proved (docs/theorems.md, section 10): T is regular then, and zᵀTᵀEᵀMETz ≥ ‖z‖².
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from flint import arb, fmpq

from polymargin_checker.arithmetic import judging
from polymargin_checker.refusal import Unproved
from polymargin_checker.relaxation.arithmetic import Arithmetic, EnclosedMatrix
from polymargin_checker.work import spend

Rows = tuple[tuple[fmpq, ...], ...]

FEW = 48
"""Inputs up to which ball arithmetic is used without being asked for."""


@dataclass(frozen=True)
class StatedFrame:
    """M, E and T row by row; without M the weights w of the coordinates, if there are any.

    metric     M (n, n), symmetric
    weights    w (n)
    columns    E (n, k)
    turn       T (k, k)
    """

    metric: Rows | None
    weights: tuple[fmpq, ...] | None
    columns: Rows
    turn: Rows

    @property
    def size(self) -> int:
        """Return how many z there are."""
        return len(self.turn)

    def directions(self, arithmetic: Arithmetic) -> EnclosedMatrix:
        """Return E T, enclosed."""
        return _enclosed(arithmetic, self.columns) @ _enclosed(arithmetic, self.turn)

    def check(self, arithmetic: Arithmetic) -> None:
        """Prove that ‖z‖ is at most the length of E T z, or refuse."""
        along = self.directions(arithmetic)
        weighted = along
        if self.metric is not None:
            weighted = _enclosed(arithmetic, self.metric) @ along
        elif self.weights is not None:
            weighted = along * arithmetic.around([arb(w * w) for w in self.weights], 1)
        form = arithmetic.forms(1, self.size)
        form.block(arithmetic.exact(np.ones((1, 1))), along.T @ weighted - arithmetic.exact(np.eye(self.size)), 0)
        if not form.definite():
            raise Unproved("neighbourhood, frame: its coordinates are not shown to be at most as long as perturbations")

    def moved(self, point: Sequence[fmpq], along: Sequence[fmpq]) -> list[fmpq]:
        """Return u + E y."""
        spend(self.size * len(point), _bits(along, *self.columns), "a counterexample in a subspace")
        return [
            value + sum((a * b for a, b in zip(row, along, strict=True)), fmpq(0))
            for value, row in zip(point, self.columns, strict=True)
        ]


def check_frame(frame: StatedFrame, exact: bool) -> None:
    """Prove that a ball in its coordinates contains what the neighbourhood allows, or refuse."""
    in_balls = exact or len(frame.columns) <= FEW
    with judging(in_balls):
        frame.check(Arithmetic(in_balls))


def squared_length(metric: Rows, steps: Sequence[fmpq]) -> fmpq:
    """Return δᵀMδ."""
    spend(2 * len(steps) ** 2, 2 * _bits(steps, *metric), "the length of a counterexample")
    rows = (sum((a * b for a, b in zip(row, steps, strict=True)), fmpq(0)) for row in metric)
    return sum((value * step for value, step in zip(rows, steps, strict=True)), fmpq(0))


def _bits(*lists: Sequence[fmpq]) -> int:
    """Return the bits of the longest number."""
    return max(int(value.height_bits()) for values in lists for value in values)


def _enclosed(arithmetic: Arithmetic, rows: Rows) -> EnclosedMatrix:
    return arithmetic.around([arb(value) for row in rows for value in row], len(rows[0]))
