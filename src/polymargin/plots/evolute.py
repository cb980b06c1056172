"""A curve in the plane with its ED discriminant, and the regions of data points between the branches of the discriminant."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.boundary import Boundary
from polymargin.geometry import Chambers
from polymargin.geometry.discriminants.result import EDDiscriminant
from polymargin.plots.chambers import UNKNOWN_COLOUR, ordered_colours
from polymargin.plots.figure_file import from_matplotlib, new_figure

BOUNDARY, DISCRIMINANT, INK = "#4c78a8", "#f28e1c", "#2b2b33"
PIXELS = 500


def draw_evolute(
    boundary: Boundary,
    discriminant: EDDiscriminant,
    regions: Chambers,
    file: str | Path,
    *,
    labels: Mapping[tuple[float, float], str],
    marked: tuple[float, float],
) -> Path:
    """Draw on the left both curves, on the right the regions by number of real critical points; `labels` name places there."""
    colormap_class = from_matplotlib("colors.ListedColormap")
    low_x, high_x, low_y, high_y = regions.plane.window
    x, y = np.meshgrid(np.linspace(low_x, high_x, PIXELS), np.linspace(low_y, high_y, PIXELS))
    grid = np.stack([x, y], axis=-1)
    curve = np.reshape(boundary(grid.reshape(-1, 2)), x.shape)
    evolute = signed_root(np.asarray(discriminant(grid)), discriminant.degree)
    figure = new_figure(figsize=(9.6, 5.0), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    _draw_regions(right, regions, colormap_class)
    for axes in (left, right):
        axes.contour(x, y, evolute, levels=[0.0], colors=DISCRIMINANT, linewidths=2.2)
        axes.plot(*marked, "o", color=INK, markersize=5)
        axes.set(xlabel="u₁", aspect="equal", xlim=(low_x, high_x), ylim=(low_y, high_y))
    left.contour(x, y, curve, levels=[0.0], colors=BOUNDARY, linewidths=2.2)
    left.plot([], [], color=BOUNDARY, linewidth=2.2, label="decision boundary")
    left.plot([], [], color=DISCRIMINANT, linewidth=2.2, label="ED discriminant")
    left.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=2, frameon=False)
    left.set(ylabel="u₂", title="Boundary and ED discriminant")
    for place, text in labels.items():
        right.annotate(text, place, ha="center", va="center", fontsize=15, color=INK)
    right.annotate("3", marked, (-8, 22), textcoords="offset points", fontsize=12, arrowprops={"arrowstyle": "-"})
    right.set(title="Real critical points")
    figure.savefig(file, dpi=160)
    return Path(file)


def signed_root(values: NDArray[np.float64], degree: int) -> NDArray[np.float64]:
    """Return values with the same zeros and moderate size, whose contour lines are interpolated better."""
    return np.asarray(np.sign(values) * np.abs(values) ** (1 / max(degree, 1)))


def _draw_regions(axes: Any, regions: Chambers, colormap_class: Any) -> None:
    numbers = sorted(regions.shares())
    index = np.full(regions.raster.shape, -1)
    for position, number in enumerate(numbers):
        index[regions.raster == number] = position
    palette = colormap_class([UNKNOWN_COLOUR, *ordered_colours(numbers).values()])
    window = regions.plane.window
    axes.imshow(
        index,
        origin="lower",
        extent=window,
        cmap=palette,
        vmin=-1.5,
        vmax=len(numbers) - 0.5,
        alpha=0.55,
        interpolation="nearest",
    )
