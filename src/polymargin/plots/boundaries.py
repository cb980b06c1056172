"""Decision boundaries in the plane side by side, with the data they were learned from: one panel per network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from polymargin.errors import InputError
from polymargin.networks import Network
from polymargin.plots.class_regions import draw_class_regions, ticks_inside
from polymargin.plots.figure_file import new_figure
from polymargin.plots.palette import class_colour, class_marker


@dataclass(frozen=True, eq=False)
class Panel:
    """A network with two inputs, a title, and a note below the picture."""

    network: Network
    title: str = ""
    note: str = ""


def boundary_panels(
    panels: Sequence[Panel],
    points: ArrayLike,
    labels: ArrayLike,
    path: str | Path,
    *,
    window: tuple[float, float, float, float] | None = None,
) -> Path:
    """Draw the panels over the same points (m, 2) with their labels (m,) into a .png or .svg file.

    `window` is (left, right, bottom, top); by default it holds all the points with some padding.
    """
    array, classes = np.asarray(points, dtype=np.float64), np.asarray(labels)
    if array.ndim != 2 or array.shape[1] != 2 or classes.shape != array.shape[:1] or not len(array):
        raise InputError(f"points of shape {array.shape} and labels of shape {classes.shape}: expected (m, 2) and (m,)")
    if not panels:
        raise InputError("no panels to draw; give at least one")
    for panel in panels:
        if panel.network.dimension != 2:
            raise InputError(f"the network has {panel.network.dimension} inputs; a plane needs 2")
    left, right, bottom, top = window or _window(array)
    height = 4.2 * (top - bottom) / (right - left)
    lines = max(panel.note.count("\n") + bool(panel.note) for panel in panels)
    figure = new_figure(figsize=(4.4 * len(panels) + 0.4, height + 0.9 + 0.2 * lines), layout="constrained")
    for axes, panel in zip(np.atleast_1d(figure.subplots(1, len(panels), sharey=True)), panels, strict=True):
        draw_class_regions(axes, panel.network, (left, right, bottom, top))
        ticks_inside(axes)
        for label in np.unique(classes):
            chosen = array[classes == label]
            marker, colour = class_marker(int(label)), class_colour(int(label))
            axes.plot(*chosen.T, marker, color=colour, markersize=3.6, markeredgecolor="white", markeredgewidth=0.4)
        axes.set(xlim=(left, right), ylim=(bottom, top), aspect="equal")
        axes.set_title(panel.title, fontsize=11)
        axes.set_xlabel("x₁" + (f"\n{panel.note}" if panel.note else ""))
    figure.axes[0].set_ylabel("x₂")
    figure.savefig(path, dpi=160)
    return Path(path)


def _window(points: Any) -> tuple[float, float, float, float]:
    low, high = points.min(axis=0), points.max(axis=0)
    padding = 0.06 * float((high - low).max()) or 1.0
    return (float(low[0] - padding), float(high[0] + padding), float(low[1] - padding), float(high[1] + padding))
