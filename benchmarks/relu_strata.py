"""The plane of a ReLU network with two inputs, coloured by the stratum that holds the nearest boundary point.

The decision boundary is a union of segments, one per region and pair of classes, glued at vertices. On a segment the foot of
the perpendicular is the only critical point, so no two ever collide. What changes as a point moves is the stratum of its
nearest boundary point: it passes onto a vertex and off again (thin lines, the nearest point moves on continuously), or it jumps
to another part of the boundary (thick lines). These lines take the place of the ED discriminant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymargin.errors import InputError
from polymargin.margins import margin
from polymargin.networks import Network
from polymargin.piecewise import LinearRegion, linear_regions
from polymargin.plots.figure_file import from_matplotlib, new_figure

Array = NDArray[np.float64]
Window = tuple[float, float, float, float]

INK, WALLS, JUMP, SLIDE = "#22222b", "#9a9aa5", "#c8363c", "#3c6fb0"
ZONES = ("#dbe9f6", "#fde7c8", "#dff0d8", "#f3dcea", "#e6e0f3", "#fbf3c4", "#d7efef", "#f6dcd6")
VERTEX_ZONE = "#c3c3cc"
# Pixels along each side.
RESOLUTION = 700
# Ends of segments nearer than this are one vertex.
SAME = 1e-7


@dataclass(frozen=True, eq=False)
class Strata:
    """The segments of the decision boundary (s, 2, 2), cut off outside the window, and the ends that are vertices (s, 2)."""

    segments: Array
    vertices: NDArray[np.int64]  # −1 where a segment was cut off

    @property
    def vertex_count(self) -> int:
        """Return the number of vertices."""
        return len(set(self.vertices[self.vertices >= 0].tolist()))

    def nearest(self, points: Array) -> tuple[NDArray[np.int64], Array]:
        """Return the stratum (a segment s, or −1 − v for a vertex v) and the nearest boundary point of each point (…, 2)."""
        flat = points.reshape(-1, 2)
        best, place = np.full(len(flat), np.inf), np.zeros_like(flat)
        stratum = np.zeros(len(flat), dtype=np.int64)
        for number, (start, end) in enumerate(self.segments):
            along = end - start
            share = np.clip((flat - start) @ along / (along @ along), 0.0, 1.0)
            foot = start + share[:, None] * along
            distance = np.linalg.norm(flat - foot, axis=1)
            nearer = distance < best
            best[nearer], place[nearer] = distance[nearer], foot[nearer]
            first, second = self.vertices[number]
            kind = np.where(
                (share <= 0) & (first >= 0), -1 - first, np.where((share >= 1) & (second >= 0), -1 - second, number)
            )
            stratum[nearer] = kind[nearer]
        return stratum.reshape(points.shape[:-1]), place.reshape(points.shape)


def boundary_strata(network: Network, window: Window) -> Strata:
    """Return the decision boundary in and around the window."""
    if network.dimension != 2:
        raise InputError(f"the network has {network.dimension} inputs; a plane needs 2")
    box_rows, box_limits = _box(window)
    segments = []
    for region in linear_regions(network):
        for first, second in combinations(range(network.class_count), 2):
            tie = region.tie(first, second)
            if tie is None:
                continue
            others = [c for c in range(network.class_count) if c not in (first, second)]
            rows = np.vstack([region.rows, region.matrix[others] - region.matrix[first], box_rows])
            limits = np.concatenate([region.limits, region.offset[first] - region.offset[others], box_limits])
            segment = _cut(*tie, rows, limits)
            if segment is not None:
                segments.append(segment)
    array = np.array(segments).reshape(-1, 2, 2)
    return Strata(array, _vertices(array, box_rows, box_limits))


def relu_strata(
    network: Network,
    path: str | Path,
    *,
    window: Window = (-3.0, 3.0, -3.0, 3.0),
    points: ArrayLike | None = None,
    title: str = "",
) -> Path:
    """Draw the strata and their switching lines, the regions, and the margin discs of `points` (m, 2), as .png or .svg."""
    circle_class = from_matplotlib("patches.Circle")
    colormap_class = from_matplotlib("colors.ListedColormap")
    lines_class = from_matplotlib("collections.LineCollection")
    strata = boundary_strata(network, window)
    if not len(strata.segments):
        raise InputError(f"no decision boundary near the window {window}; choose another window")
    left, right, bottom, top = window
    x, y = np.linspace(left, right, RESOLUTION), np.linspace(bottom, top, RESOLUTION)
    grid = np.stack(np.meshgrid(x, y), axis=-1)
    stratum, foot = strata.nearest(grid)
    figure = new_figure(figsize=(8.6, 7.6), layout="constrained")
    axes = figure.add_subplot()
    colours = np.where(stratum >= 0, stratum % len(ZONES), len(ZONES))
    axes.pcolormesh(x, y, colours, cmap=colormap_class([*ZONES, VERTEX_ZONE]), vmin=0, vmax=len(ZONES), rasterized=True)
    walls = [wall for region in linear_regions(network) for wall in _walls(region, window)]
    axes.add_collection(lines_class(walls, colors=WALLS, linewidths=0.5, zorder=2))
    _draw_switches(axes, x, y, stratum, foot)
    axes.add_collection(lines_class(list(strata.segments), colors=INK, linewidths=2.6, capstyle="round", zorder=4))
    _draw_margins(axes, network, points, circle_class)
    axes.set(xlim=(left, right), ylim=(bottom, top), aspect="equal", xlabel="x₁", ylabel="x₂")
    axes.set_title(title or f"{network!r}: strata of the nearest boundary point", color=INK)
    _legend(axes)
    figure.savefig(path, dpi=200)
    return Path(path)


def _draw_switches(axes: Any, x: Array, y: Array, stratum: NDArray[np.int64], foot: Array) -> None:
    """Draw lines between neighbouring pixels of different strata: jumps and slides of the nearest point."""
    # Projection onto a segment never moves a foot farther than the point: a longer step is a jump.
    step = 1.5 * max(x[1] - x[0], y[1] - y[0])
    jump, slide = np.zeros(stratum.shape, dtype=bool), np.zeros(stratum.shape, dtype=bool)
    for axis in (0, 1):
        different = np.diff(stratum, axis=axis) != 0
        far = np.linalg.norm(np.diff(foot, axis=axis), axis=-1) > step
        where = np.s_[:-1, :] if axis == 0 else np.s_[:, :-1]
        jump[where] |= different & far
        slide[where] |= different & ~far
    for mask, colour, size in ((slide, SLIDE, 0.6), (jump, JUMP, 2.2)):
        rows, columns = np.nonzero(mask)
        axes.scatter(x[columns], y[rows], s=size, c=colour, marker="s", linewidths=0, zorder=3, rasterized=True)


def _draw_margins(axes: Any, network: Network, points: ArrayLike | None, circle_class: Any) -> None:
    if points is None:
        return
    for u, found in zip(np.asarray(points, dtype=np.float64), margin(network, points, proof=False), strict=True):
        axes.plot(*u, "o", color="white", markeredgecolor=INK, markersize=7, zorder=6)
        if found.point is not None:
            axes.add_patch(circle_class(u, found.radius, fill=False, edgecolor=INK, linewidth=1.1, zorder=5))
            axes.plot(*np.stack([u, found.point]).T, color=INK, linewidth=1.0, zorder=5)
            axes.plot(*found.point, "o", color=INK, markersize=5, zorder=6)


def _legend(axes: Any) -> None:
    for colour, width, label in (
        (INK, 2.6, "decision boundary"),
        (WALLS, 0.7, "walls of the regions"),
        (SLIDE, 1.2, "the nearest point passes onto a vertex"),
        (JUMP, 2.2, "the nearest point jumps"),
    ):
        axes.plot([], [], color=colour, linewidth=width, label=label)
    axes.plot([], [], "s", color=VERTEX_ZONE, markersize=9, label="nearest point is a vertex")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.07), ncols=3, frameon=False, fontsize=9)


def _cut(slope: Array, shift: float, rows: Array, limits: Array) -> Array | None:
    """Return the part of the line slope·x + shift = 0 with rows @ x ≤ limits, as two endpoints."""
    square = float(slope @ slope)
    origin, direction = -shift / square * slope, np.array([-slope[1], slope[0]]) / np.sqrt(square)
    speed, room = rows @ direction, limits - rows @ origin
    parallel = np.abs(speed) <= 1e-12 * np.linalg.norm(rows, axis=1)
    if (room[parallel] < -1e-9).any():
        return None
    times = room[~parallel] / speed[~parallel]
    low = times[speed[~parallel] < 0].max(initial=-np.inf)
    high = times[speed[~parallel] > 0].min(initial=np.inf)
    return np.stack([origin + low * direction, origin + high * direction]) if high - low > SAME else None


def _walls(region: LinearRegion, window: Window) -> Sequence[Array]:
    """Return the edges of a region within the window."""
    box_rows, box_limits = _box(window, around=0.0)
    rows, limits = np.vstack([region.rows, box_rows]), np.concatenate([region.limits, box_limits])
    cuts = [_cut(row, -float(limit), rows, limits) for row, limit in zip(region.rows, region.limits, strict=True)]
    return [cut for cut in cuts if cut is not None]


def _box(window: Window, around: float = 1.0) -> tuple[Array, Array]:
    """Return the window as inequalities, widened by its own size `around` times."""
    left, right, bottom, top = window
    if not (left < right and bottom < top):
        raise InputError(f"window {window}: expected (left, right, bottom, top) with left < right and bottom < top")
    more = around * float(np.hypot(right - left, top - bottom))
    rows = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    return rows, np.array([right, -left, top, -bottom]) + more


def _vertices(segments: Array, rows: Array, limits: Array) -> NDArray[np.int64]:
    """Return a number for every endpoint of a segment, equal for equal endpoints; −1 on the frame."""
    ends = segments.reshape(-1, 2)
    numbers = np.full(len(ends), -1, dtype=np.int64)
    inner = (ends @ rows.T < limits - SAME).all(axis=1)
    for index in np.flatnonzero(inner):
        same = np.flatnonzero(np.linalg.norm(ends[:index] - ends[index], axis=1) <= SAME)
        numbers[index] = numbers[same[0]] if same.size and numbers[same[0]] >= 0 else index
    return numbers.reshape(-1, 2)
