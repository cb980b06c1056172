"""The chamber figure: three slices of the data space of lightning self-attention (2, 2, 1, 1)."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from pathlib import Path

from polymargin.boundary import Boundary
from polymargin.geometry import Chambers, Plane, chambers
from polymargin.networks.attention import random_attention
from polymargin.plots.chambers import draw_chambers

# The paper shows two windows of side 6 around the origin of a plane and one further out that holds a chamber with nine. The
# network and the planes were chosen, among six planes of a dozen networks, because all of 3, 5, 7 and 9 occur in them.
NETWORK_SEED = 6
SLICES = ((0, (-3.0, 3.0, -3.0, 3.0)), (1, (-3.0, 3.0, -3.0, 3.0)), (0, (5.0, 11.0, -1.0, 5.0)))


def figure_chambers(
    directory: Path,
    *,
    samples: int = 15_000,
    threads: int | None = None,
    executor: Executor | None = None,
    progress: Callable[[int], None] | None = None,
) -> tuple[list[Path], list[Chambers]]:
    """Compute and draw the three slices into PNG and SVG; `samples` for each of them."""
    network = random_attention(2, 2, 1, 1, seed=NETWORK_SEED)
    boundary = Boundary.from_network(network, 0, 1)
    slices = []
    for plane_seed, window in SLICES:
        plane = Plane.random(boundary.dimension, window, plane_seed)
        slices.append(chambers(boundary, plane, samples, threads=threads, executor=executor))
        if progress is not None:
            progress(1)
    captions = [f"plane {seed}: s ∈ [{w[0]:g}, {w[1]:g}], c ∈ [{w[2]:g}, {w[3]:g}]" for seed, w in SLICES]
    title = f"Lightning self-attention (2, 2, 1, 1): {slices[0].total} complex critical points"
    directory.mkdir(parents=True, exist_ok=True)
    files = [directory / f"figure-chambers.{kind}" for kind in ("png", "svg")]
    return [draw_chambers(slices, file, title=title, captions=captions) for file in files], slices
