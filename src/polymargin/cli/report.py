"""The `report` command."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from pathlib import Path

from polymargin.cli.entry import going_on
from polymargin.cli.models import how_to_go_on, read_model
from polymargin.cli.points import has_labels, read_data, read_labels
from polymargin.cli.printing import progress_bar
from polymargin.cli.regions import Given
from polymargin.cli.remarks import remarks
from polymargin.cli.work_options import WorkOptions
from polymargin.errors import InputError, printable
from polymargin.plots.figure_file import new_figure
from polymargin.reports import report
from polymargin.standing import Standing


def run_report(
    model: Path,
    data: Path,
    output: Path,
    work: WorkOptions,
    *,
    labels: Path | None,
    title: str,
    image: str | None,
    rows: int | None,
    certificates: Path | None,
    norm: str,
    domain: str | None,
    timeout: float,
) -> int:
    """Write the page; 2 if some row has no answer."""
    if output.suffix not in (".html", ".htm"):
        raise InputError(f"--output {output}: expected a name that ends in .html")
    if not output.parent.is_dir():
        raise InputError(f"--output {output}: there is no folder {output.parent}; make it first")
    new_figure()  # what is missing is said before hours of work
    network = read_model(model, work.reading)
    points = read_data(data)
    source = labels if labels is not None else data if has_labels(data) else None
    right = None if source is None else read_labels(source)
    if right is not None and len(right) != len(points):
        raise InputError(f"{source}: {len(right)} labels for {len(points)} points; expected one per point")
    finished: list[int] = []
    with (
        going_on(lambda: how_to_go_on(work.checkpoint, sum(finished), len(points[:rows]))),
        progress_bar() as progress,
        work.workers() as executor,
    ):
        task = progress.add_task("margins", total=len(points[:rows]))

        def advance(row: int, found: object) -> None:
            finished.append(1)
            progress.advance(task)

        made = report(
            network,
            points[:rows],
            None if right is None else right[:rows],
            image_shape=image_shape(image),
            title=title or f"{model.name} on {data.name}",
            certificates=certificates,
            within=Given(norm, domain=domain).region,
            timeout=timeout,
            progress=advance,
            workers=work.threads if executor is None else executor,
            seed=work.seed,
            checkpoint=work.checkpoint,
            settings=work.settings,
        )
        made = replace(made, about=replace(made.about, command=shlex.join(["polymargin", *sys.argv[1:]])))
    made.save(output)
    failed = [(row, found.error) for row, found in enumerate(made.margins) if found.error is not None]
    for line in remarks(failed, elsewhere="the page"):
        print(f"polymargin: {printable(line)}", file=sys.stderr)
    print(f"{printable(str(output))}: {made!r}")
    return 2 if any(row.standing is Standing.FAILED for row in made.margins) else 0


def image_shape(text: str | None) -> tuple[int, ...] | str | None:
    if text is None or text == "none":
        return text
    sizes = text.split("x")
    if not all(size.isascii() and size.isdigit() for size in sizes):
        raise InputError(f"--image {text!r}: expected a shape such as 28x28 or 3x32x32, or none")
    return tuple(map(int, sizes))
