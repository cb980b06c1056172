"""Margins of a batch that nobody has looked at yet.

A batch knows its answers as arrays. Making records of them, a dozen fields each, would take a quarter of the time of quadrics,
under Python's lock, and most people read the radii. So a batch is a list without its rows until somebody asks for any, and a row
is a `Margin` without its fields, and gets them all when somebody first asks for one; from then on nothing distinguishes them
from any others.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from itertools import repeat
from threading import RLock
from typing import Any, Protocol, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from polymargin.margins.result import Margin, Margins

Places: TypeAlias = NDArray[np.intp]

_get, _set = object.__getattribute__, object.__setattr__
_filling = RLock()  # two threads that look at once see the same rows
# What a list can do without its rows. Everything else it gets them for.
WITHOUT_ROWS = {"__new__", "__init__", "__len__", "__getattribute__", "__sizeof__", "__class_getitem__"}


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


class UnreadMargins(Margins):
    """A batch that becomes `Margins` when anything of it is looked up. Its length and its radii alone can be had without."""

    def __init__(self, count: int, rows: Callable[[], list[Margin]], radii: Callable[[], NDArray[np.float64]]) -> None:
        super().__init__(cast(list[Margin], [None] * count))
        self._rows, self._radii = rows, radii

    @property
    def radii(self) -> NDArray[np.float64]:
        with _filling:
            return self._radii() if type(self) is UnreadMargins else self.radii

    def fill(self) -> None:
        with _filling:
            if type(self) is UnreadMargins:
                list.__setitem__(self, slice(None), self._rows())
                _set(self, "__class__", Margins)
                del self._rows, self._radii

    def __radd__(self, other: list[Any]) -> list[Any]:  # a list in front would see what there is without asking
        self.fill()
        return other + self


def _after_filling(name: str) -> Callable[..., Any]:
    def method(*given: Any, **named: Any) -> Any:
        for one in given:  # lists look into each other without asking
            if type(one) is UnreadMargins:
                one.fill()
        return getattr(Margins, name)(*given, **named)

    return method


for _name in {"__reduce_ex__", *(name for name, what in vars(list).items() if callable(what))} - WITHOUT_ROWS:
    setattr(UnreadMargins, _name, _after_filling(_name))


def unread_margins(rows: MarginRows, count: int) -> Margins:
    """The rows 0, 1, …, `count` − 1."""
    return UnreadMargins(count, partial(_unread_rows, rows, count), lambda: np.array(rows.radii))


def _unread_rows(rows: MarginRows, count: int) -> list[Margin]:
    margins: list[Margin] = list(map(object.__new__, repeat(UnreadMargin, count)))
    deque(map(_set, margins, repeat("_source"), zip(repeat(rows), range(count))), maxlen=0)
    return margins


def gathered(
    parts: Sequence[tuple[Places, list[Margin]]], told: Callable[[list[Margin], Places], list[Margin]]
) -> Margins:
    """Batches as one: the rows of each at their places, as they are told there, which leaves the radii as they are."""
    count = sum(len(places) for places, _ in parts)

    def rows() -> list[Margin]:
        found: list[Any] = [None] * count
        for places, part in parts:
            for place, margin in zip(places.tolist(), told(part, places), strict=True):
                found[place] = margin
        return found

    def radii() -> NDArray[np.float64]:
        found = np.empty(count)
        for places, part in parts:
            found[places] = (part if isinstance(part, Margins) else Margins(part)).radii
        return found

    return UnreadMargins(count, rows, radii)


def later(margin: Margin, change: Callable[[Margin], Margin]) -> Margin:
    """The changed margin; if nobody has looked at it yet, it is changed when somebody does. The radius stays as it is."""
    if type(margin) is not UnreadMargin:
        return change(margin)
    (changed,) = _unread_rows(_Changed(margin, change), 1)
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
