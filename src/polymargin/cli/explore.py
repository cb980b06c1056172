"""The `explore` command."""

from __future__ import annotations

from pathlib import Path

from polymargin.arguments import positive
from polymargin.cli.chambers import parse_window
from polymargin.cli.entry import going_on
from polymargin.cli.model_options import ModelOptions
from polymargin.cli.models import read_model
from polymargin.cli.points import has_labels, read_data, read_labels
from polymargin.cli.printing import progress_bar
from polymargin.cli.report import image_shape
from polymargin.errors import InputError, printable
from polymargin.explorer import Explorer, Scene
from polymargin.explorer.export import export_page, precomputed_count


def run_explore(
    model: Path,
    points: Path | None,
    *,
    labels: Path | None,
    plane: str | None,
    window: str | None,
    image: str | None,
    export: Path | None,
    port: int,
    browser: bool,
    timeout: float,
    seed: int,
    reading: ModelOptions,
) -> int:
    """Serve until interrupted, or write a page; the exit status."""
    if export is not None and export.suffix not in (".html", ".htm"):
        raise InputError(f"--export {export}: expected a name that ends in .html")
    network = read_model(model, reading)
    if not network.is_polynomial:
        raise InputError(
            f"{model} is a piecewise network: the explorer draws polynomial networks only; "
            "polymargin margin and polymargin report take it"
        )
    source = labels if labels is not None else points if points is not None and has_labels(points) else None
    scene = Scene.of(
        network,
        None if points is None else read_data(points),
        labels=None if source is None else read_labels(source),
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
        if browser:
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
