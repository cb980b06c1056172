"""The keywords of `margin`, `verify` and `attack`, for type checkers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias, TypedDict

from polymargin.regions import ThreatOptions
from polymargin.work import Workers

# Seconds per point.
DEFAULT_TIMEOUT = 60.0
# Called with the number of a row and its answer as soon as there is one.
Progress: TypeAlias = Callable[[int, Any], None]


class RowOptions(TypedDict, total=False):
    """Those of `Verifier.verify`."""

    timeout: float
    checkpoint: str | Path | None
    progress: Progress | None
    noise: Mapping[int, Any] | Mapping[str, Any] | None
    arithmetic: str | None


class VerifierMarginOptions(RowOptions, total=False):
    """Those of `Verifier.margin`."""

    proof: bool


class AttackOptions(ThreatOptions, total=False):
    """Those of `attack`."""

    timeout: float
    seed: int


class VerifyOptions(RowOptions, ThreatOptions, total=False):
    """Those of `verify`."""

    seed: int
    device: str | None
    workers: int | Workers | None


class MarginOptions(VerifyOptions, total=False):
    """Those of `margin`."""

    proof: bool
