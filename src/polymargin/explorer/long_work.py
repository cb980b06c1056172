"""One long computation at a time, which other requests can watch and cancel."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from time import perf_counter
from typing import Any


class BusyError(Exception):
    """Another long computation is running."""


class CancelledError(Exception):
    """The computation was cancelled."""


class LongWork:
    """The long computation of an explorer.

    >>> work = LongWork()
    >>> with work.running() as step:
    ...     step(3)
    ...     work.state()["steps"]
    3
    >>> work.state()["running"]
    False
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._running = self._cancelled = False
        self._started, self._steps = 0.0, 0

    @contextmanager
    def running(self) -> Iterator[Callable[[int], None]]:
        """Yield the function that the computation calls with its number of new steps.

        It raises CancelledError after `cancel`. Raise BusyError if another computation is running.
        """
        if not self._lock.acquire(blocking=False):
            raise BusyError
        self._running, self._cancelled = True, False
        self._started, self._steps = perf_counter(), 0
        try:
            yield self._step
        finally:
            self._running = False
            self._lock.release()

    def state(self) -> dict[str, Any]:
        """Return whether a computation is running, for how many seconds, and how many steps are done."""
        if not self._running:
            return {"running": False, "seconds": 0.0, "steps": 0}
        return {"running": True, "seconds": round(perf_counter() - self._started, 1), "steps": self._steps}

    def cancel(self) -> dict[str, Any]:
        """Cancel the computation at its next step; return its state."""
        self._cancelled = True
        return self.state()

    def _step(self, done: int) -> None:
        self._steps += done
        if self._cancelled:
            raise CancelledError
