"""Deadlines, passed to every function that takes time.

A function that can return a weaker result reads `passed`. One without a partial result calls `check`, and a caller that already
has a result catches `TimeUpError`. The clock is part of the deadline, so tests can inject a fake one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter


class TimeUpError(Exception):
    """Raised when the time is up before there is a result; users never see it."""


@dataclass(frozen=True)
class Deadline:
    """A deadline on a clock.

    >>> readings = iter(range(10))
    >>> deadline = Deadline.after(3, clock=lambda: next(readings))        # the clock stood at 0
    >>> deadline.left, deadline.passed, deadline.passed
    (2, False, True)
    """

    end: float = math.inf
    clock: Callable[[], float] = perf_counter

    @classmethod
    def after(cls, seconds: float | None, clock: Callable[[], float] = perf_counter) -> Deadline:
        """Return a deadline after so many seconds; None means no deadline."""
        return cls(math.inf if seconds is None else clock() + seconds, clock)

    @property
    def exists(self) -> bool:
        """Return whether there is a deadline."""
        return math.isfinite(self.end)

    @property
    def left(self) -> float:
        """Return the seconds left, at least 0."""
        return max(0.0, self.end - self.clock()) if self.exists else math.inf

    @property
    def passed(self) -> bool:
        """Return whether the deadline has passed."""
        return self.exists and self.clock() >= self.end

    def check(self) -> None:
        """Raise TimeUpError if the deadline has passed."""
        if self.passed:
            raise TimeUpError

    def part(self, share: float) -> Deadline:
        """Return an earlier deadline with this share of the time that is left."""
        return replace(self, end=self.clock() + share * self.left) if self.exists else self

    def within(self, seconds: float) -> Deadline:
        """Return an earlier deadline if so many seconds are less than the time left."""
        return replace(self, end=min(self.end, self.clock() + seconds))


NEVER = Deadline()
