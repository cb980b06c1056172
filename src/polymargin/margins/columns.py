"""The answers of one boundary for many points, as arrays; records are made of them when somebody looks.

A batch of ten classes has nine pairs a row. Most people read the nearest one, so arrays hold what is needed to find it, and a
record of every other rival is made when it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from polymargin.enumeration.base_solutions import BaseSolutions
from polymargin.enumeration.near_discriminant import near_discriminant
from polymargin.enumeration.ordinary_points import OrdinaryPoints
from polymargin.margins.result import PairMargin, made
from polymargin.quadric import NearestBatch, NearestKind

Array = NDArray[np.float64]
Places: TypeAlias = NDArray[np.intp]
Mask: TypeAlias = NDArray[np.bool_]
# One for each point; none at all for a boundary without classes.
Rivals: TypeAlias = Places | None


# The method of those that were enumerated.
ENUMERATED = "continuation"


class PairColumn(Protocol):
    """What is known of one boundary at points (p,), each answer complete or none at all."""

    @property
    def known(self) -> Mask:
        """Where there is nothing more to look at."""
        ...

    @property
    def lower(self) -> Array: ...

    @property
    def upper(self) -> Array: ...

    @property
    def proved(self) -> Mask: ...

    @property
    def beyond_rounding(self) -> Mask:
        """Where arithmetic decided that logits close to each other do not trouble."""
        ...

    def records(self, places: Places) -> list[PairMargin]:
        """The answers at some of the points, known ones."""
        ...


@dataclass(frozen=True, eq=False)
class RecordColumn:
    """Answers that are records already; None where there is more to look at."""

    answers: list[PairMargin | None]

    @cached_property
    def known(self) -> Mask:
        return np.array([one is not None for one in self.answers], dtype=bool)

    @cached_property
    def lower(self) -> Array:
        return np.array([np.nan if one is None else one.lower for one in self.answers])

    @cached_property
    def upper(self) -> Array:
        return np.array([np.nan if one is None else one.upper for one in self.answers])

    @cached_property
    def proved(self) -> Mask:
        return np.array([one is not None and one.proved for one in self.answers], dtype=bool)

    @cached_property
    def beyond_rounding(self) -> Mask:
        return np.array([one is not None and beyond_rounding(one) for one in self.answers], dtype=bool)

    def records(self, places: Places) -> list[PairMargin]:
        return [one for place in places.tolist() if (one := self.answers[place]) is not None]


class QuadricColumn:
    """Nearest points of a quadric; regular ones that rounding did not decide are known.

    Of the points only the steps that lead to them are kept, in the eigenbasis; `rows` of `points` (…, n) are where they start.
    """

    def __init__(self, points: Array, rows: Places, rivals: Rivals, nearest: NearestBatch) -> None:
        self._points, self._rows, self._rivals = points, rows, rivals
        self._spectrum, self._steps = nearest.spectrum, nearest.steps
        self.known: Mask = (nearest.kinds == NearestKind.REGULAR) & ~nearest.doubtful
        self.lower = self.upper = nearest.distances
        self.proved = self.beyond_rounding = np.zeros(len(nearest), dtype=bool)

    def records(self, places: Places) -> list[PairMargin]:
        points = self._points[self._rows[places]] + self._spectrum.lift(self._steps[places]).real
        bound = 2 * self._spectrum.dimension
        return [
            made(
                PairMargin,
                rival=rival,
                radius=distance,
                lower=distance,
                upper=distance,
                point=point,
                method="quadric",
                complete=True,
                complex_count=None,
                real_count=None,
                bound=bound,
            )
            for rival, distance, point in zip(
                rivals_at(self._rivals, places), self.upper[places].tolist(), points, strict=True
            )
        ]


class EnumeratedColumn:
    """Critical points by continuation: those of ordinary points whose nearest tie floats confirm, at `radii` (q,), are known."""

    def __init__(self, base: BaseSolutions, count: int, rivals: Rivals, found: OrdinaryPoints, radii: Array) -> None:
        self._base, self._rivals, self._found = base, rivals, found
        self._place = np.zeros(count, dtype=np.intp)
        self._place[found.rows] = np.arange(len(found.rows))
        self.lower = self.upper = np.full(count, np.nan)
        self.upper[found.rows] = radii
        self.known: Mask = ~np.isnan(self.upper)
        self.proved = self.beyond_rounding = np.zeros(count, dtype=bool)

    def records(self, places: Places) -> list[PairMargin]:
        found, here, base = self._found, self._place[places], self._base
        bound, count, scale = base.boundary.critical_bound, len(base.solutions), base.boundary.reduction.scale
        return [
            made(
                PairMargin,
                rival=rival,
                radius=radius,
                lower=radius,
                upper=radius,
                point=point,
                method=ENUMERATED,
                complete=True,
                complex_count=count,
                real_count=reals,
                bound=bound,
                notes=near_discriminant(distance, scale),
            )
            for rival, radius, point, reals, distance in zip(
                rivals_at(self._rivals, places),
                self.upper[places].tolist(),
                found.nearest[here],
                found.real_counts[here].tolist(),
                found.discriminant[here].tolist(),
                strict=True,
            )
        ]


class LazyPairs(Sequence[PairMargin]):
    """The pairs of one row, each made when somebody looks at it; a tuple as soon as they travel."""

    __slots__ = ("_made", "_make")

    def __init__(self, count: int, make: Callable[[int], PairMargin]) -> None:
        self._made: list[PairMargin | None] = [None] * count
        self._make = make

    def __len__(self) -> int:
        return len(self._made)

    @overload
    def __getitem__(self, place: int) -> PairMargin: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[PairMargin, ...]: ...
    def __getitem__(self, place: int | slice) -> PairMargin | tuple[PairMargin, ...]:
        if isinstance(place, slice):
            return tuple([self[each] for each in range(len(self))[place]])
        found = self._made[place]
        if found is None:
            found = self._made[place] = self._make(range(len(self))[place])
        return found

    def __repr__(self) -> str:
        return repr(tuple(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (list(self),)


def rivals_at(rivals: Rivals, places: Places) -> list[Any]:
    """The rivals of some of the points, each None where there are no classes."""
    return [None] * len(places) if rivals is None else rivals[places].tolist()


def beyond_rounding(pair: PairMargin) -> bool:
    """Whether the pair was decided by arithmetic that logits close to each other do not trouble."""
    return pair.proved or pair.method == "hyperplane"
