"""Chambers of a plane: regions coloured by the number of real critical points."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from polymargin.boundary import Boundary
from polymargin.geometry import Chambers, Plane
from polymargin.plots.class_regions import ticks_inside
from polymargin.plots.figure_file import from_matplotlib, new_figure

# From few real critical points to many, from light to dark; readable without colours too.
FEW, MANY = 0.12, 0.92
ORDERED = "YlGnBu"
UNKNOWN_COLOUR = "#ffffff"
BOUNDARY_COLOUR = "#c2185b"


def draw_chambers(
    slices: Sequence[Chambers],
    path: str | Path,
    *,
    title: str = "",
    captions: Sequence[str] = (),
    boundary: Boundary | None = None,
) -> Path:
    """Draw one panel per slice with a common legend, and the boundary itself if it has two inputs."""
    patch_class, line_class = from_matplotlib("patches.Patch"), from_matplotlib("lines.Line2D")
    numbers = sorted({number for found in slices for number in found.shares()})
    colour = ordered_colours(numbers)
    figure = new_figure(figsize=(4.1 * len(slices) + 0.4, 5.0), layout="constrained")
    axes = np.atleast_1d(figure.subplots(1, len(slices)))
    for panel, found in zip(axes, slices, strict=True):
        _draw_slice(panel, found, colour)
        if boundary is not None and boundary.dimension == 2:
            _draw_boundary(panel, boundary, found.plane)
    for panel, caption in zip(axes, captions, strict=False):
        panel.set_title(caption, fontsize=10)
    handles = [patch_class(facecolor=colour[number], edgecolor="#444444", label=str(number)) for number in numbers]
    if boundary is not None and boundary.dimension == 2:
        handles.append(line_class([], [], color=BOUNDARY_COLOUR, linewidth=1.8, label="the boundary"))
    figure.legend(
        handles=handles, title="real critical points", loc="outside lower center", ncols=len(handles), frameon=False
    )
    if title:
        figure.suptitle(title, fontsize=11)
    figure.savefig(path, dpi=200)
    return Path(path)


def ordered_colours(numbers: Sequence[int]) -> dict[int, Any]:
    """Return a colour per number; more is darker."""
    from matplotlib import colormaps

    steps = np.linspace(FEW, MANY, max(len(numbers), 2))
    return {number: colormaps[ORDERED](step) for number, step in zip(numbers, steps, strict=False)}


def _draw_slice(axes: Any, found: Chambers, colour: dict[int, Any]) -> None:
    from matplotlib.colors import ListedColormap

    numbers = sorted(colour)
    index = np.full(found.raster.shape, -1)
    for position, number in enumerate(numbers):
        index[found.raster == number] = position
    palette = ListedColormap([UNKNOWN_COLOUR, *(colour[number] for number in numbers)])
    axes.imshow(
        index,
        origin="lower",
        extent=found.plane.window,
        cmap=palette,
        vmin=-1.5,
        vmax=len(numbers) - 0.5,
        interpolation="nearest",
        aspect="equal",
    )
    ticks_inside(axes)
    two_inputs = len(found.plane.origin) == 2
    axes.set_xlabel("first input u₁" if two_inputs else "s: first direction of the plane", fontsize=11)
    axes.set_ylabel("second input u₂" if two_inputs else "c: second direction of the plane", fontsize=11)


def _draw_boundary(axes: Any, boundary: Boundary, plane: Plane) -> None:
    low_s, high_s, low_c, high_c = plane.window
    s, c = np.meshgrid(np.linspace(low_s, high_s, 400), np.linspace(low_c, high_c, 400))
    values = boundary(plane.points(np.stack([s.ravel(), c.ravel()], axis=1)))
    axes.contour(s, c, np.reshape(values, s.shape), levels=[0.0], colors=BOUNDARY_COLOUR, linewidths=1.8)
