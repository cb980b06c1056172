"""A network in two inputs: its classes, its boundaries, and the largest disc around each point that keeps the class."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from polymargin.boundary import Boundary
from polymargin.enumeration import critical_points
from polymargin.errors import InputError
from polymargin.margins.verifier import margin
from polymargin.networks import Network
from polymargin.plots.class_regions import draw_class_regions, ticks_inside
from polymargin.plots.figure_file import from_matplotlib, new_figure
from polymargin.plots.palette import INK, class_colour, class_marker

WIDTH, LEAST_HEIGHT, MOST_HEIGHT, DPI = 7.2, 3.4, 9.0, 200
PAPER = "#ffffff"


def margin_plane(network: Network, points: ArrayLike, path: str | Path, *, title: str = "") -> Path:
    """Draw the plane with the margin discs of `points` (m, 2) into a .png or .svg file.

    Small open dots mark the other real critical points: everywhere the distance to the boundary is stationary.
    """
    if network.dimension != 2:
        raise InputError(f"the network has {network.dimension} inputs; a plane needs 2")
    array = np.atleast_2d(np.asarray(points, dtype=np.float64))
    margins: Sequence[Any] = margin(network, array, proof=False)
    reach = max((m.radius for m in margins if np.isfinite(m.radius)), default=1.0)
    low, high = array.min(axis=0) - 1.3 * reach - 0.3, array.max(axis=0) + 1.3 * reach + 0.3
    shape = (high - low)[1] / (high - low)[0]
    figure = new_figure(figsize=(WIDTH, min(max(WIDTH * shape, LEAST_HEIGHT), MOST_HEIGHT) + 0.8), layout="constrained")
    axes = figure.add_subplot()
    draw_class_regions(axes, network, (low[0], high[0], low[1], high[1]))
    for u, found in zip(array, margins, strict=True):
        _draw_margin(axes, network, u, found)
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal")
    axes.set(xlabel="first input x₁", ylabel="second input x₂")
    ticks_inside(axes)
    _draw_legend(figure, network)
    if title:
        axes.set_title(title, fontsize=12)
    figure.savefig(path, dpi=DPI)
    return Path(path)


def _draw_margin(axes: Any, network: Network, u: Any, found: Any) -> None:
    colour, shape = class_colour(found.label), class_marker(found.label)
    axes.plot(*u, shape, color=colour, markeredgecolor=INK, markersize=7.5, zorder=4)
    if found.point is None:
        return
    disc = from_matplotlib("patches.Circle")(u, found.radius, facecolor=colour, alpha=0.25)
    axes.add_patch(disc)
    axes.add_patch(from_matplotlib("patches.Circle")(u, found.radius, fill=False, edgecolor=INK, linewidth=1.2))
    axes.plot(*np.stack([u, found.point]).T, color=INK, linewidth=1, zorder=3)
    axes.plot(*found.point, "o", color=INK, markersize=4.5, zorder=4)
    others = critical_points(Boundary.from_network(network, found.label, found.rival), u)
    x = others.points[others.real].real[1:]
    axes.plot(*x.T, "o", markersize=4.5, markerfacecolor=PAPER, markeredgecolor=INK, zorder=3)


def _draw_legend(figure: Any, network: Network) -> None:
    line_class = from_matplotlib("lines.Line2D")

    def entry(label: str, marker: str = "", fill: str = INK, size: float = 6.0, line: str = "") -> Any:
        style = {"marker": marker, "markerfacecolor": fill, "markeredgecolor": INK, "markersize": size}
        return line_class([], [], color=INK, linestyle=line, linewidth=1.5, label=label, **style)

    names = network.class_names or tuple(str(label) for label in range(network.class_count))
    handles = [
        entry(f"point of class {name}", class_marker(label), class_colour(label), 7.0)
        for label, name in enumerate(names)
    ]
    handles += [
        entry("nearest tie: the margin", "o", size=4.5),
        entry("other critical points", "o", PAPER, 4.5),
        entry("decision boundary", line="-"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False, fontsize=10)
