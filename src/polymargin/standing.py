"""How an answer is known. No number leaves the package without its standing.

The word is `standing`, of fields and in sentences. JSON, CSV and checkpoints call it `status`, a name that was published before
and stays; so does the attribute of that name, which every result still has.
"""

from __future__ import annotations

from enum import Enum
from typing import Protocol


class Standing(Enum):
    """The value is what it means, for a person."""

    CERTIFIED = "proved: by a certificate that the checker accepted in the same call, or by exact arithmetic alone"
    NUMERICAL = "all critical points found in floating point, counts agree, the nearest tie confirmed; no proof made"
    BRACKETED = "a lower and an upper bound, both honest"
    FAILED = "no answer; the error says why"

    @property
    def message(self) -> str:
        return self.value


class HasStanding(Protocol):
    @property
    def standing(self) -> Standing: ...


class PublishedStatus:
    """Gives a result the published name of its standing."""

    @property
    def status(self: HasStanding) -> Standing:
        return self.standing
