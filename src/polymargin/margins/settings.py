"""Settings of a `Verifier`, which do not change the question."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from polymargin.arguments import DEFAULT_LIMIT, check_named, positive
from polymargin.continuation import TrackerSettings
from polymargin.enumeration.cache import Cache


@dataclass(frozen=True)
class Settings:
    """Settings for listing and caching critical points.

    limit     boundaries with more critical points get proved bounds instead
    cache     keep start solutions on disk (True), nowhere (False) or in a directory
    tracker   settings of the path tracker
    rtol      bounds that are this close, relatively, have met

    >>> Settings(limit=0)
    Traceback (most recent call last):
    polymargin.errors.InputError: limit 0: expected a positive number
    """

    limit: int = DEFAULT_LIMIT
    cache: bool | str | Path = True
    tracker: TrackerSettings = field(default_factory=TrackerSettings)
    rtol: float = 1e-6

    def __post_init__(self) -> None:
        check_named("limit", self.limit)
        positive(self.rtol, "rtol")
        Cache.from_option(self.cache)

    @property
    def of_the_answer(self) -> dict[str, Any]:
        """Return the settings that can change an answer, for checkpoints."""
        return {"limit": int(self.limit), "tracker": asdict(self.tracker), "rtol": float(self.rtol)}
