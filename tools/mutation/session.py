"""One pytest session that runs every test once, and then again for every mutant until one fails.

What the first round found out is remembered (`memory`). Only tests that run the changed statement are tried: first the one
that noticed this mutant in an earlier run, then those that noticed the most mutants nearby for the time they take, none of
the long ones. Mutants are judged in forks of the session (`forks`).
"""

from __future__ import annotations

import gc
import os
import sys
import tempfile
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from itertools import count, pairwise
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

from mutation.forks import AGAIN, SURVIVED, UNMADE, Judge, fails
from mutation.memory import Line, Memory
from mutation.mutants import Mutant

_BATCH = 20
"""Mutants that one fork judges."""
_ENDED = "the process ended"
_LONGEST = 1.0
"""Seconds of a test that is used, while its lines are seen: what only a long test notices counts as not noticed."""
_SOON = 2.0
"""Seconds of computing for a mutant at first; those that were not noticed in it get another turn with all tests."""
_NEARBY = 5
"""Lines from one mutant to another that one test may well notice both."""


class MutationSession:
    """A pytest plugin; `survivors` and `killers` are filled by its test loop."""

    def __init__(
        self,
        package: str,
        mutants: Iterable[Mutant],
        jobs: int,
        quick: bool,
        memory: Memory,
        tell: Callable[[str], None],
    ) -> None:
        self.package, self.mutants, self.jobs, self.quick = package, list(mutants), jobs, quick
        self.memory, self.tell = memory, tell
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
        judge = Judge(self.package, session.items, self._seconds, self._order, self._note)
        judge.patience = _SOON
        self._judge_all(judge, self.mutants)
        if not self.quick:
            judge.patience, slow, self.survivors = None, self.survivors, []
            self.tell(f"{len(slow)} have not been noticed soon")
            self._judge_all(judge, slow)
        self.memory.keep()
        return True

    def _first_round(self, items: list[pytest.Item]) -> None:
        """What is not known yet runs once, to see its lines and its time."""
        new = [item for item in items if self.memory.seen(item) is None]
        for item, following in pairwise([*new, None]):
            assert item is not None
            lines: set[Line] = set()
            begin = time.process_time() - self.memory.solving
            sys.settrace(_tracer(self.package, lines))
            try:
                failed = fails(item, following)
            finally:
                sys.settrace(None)
            if failed:
                raise pytest.UsageError(f"{item.nodeid} fails without any mutant")
            self.memory.see(item, lines, time.process_time() - self.memory.solving - begin)
        self.memory.keep()
        for index, item in enumerate(items):
            seen = self.memory.tests[item.nodeid]
            self._names.append(item.nodeid)
            self._seconds.append(seen.seconds)
            for line in seen.lines:
                self._lines.setdefault(line, []).append(index)
        self.tell(f"{len(items)} tests of {sum(self._seconds):.0f} s, {len(new)} of them new")

    def _judge_all(self, judge: Judge, mutants: list[Mutant]) -> None:
        waiting = deque(self._batches(mutants))
        running: dict[int, tuple[list[Mutant], Path]] = {}
        told, numbers = len(self.killers), count()
        with tempfile.TemporaryDirectory() as folder:
            while waiting or running:
                while waiting and len(running) < self.jobs:
                    batch, report = waiting.popleft(), Path(folder) / str(next(numbers))
                    report.touch()
                    running[judge.start(batch, report)] = batch, report
                child, _ = os.wait()
                batch, report = running.pop(child)
                waiting.extendleft(reversed(self._collect(batch, report.read_text().split())))
                if len(self.killers) >= told + 100:
                    told = len(self.killers)
                    self.tell(f"{told} of {len(self.mutants)}")
                    self.memory.keep()

    def _batches(self, mutants: list[Mutant]) -> list[list[Mutant]]:
        """Those that ended their process the last time are judged alone."""
        alone = [[m] for m in mutants if self.memory.killers.get(m.key) == _ENDED]
        others = [m for m in mutants if self.memory.killers.get(m.key) != _ENDED]
        return alone + [others[start : start + _BATCH] for start in range(0, len(others), _BATCH)]

    def _collect(self, batch: list[Mutant], answers: list[str]) -> list[list[Mutant]]:
        """Take the answers of a fork; returned are the batches that are still to be judged."""
        again = answers[-1:] == [AGAIN]
        judged = len(answers) - again
        for mutant, answer in zip(batch, answers[:judged], strict=False):
            if answer == SURVIVED:
                self.survivors.append(mutant)
                self.tell(f"survived  {mutant.line:4d} {mutant.key}")
            elif answer != UNMADE:
                self._note(mutant, int(answer))
            self.killers[mutant.key] = answer
        rest = batch[judged:]
        if not rest:
            return []
        if judged == 0 and not again:  # it had the process for itself
            self.killers[rest[0].key] = self.memory.killers[rest[0].key] = _ENDED
            return [rest[1:]] if rest[1:] else []
        return [part for part in (rest[:1], rest[1:]) if part]

    def _note(self, mutant: Mutant, index: int) -> None:
        for place in _nearby(mutant):
            self._kills[place, index] += 1
        self.memory.killers[mutant.key] = self._names[index]

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


def _nearby(mutant: Mutant) -> tuple[str, str, str]:
    """A few lines, the function and the file."""
    return f"{mutant.file} {mutant.line // _NEARBY}", f"{mutant.file} {mutant.place}", mutant.file


def _tracer(package: str, lines: set[Line]) -> Callable[..., Any]:
    """Adds the lines of the package that are run; what has been seen of a function as a whole is not looked at again."""
    folder = f"{os.sep}{package}{os.sep}"
    unseen: dict[CodeType, set[int]] = {}

    def on_line(frame: FrameType, event: str, argument: object) -> Any:
        rest = unseen[frame.f_code]
        if frame.f_lineno in rest:
            rest.remove(frame.f_lineno)
            lines.add((frame.f_code.co_filename.rpartition(folder)[2].replace(os.sep, "/"), frame.f_lineno))
        frame.f_trace_lines = bool(rest)
        return on_line

    def on_call(frame: FrameType, event: str, argument: object) -> Any:
        code = frame.f_code
        if folder not in code.co_filename:
            return None
        if code not in unseen:
            unseen[code] = {line for _, _, line in code.co_lines() if line is not None}
        return on_line(frame, event, argument) if unseen[code] else None

    return on_call
