"""Many independent pieces of work: here, or wherever an executor or a cluster takes them.

Any `concurrent.futures.Executor` will do (a process pool, MPI's), and so will a Dask `Client`. Results come back as they are
ready, each exactly once. What is lost because a worker died is done in this process instead.

What all pieces have in common, a model with everything that was computed for it, travels apart from them: a cluster sends it to
each worker once. A worker unpacks it for every piece, so pieces are large enough for that.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, as_completed
from typing import Any, Protocol, TypeAlias, TypeVar, runtime_checkable

from polymargin.blas import blas_threads
from polymargin.errors import InputError

Common = TypeVar("Common")
Item = TypeVar("Item")
Result = TypeVar("Result")


@runtime_checkable
class Cluster(Protocol):
    """The part of a Dask `Client` that is used."""

    def get_executor(self, **options: Any) -> Any:
        """Return an executor."""
        ...

    def scatter(self, data: Any, **options: Any) -> Any:
        """Send data to all workers."""
        ...

    def nthreads(self) -> Any:
        """Return the numbers of threads of the workers."""
        ...


Workers: TypeAlias = Executor | Cluster


def completed(
    function: Callable[[Item], Result], items: Sequence[Item], executor: Workers | None = None
) -> Iterator[tuple[int, Result]]:
    """Yield (index, function(item)) for every item; in order without an executor, as they finish with one.

    >>> sorted(completed(abs, [-2, 3]))
    [(0, 2), (1, 3)]
    """
    if executor is None:
        for index, item in enumerate(items):
            yield index, function(item)
        return
    pool = _executor(executor)
    futures: dict[Any, int] = {}
    left = list(range(len(items)))
    try:
        for index in list(left):
            futures[pool.submit(function, items[index])] = index
            left.remove(index)
    except BrokenExecutor:
        pass  # the pool broke while it was being filled; `left` holds what it never got
    yield from _gathered(futures, left, lambda index: function(items[index]))


def completed_together(
    function: Callable[[Common, Item], Result], common: Common, items: Sequence[Item], executor: Workers | None = None
) -> Iterator[tuple[int, Result]]:
    """Yield (index, function(common, item)) for every item, where `common` may be large.

    >>> sorted(completed_together(pow, 2, [3, 5]))
    [(0, 8), (1, 32)]
    """
    if executor is None:
        for index, item in enumerate(items):
            yield index, function(common, item)
        return
    pool = _executor(executor)
    parcel: Any = pickle.dumps(common)
    if isinstance(executor, Cluster):
        parcel = executor.scatter(parcel, broadcast=True)
    futures: dict[Any, int] = {}
    left = list(range(len(items)))
    try:
        for index in list(left):
            futures[pool.submit(_unpacked, function, parcel, items[index])] = index
            left.remove(index)
    except BrokenExecutor:
        pass
    yield from _gathered(futures, left, lambda index: function(common, items[index]))


def worker_count(executor: Workers) -> int:
    """Return about how many pieces run at the same time."""
    if isinstance(executor, Cluster):
        return max(1, int(sum(executor.nthreads().values())))
    return int(getattr(executor, "_max_workers", 4))


def _executor(executor: Workers) -> Any:
    if isinstance(executor, Executor):
        return executor
    if isinstance(executor, Cluster):
        return executor.get_executor(pure=False)  # or every item is hashed to see whether it was sent before
    raise InputError(f"executor {executor!r}: expected a concurrent.futures.Executor or a Dask Client")


def _gathered(futures: dict[Any, int], left: list[int], here: Callable[[int], Result]) -> Iterator[tuple[int, Result]]:
    for future in as_completed(list(futures)):
        try:
            result = future.result()
        except Exception as error:
            if not isinstance(error, (BrokenExecutor, CancelledError)) and not _lost(error):
                raise
            left.append(futures[future])
            continue
        yield futures[future], result
    for index in left:
        yield index, here(index)


def _lost(error: Exception) -> bool:
    """Return whether the cluster lost the work; exceptions of the work itself are raised."""
    kinds = {kind.__name__ for kind in type(error).__mro__ if kind.__module__.partition(".")[0] == "distributed"}
    return bool(kinds & {"KilledWorker", "FutureCancelledError", "CommClosedError"})


def _unpacked(function: Callable[[Any, Item], Result], content: bytes, item: Item) -> Result:
    """Return the answer of a worker, which unpacks what all pieces have in common for each of them."""
    with blas_threads():
        return function(pickle.loads(content), item)
