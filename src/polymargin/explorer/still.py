"""A still picture of the scene as SVG, which the page shows where scripts do not run."""

from __future__ import annotations

import math
from html import escape
from typing import Any

import numpy as np

from polymargin.errors import printable
from polymargin.explorer.marks import class_mark
from polymargin.explorer.pictures import AT_A_TIME, FEW_SAMPLES, MANY_INPUTS, grid
from polymargin.explorer.scene import Scene
from polymargin.plots.thumbnails import data_address, png_bytes

# Pixels a side of the classes, and units a side of the picture with its axes.
SAMPLES, SIDE, AXIS = 320, 680, 60
MOST_POINTS = 500
TINT, PAPER, LINE = 0.25, 255.0, (60, 60, 66)


def still_picture(scene: Scene, answer: dict[str, Any] | None = None) -> str:
    """Return an `<svg>` of classes, points, and the disc of an `answer` (the margin at its place)."""
    left, right, low, high = scene.plane.window
    unit = (SIDE - AXIS) / max(right - left, high - low)

    def place(s: float, c: float) -> tuple[float, float]:
        return AXIS + (s - left) * unit, (high - c) * unit

    width, height = (right - left) * unit, (high - low) * unit
    parts = [
        f'<image x="{AXIS}" y="0" width="{width:.1f}" height="{height:.1f}" preserveAspectRatio="none" '
        f'href="{data_address(_classes_png(scene))}"/>',
        *_ticks(place, scene),
    ]
    for label, (s, c, _) in zip(
        scene.network.predict(scene.points[:MOST_POINTS]), scene.places[:MOST_POINTS], strict=True
    ):
        if left <= s <= right and low <= c <= high:
            parts.append(mark_svg(int(label), *place(s, c), 4.0))
    if answer is not None and isinstance(answer["lower"], float) and math.isfinite(answer["lower"]):
        x, y = place(*answer["place"])
        parts.append(f'<circle class="disc" cx="{x:.1f}" cy="{y:.1f}" r="{answer["lower"] * unit:.1f}"/>')
        parts.append(mark_svg(answer["class"], x, y, 7.0))
    label = escape(f"Classes of {printable(repr(scene.network))} over the window", quote=True)
    return (
        f'<svg class="still" role="img" aria-label="{label}" viewBox="0 0 {AXIS + width:.1f} {height + AXIS:.1f}">'
        f"{''.join(parts)}</svg>"
    )


def mark_svg(label: int, x: float, y: float, size: float) -> str:
    """Return the mark of a class at a place of a picture."""
    mark = class_mark(label)
    style = f'fill="{mark["colour"]}" stroke="#ffffff" stroke-width="0.8"'
    if not mark["polygon"]:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size:g}" {style}/>'
    corners = " ".join(f"{x + size * a:.1f},{y + size * b:.1f}" for a, b in mark["polygon"])
    return f'<polygon points="{corners}" {style}/>'


def _classes_png(scene: Scene) -> bytes:
    """Return a PNG of the classes in light colours, with lines between them."""
    size = SAMPLES if scene.network.dimension <= MANY_INPUTS else FEW_SAMPLES
    places = scene.plane.points(grid(scene.plane.window, size))
    parts = [scene.network.predict(places[start : start + AT_A_TIME]) for start in range(0, len(places), AT_A_TIME)]
    winner = np.concatenate(parts).reshape(size, size)
    colours = np.array([_rgb(class_mark(label)["colour"]) for label in range(scene.network.class_count)])
    picture = PAPER + TINT * (colours[winner] - PAPER)
    edge = np.zeros_like(winner, dtype=bool)
    edge[:, 1:] |= winner[:, 1:] != winner[:, :-1]
    edge[1:] |= winner[1:] != winner[:-1]
    picture[edge] = LINE
    return png_bytes(np.ascontiguousarray(np.flipud(picture)).round().astype(np.uint8))


def _rgb(colour: str) -> list[int]:
    return [int(colour[k : k + 2], 16) for k in (1, 3, 5)]


def _ticks(place: Any, scene: Scene) -> list[str]:
    left, right, low, high = scene.plane.window
    parts = []
    for value in tick_values(left, right):
        x, y = place(value, low)
        parts.append(f'<path class="tick" d="M{x:.1f} {y:.1f}v-6"/><text x="{x:.1f}" y="{y + 22:.1f}">{value:g}</text>')
    for value in tick_values(low, high):
        x, y = place(left, value)
        parts.append(
            f'<path class="tick" d="M{x:.1f} {y:.1f}h6"/><text class="end" x="{x - 5:.1f}" y="{y + 4:.1f}">{value:g}</text>'
        )
    x, y = place((left + right) / 2, low)
    first, second = axis_names(scene)
    parts.append(f'<text x="{x:.1f}" y="{y + 48:.1f}">{first}</text>')
    x, y = place(left, (low + high) / 2)
    parts.append(f'<text transform="translate(18 {y:.1f}) rotate(-90)">{second}</text>')
    return parts


def axis_names(scene: Scene) -> tuple[str, str]:
    """Return the names of the two axes."""
    if scene.network.dimension == 2:
        return "x₁", "x₂"
    return "first direction of the plane", "second direction of the plane"


def tick_values(low: float, high: float) -> list[float]:
    """Return four to nine round numbers between two bounds.

    >>> tick_values(-1.0, 1.0)
    [-1.0, -0.5, 0.0, 0.5, 1.0]
    """
    rough = (high - low) / 5
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{k * step:.12g}") for k in range(first, last + 1)]
