"""The model's names for classes in rows of margins, and a remark on ties outside [0, 1] where the input is an image."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.boundary import Boundary
from polymargin.class_names import names_of, with_names
from polymargin.margins.result import Margin
from polymargin.regions import ThreatModel

OUTSIDE = "the nearest tie leaves [0, 1], where the input is; within=L2(domain=(0, 1)), --domain 0,1, keeps it inside"


@dataclass(frozen=True, eq=False)
class RowLabels:
    """Called with an answer and the number of its row."""

    names: tuple[str, ...] | None
    images: NDArray[np.bool_]  # (m,)

    @classmethod
    def of(cls, model: Any, threat: ThreatModel, points: NDArray[np.float64]) -> RowLabels:
        """Return the labels of a batch of points (m, n)."""
        images = np.zeros(len(points), dtype=bool)
        if threat.is_plain and not isinstance(model, Boundary):
            first, last = points[:, 0], points[:, -1]  # two coordinates tell most points that are no images
            rows = np.flatnonzero((first >= 0) & (first <= 1))
            rows = rows[(last[rows] >= 0) & (last[rows] <= 1)]
            images[rows] = ((points[rows] >= 0) & (points[rows] <= 1)).all(axis=1)
        return cls(names_of(model), images)

    @classmethod
    def names_of(cls, model: Any, count: int) -> RowLabels:
        """Return the names alone."""
        return cls(names_of(model), np.zeros(count, dtype=bool))

    def __call__(self, found: Any, row: int) -> Any:
        """Return the answer with the names of the model, and a note about images."""
        told = _remarked(found) if self.images[row] else found
        return told if self.names is None else with_names(told, self.names)


def _remarked(found: Margin) -> Margin:
    """Return a margin of an image with a word on a tie that no image has: one outside."""
    tie = found.point
    if tie is None or ((tie >= 0) & (tie <= 1)).all():
        return found
    return replace(found, notes=(*found.notes, OUTSIDE))
