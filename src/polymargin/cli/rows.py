"""One answer for every row of a file of points: what `margin` and `verify` have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from polymargin import __version__
from polymargin.cli.models import read_both
from polymargin.cli.options import ReadingOptions, WorkOptions
from polymargin.cli.printing import print_json
from polymargin.cli.proofs import ProofFolder
from polymargin.cli.regions import RegionOptions
from polymargin.cli.remarks import remarks
from polymargin.cli.row_table import Column, RowTable, widened
from polymargin.margins import Verifier
from polymargin.times import readable_time


@dataclass(frozen=True)
class Presentation:
    """How answers are shown.

    name      of the list in JSON
    columns   of the table
    cells     of one answer
    notes     rows with what there is to say about them
    summary   one line about all answers
    """

    name: str
    columns: Sequence[Column]
    cells: Callable[[Any], list[str]]
    notes: Callable[[Any], Iterable[tuple[int, str]]]
    summary: Callable[[Any], str]


@dataclass(frozen=True)
class RowsCommand:
    """What was typed."""

    model: Path
    points: Path
    certificates: Path | None
    near: RegionOptions
    as_json: bool
    work: WorkOptions
    reading: ReadingOptions

    def answers(self, shown: Presentation, ask: Callable[..., Any], about: dict[str, float] | None = None) -> Any:
        """Print the answers that `ask(verifier, points, checkpoint=, progress=)` gives, and return them."""
        network, array = read_both(self.model, self.points, self.reading)
        proofs = ProofFolder(self.certificates, network)
        started, about = perf_counter(), about or {}
        words = "".join(f", {name} {value:g}" for name, value in about.items())
        title = f"{self.model.name}: {network!r}{words}{self.near.words}"
        table = RowTable(title, widened(shown.columns, network), len(array), silent=self.as_json)

        def keep(row: int, found: Any) -> None:
            proofs.keep(row, found.certificate)
            table.add(row, shown.cells(found))

        work = self.work
        with table.filling(work) as executor:
            workers = work.threads if executor is None else executor
            verifier = Verifier(network, **self.near.keywords, seed=work.seed, workers=workers, settings=work.settings)
            found = ask(verifier, array, checkpoint=work.checkpoint, progress=keep)
        if self.as_json:
            rows = [{"row": row, **one.to_dict(), "certificate": proofs.names[row]} for row, one in enumerate(found)]
            asked = {"version": __version__, "model": str(self.model), **about, **self.near.named, "seed": work.seed}
            print_json({**asked, shown.name: rows})
        for line in remarks(shown.notes(found)):
            table.say(line)
        table.say(f"{shown.summary(found)}; {readable_time(perf_counter() - started)}", "dim")
        if (command := proofs.how_to_check()) is not None:
            table.say(command)
        return found
