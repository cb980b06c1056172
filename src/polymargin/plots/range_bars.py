"""Bars of proved over found over observed ranges: of all layers, or of the neurons of one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.plots.figure_file import legend_above, new_figure
from polymargin.plots.palette import INK, LINE, NUMERICAL, PROVED
from polymargin.value_ranges import Ranges

Array = NDArray[np.float64]

HEIGHTS = (0.8, 0.5, 0.12)
"""Of the bars of proved, found and observed ranges."""
LINEAR = 1.0
"""Values up to here have a linear scale; layers differ by orders of magnitude."""


def range_bars(axes: Any, ranges: Ranges, layer: int | str | None = None) -> Any:
    """Draw on the given Matplotlib axis and return it: a bar for each layer, or for each neuron of one layer."""
    if layer is None:
        names = [one.name for one in ranges.layers]
        rows = [(_around(one.lower, one.upper), _around(one.found_lower, one.found_upper)) for one in ranges.layers]
        seen = [None if one.observed is None else _around(*one.observed) for one in ranges.layers]
        axes.set_yticks(range(len(names)), names)
        axes.set_xscale("symlog", linthresh=LINEAR)
        axes.set_xlabel("values of a layer")
    else:
        one = ranges[layer]
        order = np.argsort(one.upper - one.lower)
        rows = [((one.lower[k], one.upper[k]), (one.found_lower[k], one.found_upper[k])) for k in order]
        seen = [None if one.observed is None else (one.observed[0][k], one.observed[1][k]) for k in order]
        axes.set_yticks([])
        axes.set_xlabel(f"values of the {len(one)} neurons of {one.name}")
    proved, found = zip(*rows, strict=True)
    groups = ("proved", PROVED, proved), ("found by search", NUMERICAL, found), ("observed on data", INK, seen)
    for height, (word, colour, ends) in zip(HEIGHTS, groups, strict=True):
        places = [(place, pair) for place, pair in enumerate(ends) if pair is not None]
        if places:
            low, high = np.array([pair for _, pair in places]).T
            axes.barh([place for place, _ in places], high - low, height, left=low, color=colour, label=word)
    axes.invert_yaxis()
    axes.grid(axis="x", color=LINE, linewidth=0.7)
    axes.set_axisbelow(True)
    legend_above(axes)
    return axes


def draw_ranges(ranges: Ranges, file: Path) -> None:
    """Write the picture of all layers."""
    figure = new_figure(figsize=(7.0, 1.2 + 0.45 * len(ranges)), layout="constrained")
    range_bars(figure.subplots(), ranges)
    figure.savefig(file, dpi=150)


def _around(low: Array, high: Array) -> tuple[float, float]:
    return float(np.min(low)), float(np.max(high))
