"""Continuation in the complex plane: a predictor–corrector step on a path, and the paths of all roots."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.plots.figure_file import legend_below, new_figure

PATH_COLOURS = ("#4c78a8", "#54a24b", "#b279a2")
INK, PREDICTOR, CORRECTOR = "#2b2b33", "#f28e1c", "#2f6db5"


@dataclass(frozen=True, eq=False)
class Step:
    """A step from `here` along the tangent to `predicted`, then Newton's iterates back onto the path (T,)."""

    path: NDArray[np.complex128]
    here: complex
    predicted: complex
    corrected: tuple[complex, ...]


def draw_tracking(paths: NDArray[np.complex128], step: Step, file: str | Path) -> Path:
    """Draw the step on the left and the paths (T, N) on the right into a .png or .svg file."""
    figure = new_figure(figsize=(8.6, 4.8), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[1.3, 1.0])
    _draw_step(left, step)
    for values, colour in zip(paths.T, PATH_COLOURS, strict=True):
        right.plot(values.real, values.imag, color=colour, linewidth=2)
        middle = len(values) // 2
        right.annotate(
            "",
            xy=_place(values[middle + len(values) // 40 + 1]),
            xytext=_place(values[middle]),
            arrowprops={"arrowstyle": "-|>", "color": colour, "mutation_scale": 16},
        )
    starts, ends = paths[0], paths[-1]
    right.plot(starts.real, starts.imag, "o", color="white", markeredgecolor=INK, markersize=8, label="$x^3 - 1 = 0$")
    right.plot(ends.real, ends.imag, "o", color=INK, markersize=8, label="$x^3 - 4x^2 + 8x - 8 = 0$")
    legend_below(right, 1)
    right.set_title("Paths from the start to the roots", fontsize=11)
    _plane(right)
    figure.savefig(file, dpi=160)
    return Path(file)


def _draw_step(axes: Any, step: Step) -> None:
    here, predicted, target = step.here, step.predicted, step.corrected[-1]
    axes.plot(step.path.real, step.path.imag, color=INK, linewidth=1.6, alpha=0.75)
    arrow = {"arrowstyle": "-|>", "mutation_scale": 16, "linewidth": 2, "shrinkA": 0, "shrinkB": 2}
    axes.annotate("", xy=_place(predicted), xytext=_place(here), arrowprops={**arrow, "color": PREDICTOR})
    corrections = np.array([predicted, *step.corrected])
    axes.plot(corrections.real, corrections.imag, "-o", color=CORRECTOR, linewidth=1.6, markersize=4)
    for value, text, shift in ((here, "$x_t$", (-6, 12)), (target, r"$x_{t+\Delta t}$", (8, -14))):
        axes.plot(*_place(value), "o", color=INK, markersize=8)
        axes.annotate(text, _place(value), shift, textcoords="offset points", fontsize=13)
    axes.plot([], [], color=PREDICTOR, linewidth=2, label="tangent predictor")
    axes.plot([], [], "-o", color=CORRECTOR, markersize=4, label="Newton corrector")
    legend_below(axes, 2)
    axes.set_title("One predictor–corrector step", fontsize=11)
    values = np.array([here, predicted, *step.corrected])
    _plane(axes)
    half = 0.85 * max(np.ptp(values.real), np.ptp(values.imag))
    x, y = (float(part.min() + part.max()) / 2 for part in (values.real, values.imag))
    axes.set(xlim=(x - half, x + half), ylim=(y - half, y + half))


def _plane(axes: Any) -> None:
    axes.set(xlabel="real part", ylabel="imaginary part", aspect="equal")
    axes.grid(alpha=0.25)


def _place(value: complex) -> tuple[float, float]:
    return float(value.real), float(value.imag)
