"""The `margin` command."""

from __future__ import annotations

import json
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from polymargin import __version__
from polymargin.cli.points import read_points
from polymargin.cli.tables import margin_table, remarks
from polymargin.margins import Standing, margin
from polymargin.networks import load


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
    with progress_bar() as progress:
        task = progress.add_task("margins", total=len(array))
        margins = margin(
            network,
            array,
            seed=seed,
            threads=threads,
            limit=limit,
            cache=cache,
            checkpoint=checkpoint,
            progress=lambda count: progress.advance(task, count),
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


def wide_console() -> Console:
    """Standard output; a table written to a file or a pipe is not squeezed into 80 columns."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=140)


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
