"""Answers of all rivals combined into one."""

from __future__ import annotations

from polymargin.margins.result import Margin, PairMargin
from polymargin.standing import Standing


def combined(label: int | None, pairs: list[PairMargin], seconds: float) -> Margin:
    """Return the nearest of the rivals, with the standing of what is known least."""
    nearest = min(pairs, key=_upper)
    complete = all(pair.complete for pair in pairs)
    notes = tuple(
        [
            note if pair.rival is None else f"against class {pair.rival}: {note}"
            for pair in pairs
            for note in pair.notes
            if pair is nearest or not pair.complete
        ]
    )
    return Margin(
        radius=nearest.upper,
        lower=min([pair.lower for pair in pairs]),
        upper=nearest.upper,
        point=nearest.point,
        label=label,
        rival=nearest.rival,
        standing=_standing(pairs, complete),
        method=nearest.method,
        seconds=seconds,
        complex_count=nearest.complex_count,
        real_count=nearest.real_count,
        pairs=tuple(pairs),
        notes=notes,
    )


def _standing(pairs: list[PairMargin], complete: bool) -> Standing:
    if all(pair.proved for pair in pairs):
        return Standing.CERTIFIED
    return Standing.NUMERICAL if complete else Standing.BRACKETED


def _upper(pair: PairMargin) -> float:
    return pair.upper
