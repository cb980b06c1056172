"""A fork of the session judges a batch of mutants, one after the other: nothing is imported or collected twice.

What a mutant leaves behind must not decide about the next one. So a test that fails counts only if it passes again right after,
without the mutant; if it does not, and if the process ends, the mutant is judged again in a fork of its own.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
from _pytest.config import parse_warning_filter
from _pytest.runner import CallInfo
from _pytest.tmpdir import tmppath_result_key

from mutation.mutants import Mutant
from mutation.patching import applied

SURVIVED, AGAIN, UNMADE = "survived", "again", "unmade"
_MEMORY = 6 << 30
_CLOCK = 60
"""Seconds on the clock after which a test waits for something that will not come, a writer of a pipe for example."""
_ENDLESS = 2.0
"""Seconds of computing beyond four times what a test needs, after which it has no end."""

Order = Callable[[Mutant], list[int]]


class Judge:
    """items and seconds: the tests and the time they need; order: which to try for a mutant; noticed: told which did."""

    def __init__(
        self,
        package: str,
        items: list[pytest.Item],
        seconds: list[float],
        order: Order,
        noticed: Callable[[Mutant, int], None],
    ) -> None:
        self._package, self._items, self._seconds = package, items, seconds
        self._order, self._noticed = order, noticed
        self.patience: float | None = None
        """Seconds of computing after which a mutant has survived for now; None: when all tests have run."""

    def start(self, batch: list[Mutant], report: Path) -> int:
        """Fork; the fork writes a line into the report for every mutant: the number of a test, or one of the words above."""
        child = os.fork()
        if child:
            return child
        try:
            resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os.dup2(1, 2)
            with report.open("w") as lines:
                for position, mutant in enumerate(batch):
                    answer = self._judge(mutant, fresh=position == 0)
                    lines.write(f"{answer}\n")
                    lines.flush()
                    if answer == AGAIN:
                        break
        finally:
            os._exit(0)

    def _judge(self, mutant: Mutant, fresh: bool) -> str:
        order = self._order(mutant)
        with contextlib.ExitStack() as stack:
            try:
                stack.enter_context(applied(mutant, self._package))
            except Exception:  # a constant that has no value: the module could not be imported
                return UNMADE
            killer = self._first_that_fails(order)
        self._take_down()
        if killer is None:
            return SURVIVED
        if not fresh and self._fails(killer, None):
            return AGAIN
        self._noticed(mutant, killer)
        return str(killer)

    def _first_that_fails(self, order: list[int]) -> int | None:
        begin = time.process_time()
        for position, index in enumerate(order):
            if self.patience is not None and time.process_time() - begin > self.patience:
                return None
            following = self._items[order[position + 1]] if position + 1 < len(order) else None
            if self._fails(index, following):
                return index
        return None

    def _fails(self, index: int, following: pytest.Item | None) -> bool:
        signal.setitimer(signal.ITIMER_PROF, _ENDLESS + 4 * self._seconds[index])
        signal.alarm(_CLOCK)
        return fails(self._items[index], following)

    def _take_down(self) -> None:
        """Fixtures that were made while the mutant was there."""
        self._items[0].session._setupstate.teardown_exact(None)


def fails(item: pytest.Item, following: pytest.Item | None) -> bool:
    """Set up, called and taken down as pytest does it, but without the report of a failure, which costs more than the test."""
    item._initrequest()  # type: ignore[attr-defined]
    item.stash[tmppath_result_key] = {}  # what the report would have said to the fixture tmp_path
    hooks = item.ihook
    with warnings.catch_warnings():
        for mark in item.iter_markers("filterwarnings"):
            warnings.filterwarnings(*parse_warning_filter(mark.args[0], escape=False))
        before = CallInfo.from_call(lambda: hooks.pytest_runtest_setup(item=item), "setup")
        during = before if before.excinfo else CallInfo.from_call(lambda: hooks.pytest_runtest_call(item=item), "call")
        after = CallInfo.from_call(lambda: hooks.pytest_runtest_teardown(item=item, nextitem=following), "teardown")
    errors = [call.excinfo.value for call in (before, during, after) if call.excinfo is not None]
    return any(not isinstance(error, pytest.skip.Exception) for error in errors)
