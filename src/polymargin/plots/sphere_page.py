"""The robustness sphere as one HTML file without external scripts: drawn with WebGL, with a still picture for other browsers."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from polymargin.plots.sphere import FOOT, POINT, SPHERE, SURFACE, SphereScene, render, whole_window
from polymargin.plots.sphere_mesh import Mesh, ball_mesh
from polymargin.plots.thumbnails import data_address, png_bytes

# Positions are stored as 16-bit integers: a step of this fraction of the scene.
STEPS = 32_000
# The still picture: where it is seen from, and its pixels.
EYE, PIXELS = (0.539, -0.533, 0.652), 480


def write_sphere_page(scene: SphereScene, file: Path, *, title: str) -> Path:
    """Write a page that draws the scene with WebGL and opens from disk."""
    size = 0.06 * scene.radius
    stick = [
        ball_mesh(scene.point + share * (scene.foot - scene.point), size / 3, 4) for share in np.linspace(0, 1, 40)
    ]
    parts = [
        (scene.surface, SURFACE, 1.0),
        (_joined(stick), POINT, 1.0),
        (ball_mesh(scene.point, size, 8), POINT, 1.0),
        (ball_mesh(scene.foot, size, 8), FOOT, 1.0),
        (ball_mesh(scene.point, scene.radius, 20), SPHERE, 0.3),
    ]
    reach = float(max(np.abs(mesh.vertices).max() for mesh, _, _ in parts))
    data = {
        "scale": reach / STEPS,
        "centre": [float(x) for x in scene.point],
        "parts": [{**_packed(mesh, reach), "colour": colour, "opacity": opacity} for mesh, colour, opacity in parts],
    }
    template = files("polymargin.plots").joinpath("sphere_page.html").read_text(encoding="utf-8")
    centre, half = whole_window(scene, EYE)
    still = np.rint(255 * render(scene, EYE, centre, half, pixels=PIXELS)).astype(np.uint8)
    parts_of_page = {
        "title": title,
        "still": data_address(png_bytes(still)),
        "scene": json.dumps(data, separators=(",", ":")),
    }
    page = re.sub(r"\{\{(\w+)\}\}", lambda found: parts_of_page[found.group(1)], template)
    file.write_text(page, encoding="utf-8")
    return file


def _joined(meshes: list[Mesh]) -> Mesh:
    starts = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes[:-1])])
    return Mesh(
        np.concatenate([mesh.vertices for mesh in meshes]),
        np.concatenate([mesh.normals for mesh in meshes]),
        np.concatenate([mesh.triangles + start for mesh, start in zip(meshes, starts, strict=True)]),
    )


def _packed(mesh: Mesh, reach: float) -> dict[str, str]:
    return {
        "positions": _base64(np.rint(mesh.vertices / reach * STEPS), "<i2"),
        "normals": _base64(np.rint(mesh.normals * 127), "i1"),
        "triangles": _base64(mesh.triangles, "<u4"),
    }


def _base64(values: Any, kind: str) -> str:
    return b64encode(np.ascontiguousarray(values, dtype=kind).tobytes()).decode("ascii")
