"""Work is counted before it is done, so that no file can keep the checker busy for long.

The unit is the bit operation: a product of two b-bit numbers counts b (log₂ b)², which is close to what python-flint
takes at every length, about 10¹² in a second. A certificate may ask for `FLAT` of them, and for `PER_NUMBER` more
with every number that it gives: a long proof may take long, a short one may not. Numbers below `SHORTEST` bits count
as that many, for the work around a product does not shrink with it. A check without floating point
(`exact`) has limits `PATIENCE` times as large.

A caller may also give seconds. A step that is expected to end later is refused before it begins.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from time import perf_counter

from polymargin_checker.refusal import OutOfTime, Refused

FLAT = 1 << 44
PER_NUMBER = 1 << 35
SHORTEST = 128
PATIENCE = 64
PER_SECOND = 10**12


@dataclass
class _Budget:
    """Bit operations left, how many more a number brings, and when the time is up."""

    left: int
    per_number: int
    exact: bool
    end: float | None


_budget: ContextVar[_Budget | None] = ContextVar("bit operations left", default=None)


@contextmanager
def limited_work(exact: bool = False, end: float | None = None) -> Iterator[None]:
    """Limit the work within the block: `spend` refuses work beyond the limit or after `end`, a reading of `perf_counter`."""
    patience = PATIENCE if exact else 1
    token = _budget.set(_Budget(FLAT * patience, PER_NUMBER * patience, exact, end))
    try:
        yield
    finally:
        _budget.reset(token)


def spend(products: int, bits: int, what: str) -> None:
    """Ask for so many products of numbers of so many bits, or refuse."""
    budget = _budget.get()
    if budget is None:
        return
    length = max(bits, SHORTEST)
    work = products * length * length.bit_length() ** 2
    left = budget.left - work
    if budget.end is not None and perf_counter() + work / PER_SECOND > budget.end:
        raise OutOfTime(f"{what}: not enough time for it")
    if left < 0:
        more = "" if budget.exact else f"; --exact allows {PATIENCE} times as much"
        raise Refused(f"{what}: more work than this checker does for a certificate with so few numbers{more}")
    budget.left = left


def more_work(certificates: int) -> None:
    """Raise the limit for so many more certificates."""
    budget = _budget.get()
    if budget is not None:
        budget.left += certificates * FLAT * (PATIENCE if budget.exact else 1)


def count_number(count: int = 1) -> None:
    """Count so many more numbers of the certificate."""
    budget = _budget.get()
    if budget is not None:
        budget.left += count * budget.per_number


_AT_ONCE = 64
"""Products of doubles in NumPy that take as long as one of `SHORTEST` bits."""


def spend_doubles(products: int, what: str) -> None:
    """Ask for so many products of doubles, many at a time."""
    spend(products // _AT_ONCE + 1, 0, what)
