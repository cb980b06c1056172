"""`polymargin explore`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from polymargin.cli.options import DataOrNone, Image, Labels, Model, ReadingOptions, Seed, spread
from polymargin.errors import InputError, printable


@spread
def explore(
    model: Model,
    points: DataOrNone = None,
    labels: Labels = None,
    plane: Annotated[
        str | None,
        typer.Option(help="Three rows i,j,k of POINTS: the plane through them.", show_default="the first three"),
    ] = None,
    window: Annotated[
        str | None, typer.Option(help="Window left,right,bottom,top of the plane.", show_default="around the points")
    ] = None,
    image: Image = None,
    export: Annotated[
        Path | None, typer.Option(help="Write a page that needs no server to this .html file instead of serving one.")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1.", show_default="any free one")] = 0,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address without opening a browser.")
    ] = False,
    timeout: Annotated[float, typer.Option(help="Seconds for one answer.")] = 5.0,
    seed: Seed = 0,
    *,
    reading: ReadingOptions,
) -> int:
    """Open a page in which you drag a point: boundary, margin, critical points, chambers, counterexamples."""
    from polymargin.arguments import positive
    from polymargin.cli.entry import going_on
    from polymargin.cli.models import read_model
    from polymargin.cli.points import image_shape, parse_window, read_data, read_labels_of
    from polymargin.cli.printing import progress_bar
    from polymargin.explorer import Explorer, Scene
    from polymargin.explorer.export import export_page, precomputed_count

    if export is not None and export.suffix not in (".html", ".htm"):
        raise InputError(f"--export {export}: expected a name that ends in .html")
    network = read_model(model, reading)
    if not network.is_polynomial:
        raise InputError(
            f"{model} is a piecewise network: the explorer draws polynomial networks only; "
            "polymargin margin and polymargin report take it"
        )
    scene = Scene.of(
        network,
        None if points is None else read_data(points),
        labels=read_labels_of(points, labels),
        rows=None if plane is None else _rows(plane),
        window=None if window is None else parse_window(window),
        image_shape=image_shape(image),
        title=model.name,
        seed=seed,
        timeout=positive(timeout, "--timeout"),
    )
    if export is not None:
        with progress_bar() as progress:
            task = progress.add_task("answers", total=precomputed_count(scene))
            export_page(scene, export, lambda count: progress.advance(task, count))
        print(f"{printable(str(export))}: {export.stat().st_size / 1000:.0f} kB")
        return 0
    with going_on(lambda: "the page is no longer served"), Explorer(scene, port=port) as explorer:
        print(f"{explorer.address}\nCtrl-C ends it.", flush=True)
        if not no_browser:
            explorer.open()
        try:
            explorer.wait()
        except KeyboardInterrupt:
            return 0  # how one ends an explorer
    return 0


def _rows(text: str) -> tuple[int, int, int]:
    parts = text.split(",")
    if len(parts) != 3 or not all(part.strip().isascii() and part.strip().isdigit() for part in parts):
        raise InputError(f"--plane {text!r}: expected three rows such as 0,5,9")
    first, second, third = map(int, parts)
    return first, second, third
