"""`polymargin demo`: the networks that come with the package, and what can be said about them."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from time import perf_counter
from typing import Annotated

import typer

from polymargin.cli.options import AsJson, Seed, Threads, spread
from polymargin.times import readable_time

DEMOS = (
    ("moons", "two moons: 2 inputs, 6 hidden neurons, activation x³"),
    ("spheres", "three shells: 3 inputs, two hidden layers of 4, activation x²"),
    ("cubic8", "a cubic rule: 8 inputs, 10 hidden neurons, activation x³"),
)


@spread
def demo(
    radius: Annotated[float, typer.Option(min=0.0, help="Radius of the verdicts.")] = 0.2,
    as_json: AsJson = False,
    threads: Threads = None,
    seed: Seed = 0,
) -> int:
    """Compute margins of the small trained networks that come with the package."""
    from polymargin.cli.margin import presentation
    from polymargin.cli.points import read_points
    from polymargin.cli.printing import print_json
    from polymargin.cli.remarks import remarks
    from polymargin.cli.row_table import Column, RowTable
    from polymargin.margins import Answer, Settings, Verifier
    from polymargin.networks import load

    data, shown = Path(str(files("polymargin") / "data")), presentation()
    collected = {}
    for name, description in DEMOS:
        network = load(data / f"{name}.npz")
        points = read_points(data / f"{name}_points.npz")
        started = perf_counter()
        verifier = Verifier(network, seed=seed, workers=threads, settings=Settings(cache=False))
        margins = verifier.margin(points)
        total = perf_counter() - started
        with RowTable(
            description, (*shown.columns, Column(f"radius {radius:g}", 10)), len(points), silent=as_json
        ) as table:
            verdicts = verifier.verify(points, radius)
            for row, found in enumerate(verdicts):
                table.add(row, [*shown.cells(margins[row]), found.answer.name])
        rows = zip(margins, verdicts, strict=True)
        collected[name] = [{**row.to_dict(), "verdict": verdict.answer.name} for row, verdict in rows]
        for line in remarks(shown.notes(margins)):
            table.say(line)
        robust = verdicts.answers.count(Answer.ROBUST)
        table.say(
            f"{robust} of {len(points)} points proved to keep their class within radius {radius:g}; "
            f"all margins with their proofs in {readable_time(total)}",
            "dim",
        )
        table.say("")
    if as_json:
        print_json({"radius": radius, "seed": seed, "networks": collected})
    return 0
