"""The `expected` command, and the figure `reproduce figure-kac-rice`."""

from __future__ import annotations

import math

from rich.table import Table

from polymargin import __version__
from polymargin.cli.jobs import workers
from polymargin.cli.printing import plain_table, print_json, progress_bar, wide_console
from polymargin.errors import InputError
from polymargin.expected import (
    ExpectedCount,
    SimulatedCounts,
    expected_real_critical_points,
)


def run_expected(
    dimension: int,
    degree: int,
    *,
    point: str | None,
    simulate: int | None,
    seed: int,
    threads: int | None,
    cluster: str | None,
    as_json: bool,
) -> int:
    """The expected number of real critical points of a random shallow network, with a simulation if asked for."""
    with progress_bar() as progress, workers(1, cluster) as executor:
        task = progress.add_task("networks", total=simulate or 0, visible=simulate is not None)
        found = expected_real_critical_points(
            dimension,
            degree,
            None if point is None else _coordinates(point),
            simulate=simulate,
            seed=seed,
            threads=threads,
            executor=executor,
            progress=lambda count: progress.advance(task, count),
        )
    if as_json:
        print_json({"version": __version__, "seed": seed, **found.to_dict()})
    else:
        wide_console().print(_table(found))
    return 0


def deviation(simulation: SimulatedCounts, expected: float) -> str:
    """The distance of the mean from the expectation in standard errors; a dash where every sample has the same count."""
    error = simulation.standard_error
    return f"{(simulation.mean - expected) / error:+.2f}" if 0 < error < math.inf else "–"


def _coordinates(text: str) -> list[float]:
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        numbers = [math.nan]
    if not all(map(math.isfinite, numbers)):
        raise InputError(f"point {text!r}: expected numbers separated by commas, such as 1,0.5")
    return numbers


def _table(found: ExpectedCount) -> Table:
    inputs = "1 input" if found.dimension == 1 else f"{found.dimension} inputs"
    title = f"Random shallow networks, {inputs}, activation of degree {found.degree}"
    table = plain_table(title, header=False)
    table.add_column(style="dim")
    table.add_column()
    table.add_row("point", ", ".join(f"{x:g}" for x in found.point))
    table.add_row("expected real critical points", f"{found.value:.10g} ± {found.error:.1g} ({found.method})")
    table.add_row("complex critical points", str(found.complex_count))
    simulation = found.simulation
    if simulation is not None:
        mean = f"{simulation.mean:.4f} ± {simulation.standard_error:.4f} ({simulation.method})"
        table.add_row(f"mean of {simulation.samples} networks", mean)
        table.add_row("difference in standard errors", deviation(simulation, found.value))
        table.add_row("networks with points in doubt", str(simulation.doubtful))
    return table
