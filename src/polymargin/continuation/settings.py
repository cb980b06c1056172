"""Settings of the tracker: validated when made, with named presets."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from polymargin import _core
from polymargin.arguments import positive
from polymargin.errors import InputError

# Double-doubles may follow a path this far out.
FAR_OUT = 1e30
# Steps after which a path is handed over or given up.
HASTY = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackerSettings:
    """Tolerances and limits of path tracking.

    contraction     largest accepted Newton contraction after a prediction
    correction      largest accepted first Newton correction, relative to the point
    change          largest change of a coordinate in one step, relative to it
    accuracy        relative accuracy of points on the path
    final_accuracy  relative accuracy of the end point, or a hundredth of the accuracy where rounding allows no more
    smallest_step   a step below this fraction of the remaining way ends the path
    infinity        a point larger than this (in scaled coordinates) counts as diverged
    most_steps      accepted and rejected steps together
    """

    contraction: float = 0.04
    correction: float = 0.02
    change: float = 0.25
    accuracy: float = 1e-6
    final_accuracy: float = 1e-13
    smallest_step: float = 1e-12
    infinity: float = 1e10
    most_steps: int = 20_000

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            positive(value, f"tracker setting {item.name}")
        if int(self.most_steps) != self.most_steps or self.most_steps >= 2**31:
            raise InputError(f"tracker setting most_steps={self.most_steps!r}: expected a whole number below 2**31")
        for name in ("contraction", "correction"):
            if getattr(self, name) >= 1:
                raise InputError(f"tracker setting {name}={getattr(self, name)!r}: expected a number below 1")

    def tightened(self) -> TrackerSettings:
        """Return settings with a tenth of the corrector's tolerance, for paths that may have jumped."""
        return replace(
            self,
            contraction=self.contraction / 10,
            correction=self.correction / 10,
            accuracy=self.accuracy / 100,
            most_steps=4 * self.most_steps,
        )

    def far_sighted(self) -> TrackerSettings:
        """Return settings for double-doubles, which may follow a path far out."""
        return replace(self, infinity=FAR_OUT)

    def hasty(self) -> TrackerSettings:
        """Return settings with few steps, for paths that double-doubles continue."""
        return replace(self, most_steps=min(self.most_steps, HASTY))

    def bold(self) -> TrackerSettings:
        """Return settings with long steps, for callers that compare endpoints and retry doubtful paths."""
        return replace(self, contraction=0.1, correction=0.1, change=1.0)

    def exploring(self) -> TrackerSettings:
        """Return settings with few long steps: a path that jumps still arrives at some solution."""
        return replace(self.bold(), accuracy=1e-5).hasty()

    def rough(self) -> TrackerSettings:
        """Return settings for paths that rounding would stop, with less accurate endpoints."""
        return replace(self, contraction=0.1, correction=0.05, accuracy=1e-4, most_steps=HASTY)

    def as_core(self) -> _core.TrackerSettings:
        """Return the settings as the core's type."""
        return _core.TrackerSettings(**{item.name: getattr(self, item.name) for item in fields(self)})
