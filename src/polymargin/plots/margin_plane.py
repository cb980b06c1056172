"""A network in two inputs: its classes, its boundaries, and the largest disc around each point that keeps the class."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from polymargin.boundary import Boundary
from polymargin.enumeration import critical_points
from polymargin.errors import InputError
from polymargin.margins import margin
from polymargin.networks import PolynomialNetwork
from polymargin.plots.door import from_matplotlib, new_figure

COLOURS = ("#4c78a8", "#e45756", "#54a24b", "#eeca3b", "#b279a2", "#72b7b2")


def margin_plane(network: PolynomialNetwork, points: ArrayLike, path: str | Path, *, title: str = "") -> Path:
    """Draw the plane with the margin discs of `points` (m, 2) into a .png or .svg file.

    Small open dots mark the other real critical points: everywhere the distance to the boundary is stationary.
    """
    if network.dimension != 2:
        raise InputError(f"the network has {network.dimension} inputs; a plane needs 2")
    circle_class = from_matplotlib("patches.Circle")
    array = np.atleast_2d(np.asarray(points, dtype=np.float64))
    margins = margin(network, array)
    reach = max((m.radius for m in margins if np.isfinite(m.radius)), default=1.0)
    low, high = array.min(axis=0) - 1.3 * reach - 0.3, array.max(axis=0) + 1.3 * reach + 0.3
    shape = (high - low)[1] / (high - low)[0]
    figure = new_figure(figsize=(5.6, min(max(5.6 * shape, 3.0), 8.0) + 0.6), layout="constrained")
    axes = figure.add_subplot()
    _draw_classes(axes, network, low, high)
    for u, found in zip(array, margins, strict=True):
        colour = COLOURS[found.label % len(COLOURS)]
        axes.plot(*u, "o", color=colour, markeredgecolor="black", markersize=7, zorder=4)
        if found.point is None:
            continue
        axes.add_patch(circle_class(u, found.radius, facecolor=colour, alpha=0.25, edgecolor="black", linewidth=1.2))
        axes.plot(*np.stack([u, found.point]).T, color="black", linewidth=1, zorder=3)
        axes.plot(*found.point, "o", color="black", markersize=4.5, zorder=4)
        others = critical_points(Boundary.from_network(network, found.label, found.rival), u)
        x = others.points[others.real].real[1:]
        axes.plot(*x.T, "o", markersize=4, markerfacecolor="white", markeredgecolor="black", zorder=3)
    axes.set(
        xlim=(low[0], high[0]),
        ylim=(low[1], high[1]),
        aspect="equal",
        xlabel="first input x₁",
        ylabel="second input x₂",
    )
    axes.set_title(title, fontsize=11, wrap=True)
    figure.savefig(path, dpi=160)
    return Path(path)


def _draw_classes(axes: Any, network: PolynomialNetwork, low: Any, high: Any) -> None:
    x, y = np.meshgrid(np.linspace(low[0], high[0], 500), np.linspace(low[1], high[1], 500))
    logits = network(np.stack([x, y], axis=-1))
    classes = network.class_count
    colours = [COLOURS[c % len(COLOURS)] for c in range(classes)]
    axes.contourf(x, y, logits.argmax(axis=-1), levels=np.arange(classes + 1) - 0.5, colors=colours, alpha=0.18)
    for first, second in combinations(range(classes), 2):
        axes.contour(x, y, logits[..., first] - logits[..., second], levels=[0.0], colors="black", linewidths=1.5)
