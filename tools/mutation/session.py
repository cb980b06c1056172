"""One pytest session that runs every test once, and then again for every mutant until one fails.

Each mutant lives in a fork of the session, so nothing is imported or collected twice, and what the first round found out is
remembered (`memory`). Only tests that run the changed statement are tried: first the one that noticed this mutant in an
earlier run, then those that noticed the most mutants nearby for the time they take, none of the long ones.
"""

from __future__ import annotations

import gc
import math
import os
import resource
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from _pytest.runner import CallInfo
from _pytest.tmpdir import tmppath_result_key

from mutation.memory import Line, Memory
from mutation.mutants import Mutant
from mutation.patching import apply

_MEMORY = 6 << 30
_LONGEST = 0.5
"""Seconds of a test that is used: what only a long test notices counts as not noticed."""
_NEARBY = 5
"""Lines from one mutant to another that one test may well notice both."""
_ENDLESS = 2.0
"""Seconds of computing beyond what a test needs, after which it has no end."""
_PATIENCE = 60
"""Seconds on the clock after which a test waits for something that will not come, a writer of a pipe for example."""
_TRACED = 40
"""How many times longer a test may take where its lines are seen and the solver has not answered yet."""


class MutationSession:
    """A pytest plugin; `survivors` and `killers` are filled by its test loop."""

    def __init__(
        self, package: str, mutants: Iterable[Mutant], jobs: int, memory: Memory, tell: Callable[[str], None]
    ) -> None:
        self.package, self.mutants, self.jobs, self.tell = package, list(mutants), jobs, tell
        self.memory = memory
        self.survivors: list[Mutant] = []
        self.killers: dict[str, str] = {}
        self._lines: dict[Line, list[int]] = {}
        self._seconds: list[float] = []
        self._kills: Counter[tuple[str, int]] = Counter()
        self._names: list[str] = []

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed or session.config.option.collectonly:
            return False
        self._first_round(session.items)
        gc.freeze()  # nothing that is there now is looked at, and copied, by a collection in a fork
        running: dict[int, tuple[Mutant, Path]] = {}
        with tempfile.TemporaryDirectory() as folder:
            for number, mutant in enumerate(self.mutants):
                if len(running) >= self.jobs:
                    self._collect(running)
                report = Path(folder) / str(number)
                running[self._start(session.items, mutant, report)] = mutant, report
                if number % 100 == 99:
                    self.tell(f"{number + 1} of {len(self.mutants)}")
            while running:
                self._collect(running)
        self.memory.keep()
        quick = [item for item, seconds in zip(session.items, self._seconds, strict=True) if seconds < _LONGEST]
        for item, following in pairwise([*quick, None]):  # nothing that the mutants did may have stayed
            if _fails(item, following):
                raise pytest.UsageError(f"{item.nodeid} fails after the mutants, without any")
        return True

    def _first_round(self, items: list[pytest.Item]) -> None:
        """What is not known yet runs twice: to see the lines, with the solver, and to see the time without both."""
        new = [item for item in items if self.memory.seen(item) is None]
        for item, following in pairwise([*new, None]):
            lines: set[Line] = set()
            sys.settrace(_tracer(self.package, lines))
            try:
                seconds = self._timed(item, following)
            except pytest.UsageError:  # the solver may run out of time while it is watched
                self.tell(f"left out, for it fails while its lines are seen: {item.nodeid}")
                seconds = math.inf
            finally:
                sys.settrace(None)
            if seconds < _TRACED * _LONGEST:
                seconds = self._timed(item, following)
            self.memory.see(item, lines, seconds)
        self.memory.keep()
        for index, item in enumerate(items):
            seen = self.memory.tests[item.nodeid]
            self._names.append(item.nodeid)
            self._seconds.append(seen.seconds)
            for line in seen.lines:
                self._lines.setdefault(line, []).append(index)
        self.tell(f"{len(items)} tests of {sum(filter(math.isfinite, self._seconds)):.0f} s, {len(new)} of them new")

    def _timed(self, item: pytest.Item, following: pytest.Item | None) -> float:
        begin = time.process_time()
        if _fails(item, following):
            raise pytest.UsageError(f"{item.nodeid} fails without any mutant")
        return time.process_time() - begin

    def _start(self, items: list[pytest.Item], mutant: Mutant, report: Path) -> int:
        order = self._order(mutant)
        child = os.fork()
        if child:
            return child
        try:
            resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os.dup2(1, 2)
            apply(mutant, self.package)
            for position, index in enumerate(order):
                following = items[order[position + 1]] if position + 1 < len(order) else None
                signal.setitimer(signal.ITIMER_PROF, _ENDLESS + 4 * self._seconds[index])
                signal.alarm(_PATIENCE)
                if _fails(items[index], following):
                    report.write_text(str(index))
                    break
            else:
                report.write_text("survived")
        finally:
            os._exit(0)

    def _order(self, mutant: Mutant) -> list[int]:
        """Tests that run the statement; a constant is used everywhere in its file."""
        constant = mutant.place.lstrip("_").isupper()
        lines = [
            tests
            for (file, line), tests in self._lines.items()
            if file == mutant.file and (constant or line in mutant.lines)
        ]
        quick = {index for index in set().union(*lines) if self._seconds[index] < _LONGEST}
        before = self.memory.killers.get(mutant.key)
        return sorted(quick, key=lambda index: (self._names[index] != before, -self._promise(mutant, index)))

    def _promise(self, mutant: Mutant, index: int) -> float:
        """How much a test can be expected to notice in a second, from what it has noticed nearby."""
        noticed = sum(
            weight * self._kills[place, index] for place, weight in zip(_nearby(mutant), (10, 3, 1), strict=True)
        )
        return (noticed + 0.1) / (self._seconds[index] + 0.002)

    def _collect(self, running: dict[int, tuple[Mutant, Path]]) -> None:
        child, _ = os.wait()
        mutant, report = running.pop(child)
        answer = report.read_text() if report.exists() else "the process ended"
        if answer == "survived":
            self.survivors.append(mutant)
            self.tell(f"survived  {mutant.line:4d} {mutant.key}")
        elif answer.isdigit():
            for place in _nearby(mutant):
                self._kills[place, int(answer)] += 1
            self.memory.killers[mutant.key] = self._names[int(answer)]
        self.killers[mutant.key] = answer


def _nearby(mutant: Mutant) -> tuple[str, str, str]:
    """A few lines, the function and the file."""
    return f"{mutant.file} {mutant.line // _NEARBY}", f"{mutant.file} {mutant.place}", mutant.file


def _fails(item: pytest.Item, following: pytest.Item | None) -> bool:
    """Set up, called and taken down as pytest does it, but without the report of a failure, which costs more than the test."""
    item._initrequest()  # type: ignore[attr-defined]
    item.stash[tmppath_result_key] = {}  # what the report would have said to the fixture tmp_path
    hooks = item.ihook
    before = CallInfo.from_call(lambda: hooks.pytest_runtest_setup(item=item), "setup")
    during = before if before.excinfo else CallInfo.from_call(lambda: hooks.pytest_runtest_call(item=item), "call")
    after = CallInfo.from_call(lambda: hooks.pytest_runtest_teardown(item=item, nextitem=following), "teardown")
    errors = [call.excinfo.value for call in (before, during, after) if call.excinfo is not None]
    return any(not isinstance(error, pytest.skip.Exception) for error in errors)


def _tracer(package: str, lines: set[Line]) -> Callable[..., Any]:
    folder = f"{os.sep}{package}{os.sep}"

    def local(frame: Any, event: str, argument: object) -> Any:
        lines.add((os.path.basename(frame.f_code.co_filename), frame.f_lineno))
        return local

    return lambda frame, event, argument: local(frame, event, argument) if folder in frame.f_code.co_filename else None
