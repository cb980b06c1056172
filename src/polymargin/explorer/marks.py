"""Marks of classes: a colour and a shape each, so that colour is never the only difference."""

from __future__ import annotations

import math
from typing import Any

from polymargin.plots.palette import class_colour

Polygon = tuple[tuple[float, float], ...]


def class_mark(label: int) -> dict[str, Any]:
    """Return the mark of a class: its colour and its polygon (without corners: a disc) with y downwards, of radius about 1."""
    polygons = _polygons()
    return {"colour": class_colour(label), "polygon": polygons[label % len(polygons)]}


def _polygons() -> tuple[Polygon, ...]:
    """Return disc, square, triangle, diamond, triangle down, plus, cross, pentagon, star, hexagon."""
    plus = tuple(
        (x, y)
        for x, y in (
            (-0.35, -1), (0.35, -1), (0.35, -0.35), (1, -0.35), (1, 0.35), (0.35, 0.35),
            (0.35, 1), (-0.35, 1), (-0.35, 0.35), (-1, 0.35), (-1, -0.35), (-0.35, -0.35),
        )
    )  # fmt: skip
    return (
        (),
        _regular(4, 1.15, 45),
        _regular(3, 1.25, -90),
        _regular(4, 1.2, -90),
        _regular(3, 1.25, 90),
        plus,
        _turned(plus, 45),
        _regular(5, 1.1, -90),
        _star(),
        _regular(6, 1.1, 0),
    )


def _regular(corners: int, radius: float, start: float) -> Polygon:
    return tuple(_at(radius, start + 360 * k / corners) for k in range(corners))


def _star() -> Polygon:
    return tuple(_at(1.3 if k % 2 == 0 else 0.55, -90 + 36 * k) for k in range(10))


def _turned(polygon: Polygon, degrees: float) -> Polygon:
    return tuple(_at(math.hypot(x, y), degrees + math.degrees(math.atan2(y, x))) for x, y in polygon)


def _at(radius: float, degrees: float) -> tuple[float, float]:
    angle = math.radians(degrees)
    return round(radius * math.cos(angle), 3), round(radius * math.sin(angle), 3)
