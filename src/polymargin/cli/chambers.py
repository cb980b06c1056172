"""The `chambers` command: numbers of real critical points over a plane of points."""

from __future__ import annotations

from pathlib import Path

from polymargin import __version__
from polymargin.cli.jobs import workers
from polymargin.cli.printing import plain_table, print_json, progress_bar, wide_console
from polymargin.cli.subjects import GivenModel
from polymargin.errors import InputError, printable
from polymargin.geometry import Plane, chambers


def run_chambers(
    subject: GivenModel,
    *,
    window: str,
    samples: int,
    seed: int,
    threads: int | None,
    limit: int,
    cluster: str | None,
    plot: list[Path],
    as_json: bool,
) -> int:
    """Two inputs are the plane themselves; otherwise a random plane through the inputs, chosen by the seed."""
    boundary = subject.boundary()
    title = subject.title(boundary)
    corners = parse_window(window)
    check_pictures(plot)
    two = boundary.dimension == 2
    plane = Plane.of_two_inputs(corners) if two else Plane.random(boundary.dimension, corners, seed)
    with progress_bar() as bar, workers(1, cluster) as executor:
        task = bar.add_task("samples", total=samples)
        found = chambers(
            boundary,
            plane,
            samples,
            threads=threads,
            limit=limit,
            executor=executor,
            progress=lambda done: bar.update(task, completed=done),
            metric=subject.measured(),
        )
    for file in plot:
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
            "plots": [str(file) for file in plot],
        }
        print_json(data)
        return 0
    table = plain_table(f"{title}: {found.total} complex critical points")
    table.add_column("real critical points", justify="right")
    table.add_column("share of the window", justify="right")
    for number, share in found.shares().items():
        table.add_row(str(number), f"{100 * share:.2f} %")
    wide_console().print(table)
    print(f"{len(found.counts)} samples, {found.paths} paths, {unknown} samples too near the discriminant to tell")
    for file in plot:
        print(f"wrote {printable(str(file))}")
    return 0


def check_pictures(files: list[Path]) -> None:
    """Refuse what cannot be drawn before the work begins."""
    for file in files:
        if file.suffix not in (".png", ".svg"):
            raise InputError(f"--plot {file}: expected a name that ends in .png or .svg")


def parse_window(text: str) -> tuple[float, float, float, float]:
    """Four numbers separated by commas."""
    try:
        left, right, bottom, top = (float(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"--window {text!r}: expected four numbers left,right,bottom,top such as -3,3,-3,3") from None
    return left, right, bottom, top
