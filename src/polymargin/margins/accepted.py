"""Bounds of a margin that the checker accepted, and what proves the upper one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from polymargin.margins.certificate import Certificate


@dataclass(frozen=True)
class UpperProof:
    """A tie or a loss against a rival at most so far away, and what proves it."""

    distance: float
    rival: int
    evidence: dict[str, Any]

    @property
    def of_critical_point(self) -> bool:
        """Return whether it speaks of a solution of the rival's completeness proof."""
        return bool(self.evidence["kind"] == "critical-point")


@dataclass(frozen=True)
class Accepted:
    """Bounds of a margin that the checker accepted, or none: 0 and infinity.

    point      of the counterexample that proves the upper one, where it is one
    refusal    why the checker did not accept all that was found; empty if it did
    in_time    False if time alone was missing: then the bounds are those found, not judged
    rtol       bounds that are this close, relatively, have met
    """

    lower: float
    upper: float
    rival: int | None
    certificate: Certificate | None
    refusal: str = ""
    in_time: bool = True
    rtol: float = 1e-6

    @property
    def closed(self) -> bool:
        """Return whether the bounds have met, and the checker has accepted both."""
        gap = self.upper - self.lower
        met = self.lower == self.upper or (math.isfinite(self.upper) and gap <= self.rtol * self.upper)
        return met and self.certificate is not None
