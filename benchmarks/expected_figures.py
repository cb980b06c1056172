"""Pictures of expected numbers of real critical points: architectures beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from polymargin.errors import InputError
from polymargin.plots.figure_file import new_figure

BLUE, RED, GREEN, GREY = "#4c78a8", "#e45756", "#54a24b", "#8c8c8c"


@dataclass(frozen=True, eq=False)
class Bar:
    """One architecture in `architecture_counts`: mean and interval of its real critical points, and the complex number."""

    name: str
    kind: str
    mean: float
    interval: tuple[float, float]
    complex_count: int


def architecture_counts(bars: Sequence[Bar], path: str | Path) -> Path:
    """Draw mean real counts with 95 % intervals, one row per architecture, beside their complex counts."""
    if not bars:
        raise InputError("no architectures to draw; give at least one")
    kinds = list(dict.fromkeys(bar.kind for bar in bars))
    colours = dict(zip(kinds, (BLUE, RED, GREEN, GREY), strict=False))
    figure = new_figure(figsize=(8.6, 0.8 + 0.3 * len(bars)), layout="constrained")
    axes = figure.add_subplot()
    for row, bar in enumerate(bars):
        low, high = bar.interval
        colour = colours[bar.kind]
        axes.errorbar(bar.mean, row, xerr=[[bar.mean - low], [high - bar.mean]], fmt="o", color=colour, capsize=3)
        axes.plot(bar.complex_count, row, "|", color=colour, markersize=11, markeredgewidth=2)
        axes.plot(np.sqrt(bar.complex_count), row, "x", color=GREY, markersize=5)
    for kind in kinds:
        axes.plot([], [], "o", color=colours[kind], label=kind)
    axes.plot([], [], "|", color="black", markersize=11, markeredgewidth=2, label="complex")
    axes.plot([], [], "x", color=GREY, label="√complex")
    axes.set_xscale("log")
    ticks = [tick for tick in (1, 2, 3, 5, 10, 20, 50, 100, 200, 500) if tick <= 2 * max(b.complex_count for b in bars)]
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.minorticks_off()
    axes.set_xlim(1, None)
    axes.set_yticks(range(len(bars)), [bar.name for bar in bars], fontsize=8)
    axes.invert_yaxis()
    axes.set_xlabel("critical points: mean real number with 95 % interval, and complex number")
    axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    axes.grid(axis="x", alpha=0.3)
    figure.savefig(path, dpi=140)
    return Path(path)
