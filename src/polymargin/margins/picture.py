"""Margins in the plane as a small SVG, for notebooks: a disc around each input that touches the nearest tie.

Discs are drawn to scale. Inputs of each class have a colour and a shape, so that colour is not the only difference.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from polymargin.margins.result import Margin

Place: TypeAlias = Callable[[NDArray[np.float64]], tuple[float, float]]

# The longer side of the picture in pixels, and the most discs that it shows.
SIDE, MOST = 360, 200
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00")


def picture(inputs: NDArray[np.float64], margins: Sequence[Margin]) -> str:
    """Return inputs (m, 2) with their margins as an SVG; nothing for too many of them, or without a finite margin."""
    known = [(u, found) for u, found in zip(inputs, margins, strict=True) if np.isfinite(found.radius)]
    if not known or len(known) > MOST:
        return ""
    reach = np.array([found.radius for _, found in known])
    places = np.array([u for u, _ in known])
    low, high = (places - reach[:, None]).min(axis=0), (places + reach[:, None]).max(axis=0)
    middle, size = (low + high) / 2, 1.05 * float((high - low).max()) or 1.0
    if not np.isfinite(size):
        return ""
    scale = SIDE / size

    def at(point: NDArray[np.float64]) -> tuple[float, float]:
        x, y = (point - middle) * scale + SIDE / 2
        return float(x), float(SIDE - y)

    discs = "".join(_disc(u, found, at, scale) for u, found in known)
    words = f"Discs around {len(known)} inputs; each touches the nearest tie."
    return (
        f'<svg width="{SIDE}" height="{SIDE}" viewBox="0 0 {SIDE} {SIDE}" role="img" style="background:white">'
        f"<title>{words}</title>{discs}</svg><p>{words} Side of the picture: {size:.4g}</p>"
    )


def _disc(u: NDArray[np.float64], found: Margin, at: Place, scale: float) -> str:
    x, y = at(u)
    label = found.label or 0
    colour, name = COLOURS[label % len(COLOURS)], escape(str(found.label_name))
    disc = f'<circle cx="{x:.2f}" cy="{y:.2f}" r="{found.radius * scale:.2f}" fill="{colour}" fill-opacity=".2" stroke="#333"/>'
    tie = ""
    if found.point is not None:
        a, b = at(found.point)
        tie = f'<line x1="{x:.2f}" y1="{y:.2f}" x2="{a:.2f}" y2="{b:.2f}" stroke="#333"/>'
    return f"<g><title>class {name}, margin {found.radius:.4g}</title>{disc}{tie}{_mark(x, y, label, colour)}</g>"


def _mark(x: float, y: float, label: int, colour: str) -> str:
    corners = (0, 4, 3, 5)[label % 4]
    if corners == 0:
        return f'<circle cx="{x:.2f}" cy="{y:.2f}" r="4" fill="{colour}" stroke="#333"/>'
    turns = 2 * np.pi * (np.arange(corners) / corners + 1 / 8)
    points = " ".join(f"{x + 5 * np.cos(turn):.2f},{y - 5 * np.sin(turn):.2f}" for turn in turns)
    return f'<polygon points="{points}" fill="{colour}" stroke="#333"/>'
