"""The `demo` command: the networks that come with the package, and what can be said about them."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from time import perf_counter

from polymargin.cli.margins import COLUMNS, margin_cells, margin_remarks
from polymargin.cli.points import read_points
from polymargin.cli.printing import print_json
from polymargin.cli.remarks import remarks
from polymargin.cli.row_table import Column, RowTable
from polymargin.margins import Answer, Settings, Verifier
from polymargin.networks import load
from polymargin.times import readable_time

DEMOS = (
    ("moons", "two moons: 2 inputs, 6 hidden neurons, activation x³"),
    ("spheres", "three shells: 3 inputs, two hidden layers of 4, activation x²"),
    ("cubic8", "a cubic rule: 8 inputs, 10 hidden neurons, activation x³"),
)


def run_demo(radius: float, *, as_json: bool, threads: int | None, seed: int) -> int:
    """Margins and verdicts for every demo network; the exit status."""
    data = Path(str(files("polymargin") / "data"))
    collected = {}
    for name, description in DEMOS:
        network = load(data / f"{name}.npz")
        points = read_points(data / f"{name}_points.npz")
        started = perf_counter()
        verifier = Verifier(network, seed=seed, workers=threads, settings=Settings(cache=False))
        margins = verifier.margin(points)
        total = perf_counter() - started
        columns = (*COLUMNS, Column(f"radius {radius:g}", 10))
        with RowTable(description, columns, len(points), silent=as_json) as table:
            verdicts = verifier.verify(points, radius)
            for row, found in enumerate(verdicts):
                table.add(row, [*margin_cells(margins[row]), found.answer.name])
        rows = zip(margins, verdicts, strict=True)
        collected[name] = [{**row.to_dict(), "verdict": verdict.answer.name} for row, verdict in rows]
        for line in remarks(margin_remarks(margins)):
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
