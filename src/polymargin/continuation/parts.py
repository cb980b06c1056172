"""Long arrays in parts, on threads: NumPy lets go of Python's lock while it computes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Part = TypeVar("Part")


def slices(count: int, at_a_time: int) -> list[slice]:
    """0, …, count − 1 in parts of at most that many."""
    return [slice(start, min(start + at_a_time, count)) for start in range(0, count, at_a_time)]


def for_each(parts: Iterable[Part], work: Callable[[Part], None], threads: int = 1) -> None:
    """`work` on every part, each of which it may treat as its own; in any order."""
    listed = list(parts)
    if threads == 1 or len(listed) < 2:
        for part in listed:
            work(part)
        return
    with ThreadPoolExecutor(min(threads, len(listed))) as pool:
        for _ in pool.map(work, listed):
            pass
