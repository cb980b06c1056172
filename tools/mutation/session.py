"""One pytest session that runs every test once, and then again for every mutant until one fails.

Each mutant lives in a fork of the session, so nothing is imported or collected twice, and what the solver computed in the
first round is remembered. Only tests that run the changed line are tried: first those that killed other mutants of the
same function, then the fastest, none of the long ones.
"""

from __future__ import annotations

import copy
import functools
import os
import pickle
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

from mutation.mutants import Mutant
from mutation.patching import apply

_MEMORY = 6 << 30
_LONGEST = 0.25
"""Seconds of a test that is used: what only a long test notices counts as not noticed."""


class MutationSession:
    """A pytest plugin; `survivors` and `killers` are filled by its test loop."""

    def __init__(self, package: str, mutants: Iterable[Mutant], jobs: int, tell: Callable[[str], None]) -> None:
        self.package, self.mutants, self.jobs, self.tell = package, list(mutants), jobs, tell
        self.survivors: list[Mutant] = []
        self.killers: dict[str, str] = {}
        self._lines: dict[tuple[str, int], list[int]] = {}
        self._seconds: list[float] = []
        self._kills: Counter[tuple[str, int]] = Counter()

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed or session.config.option.collectonly:
            return False
        self._first_round(session.items)
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
        for index, item in enumerate(session.items):  # nothing that the mutants did may have stayed
            if _fails(item, session.items[index + 1] if index + 1 < len(session.items) else None):
                raise pytest.UsageError(f"{item.nodeid} fails after the mutants, without any")
        return True

    def _first_round(self, items: list[pytest.Item]) -> None:
        """Twice: to see the lines and to fill the memory of the solver, and to see the times without both."""
        for traced in (True, False):
            self._seconds = []
            for index, item in enumerate(items):
                begin, lines = time.process_time(), set()
                sys.settrace(_tracer(self.package, lines) if traced else None)
                failed = _fails(item, items[index + 1] if index + 1 < len(items) else None)
                sys.settrace(None)
                if failed:
                    raise pytest.UsageError(f"{item.nodeid} fails without any mutant")
                self._seconds.append(time.process_time() - begin)
                for line in lines:
                    self._lines.setdefault(line, []).append(index)
            self.tell(f"{len(items)} tests in {sum(self._seconds):.0f} s")

    def _start(self, items: list[pytest.Item], mutant: Mutant, report: Path) -> int:
        order = self._order(mutant)
        child = os.fork()
        if child:
            return child
        try:
            seconds = int(10 + 3 * sum(self._seconds[index] for index in order))
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
            resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os.dup2(1, 2)
            apply(mutant, self.package)
            for position, index in enumerate(order):
                following = items[order[position + 1]] if position + 1 < len(order) else None
                if _fails(items[index], following):
                    report.write_text(str(index))
                    break
            else:
                report.write_text("survived")
        finally:
            os._exit(0)

    def _order(self, mutant: Mutant) -> list[int]:
        """Tests that run the line; a constant is used everywhere in its file, and a line may belong to a longer statement."""
        if mutant.place.isupper() or (mutant.place.startswith("_") and mutant.place[1:].isupper()):
            lines = [tests for (file, _), tests in self._lines.items() if file == mutant.file]
        else:
            lines = [
                tests
                for (file, line), tests in self._lines.items()
                if file == mutant.file and abs(line - mutant.line) <= 3
            ]
        place = mutant.file + mutant.place
        quick = {index for index in set().union(*lines) if self._seconds[index] < _LONGEST}
        return sorted(quick, key=lambda index: (-self._kills[place, index], self._seconds[index]))

    def _collect(self, running: dict[int, tuple[Mutant, Path]]) -> None:
        child, _ = os.wait()
        mutant, report = running.pop(child)
        answer = report.read_text() if report.exists() else "the process ended"
        if answer == "survived":
            self.survivors.append(mutant)
            self.tell(f"survived  {mutant.line:4d} {mutant.key}")
        elif answer.isdigit():
            self._kills[mutant.file + mutant.place, int(answer)] += 1
        self.killers[mutant.key] = answer


def remember(module: Any, name: str) -> None:
    """Let a function of the solver answer the same call from memory; what it returns is copied, for tests change it."""
    function = getattr(module, name)
    answers: dict[bytes, Any] = {}

    @functools.wraps(function)
    def remembered(*arguments: Any, **options: Any) -> Any:
        call = pickle.dumps((arguments, options))
        if call not in answers:
            answers[call] = function(*arguments, **options)
        return copy.deepcopy(answers[call])

    setattr(module, name, remembered)


def _fails(item: pytest.Item, following: pytest.Item | None) -> bool:
    item._initrequest()  # type: ignore[attr-defined]
    return any(report.failed for report in runtestprotocol(item, log=False, nextitem=following))


def _tracer(package: str, lines: set[tuple[str, int]]) -> Callable[..., Any]:
    folder = f"{os.sep}{package}{os.sep}"

    def local(frame: Any, event: str, argument: object) -> Any:
        lines.add((os.path.basename(frame.f_code.co_filename), frame.f_lineno))
        return local

    return lambda frame, event, argument: local(frame, event, argument) if folder in frame.f_code.co_filename else None
