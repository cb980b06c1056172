"""Robust accuracy of a data set against radius, by standing: the numbers that `robust_accuracy` draws.

A row is robust at radius r if its class is right and its lower bound exceeds r: no other class ties at that distance or less. The
part of CERTIFIED rows rests on proofs. A row between its bounds is open. A row without an answer counts in the denominator only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymargin.class_names import class_numbers
from polymargin.errors import InputError
from polymargin.margins import Margin
from polymargin.standing import Standing

Array = NDArray[np.float64]
NORMS = {"l2": "L2", "linf": "L∞", "l1": "L1"}
ANSWERED = (Standing.CERTIFIED, Standing.NUMERICAL, Standing.BRACKETED)


@dataclass(frozen=True, eq=False)
class RobustAccuracy:
    """Sorted bounds of the rightly classified rows, per standing.

    count     all rows, with and without an answer
    lowers    per standing: radii below which rows are robust, ascending
    uppers    per standing: radii from which rows are vulnerable, ascending
    labelled  whether true classes were given; otherwise every prediction counts as right
    norm      of the radii: L2, L∞ or L1
    """

    count: int
    lowers: dict[Standing, Array]
    uppers: dict[Standing, Array]
    labelled: bool
    norm: str = "L2"

    @classmethod
    def of(cls, margins: Sequence[Margin], labels: ArrayLike | None = None) -> RobustAccuracy:
        """Return the robust accuracy of margins, with the true classes if they are known."""
        if not len(margins):
            raise InputError("no margins: expected at least one row")
        right = correct_rows(margins, labels)
        chosen = {s: [m for m, r in zip(margins, right, strict=True) if r and m.standing is s] for s in ANSWERED}
        return cls(
            len(margins),
            {s: np.sort([m.lower for m in rows]).astype(np.float64) for s, rows in chosen.items()},
            {s: np.sort([m.upper for m in rows]).astype(np.float64) for s, rows in chosen.items()},
            labels is not None,
            norm_of(margins),
        )

    @property
    def clean(self) -> float:
        """Return the share of rightly classified rows."""
        return sum(len(rows) for rows in self.lowers.values()) / self.count

    def part(self, standing: Standing, radii: ArrayLike) -> Array:
        """Return the share of rows with this standing that are robust at the radii."""
        return _above(self.lowers[standing], radii) / self.count

    def at(self, radius: float) -> float:
        """Return the share of rows whose lower bound exceeds the radius, for all standings together."""
        return float(sum(self.part(standing, radius) for standing in ANSWERED))

    def possible(self, radius: float) -> float:
        """Return the share of rows whose upper bound exceeds the radius: robust and open rows."""
        return float(sum(_above(self.uppers[standing], radius) for standing in ANSWERED) / self.count)

    def open(self, radii: ArrayLike) -> Array:
        """Return the share of rows that are neither robust nor vulnerable at the radii."""
        return np.asarray(
            sum(_above(self.uppers[s], radii) - _above(self.lowers[s], radii) for s in ANSWERED) / self.count
        )

    @property
    def reach(self) -> float:
        """Return a radius for the end of an axis: the largest finite bound, or less if few rows lie far out."""
        bounds = np.concatenate([part for s in ANSWERED for part in (self.lowers[s], self.uppers[s])])
        finite = bounds[np.isfinite(bounds)]
        if not len(finite) or finite.max() <= 0:
            return 1.0
        return float(min(finite.max(), 2.0 * np.quantile(finite, 0.98)) or finite.max())


def norm_of(margins: Sequence[Margin]) -> str:
    """Return the norm of all margins; raise InputError if they differ."""
    norms = sorted({margin.norm for margin in margins if margin.standing is not Standing.FAILED})
    if len(norms) > 1:
        raise InputError(f"margins in the norms {', '.join(norms)}: expected one norm for all of them")
    return NORMS[norms[0]] if norms else NORMS["l2"]


def correct_rows(margins: Sequence[Margin], labels: ArrayLike | None) -> NDArray[np.bool_]:
    """Return True for rows with an answer and the true class, or for all rows with an answer if there are no labels."""
    answered = np.array([margin.standing is not Standing.FAILED for margin in margins], dtype=bool)
    if labels is None:
        return answered
    right = class_numbers(labels, len(margins), margins[0].class_names if margins else None)
    same = [m.label == label for m, label in zip(margins, right.tolist(), strict=True)]
    return np.asarray(answered & np.array(same, dtype=bool))


def _above(ascending: Array, radii: ArrayLike) -> Array:
    return np.asarray(len(ascending) - np.searchsorted(ascending, np.asarray(radii, dtype=np.float64), side="right"))
