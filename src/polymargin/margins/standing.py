"""How an answer is known. No number leaves the package without its standing."""

from __future__ import annotations

from enum import Enum


class Standing(Enum):
    """The value is what it means, for a person."""

    CERTIFIED = "a proof that the checker accepts"
    NUMERICAL = "all critical points found in floating point, counts agree, no proof made"
    BRACKETED = "a lower and an upper bound, both honest"
    FAILED = "no answer; the error says why"

    @property
    def message(self) -> str:
        return self.value
