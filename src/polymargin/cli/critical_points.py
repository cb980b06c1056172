"""The `critical-points` command: all critical points of the distance from one point."""

from __future__ import annotations

import numpy as np

from polymargin import __version__
from polymargin.cli.printing import plain_table, print_json, wide_console
from polymargin.cli.subjects import GivenModel
from polymargin.enumeration import CriticalPoints, critical_points
from polymargin.errors import InputError
from polymargin.geometry import Variety


def run_critical_points(
    subject: GivenModel, point: str, *, seed: int, threads: int | None, limit: int, as_json: bool
) -> int:
    """Status 0 if all of them were found, 2 otherwise."""
    try:
        u = [float(part) for part in point.split(",")]
    except ValueError:
        raise InputError(f"--point {point!r}: expected numbers separated by commas") from None
    source, metric = subject.source() if len(subject.expressions) > 1 else subject.boundary(), subject.measured()
    if isinstance(source, Variety):
        found = source.critical_points(u, metric=metric, seed=seed, threads=threads, limit=limit)
    else:
        found = critical_points(source, u, metric=metric, seed=seed, threads=threads, limit=limit)
    if as_json:
        print_json({"version": __version__, "source": subject.name, "point": u, **_as_data(found)})
    else:
        table = plain_table(f"{subject.name}: {found!r}")
        for column in ("distance", "point"):
            table.add_column(column, justify="right" if column == "distance" else "left")
        for x, distance in zip(found.points, found.distances, strict=True):
            real = bool(np.isfinite(distance))
            numbers = (f"{entry.real:.10g}" if real else f"{entry:.6g}" for entry in x)
            table.add_row(f"{distance:.10g}" if real else "complex", ", ".join(numbers), style="" if real else "dim")
        wide_console().print(table)
        for finding in found.audit.findings:
            print(finding)
    return 0 if found.audit.complete else 2


def _as_data(found: CriticalPoints) -> dict[str, object]:
    return {
        "complete": found.audit.complete,
        "findings": list(found.audit.findings),
        "points": [
            {
                "real": bool(real),
                "distance": float(distance) if np.isfinite(distance) else None,
                "point": [float(entry) for entry in x.real],
                "imaginary": None if real else [float(entry) for entry in x.imag],
            }
            for x, real, distance in zip(found.points, found.real, found.distances, strict=True)
        ],
    }
