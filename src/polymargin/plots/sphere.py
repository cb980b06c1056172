"""The robustness sphere: a decision surface in three inputs, a point, and the sphere around it that touches the surface.

Plotting libraries sort whole triangles, which goes wrong where a transparent sphere meets a surface. So the picture is made
pixel by pixel: the mesh is scattered into a depth buffer, small balls and the sphere are known in closed form for every
pixel. The view is parallel, so that lengths in the picture are lengths.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.plots.figure_file import new_figure
from polymargin.plots.sphere_mesh import Array, Mesh

SURFACE, SPHERE, POINT, FOOT = (0.29, 0.53, 0.75), (0.87, 0.29, 0.24), (0.1, 0.1, 0.12), (0.95, 0.75, 0.15)
LIGHT = np.array([0.35, 0.55, 0.75]) / np.linalg.norm([0.35, 0.55, 0.75])
# Pixels are averaged from squares of this many.
OVERSAMPLING = 2


@dataclass(frozen=True, eq=False)
class SphereScene:
    """The surface, the point (3,), the nearest boundary point (3,) and their distance."""

    surface: Mesh
    point: Array
    foot: Array
    radius: float


def draw_sphere(
    scene: SphereScene, files: Sequence[Path], *, eye: tuple[float, float, float], title: str = "", pixels: int = 560
) -> list[Path]:
    """Draw two views into .png or .svg files: the whole surface from `eye`, and the touching point along the tangent plane."""
    figure = new_figure(figsize=(9.0, 5.0), layout="constrained")
    whole, near = figure.subplots(1, 2)
    whole.imshow(render(scene, eye, *whole_window(scene, eye), pixels=pixels), interpolation="antialiased")
    whole.set_title("the decision surface and the sphere", fontsize=11)
    whole.set_axis_off()
    along = edge_on(scene, eye)
    centre, half = (scene.point + scene.foot) / 2, 1.9 * scene.radius
    extent = (-half, half, -half, half)
    near.imshow(render(scene, along, centre, half, pixels=pixels), interpolation="antialiased", extent=extent)
    _draw_tangent_plane(near, scene, along, centre, half)
    near.set_title("where they touch, seen along the tangent plane", fontsize=11)
    near.set(xticks=[], yticks=[], xlim=(-half, half), ylim=(-half, half))
    if title:
        figure.suptitle(title, fontsize=12)
    for file in files:
        figure.savefig(file, dpi=160)
    return list(files)


def whole_window(scene: SphereScene, eye: tuple[float, float, float]) -> tuple[Array, float]:
    """Return centre and half side of the square that holds the whole scene, seen from the direction `eye`."""
    turn = view_rotation(np.array(eye))
    everything = np.vstack(
        [scene.surface.vertices, scene.point + scene.radius * turn, scene.point - scene.radius * turn]
    )
    low, high = (everything @ turn.T).min(axis=0), (everything @ turn.T).max(axis=0)
    return (low + high) / 2 @ turn, 0.52 * float((high - low)[:2].max())


def edge_on(scene: SphereScene, eye: tuple[float, float, float]) -> tuple[float, float, float]:
    """Return the direction within the tangent plane that is nearest to `eye`."""
    normal = (scene.foot - scene.point) / scene.radius
    x, y, z = np.array(eye) - (np.array(eye) @ normal) * normal
    return float(x), float(y), float(z)


def _draw_tangent_plane(
    axes: Any, scene: SphereScene, eye: tuple[float, float, float], centre: Array, half: float
) -> None:
    """Draw the tangent plane, edge-on a line through the foot across the radius."""
    turn = view_rotation(np.array(eye))[:2]
    foot, normal = turn @ (scene.foot - centre), turn @ (scene.foot - scene.point)
    across = np.array([-normal[1], normal[0]]) / np.linalg.norm(normal)
    ends = np.stack([foot - 4 * half * across, foot + 4 * half * across])
    axes.plot(*ends.T, linestyle="--", color="black", linewidth=1.2)


def render(
    scene: SphereScene, eye: tuple[float, float, float], centre: Array, half: float, *, pixels: int
) -> NDArray[np.float64]:
    """Return an image (pixels, pixels, 3) of the square of half side `half` around `centre`, seen from the direction `eye`."""
    turn = view_rotation(np.array(eye))
    canvas = _Canvas(turn, centre, half, pixels * OVERSAMPLING)
    canvas.add_mesh(scene.surface)
    size = 0.06 * scene.radius
    for share in np.linspace(0, 1, 60):
        canvas.add_ball((1 - share) * scene.point + share * scene.foot, 0.35 * size, POINT)
    canvas.add_ball(scene.point, size, POINT)
    canvas.add_ball(scene.foot, size, FOOT)
    canvas.add_glass(scene.point, scene.radius)
    side = (pixels, OVERSAMPLING)
    return np.asarray(canvas.colour.reshape(*side, *side, 3).mean(axis=(1, 3)).clip(0, 1))


def view_rotation(eye: Array) -> Array:
    """Return the rows right, up, towards the eye."""
    towards = eye / np.linalg.norm(eye)
    right = np.cross([0.0, 0.0, 1.0], towards)
    right /= np.linalg.norm(right)
    return np.stack([right, np.cross(towards, right), towards])


class _Canvas:
    """Colour and depth of every pixel; larger depth is nearer to the eye."""

    def __init__(self, turn: Array, centre: Array, half: float, pixels: int) -> None:
        self.turn, self.centre, self.half, self.pixels = turn, centre, half, pixels
        self.colour = np.ones((pixels, pixels, 3))
        self.depth = np.full((pixels, pixels), -np.inf)
        ticks = (np.arange(pixels) + 0.5) / pixels * 2 * half - half
        self.x, self.y = np.meshgrid(ticks, -ticks)  # row 0 is the top

    def seen(self, points: Array) -> Array:
        return np.asarray((points - self.centre) @ self.turn.T)

    def add_mesh(self, mesh: Mesh) -> None:
        """Scatter points over every triangle, densely enough to leave no pixel out; the nearest wins."""
        corners = self.seen(mesh.vertices)[mesh.triangles]
        slopes = (mesh.normals @ self.turn.T)[mesh.triangles]
        visible = (np.abs(corners[..., :2]).min(axis=1) < 1.1 * self.half).all(axis=1)
        corners, slopes = corners[visible], slopes[visible]
        if not len(corners):
            return
        longest = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max()
        count = int(np.ceil(1.5 * longest * self.pixels / (2 * self.half))) + 1
        first, second = np.meshgrid(np.arange(count + 1), np.arange(count + 1))
        kept = first + second <= count
        for a, b in zip(first[kept] / count, second[kept] / count, strict=True):
            share = np.array([a, b, 1 - a - b])
            self._scatter(np.einsum("k,tkc->tc", share, corners), np.einsum("k,tkc->tc", share, slopes))

    def _scatter(self, points: Array, normals: Array) -> None:
        column = np.floor((points[:, 0] + self.half) / (2 * self.half) * self.pixels).astype(np.int64)
        row = np.floor((self.half - points[:, 1]) / (2 * self.half) * self.pixels).astype(np.int64)
        inside = (column >= 0) & (column < self.pixels) & (row >= 0) & (row < self.pixels)
        inside[inside] = points[inside, 2] > self.depth[row[inside], column[inside]]
        order = np.flatnonzero(inside)[np.argsort(points[inside, 2], kind="stable")]  # the nearest is written last
        row, column = row[order], column[order]
        self.depth[row, column] = points[order, 2]
        normals = normals[order] / np.maximum(np.linalg.norm(normals[order], axis=1, keepdims=True), 1e-12)
        # Both sides of the surface are lit; at the outline an interpolated normal may point away a little.
        facing = normals * np.where(normals[:, 2:] < -0.2, -1.0, 1.0)
        self.colour[row, column] = _shade(facing, SURFACE)

    def add_ball(self, centre: Array, radius: float, colour: tuple[float, float, float]) -> None:
        part = self._around(centre, radius)
        normal, depth, hit = self._ball(centre, radius, part)
        hit &= depth > self.depth[part]
        self.depth[part][hit] = depth[hit]
        self.colour[part][hit] = _shade(normal[hit], colour)

    def add_glass(self, centre: Array, radius: float) -> None:
        """Add a translucent sphere: its far side first, then the near one, each where nothing hides it."""
        part = self._around(centre, radius)
        normal, depth, hit = self._ball(centre, radius, part)
        middle = float(self.seen(centre[None])[0, 2])
        colour = self.colour[part]
        for side, thickness in ((-1.0, 0.18), (1.0, 0.34)):
            shown = hit & (middle + side * (depth - middle) > self.depth[part])
            facing = normal[shown] * [1.0, 1.0, side]
            # Glass looks thicker where it is seen at an angle.
            opacity = (thickness + 0.4 * (1 - normal[shown][:, 2]) ** 2)[:, None]
            colour[shown] = (1 - opacity) * colour[shown] + opacity * _shade(facing, SPHERE)

    def _around(self, centre: Array, radius: float) -> tuple[slice, slice]:
        """Return the pixels that a ball can cover, as a view of the arrays."""
        x, y, _ = self.seen(centre[None])[0]
        scale = self.pixels / (2 * self.half)
        columns, rows = (
            [int(np.clip((self.half + place + sign * radius) * scale + sign, 0, self.pixels)) for sign in (-1, 1)]
            for place in (x, -y)
        )
        return slice(*rows), slice(*columns)

    def _ball(self, centre: Array, radius: float, part: tuple[slice, slice]) -> tuple[Array, Array, NDArray[np.bool_]]:
        x, y, z = self.seen(centre[None])[0]
        right, up = (self.x[part] - x) / radius, (self.y[part] - y) / radius
        square = 1 - right**2 - up**2
        towards = np.sqrt(np.maximum(square, 0))
        return np.stack([right, up, towards], axis=-1), z + radius * towards, square > 0


def _shade(normals: Array, colour: tuple[float, float, float]) -> Array:
    """Return ambient, diffuse and specular light."""
    lit = np.maximum(normals @ LIGHT, 0)[:, None]
    half_way = LIGHT + np.array([0.0, 0.0, 1.0])
    shine = np.maximum(normals @ (half_way / np.linalg.norm(half_way)), 0)[:, None] ** 40
    return np.asarray((0.42 + 0.62 * lit) * np.array(colour) + 0.25 * shine)
