"""The continuation figure: one predictor–corrector step, and the three paths to the roots of x³ − 4x² + 8x − 8.

H(x, t) = γ (1 − t) (x³ − 1) + t (x³ − 4x² + 8x − 8) is a program whose two weights are parameters, so that the tracker of the
library follows it like every other homotopy. The paths are its points at many values of t. A single step of it is
invisible (cubic prediction, tiny corrections), so the step drawn is the one the paper describes, tangent and Newton,
over a long interval.
"""

from __future__ import annotations

import csv
from math import sqrt
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from polymargin.continuation import Tracker
from polymargin.errors import PolymarginError
from polymargin.plots.tracking import Step, draw_tracking
from polymargin.polynomials import Graph, Program, evaluate, flatten, jacobian
from polymargin.reproduce.report_items import Comparison, Reproduced

Weights = NDArray[np.complex128]

# γ of modulus one is random in the library; here a value at which the three paths lie well apart in the picture.
GAMMA = np.exp(0.9j)
# The step of the left picture, on this path.
STEP_PATH, STEP_FROM, STEP_LENGTH = 2, 0.3, 0.25
# Digits to which the tracked roots are compared with the printed ones.
TOLERANCE = 1e-12


def figure_tracking(directory: Path, *, samples: int = 400) -> Reproduced:
    """Track, compare the ends with the printed roots, and draw; `samples` points on every path."""
    program = cubic_homotopy()
    times = np.linspace(0.0, 1.0, samples + 1)[1:]
    starts = np.exp(2j * np.pi * np.arange(3) / 3)
    found = Tracker().follow(program, starts[:, None], weights(0.0), [weights(t) for t in times])
    if not found.converged.all():
        raise PolymarginError(f"{int((~found.converged).sum())} of {found.ends.size} paths did not arrive")
    paths = np.vstack([starts, found.points[:, :, 0]])
    here = paths[int(np.searchsorted(times, STEP_FROM)) + 1, STEP_PATH]
    start_time = float(times[int(np.searchsorted(times, STEP_FROM))])
    step = Step(paths[:, STEP_PATH], here, *predict_and_correct(program, here, start_time, STEP_LENGTH))
    directory.mkdir(parents=True, exist_ok=True)
    table = directory / "figure-tracking.csv"
    with table.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["t", *(f"{part}_{path}" for path in (1, 2, 3) for part in ("re", "im"))])
        for t, row in zip((0.0, *times), paths, strict=True):
            writer.writerow([f"{t:.6g}", *(f"{x:.12g}" for value in row for x in (value.real, value.imag))])
    pictures = [draw_tracking(paths, step, directory / f"figure-tracking.{kind}") for kind in ("png", "svg")]
    return Reproduced((*pictures, table), tuple(_roots(paths[-1])), _notes(found.steps[-1], step))


def cubic_homotopy() -> Program:
    """Return H with the weights of the start and of the target system as parameters, and dH/dx."""
    graph = Graph()
    (x,) = graph.inputs(1)
    start, target = graph.parameters(2)
    equation = start * (x**3 - 1) + target * (x**3 - 4 * x**2 + 8 * x - 8)
    return flatten(graph, [equation], [entry for row in jacobian([equation], [x]) for entry in row])


def weights(t: float) -> Weights:
    """Return the weights of the start and of the target system at t."""
    return np.array([GAMMA * (1 - t), t])


def predict_and_correct(program: Program, x: complex, t: float, length: float) -> tuple[complex, tuple[complex, ...]]:
    """Return the end of the tangent and the iterates of Newton's method from there."""
    slope = evaluate(program, [x], weights(t).tolist(), derivatives=True)[1]
    # H is linear in the weights, so ∂H/∂t is H at the difference of the weights.
    (speed,) = evaluate(program, [x], (weights(1.0) - weights(0.0)).tolist())
    predicted = x - length * speed / slope
    iterates = [predicted]
    while len(iterates) < 3 or abs(iterates[-1] - iterates[-2]) > TOLERANCE:
        value, slope = evaluate(program, [iterates[-1]], weights(t + length).tolist(), derivatives=True)
        iterates.append(iterates[-1] - value / slope)
        if len(iterates) > 20:
            raise PolymarginError("Newton's method did not settle after the long step; shorten it")
    return predicted, tuple(iterates[1:])


def _roots(ends: Weights) -> list[Comparison]:
    rows = []
    for text, root in (("1 + √3 i", complex(1, sqrt(3))), ("1 − √3 i", complex(1, -sqrt(3))), ("2", complex(2))):
        nearest = ends[np.abs(ends - root).argmin()]
        sign = "+" if nearest.imag >= 0 else "−"
        ours = f"{nearest.real:.12f} {sign} {abs(nearest.imag):.12f} i"
        rows.append(Comparison(f"root {text}", text, ours, bool(abs(nearest - root) < TOLERANCE)))
    return rows


def _notes(steps: NDArray[np.int32], step: Step) -> tuple[str, ...]:
    return (
        f"The tracker needed {', '.join(map(str, steps))} steps for the three paths from t = 0 to 1.",
        f"The step drawn: t from {STEP_FROM:g} by {STEP_LENGTH:g} along the tangent, then Newton's method, "
        f"{len(step.corrected)} iterations to 1e-12; the tracker's own steps are of higher order and their corrections too small "
        "to see.",
    )
