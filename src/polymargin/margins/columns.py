"""The answers of a boundary, or of several quadrics, for many points, as arrays; records are made of them on first access.

A batch of ten classes has nine pairs a row. Most people read the nearest one, so arrays hold what is needed to find it, and a
record of every other rival is made when it is asked for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from polymargin.enumeration.base_solutions import BaseSolutions
from polymargin.enumeration.near_discriminant import near_discriminant
from polymargin.enumeration.ordinary_points import OrdinaryPoints
from polymargin.margins.result import PairMargin
from polymargin.quadric import NearestBatches, NearestKind

Array = NDArray[np.float64]
Places: TypeAlias = NDArray[np.intp]
Mask: TypeAlias = NDArray[np.bool_]


REGULAR = int(NearestKind.REGULAR)
# The method of those that were enumerated.
ENUMERATED = "continuation"


# What a column knows of an answer besides the distance: point, method, complex_count, real_count, bound, notes.
Details: TypeAlias = tuple[Array | None, str, int | None, int | None, int, tuple[str, ...]]


class PairColumn(ABC):
    """Answers of a boundary, or of several, at points (p,), each complete or missing.

    known            (p,) where there is nothing more to look at
    lower, upper     (p,) NaN where nothing is known
    proved           (p,)
    beyond_rounding  (p,) where arithmetic decided that logits close to each other do not trouble
    """

    known: Mask
    lower: Array
    upper: Array
    proved: Mask
    beyond_rounding: Mask

    @abstractmethod
    def details(self, places: Places) -> Iterable[Details]:
        """Yield the details of known answers at some of the points."""
        ...

    def record(self, place: int, rival: int | None) -> PairMargin:
        """Return the answer at a known point, for a rival of that number."""
        (details,) = self.details(np.array([place]))
        point, method, complex_count, real_count, bound, notes = details
        lower, upper = float(self.lower[place]), float(self.upper[place])
        return PairMargin(
            rival,
            upper,
            lower,
            upper,
            point,
            method,
            True,
            complex_count,
            real_count,
            bound,
            notes,
            bool(self.proved[place]),
        )


class RecordColumn(PairColumn):
    """Answers that are records already; None where there is more to look at."""

    def __init__(self, answers: list[PairMargin | None]) -> None:
        self._answers = answers
        self.known = np.array([one is not None for one in answers], dtype=bool)
        self.lower = np.array([np.nan if one is None else one.lower for one in answers])
        self.upper = np.array([np.nan if one is None else one.upper for one in answers])
        self.proved = np.array([one is not None and one.proved for one in answers], dtype=bool)
        self.beyond_rounding = np.array([one is not None and beyond_rounding(one) for one in answers], dtype=bool)

    def details(self, places: Places) -> Iterable[Details]:
        """Return the details of known answers at some of the points."""
        for place in places.tolist():
            one = self._answers[place]
            if one is not None:
                yield one.point, one.method, one.complex_count, one.real_count, one.bound, one.notes


class QuadricColumn(PairColumn):
    """Nearest points of quadrics, of one after those of another; regular ones that rounding did not decide are known."""

    def __init__(self, nearest: NearestBatches) -> None:
        self._nearest = nearest
        self.known = (nearest.kinds == REGULAR) & ~nearest.doubtful
        self.lower = self.upper = nearest.distances
        self.proved = self.beyond_rounding = np.zeros(len(nearest.rows), dtype=bool)

    def details(self, places: Places) -> Iterable[Details]:
        """Return the details of known answers at some of the points."""
        bound = 2 * self._nearest.given.shape[1]
        return [(point, "quadric", None, None, bound, ()) for point in self._nearest.points_at(places)]


class EnumeratedColumn(PairColumn):
    """Critical points by continuation: those of ordinary points whose nearest tie floats confirm, at `radii` (q,), are known."""

    def __init__(self, base: BaseSolutions, count: int, found: OrdinaryPoints, radii: Array) -> None:
        self._base, self._found = base, found
        self._place = np.zeros(count, dtype=np.intp)
        self._place[found.rows] = np.arange(len(found.rows))
        self.lower = self.upper = np.full(count, np.nan)
        self.upper[found.rows] = radii
        self.known = ~np.isnan(self.upper)
        self.proved = self.beyond_rounding = np.zeros(count, dtype=bool)

    def details(self, places: Places) -> Iterable[Details]:
        """Return the details of known answers at some of the points."""
        found, here, boundary = self._found, self._place[places], self._base.boundary
        count, bound, scale = len(self._base.solutions), boundary.critical_bound, boundary.reduction.scale
        return [
            (point, ENUMERATED, count, reals, bound, near_discriminant(distance, scale))
            for point, reals, distance in zip(
                found.nearest[here], found.real_counts[here].tolist(), found.discriminant[here].tolist(), strict=True
            )
        ]


def beyond_rounding(pair: PairMargin) -> bool:
    """Return whether the pair was decided by arithmetic that logits close to each other do not trouble."""
    return pair.proved or pair.method == "hyperplane"
