"""Margins of a batch that nobody has looked at yet.

A batch knows its answers as arrays. Making records of them, a dozen fields each, would take a quarter of the time of quadrics,
under Python's lock, and most people read the radii. So a row is a `Margin` without its fields, and gets them all when somebody
first asks for one; from then on nothing distinguishes it from any other.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from itertools import repeat
from typing import Any, Protocol

from polymargin.margins.result import Margin

_get, _set = object.__getattribute__, object.__setattr__


class MarginRows(Protocol):
    """What rows are made of."""

    @property
    def radii(self) -> Sequence[float]: ...

    def fields(self, place: int) -> dict[str, Any]:
        """All fields of a row; those that are left out have their default."""
        ...


class UnreadMargin(Margin):
    """A row that becomes a `Margin` when anything of it is looked up. Its radius alone can be had without."""

    def __getattribute__(self, name: str) -> Any:
        try:
            rows, place = _get(self, "_source")
        except AttributeError:
            pass  # another thread has just read it
        else:
            if name == "radius":
                return rows.radii[place]
            _set(self, "__dict__", rows.fields(place))  # at one go: nobody meets a row that has only some of its fields
        _set(self, "__class__", Margin)
        return getattr(self, name)

    # Python finds these by the class, without looking them up; below they are a margin's.

    def __setattr__(self, name: str, value: Any) -> None:
        self.__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        self.__delattr__(name)

    def __reduce_ex__(self, protocol: Any) -> str | tuple[Any, ...]:
        return self.__reduce_ex__(protocol)


def later(margin: Margin, change: Callable[[Margin], Margin]) -> Margin:
    """The changed margin; if nobody has looked at it yet, it is changed when somebody does. The radius stays as it is."""
    if type(margin) is not UnreadMargin:
        return change(margin)
    (changed,) = unread_margins(_Changed(margin, change), 1)
    return changed


class _Changed:
    """A row that is to be changed."""

    def __init__(self, margin: Margin, change: Callable[[Margin], Margin]) -> None:
        self._margin, self._change = margin, change

    @property
    def radii(self) -> list[float]:
        return [self._margin.radius]

    def fields(self, place: int) -> dict[str, Any]:
        return dict(vars(self._change(self._margin)))


def unread_margins(rows: MarginRows, count: int) -> list[Margin]:
    """The rows 0, 1, …, `count` − 1."""
    margins: list[Margin] = list(map(object.__new__, repeat(UnreadMargin, count)))
    deque(map(_set, margins, repeat("_source"), zip(repeat(rows), range(count))), maxlen=0)
    return margins
