"""Long arrays in parts, on threads: NumPy lets go of Python's lock while it computes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from threading import Thread
from typing import TypeVar

Part = TypeVar("Part")


def slices(count: int, at_a_time: int) -> list[slice]:
    """Yield 0, …, count − 1 in parts of at most that many."""
    return [slice(start, min(start + at_a_time, count)) for start in range(0, count, at_a_time)]


def for_each(parts: Iterable[Part], work: Callable[[Part], None], threads: int = 1) -> None:
    """Apply `work` to every part in any order; this thread takes part, and does all of it if no other starts."""
    left = deque(parts)
    failures: list[BaseException] = []

    def share() -> None:
        try:
            while not failures and (part := _next(left)) is not None:
                work(part[0])
        except BaseException as failure:  # an interrupt is for the other threads too
            failures.append(failure)

    helpers = []
    for _ in range(min(threads, len(left)) - 1):
        helper = Thread(target=share)
        try:
            helper.start()
        except RuntimeError:
            break
        helpers.append(helper)
    share()
    for helper in helpers:
        helper.join()
    if failures:
        raise failures[0]


def _next(left: deque[Part]) -> tuple[Part] | None:
    try:
        return (left.popleft(),)
    except IndexError:
        return None
