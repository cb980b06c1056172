"""The `margin` command."""

from __future__ import annotations

import json
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from polymargin import __version__
from polymargin.cli.entry import going_on
from polymargin.cli.points import read_points
from polymargin.cli.tables import margin_table, remarks
from polymargin.margins import margin
from polymargin.networks import load
from polymargin.standing import Standing


def run_margin(
    model: Path,
    points: Path,
    *,
    as_json: bool,
    threads: int | None,
    seed: int,
    limit: int,
    checkpoint: Path | None,
    cache: bool,
    trust: bool,
) -> int:
    """Margins of every row; the exit status."""
    network = load(model, trust=trust)
    array = read_points(points)
    finished: list[int] = []
    with going_on(lambda: how_to_go_on(checkpoint, sum(finished), len(array))), progress_bar() as progress:
        task = progress.add_task("margins", total=len(array))

        def advance(count: int) -> None:
            finished.append(count)
            progress.advance(task, count)

        margins = margin(
            network,
            array,
            seed=seed,
            threads=threads,
            limit=limit,
            cache=cache,
            checkpoint=checkpoint,
            progress=advance,
        )
    if as_json:
        rows = [{"row": index, **row.to_dict()} for index, row in enumerate(margins)]
        print(json.dumps({"version": __version__, "model": str(model), "seed": seed, "margins": rows}, indent=1))
    else:
        console = wide_console()
        console.print(margin_table(margins, title=f"{model.name}: {network!r}"))
        for line in remarks(margins):
            console.print(line, highlight=False, markup=False)
    return 2 if any(row.status is Standing.FAILED for row in margins) else 0


def how_to_go_on(checkpoint: Path | None, done: int, count: int) -> str:
    if checkpoint is None:
        return f"{done} of {count} rows were done and are lost; with --checkpoint FILE a run can be continued"
    return f"{done} of {count} rows are in {checkpoint}: the same command continues"


def wide_console() -> Console:
    """Standard output; a table written to a file or a pipe is not squeezed into 80 columns."""
    console = _Console(highlight=False)
    return console if console.is_terminal else _Console(highlight=False, width=140)


class _Console(Console):
    """rich ends the process with 1 where a reader stopped reading; `entry` knows better."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def progress_bar() -> Progress:
    """A bar on standard error, shown on a terminal only."""
    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
