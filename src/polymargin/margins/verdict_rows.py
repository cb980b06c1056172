"""What `verify` asks about every point of a batch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polymargin.continuation import Tracker
from polymargin.margins.batch import Question
from polymargin.margins.case import Case
from polymargin.margins.prepared import Prepared
from polymargin.margins.verdict import Verdict, failed_verdict
from polymargin.margins.verdicts import verdict_at


@dataclass(frozen=True, eq=False)
class VerdictQuestion(Question):
    """One radius for all points."""

    prepared: Prepared
    radius: float

    def at(self, point: NDArray[np.float64], tracker: Tracker) -> Verdict:
        deadline = self.prepared.search.deadline(tracker)
        if self.prepared.cells is not None:
            return self.prepared.cells.verdict_at(point, self.radius, deadline.left if deadline.exists else None)
        return verdict_at(Case(self.prepared, point, deadline), self.radius)

    def failed(self, error: str, seconds: float) -> Verdict:
        return failed_verdict(self.radius, error, seconds)
