"""`polymargin critical-points`: all critical points of the distance from one point."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from polymargin.cli.options import AsJson, CountLimit, Seed, Threads, spread
from polymargin.cli.subjects import SubjectOptions

if TYPE_CHECKING:
    from polymargin.enumeration import CriticalPoints


@spread
def critical_points(
    subject: SubjectOptions,
    point: Annotated[str, typer.Option(help="The point, numbers separated by commas.")] = "",
    seed: Seed = 0,
    threads: Threads = None,
    limit: CountLimit = 200_000,
    as_json: AsJson = False,
) -> int:
    """List all critical points of the distance from one point to a boundary, real and complex, the nearest first."""
    import numpy as np

    from polymargin import __version__
    from polymargin.cli.points import numbers
    from polymargin.cli.printing import plain_table, print_json, wide_console
    from polymargin.enumeration import critical_points as critical_points_of
    from polymargin.geometry import Variety

    u = numbers(point, "--point", "numbers separated by commas")
    source = subject.source() if subject.is_variety else subject.boundary()
    asked: dict[str, Any] = {"metric": subject.measured(), "seed": seed, "threads": threads, "limit": limit}
    found = (
        source.critical_points(u, **asked) if isinstance(source, Variety) else critical_points_of(source, u, **asked)
    )
    if as_json:
        print_json({"version": __version__, "source": subject.name, "point": u, **_as_data(found)})
    else:
        table = plain_table(f"{subject.name}: {found!r}", ">distance", "point")
        for x, distance in zip(found.points, found.distances, strict=True):
            real = bool(np.isfinite(distance))
            entries = (f"{entry.real:.10g}" if real else f"{entry:.6g}" for entry in x)
            table.add_row(f"{distance:.10g}" if real else "complex", ", ".join(entries), style="" if real else "dim")
        wide_console().print(table)
        for finding in found.audit.findings:
            print(finding)
    return 0 if found.audit.complete else 2


def _as_data(found: CriticalPoints) -> dict[str, object]:
    rows = zip(found.points, found.real.tolist(), found.distances.tolist(), strict=True)
    return {
        "complete": found.audit.complete,
        "findings": list(found.audit.findings),
        "points": [
            {
                "real": real,
                "distance": distance,
                "point": x.real.tolist(),
                "imaginary": None if real else x.imag.tolist(),
            }
            for x, real, distance in rows
        ],
    }
