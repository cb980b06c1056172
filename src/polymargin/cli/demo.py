"""The `demo` command: the networks that come with the package, and what can be said about them."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from time import perf_counter

from polymargin.certificates import Answer, verify
from polymargin.cli.margins import wide_console
from polymargin.cli.points import read_points
from polymargin.cli.tables import margin_table, remarks
from polymargin.margins import margin
from polymargin.networks import load

DEMOS = (
    ("moons", "two moons: 2 inputs, 6 hidden neurons, activation x³"),
    ("spheres", "three shells: 3 inputs, two hidden layers of 4, activation x²"),
    ("cubic8", "a cubic rule: 8 inputs, 10 hidden neurons, activation x³"),
)


def run_demo(radius: float, *, as_json: bool, threads: int | None, seed: int) -> int:
    """Margins and verdicts for every demo network; the exit status."""
    console = wide_console()
    data = Path(str(files("polymargin") / "data"))
    collected = {}
    for name, description in DEMOS:
        network = load(data / f"{name}.npz")
        points = read_points(data / f"{name}_points.npz")
        started = perf_counter()
        margins = margin(network, points, seed=seed, threads=threads, cache=False)
        total = perf_counter() - started
        verdicts = [verify(network, point, radius, seed=seed, threads=threads) for point in points]
        if as_json:
            rows = zip(margins, verdicts, strict=True)
            collected[name] = [{**row.to_dict(), "verdict": verdict.answer.name} for row, verdict in rows]
            continue
        console.print(margin_table(margins, verdicts, title=description))
        for line in remarks(margins):
            console.print(line, markup=False)
        robust = sum(verdict.answer is Answer.ROBUST for verdict in verdicts)
        console.print(
            f"{robust} of {len(points)} points provably keep their class within radius {radius:g}; "
            f"all margins in {total:.2f} s, stage 1 included.\n",
            style="dim",
        )
    if as_json:
        print(json.dumps({"radius": radius, "seed": seed, "networks": collected}, indent=1))
    return 0
