"""The standing of an answer: how it was established. No number leaves the package without its standing."""

from __future__ import annotations

from enum import Enum
from typing import Protocol


class Standing(Enum):
    """The standing of an answer; the value is its meaning in words."""

    CERTIFIED = "proved: by a certificate that the checker accepted in the same call, or by exact arithmetic alone"
    NUMERICAL = "all critical points found in floating point, counts agree, the nearest tie confirmed; no proof made"
    BRACKETED = "a lower and an upper bound, both honest"
    FAILED = "no answer; the error says why"

    @property
    def message(self) -> str:
        """Return the meaning of the standing in words."""
        return self.value


class HasStanding(Protocol):
    """A result with a standing."""

    @property
    def standing(self) -> Standing:
        """Return how the answer was established."""
        ...
