"""The whole paper at one call: every table and figure, and a page that sets printed values beside ours."""

from __future__ import annotations

import csv
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

from polymargin.errors import PolymarginError
from polymargin.reproduce.catalogue import ENTRIES
from polymargin.reproduce.report import write_report
from polymargin.reproduce.report_items import Entry, Reproduction, Run


def reproduce(entry: Entry, run: Run) -> Reproduction:
    """Compute one entry; its exceptions pass through."""
    start = time.perf_counter()
    outcome = entry.compute(run)
    clock = time.perf_counter() - start
    return Reproduction(entry, run, clock if outcome.seconds is None else outcome.seconds, outcome)


def reproduce_all(
    directory: Path,
    *,
    quick: bool = False,
    seed: int = 0,
    progress: Callable[[str, str], None] | None = None,
    entries: Sequence[Entry] = ENTRIES,
) -> list[Reproduction]:
    """Run all entries, write their files, comparisons.csv and report.html into the directory.

    An entry that fails does not stop the others: its error stands in its place in the report. `progress` is called with the
    name of an entry and what it just did, and with an empty text when it is finished.
    """
    directory.mkdir(parents=True, exist_ok=True)
    found = []
    for entry in entries:

        def report(message: str, name: str = entry.name) -> None:
            if progress is not None:
                progress(name, message)

        found.append(_attempt(entry, Run(directory, seed, quick, report)))
        report("")
        # After every entry, so that a run that is stopped leaves a report of what it did.
        write_comparisons(found, directory / "comparisons.csv")
        write_report(found, directory / "report.html")
    return found


def _attempt(entry: Entry, run: Run) -> Reproduction:
    start = time.perf_counter()
    try:
        return reproduce(entry, run)
    except PolymarginError as error:
        message = str(error)
    except Exception:  # a mistake of ours in one entry: the report shows it in full, the others still run
        message = traceback.format_exc()
    return Reproduction(entry, run, time.perf_counter() - start, None, message)


def write_comparisons(found: Sequence[Reproduction], file: Path) -> Path:
    """Write all printed values beside ours, one line each."""
    with file.open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["entry", "what", "printed", "ours", "agrees"])
        for one in found:
            for row in one.outcome.rows if one.outcome else ():
                agrees = "" if row.agrees is None else "yes" if row.agrees else "no"
                writer.writerow([one.entry.name, row.name, row.printed, row.ours, agrees])
    return file
