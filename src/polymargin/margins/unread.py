"""Margins of a batch that nobody has looked at yet.

A batch knows its answers as arrays. Thousands of records with a dozen fields each would take as long to make as a quarter of the
computation, under Python's lock, and most people read the radii. So a row is a `Margin` without its fields, and gets them all when
somebody first asks for one; from then on nothing distinguishes it from any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import Any, Protocol

from polymargin.margins.result import Margin

_SOURCE = "_source"


class MarginRows(Protocol):
    """What rows are made of."""

    @property
    def radii(self) -> Sequence[float]: ...

    def fields(self, place: int) -> dict[str, Any]:
        """All fields of a row; those that are left out have their default."""
        ...


class UnreadMargin(Margin):
    """A row that becomes a `Margin` when it is looked at. Its radius alone can be had without."""

    def __getattribute__(self, name: str) -> Any:
        if name == "radius" and (source := object.__getattribute__(self, "__dict__").get(_SOURCE)):
            rows, place = source
            return rows.radii[place]
        return getattr(_read(self), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(_read(self), name, value)  # which it refuses, being frozen

    def __delattr__(self, name: str) -> None:
        delattr(_read(self), name)

    def __reduce_ex__(self, protocol: Any) -> str | tuple[Any, ...]:
        return _read(self).__reduce_ex__(protocol)


def unread_margins(rows: MarginRows, count: int) -> list[Margin]:
    """The rows 0, 1, …, `count` − 1."""
    margins: list[Margin] = list(map(object.__new__, repeat(UnreadMargin, count)))
    for margin, source in zip(margins, zip(repeat(rows), range(count)), strict=False):
        object.__setattr__(margin, _SOURCE, source)
    return margins


def _read(margin: Margin) -> Margin:
    """With its fields, put in at one go: of two threads that look at the same time neither meets a row that has only some."""
    mine: dict[str, Any] = object.__getattribute__(margin, "__dict__")
    if source := mine.get(_SOURCE):
        rows, place = source
        mine.update(rows.fields(place))
    object.__setattr__(margin, "__class__", Margin)
    mine.pop(_SOURCE, None)
    return margin
