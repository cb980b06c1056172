"""The perturbations that a certificate states: norm, weights, domain, movable coordinates, rivals, a lead.

Without this entry a certificate speaks of the L2 norm, all perturbations and all rivals. Lengths are compared in rationals.
A matrix of weights and a subspace come with a frame, in whose coordinates proofs are made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from flint import fmpq

from polymargin_checker.document import fields, integer, items
from polymargin_checker.dyadics import number
from polymargin_checker.frame import Rows, StatedFrame, squared_length
from polymargin_checker.refusal import Refused
from polymargin_checker.words import shown

NORMS = ("l2", "linf", "l1")
_FIELDS = ("norm", "weights", "low", "high", "movable", "rivals", "abstain")
_SKEW_FIELDS = ("subspace", "frame")

Box = tuple[tuple[fmpq, fmpq], ...]


@dataclass(frozen=True)
class StatedNeighbourhood:
    """norm, w and the ends of the domain (None: no end), the coordinates that may change, the rivals that count, the lead.

    With a frame, perturbations are along its columns, and its metric takes the place of w if it has one.
    """

    norm: str
    weights: tuple[fmpq, ...] | None
    low: tuple[fmpq | None, ...] | None
    high: tuple[fmpq | None, ...] | None
    movable: frozenset[int] | None
    rivals: frozenset[int] | None
    abstain: fmpq
    frame: StatedFrame | None = None

    @property
    def is_weighted(self) -> bool:
        return self.weights is not None or (self.frame is not None and self.frame.metric is not None)

    @property
    def is_ball(self) -> bool:
        """Return whether a proof on the L2 ball of the same radius is a proof here: the ball contains the neighbourhood."""
        return self.norm == "l2" and not self.is_weighted and self.abstain == 0

    @property
    def is_plain(self) -> bool:
        """Return whether it is the whole L2 ball."""
        return self.is_ball and self.low is None and self.movable is None and self.frame is None

    @property
    def round(self) -> StatedNeighbourhood:
        """Return the neighbourhood in the coordinates of the frame: a ball."""
        return replace(PLAIN, abstain=self.abstain)

    def weight(self, coordinate: int) -> fmpq:
        return fmpq(1) if self.weights is None else self.weights[coordinate]

    def ends(self, coordinate: int) -> tuple[fmpq | None, fmpq | None]:
        """Return both ends of the domain."""
        if self.low is None or self.high is None:
            return None, None
        return self.low[coordinate], self.high[coordinate]

    def box(self, point: Sequence[fmpq], radius: fmpq) -> Box:
        """Return the box that contains every allowed point within the radius."""
        result = []
        for coordinate, middle in enumerate(point):
            if self.movable is not None and coordinate not in self.movable:
                result.append((middle, middle))
                continue
            reach, (low, high) = radius / self.weight(coordinate), self.ends(coordinate)
            least = middle - reach if low is None else max(low, middle - reach)
            most = middle + reach if high is None else min(high, middle + reach)
            result.append((least, most))
        return tuple(result)

    def within(self, point: Sequence[fmpq], x: Sequence[fmpq], radius: fmpq | None) -> bool:
        """Return whether x is a perturbation of the point of at most this length; None is infinity."""
        steps = [a - b for a, b in zip(x, point, strict=True)]
        stated = self.low is not None or self.high is not None or self.movable is not None
        for coordinate, (value, step) in enumerate(zip(x, steps, strict=True) if stated else ()):
            low, high = self.ends(coordinate)
            if (low is not None and value < low) or (high is not None and value > high):
                return False
            if step != 0 and self.movable is not None and coordinate not in self.movable:
                return False
        if radius is None:
            return True
        if self.frame is not None and self.frame.metric is not None:
            return bool(radius >= 0 and squared_length(self.frame.metric, steps) <= radius * radius)
        scaled = steps if self.weights is None else [w * step for w, step in zip(self.weights, steps, strict=True)]
        if self.norm == "linf":
            return radius >= 0 and all(abs(step) <= radius for step in scaled)
        if self.norm == "l1":
            return bool(sum(map(abs, scaled), fmpq(0)) <= radius)
        return bool(radius >= 0 and sum((step * step for step in scaled), fmpq(0)) <= radius * radius)


PLAIN = StatedNeighbourhood("l2", None, None, None, None, None, fmpq(0))


def read_neighbourhood(value: Any, point: Sequence[fmpq], classes: int) -> StatedNeighbourhood:
    """Return the neighbourhood of a certificate; the point itself must lie in the domain."""
    fields(value, "neighbourhood", _FIELDS, _SKEW_FIELDS)
    norm = value["norm"]
    if not isinstance(norm, str) or norm not in NORMS:
        raise Refused(f"neighbourhood, norm: {shown(norm)}; expected one of {', '.join(NORMS)}")
    size = len(point)
    has_matrix = isinstance(value["weights"], list) and any(isinstance(entry, list) for entry in value["weights"])
    metric = _matrix(value["weights"], "neighbourhood, weights", size, size) if has_matrix else None
    weights = None if has_matrix else _vector(value["weights"], "neighbourhood, weights", size)
    if weights is not None and any(weight is None or weight <= 0 for weight in weights):
        raise Refused("neighbourhood, weights: expected positive numbers")
    low, high = (_vector(value[key], f"neighbourhood, {key}", size) for key in ("low", "high"))
    if (low is None) != (high is None):
        raise Refused("neighbourhood: a domain needs both low and high")
    abstain = number(value["abstain"], "neighbourhood, abstain")
    if abstain < 0:
        raise Refused("neighbourhood, abstain: a lead is not negative")
    movable = _indices(value["movable"], "neighbourhood, movable", size)
    rivals = _indices(value["rivals"], "neighbourhood, rivals", classes)
    frame = None
    if metric is not None or "subspace" in value or "frame" in value:
        if norm != "l2" or low is not None or (movable is not None and "subspace" in value):
            raise Refused(
                "neighbourhood: a matrix of weights or a subspace; expected norm l2, no domain, nothing movable beside a subspace"
            )
        frame = _frame(value, metric, weights, movable, size)  # type: ignore[arg-type]
    result = StatedNeighbourhood(norm, weights, low, high, movable, rivals, abstain, frame)  # type: ignore[arg-type]
    if not result.within(point, point, None):
        raise Refused("neighbourhood: the point lies outside the domain")
    return result


def _frame(
    value: dict[str, Any],
    metric: Rows | None,
    weights: tuple[fmpq, ...] | None,
    movable: frozenset[int] | None,
    size: int,
) -> StatedFrame:
    fields(value, "neighbourhood with a matrix or a subspace", ("frame",), tuple(value))
    if metric is not None and any(metric[i][j] != metric[j][i] for i in range(size) for j in range(i)):
        raise Refused("neighbourhood, weights: the matrix is not symmetric")
    if "subspace" in value:
        columns = _matrix(value["subspace"], "neighbourhood, subspace", size, None)
    else:
        moving = range(size) if movable is None else sorted(movable)
        columns = tuple(tuple(fmpq(int(i == j)) for j in moving) for i in range(size))
    count = len(columns[0])
    turn = _matrix(value["frame"], "neighbourhood, frame", count, count)
    return StatedFrame(metric, weights, columns, turn)


def _matrix(value: Any, name: str, rows: int, columns: int | None) -> Rows:
    """Return rows of equal length: `columns` numbers, or as many as in the first row."""
    lists = items(value, name, rows)
    width = len(items(lists[0], name, columns))
    if width == 0:
        raise Refused(f"{name}: expected at least one column")
    return tuple(tuple(number(entry, name) for entry in items(row, name, width)) for row in lists)


def _vector(value: Any, name: str, size: int) -> tuple[fmpq | None, ...] | None:
    if value is None:
        return None
    return tuple(None if entry is None else number(entry, name) for entry in items(value, name, size))


def _indices(value: Any, name: str, size: int) -> frozenset[int] | None:
    if value is None:
        return None
    found = [integer(entry, name, 0, size - 1) for entry in items(value, name)]
    if not found or len(set(found)) < len(found):
        raise Refused(f"{name}: expected different numbers, at least one")
    return frozenset(found)
