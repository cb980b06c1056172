"""Round coordinates: perturbations δ = E y whose length is √(δᵀMδ), as δ = E T z with ‖z‖ at most that length.

M is a stated matrix, diag(w²) or the identity; E are stated columns, or those of the identity. That TᵀEᵀMET − 1 is positive
definite is all that has to be proved (docs/theorems.md, section 10): T is regular then, and zᵀTᵀEᵀMETz ≥ ‖z‖².
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flint import fmpq

from polymargin_checker.refusal import Unproved
from polymargin_checker.work import spend

Rows = tuple[tuple[fmpq, ...], ...]


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

    def directions(self, arithmetic: type[Any]) -> Any:
        """Return E T, enclosed."""
        return _enclosed(arithmetic, self.columns) @ _enclosed(arithmetic, self.turn)

    def check(self, arithmetic: type[Any]) -> None:
        """Prove that ‖z‖ is at most the length of E T z, or refuse."""
        along = self.directions(arithmetic)
        if self.metric is not None:
            weighted = _enclosed(arithmetic, self.metric) @ along
        elif self.weights is not None:
            weighted = along.entrywise(arithmetic.of(len(self.weights), 1, [w * w for w in self.weights]))
        else:
            weighted = along
        less = along.transpose @ weighted + arithmetic.identity(self.size).times(fmpq(-1))
        if not arithmetic.symmetric([[less]]).positive_definite():
            raise Unproved("neighbourhood, frame: its coordinates are not shown to be at most as long as perturbations")

    def moved(self, point: Sequence[fmpq], along: Sequence[fmpq]) -> list[fmpq]:
        """Return u + E y."""
        spend(self.size * len(point), _bits(along, *self.columns), "a counterexample in a subspace")
        return [
            value + sum((a * b for a, b in zip(row, along, strict=True)), fmpq(0))
            for value, row in zip(point, self.columns, strict=True)
        ]


def squared_length(metric: Rows, steps: Sequence[fmpq]) -> fmpq:
    """Return δᵀMδ."""
    spend(2 * len(steps) ** 2, 2 * _bits(steps, *metric), "the length of a counterexample")
    rows = (sum((a * b for a, b in zip(row, steps, strict=True)), fmpq(0)) for row in metric)
    return sum((value * step for value, step in zip(rows, steps, strict=True)), fmpq(0))


def _bits(*lists: Sequence[fmpq]) -> int:
    """Return the bits of the longest number."""
    return max(int(value.height_bits()) for values in lists for value in values)


def _enclosed(arithmetic: type[Any], rows: Rows) -> Any:
    return arithmetic.of(len(rows), len(rows[0]), [value for row in rows for value in row])
