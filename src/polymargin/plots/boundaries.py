"""Decision boundaries in the plane side by side, with the data they were learned from: one panel per network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from polymargin.errors import InputError
from polymargin.networks import PolynomialNetwork
from polymargin.plots.door import new_figure

COLOURS = ("#4c78a8", "#e45756", "#54a24b", "#eeca3b", "#b279a2", "#72b7b2")
SAMPLES = 500


@dataclass(frozen=True, eq=False)
class Panel:
    """A network with two inputs, a title, and what to write below the picture."""

    network: PolynomialNetwork
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

    `window` is (left, right, bottom, top); by default it holds all the points with some room.
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
        _draw(axes, panel.network, (left, right, bottom, top))
        for label in np.unique(classes):
            chosen = array[classes == label]
            colour = COLOURS[int(label) % len(COLOURS)]
            axes.plot(*chosen.T, "o", color=colour, markersize=3.2, markeredgecolor="white", markeredgewidth=0.4)
        axes.set(xlim=(left, right), ylim=(bottom, top), aspect="equal")
        axes.set_title(panel.title, fontsize=11)
        axes.set_xlabel("x₁" + (f"\n{panel.note}" if panel.note else ""))
    figure.axes[0].set_ylabel("x₂")
    figure.savefig(path, dpi=130)
    return Path(path)


def _window(points: Any) -> tuple[float, float, float, float]:
    low, high = points.min(axis=0), points.max(axis=0)
    room = 0.06 * float((high - low).max()) or 1.0
    return (float(low[0] - room), float(high[0] + room), float(low[1] - room), float(high[1] + room))


def _draw(axes: Any, network: PolynomialNetwork, window: tuple[float, float, float, float]) -> None:
    x, y = np.meshgrid(np.linspace(*window[:2], SAMPLES), np.linspace(*window[2:], SAMPLES))
    logits = network(np.stack([x, y], axis=-1))
    count = network.class_count
    colours = [COLOURS[c % len(COLOURS)] for c in range(count)]
    axes.contourf(x, y, logits.argmax(axis=-1), levels=np.arange(count + 1) - 0.5, colors=colours, alpha=0.2)
    winner = logits.max(axis=-1)
    for first, second in combinations(range(count), 2):
        difference = logits[..., first] - logits[..., second]
        # Only where the two classes compete for the first place; a third class hides the rest.
        first_place = np.maximum(logits[..., first], logits[..., second]) == winner
        if (difference[first_place] < 0).any() and (difference[first_place] > 0).any():
            difference = np.where(first_place, difference, np.nan)
            axes.contour(x, y, difference, levels=[0.0], colors="black", linewidths=1.6)
