"""Apply a function of one point to many, here or on an executor, with a checkpoint and progress.

Rows are sent in groups, each with the network and everything computed for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from time import perf_counter
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymargin.arguments import real_array
from polymargin.class_names import named
from polymargin.errors import InputError, PolymarginError
from polymargin.standing import HasStanding, Standing
from polymargin.work import Workers, completed_together, worker_count

Array = NDArray[np.float64]


Row = TypeVar("Row", bound=HasStanding)
Found = TypeVar("Found")
# What type checkers can tell apart; an array whose type does not say how many axes it has may be either.
OnePoint: TypeAlias = Sequence[float] | np.ndarray[tuple[int], np.dtype[Any]]
ManyPoints: TypeAlias = Sequence[Sequence[float]] | Sequence[NDArray[Any]] | np.ndarray[tuple[int, int], np.dtype[Any]]
# Called with the number of a row and its answer as soon as there is one.
OnRow = Callable[[int, Any], None]

# Workers of an executor get the rows in about so many pieces each.
TASKS_PER_WORKER = 8


class PointQuestion(Protocol[Row]):  # type: ignore[misc]  # answers only come out of it
    """A computation for every point. It is sent to workers, so it consists of plain values and a network."""

    @property
    def network(self) -> Any:
        """Return the network."""
        ...

    def at(self, point: Array) -> Row:
        """Return the row of a point."""
        ...

    def failed(self, error: str, seconds: float) -> Row:
        """Return the result of a row without an answer."""
        ...


class Store(Protocol):
    """Rows that are known already."""

    def get(self, row: int) -> Any:
        """Return a finished row, or None."""
        ...

    def add(self, rows: Sequence[tuple[int, Any]]) -> None:
        """Store finished rows."""
        ...


def one_or_many(points: ArrayLike, dimension: int) -> Array:
    """Return one point (n,) or a batch (m, n) as it is, with further axes, such as those of images, flattened.

    A vector of another length is left to `checked_point`, which shows it.

    >>> one_or_many(np.zeros((5, 1, 8, 8)), 64).shape
    (5, 64)
    """
    array = real_array(points, "points")
    rows = array.reshape(len(array), -1) if array.ndim > 2 and array.size else array
    if not rows.ndim or not rows.size or (rows.ndim == 2 and rows.shape[1] != dimension):
        one = "; for one point give points.ravel()" if array.ndim > 1 and array.size == dimension else ""
        raise InputError(
            f"points of shape {array.shape}: expected one vector of {dimension} numbers, or an array (m, …) with {dimension} "
            f"numbers for each of m points{one}"
        )
    return rows


def each(function: Callable[[Array], Found], points: Array) -> list[Found]:
    """Apply the function to every row of points (m, n) whose result has no error field; an error passes through."""
    found = []
    for row, point in enumerate(points):
        try:
            found.append(function(point))
        except InputError as error:
            raise InputError(f"row {row}: {error}") from None
    return found


def answers(
    question: PointQuestion[Row],
    points: Array,
    *,
    store: Store | None = None,
    executor: Workers | None = None,
    on_row: OnRow | None = None,
) -> list[Row]:
    """Return one answer per row of points (m, n); a bad row fails alone and is computed again when a run is continued."""
    found: dict[int, Row] = {}
    for row, plain in _each(question, points, store, executor):
        found[row] = answer = named(plain, question.network)
        if on_row is not None:
            on_row(row, answer)
    return [found[row] for row in range(len(points))]


def _each(
    question: PointQuestion[Row], points: Array, store: Store | None, executor: Workers | None
) -> Iterator[tuple[int, Row]]:
    left = []
    for row in range(len(points)):
        known = None if store is None else store.get(row)
        if known is None:
            left.append(row)
        else:
            yield row, known
    size = 1 if executor is None else max(1, len(left) // (TASKS_PER_WORKER * worker_count(executor)))
    blocks = [left[first : first + size] for first in range(0, len(left), size)]
    for place, results in completed_together(_answered, question, [points[block] for block in blocks], executor):
        pairs = list(zip(blocks[place], results, strict=True))
        if store is not None:
            store.add([(row, answer) for row, answer in pairs if answer.standing is not Standing.FAILED])
        yield from pairs


def _answered(question: PointQuestion[Row], points: Array) -> list[Row]:
    return [_answer_or_failure(question, point) for point in points]


def _answer_or_failure(question: PointQuestion[Row], point: Array) -> Row:
    started = perf_counter()
    try:
        return question.at(point)
    except PolymarginError as error:
        return question.failed(str(error), perf_counter() - started)
    except (ArithmeticError, np.linalg.LinAlgError) as error:
        sentence = f"the arithmetic broke down ({error}); rescale the weights or inputs"
        return question.failed(sentence, perf_counter() - started)
