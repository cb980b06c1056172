"""`polymargin expected`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import typer

from polymargin.cli.options import AsJson, Cluster, Seed, Threads, spread

if TYPE_CHECKING:
    from polymargin.expected import ExpectedCount, SimulatedCounts


@spread
def expected(
    dimension: Annotated[int, typer.Option(min=1, max=100, help="Number of inputs.")],
    degree: Annotated[int, typer.Option(min=1, help="Degree of the activation.")],
    point: Annotated[
        str | None, typer.Option(help="The point, numbers separated by commas.", show_default="origin")
    ] = None,
    simulate: Annotated[
        int | None, typer.Option(min=1, help="Also count critical points of this many random networks.")
    ] = None,
    as_json: AsJson = False,
    threads: Threads = None,
    cluster: Cluster = None,
    seed: Seed = 0,
) -> int:
    """Compute the expected number of real critical points of a random wide shallow network."""
    from polymargin import __version__
    from polymargin.cli.jobs import workers
    from polymargin.cli.points import numbers
    from polymargin.cli.printing import print_facts, print_json, progress_bar
    from polymargin.expected import expected_real_critical_points

    where = None if point is None else numbers(point, "--point", "numbers separated by commas, such as 1,0.5")
    with progress_bar() as progress, workers(1, cluster) as executor:
        task = progress.add_task("networks", total=simulate or 0, visible=simulate is not None)
        found = expected_real_critical_points(
            dimension,
            degree,
            where,
            simulate=simulate,
            seed=seed,
            threads=threads,
            executor=executor,
            progress=lambda count: progress.advance(task, count),
        )
    if as_json:
        print_json({"version": __version__, "seed": seed, **found.to_dict()})
    else:
        inputs = "1 input" if found.dimension == 1 else f"{found.dimension} inputs"
        print_facts(f"Random shallow networks, {inputs}, activation of degree {found.degree}", _facts(found))
    return 0


def deviation(simulation: SimulatedCounts, expected: float) -> str:
    """Return the distance of the mean from the expectation in standard errors; a dash where every sample has the same count."""
    error = simulation.standard_error
    return f"{(simulation.mean - expected) / error:+.2f}" if 0 < error < math.inf else "–"


def _facts(found: ExpectedCount) -> list[tuple[str, str]]:
    facts = [
        ("point", ", ".join(f"{x:g}" for x in found.point)),
        ("expected real critical points", f"{found.value:.10g} ± {found.error:.1g} ({found.method})"),
        ("complex critical points", str(found.complex_count)),
    ]
    if (simulation := found.simulation) is not None:
        mean = f"{simulation.mean:.4f} ± {simulation.standard_error:.4f} ({simulation.method})"
        facts += [
            (f"mean of {simulation.samples} networks", mean),
            ("difference in standard errors", deviation(simulation, found.value)),
            ("networks with points in doubt", str(simulation.doubtful)),
        ]
    return facts
