"""`polymargin chambers`: numbers of real critical points over a plane of points."""

from __future__ import annotations

from typing import Annotated

import typer

from polymargin.cli.options import AsJson, Cluster, CountLimit, Plots, Threads, spread
from polymargin.cli.subjects import SubjectOptions
from polymargin.errors import printable


@spread
def chambers(
    subject: SubjectOptions,
    window: Annotated[str, typer.Option(help="Window left,right,bottom,top of the plane.")] = "-3,3,-3,3",
    samples: Annotated[int, typer.Option(min=9, help="Samples in the plane.")] = 15_000,
    seed: Annotated[int, typer.Option(min=0, help="Chooses the plane where there are more than two inputs.")] = 0,
    threads: Threads = None,
    limit: CountLimit = 200_000,
    cluster: Cluster = None,
    plot: Plots = None,
    as_json: AsJson = False,
) -> int:
    """Find the regions of a plane of inputs in which the number of real critical points is constant."""
    from polymargin import __version__
    from polymargin.cli.jobs import workers
    from polymargin.cli.points import check_pictures, parse_window
    from polymargin.cli.printing import plain_table, print_json, progress_bar, wide_console
    from polymargin.geometry import Plane
    from polymargin.geometry import chambers as chambers_of

    boundary = subject.boundary()
    title = subject.title(boundary)
    corners, pictures = parse_window(window), check_pictures(plot)
    two = boundary.dimension == 2
    plane = Plane.of_two_inputs(corners) if two else Plane.random(boundary.dimension, corners, seed)
    with progress_bar() as bar, workers(1, cluster) as executor:
        task = bar.add_task("samples", total=samples)
        found = chambers_of(
            boundary,
            plane,
            samples,
            threads=threads,
            limit=limit,
            executor=executor,
            progress=lambda done: bar.update(task, completed=done),
            metric=subject.measured(),
        )
    for file in pictures:
        from polymargin.plots.chambers import draw_chambers

        draw_chambers([found], file, title=title, boundary=boundary)
    unknown = int((found.counts < 0).sum())
    if as_json:
        data = {
            "version": __version__,
            "model": subject.name,
            "total": found.total,
            "shares": {str(number): share for number, share in found.shares().items()},
            "samples": len(found.counts),
            "unknown": unknown,
            "paths": found.paths,
            "spacing": list(found.spacing),
            "plots": [str(file) for file in pictures],
        }
        print_json(data)
        return 0
    table = plain_table(
        f"{title}: {found.total} complex critical points", ">real critical points", ">share of the window"
    )
    for number, share in found.shares().items():
        table.add_row(str(number), f"{100 * share:.2f} %")
    wide_console().print(table)
    print(f"{len(found.counts)} samples, {found.paths} paths, {unknown} samples too near the discriminant to tell")
    for file in pictures:
        print(f"wrote {printable(str(file))}")
    return 0
