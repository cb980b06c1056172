"""The Kac–Rice figure: real zeros of random networks in one variable against d/√(2d − 1).

Networks are drawn in the limit of infinite width, exactly; the paper draws them with 20,000 hidden units.
"""

from __future__ import annotations

import csv
from math import sqrt
from pathlib import Path

from polymargin.expected import ShallowEnsemble, ShallowFamily, SimulatedCounts, simulate_real_counts
from polymargin.plots.kac_rice import real_zero_counts
from polymargin.reproduce.report_items import Comparison, Progress, Reproduced, silent

# A mean further away than this many standard errors is a disagreement; with thirty degrees chance alone gives one in 500 runs.
STANDARD_ERRORS = 4.0


def figure_kac_rice(
    directory: Path, *, samples: int = 1000, most: int = 30, seed: int = 0, progress: Progress = silent
) -> Reproduced:
    """Simulate the degrees 1 to `most`, compare every mean with the formula, and draw."""
    degrees = list(range(1, most + 1))
    simulations = []
    for degree in degrees:
        simulations.append(simulate_real_counts(ShallowFamily(ShallowEnsemble(1, degree, None)), samples, seed=seed))
        progress(f"degree {degree} of {most}")
    directory.mkdir(parents=True, exist_ok=True)
    table = directory / "figure-kac-rice.csv"
    with table.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["degree", "expected", "simulated_mean", "standard_error"])
        for degree, found in zip(degrees, simulations, strict=True):
            writer.writerow([degree, f"{_formula(degree):.10f}", f"{found.mean:.6f}", f"{found.standard_error:.6f}"])
    pictures = [
        real_zero_counts(degrees, simulations, directory / f"figure-kac-rice.{kind}") for kind in ("png", "svg")
    ]
    rows = tuple(_row(degree, found) for degree, found in zip(degrees, simulations, strict=True))
    note = (
        f"{samples} networks per degree of infinite width, drawn exactly; the paper has 1,000 of width 20,000. A mean agrees "
        f"if it lies within {STANDARD_ERRORS:g} standard errors of the formula."
    )
    return Reproduced((*pictures, table), rows, (note,))


def _formula(degree: int) -> float:
    return degree / sqrt(2 * degree - 1)


def _row(degree: int, found: SimulatedCounts) -> Comparison:
    distance = abs(found.mean - _formula(degree))
    return Comparison(
        f"mean number of real zeros, d = {degree}",
        f"{_formula(degree):.4f}",
        f"{found.mean:.4f} ± {found.standard_error:.4f}",
        distance <= STANDARD_ERRORS * found.standard_error + 1e-9,
    )
