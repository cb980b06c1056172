"""The most vulnerable points and their nearest counterexamples, on one axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from polymargin.arguments import real_array
from polymargin.errors import InputError
from polymargin.margins import Margin
from polymargin.plots.palette import INK, NUMERICAL, SOFT, WRONG
from polymargin.plots.thumbnails import DOWN, UP, Shape, checked_shape, guessed_shape, image_range, pixels

COUNT = 6
GAP = 0.12


def nearest_counterexamples(
    axes: Any, points: ArrayLike, margins: Sequence[Margin], *, count: int = COUNT, image_shape: Shape | None = None
) -> Any:
    """Draw the `count` points with the smallest margins on the given Matplotlib axis and return it.

    Images stand above their difference and their counterexample; points of the plane are joined to theirs; of other points
    the change of every coordinate is shown as a row of colours.
    """
    array = real_array(points, "points")
    array = array.reshape(len(array), -1) if array.ndim else array.reshape(1, 1)
    if len(array) != len(margins):
        raise InputError(f"{len(array)} points and {len(margins)} margins: expected as many of each")
    rows = most_vulnerable(margins)[:count]
    if not rows:
        axes.text(
            0.5, 0.5, "no counterexample is known", ha="center", va="center", color=SOFT, transform=axes.transAxes
        )
        axes.set_axis_off()
        return axes
    inputs = array.shape[1]
    shape = guessed_shape(inputs) if image_shape is None else checked_shape(image_shape, inputs)
    nearest = [np.asarray(margins[row].point) for row in rows]
    if shape is not None:
        _draw_images(axes, array, rows, nearest, margins, shape)
    elif inputs == 2:
        _draw_plane(axes, array, rows, nearest)
    else:
        _draw_changes(axes, array, rows, nearest, margins)
    return axes


def most_vulnerable(margins: Sequence[Margin]) -> list[int]:
    """Return rows with a counterexample, the smallest upper bound first."""
    rows = [row for row, margin in enumerate(margins) if margin.point is not None and np.isfinite(margin.upper)]
    return sorted(rows, key=lambda row: margins[row].upper)


def _draw_images(
    axes: Any, array: Any, rows: list[int], nearest: list[Any], margins: Sequence[Margin], shape: Shape
) -> None:
    low, high = image_range(array)
    step = 1 + GAP
    for column, (row, other) in enumerate(zip(rows, nearest, strict=True)):
        change = pixels(other - array[row], shape)
        grey = change if change.ndim == 2 else change.mean(axis=2)
        strength = np.abs(grey) / (float(np.abs(grey).max()) or 1.0)
        colour = np.where((grey >= 0)[..., None], UP, DOWN) / 255
        tiles = (pixels(array[row], shape), np.dstack([colour, strength]), pixels(other, shape))
        for line, tile in enumerate(tiles):
            place = (column * step, column * step + 1, -line * step - 1, -line * step)
            shown = tile if line == 1 else np.clip((tile - low) / (high - low), 0, 1)
            axes.imshow(shown, extent=place, cmap="gray", vmin=0.0, vmax=1.0, interpolation="nearest")
        margin = margins[row]
        axes.text(
            column * step + 0.5,
            GAP,
            f"{margin.label_name} → {margin.rival_name}\n{margin.upper:.3g}",
            ha="center",
            va="bottom",
            color=INK,
            fontsize="small",
        )
    axes.set(xlim=(-GAP, len(rows) * step), ylim=(-3 * step, 0.6), aspect="equal")
    axes.set_axis_off()


def _draw_plane(axes: Any, array: Any, rows: list[int], nearest: list[Any]) -> None:
    axes.plot(*array.T, "o", color=SOFT, markersize=2.5, alpha=0.6, linestyle="none")
    for row, other in zip(rows, nearest, strict=True):
        axes.plot(*np.stack([array[row], other]).T, color=INK, linewidth=0.9)
        axes.plot(*other, "o", color=WRONG, markersize=3.5)
        axes.plot(*array[row], "o", color=NUMERICAL, markersize=4.5)
    axes.set(xlabel="x₁", ylabel="x₂", aspect="equal")
    axes.set_adjustable("datalim")


def _draw_changes(axes: Any, array: Any, rows: list[int], nearest: list[Any], margins: Sequence[Margin]) -> None:
    changes = np.stack([other - array[row] for row, other in zip(rows, nearest, strict=True)])
    largest = np.abs(changes).max(axis=1, keepdims=True)
    axes.imshow(
        changes / np.where(largest > 0, largest, 1.0),
        cmap="RdBu_r",
        vmin=-1,
        vmax=1,
        aspect="auto",
        interpolation="nearest",
    )
    names = [
        f"row {row}: {margins[row].label_name} → {margins[row].rival_name}, {margins[row].upper:.3g}" for row in rows
    ]
    axes.set_yticks(range(len(rows)), names, fontsize="small")
    axes.set_xlabel("input; red: grows, blue: falls, each row relative to its largest change")
