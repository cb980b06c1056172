"""Many independent pieces of work: here, or wherever an executor takes them.

Any `concurrent.futures.Executor` will do: a process pool, Dask's, MPI's. Results come back as they are ready, each exactly once.
What an executor loses because a worker died is done in this process instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, as_completed
from typing import Any, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def completed(
    function: Callable[[Item], Result], items: Sequence[Item], executor: Executor | None = None
) -> Iterator[tuple[int, Result]]:
    """(index, function(item)) for every item; in order without an executor, as they finish with one.

    >>> sorted(completed(abs, [-2, 3]))
    [(0, 2), (1, 3)]
    """
    if executor is None:
        for index, item in enumerate(items):
            yield index, function(item)
        return
    futures: dict[Any, int] = {}
    left = list(range(len(items)))
    try:
        for index in list(left):
            futures[executor.submit(function, items[index])] = index
            left.remove(index)
    except BrokenExecutor:
        pass  # the pool broke while it was being filled; `left` holds what it never got
    for future in as_completed(list(futures)):
        try:
            result = future.result()
        except (BrokenExecutor, CancelledError):
            left.append(futures[future])
            continue
        yield futures[future], result
    for index in left:
        yield index, function(items[index])
