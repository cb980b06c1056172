"""`polymargin report`."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from polymargin.cli import options as opt
from polymargin.cli.options import spread
from polymargin.errors import InputError, printable
from polymargin.standing import Standing


@spread
def report(
    model: opt.Model,
    data: opt.Data,
    output: Annotated[Path, typer.Option("--output", "-o", help="The page to write.")] = Path("report.html"),
    labels: opt.Labels = None,
    title: Annotated[str, typer.Option(help="Title of the page.", show_default="the name of the model")] = "",
    image: opt.Image = None,
    rows: Annotated[
        int | None, typer.Option(min=1, help="Use only the first so many rows.", show_default="all")
    ] = None,
    certificates: Annotated[
        Path | None, typer.Option(help="Prove every row and save the certificates in this folder.")
    ] = None,
    norm: opt.Norm = "l2",
    domain: opt.Domain = None,
    timeout: opt.Timeout = opt.DEFAULT_TIMEOUT,
    *,
    work: opt.WorkOptions,
    reading: opt.ReadingOptions,
) -> int:
    """Write one page about a data set: robust accuracy, margins, classes, rivals, the most vulnerable inputs."""
    from polymargin.cli.entry import going_on
    from polymargin.cli.models import how_to_go_on, read_model
    from polymargin.cli.points import image_shape, read_data, read_labels_of
    from polymargin.cli.printing import progress_bar
    from polymargin.cli.regions import RegionOptions
    from polymargin.cli.remarks import remarks
    from polymargin.plots.figure_file import new_figure
    from polymargin.reports import report as reported

    if output.suffix not in (".html", ".htm"):
        raise InputError(f"--output {output}: expected a name that ends in .html")
    if not output.parent.is_dir():
        raise InputError(f"--output {output}: there is no folder {output.parent}; make it first")
    new_figure()  # what is missing is said before hours of work
    network = read_model(model, reading)
    points = read_data(data)
    right = read_labels_of(data, labels)
    if right is not None and len(right) != len(points):
        raise InputError(
            f"{data if labels is None else labels}: {len(right)} labels for {len(points)} points; expected one per point"
        )
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

        made = reported(
            network,
            points[:rows],
            None if right is None else right[:rows],
            image_shape=image_shape(image),
            title=title or f"{model.name} on {data.name}",
            certificates=certificates,
            within=RegionOptions(norm=norm, domain=domain).region,
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
