"""What the first round found out, kept in build/mutation for the next run: which lines a test runs, how long it takes, and what
the solver answered. It is forgotten with any change of the sources, tests with what they share and with their own file.
Which test noticed a mutant is not forgotten, for it only says what to try first.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import hashlib
import pickle
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

Line = tuple[str, int]


@dataclass(frozen=True)
class Seen:
    """A test of a certain text: the lines of the checker that it runs, and its seconds without tracing."""

    text: str
    lines: frozenset[Line]
    seconds: float


class Memory:
    def __init__(self, root: Path) -> None:
        self._file = root / "build" / "mutation" / "memory.pickle"
        self._sources = _digest(sorted([*(root / "src").rglob("*.py"), *(root / "src").rglob("*.so")]))
        shared = [path for path in (root / "tests").rglob("*.py") if not path.name.startswith("test_")]
        self._shared = _digest(sorted([*shared, root / "conftest.py"]))
        self.tests: dict[str, Seen] = {}
        self.answers: dict[tuple[str, bytes], Any] = {}
        self.killers: dict[str, str] = {}
        with contextlib.suppress(OSError, EOFError, AttributeError, ValueError, pickle.UnpicklingError):
            sources, shared_then, tests, answers, self.killers = pickle.loads(self._file.read_bytes())
            if sources == self._sources:
                self.answers, self.tests = answers, tests if shared_then == self._shared else {}

    def seen(self, item: pytest.Item) -> Seen | None:
        known = self.tests.get(item.nodeid)
        return known if known is not None and known.text == _digest([item.path]) else None

    def see(self, item: pytest.Item, lines: Iterable[Line], seconds: float) -> None:
        self.tests[item.nodeid] = Seen(_digest([item.path]), frozenset(lines), seconds)

    def keep(self) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self._file.write_bytes(pickle.dumps((self._sources, self._shared, self.tests, self.answers, self.killers)))

    def remember(self, module: Any, name: str) -> None:
        """Let a function of the solver answer the same call from memory; what it returns is copied, for tests change it."""
        function = getattr(module, name)

        @functools.wraps(function)
        def remembered(*arguments: Any, **options: Any) -> Any:
            call = name, pickle.dumps((arguments, options))
            if call not in self.answers:
                tracer = sys.gettrace()
                sys.settrace(None)  # a mutant is not there when it answers, and it has no time to be watched
                try:
                    self.answers[call] = function(*arguments, **options)
                finally:
                    sys.settrace(tracer)
            return copy.deepcopy(self.answers[call])

        setattr(module, name, remembered)


def _digest(files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in files:
        digest.update(f"{path.name}\0".encode() + path.read_bytes())
    return digest.hexdigest()
