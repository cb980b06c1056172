"""What `verify` asks about every point of a batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.deadlines import Deadline
from polymargin.margins.case import Case
from polymargin.margins.prepared import Prepared
from polymargin.margins.verdict import Verdict, failed_verdict
from polymargin.margins.verdicts import verdict_at


@dataclass(frozen=True, eq=False)
class VerdictQuestion:
    """One radius for all points."""

    prepared: Prepared
    radius: float

    @property
    def network(self) -> Any:
        return self.prepared.model

    def at(self, point: NDArray[np.float64]) -> Verdict:
        if self.prepared.cells is not None:
            return self.prepared.cells.verdict_at(point, self.radius, self.prepared.search.timeout)
        return verdict_at(Case(self.prepared, point, Deadline.after(self.prepared.search.timeout)), self.radius)

    def failed(self, error: str, seconds: float) -> Verdict:
        return failed_verdict(self.radius, error, seconds)
