"""What the first round found out, kept in build/mutation for the next run: which lines a test runs, how long it takes, and what
the solver answered. Answers are forgotten with any change of the solver, tests with any change of the checker, of what they
share and of their own file. Which test noticed a mutant is not forgotten, for it only says what to try first.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import hashlib
import pickle
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

Line = tuple[str, int]


@dataclass(frozen=True)
class Seen:
    """A test of a certain text: the lines of the checker that it runs, and its seconds meanwhile, without the solver."""

    text: str
    lines: frozenset[Line]
    seconds: float


class Memory:
    def __init__(self, root: Path) -> None:
        self._file = root / "build" / "mutation" / "memory.pickle"
        sources = root / "src"
        self._solver = _digest([*(sources / "polymargin").rglob("*.py"), *(sources / "polymargin").rglob("*.so")])
        shared = [path for path in (root / "tests").rglob("*.py") if not path.name.startswith("test_")]
        self._shared = _digest([*(sources / "polymargin_checker").rglob("*.py"), *shared, root / "conftest.py"])
        self.tests: dict[str, Seen] = {}
        self.answers: dict[tuple[str, bytes], Any] = {}
        self.killers: dict[str, str] = {}
        self.solving = 0.0
        with contextlib.suppress(OSError, EOFError, AttributeError, ValueError, pickle.UnpicklingError):
            solver, tests_of, tests, answers, self.killers = pickle.loads(self._file.read_bytes())
            self.tests = tests if tests_of == self._shared else {}
            self.answers = answers if solver == self._solver else {}

    def seen(self, item: pytest.Item) -> Seen | None:
        known = self.tests.get(item.nodeid)
        return known if known is not None and known.text == _digest([item.path]) else None

    def see(self, item: pytest.Item, lines: Iterable[Line], seconds: float) -> None:
        self.tests[item.nodeid] = Seen(_digest([item.path]), frozenset(lines), seconds)

    def keep(self) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self._file.write_bytes(pickle.dumps((self._solver, self._shared, self.tests, self.answers, self.killers)))

    def remember(self, module: Any, name: str) -> None:
        """Let a function of the solver answer the same call from memory; what it returns is copied, for tests change it."""
        function = getattr(module, name)

        @functools.wraps(function)
        def remembered(*arguments: Any, **options: Any) -> Any:
            call = name, pickle.dumps((arguments, options))
            if call not in self.answers:
                tracer, begin = sys.gettrace(), time.process_time()
                sys.settrace(None)  # a mutant is not there when it answers, and it has no time to be watched
                try:
                    self.answers[call] = function(*arguments, **options)
                finally:
                    sys.settrace(tracer)
                    self.solving += time.process_time() - begin
            return copy.deepcopy(self.answers[call])

        setattr(module, name, remembered)


def _digest(files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in sorted(files):
        digest.update(f"{path.name}\0".encode() + path.read_bytes())
    return digest.hexdigest()
