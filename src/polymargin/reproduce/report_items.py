"""The parts of a reproduced table or figure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

Progress = Callable[[str], None]

# What stands in place of a value that the paper does not give.
NOT_PRINTED = "not printed"


def silent(message: str) -> None:
    """Ignore progress."""


@dataclass(frozen=True)
class Comparison:
    """A value of the paper beside ours; `agrees` is None where the paper has none, or one that ours need not equal."""

    name: str
    printed: str
    ours: str
    agrees: bool | None

    @classmethod
    def of(cls, name: str, printed: object, ours: object) -> Comparison:
        """Compare two values that agree if they are equal.

        >>> Comparison.of("ED degree", 17, 17).agrees
        True
        """
        return cls(name, str(printed), str(ours), printed == ours)


@dataclass(frozen=True)
class Reproduced:
    """The outcome of a computation: files, comparisons, and remarks.

    `seconds` is given where the computation knows its time better than a clock: rows kept from an earlier run took time then.
    """

    files: tuple[Path, ...]
    rows: tuple[Comparison, ...] = ()
    notes: tuple[str, ...] = ()
    seconds: float | None = None


@dataclass(frozen=True)
class Run:
    """The setting of a reproduction: folder, seed, full or quick."""

    directory: Path
    seed: int = 0
    quick: bool = False
    progress: Progress = silent


@dataclass(frozen=True)
class Entry:
    """A table or figure of the paper.

    shows     what the paper shows there, in a sentence or two
    compute   does the work
    random    whether the seed matters
    """

    name: str
    title: str
    shows: str
    compute: Callable[[Run], Reproduced]
    random: bool = True


@dataclass(frozen=True)
class Reproduction:
    """An entry that was run: what came of it, or why nothing did."""

    entry: Entry
    run: Run
    seconds: float
    outcome: Reproduced | None
    error: str = ""

    @property
    def command(self) -> str:
        """Return the command that repeats the computation."""
        seed = f" --seed {self.run.seed}" if self.entry.random else ""
        quick = " --quick" if self.run.quick else ""
        return f"polymargin reproduce {self.entry.name}{quick} --directory {quote(str(self.run.directory))}{seed}"

    @property
    def compared(self) -> int:
        """Return rows for which the paper has a value."""
        return sum(row.agrees is not None for row in self.outcome.rows) if self.outcome else 0

    @property
    def unjudged(self) -> int:
        """Return rows whose printed value is shown but need not agree."""
        rows = self.outcome.rows if self.outcome else ()
        return sum(row.agrees is None and row.printed != NOT_PRINTED for row in rows)

    @property
    def disagreements(self) -> tuple[Comparison, ...]:
        """Return the compared values that disagree."""
        return tuple(row for row in self.outcome.rows if row.agrees is False) if self.outcome else ()
