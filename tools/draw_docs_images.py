"""Draw the pictures of the documentation: `python tools/draw_docs_images.py`."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import numpy as np

import polymargin as pm
from polymargin.geometry import Plane
from polymargin.networks.attention import random_attention
from polymargin.plots.chambers import draw_chambers
from polymargin.plots.margin_plane import margin_plane
from polymargin.reproduce.figure_chambers import NETWORK_SEED, SLICES

IMAGES = Path(__file__).parent.parent / "docs" / "images"


def main() -> None:
    """Margins of the two moons, and two slices of the chamber figure."""
    data = Path(str(files("polymargin") / "data"))
    points = np.load(data / "moons_points.npz")["points"]
    title = "The largest disc around each point that keeps its class"
    margin_plane(pm.load(data / "moons.npz"), points, IMAGES / "margins.png", title=title)

    boundary = pm.Boundary.from_network(random_attention(2, 2, 1, 1, seed=NETWORK_SEED), 0, 1)
    planes = [Plane.random(boundary.dimension, window, seed) for seed, window in SLICES[1:]]
    captions = ["a plane near the origin", "another plane, farther out"]
    slices = [pm.chambers(boundary, plane, 15_000) for plane in planes]
    draw_chambers(slices, IMAGES / "chambers.png", captions=captions)


if __name__ == "__main__":
    main()
