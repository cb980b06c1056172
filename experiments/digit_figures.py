"""Pictures of classifiers of images: nearest adversarial images, and how margins are distributed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from polymargin.errors import InputError
from polymargin.plots.figure_file import legend_below, new_figure


@dataclass(frozen=True, eq=False)
class DigitPair:
    """An image and the nearest point of the boundary, both flat, with the classes there and the distance."""

    image: Any
    nearest: Any
    label: int
    rival: int
    margin: float


def nearest_images(pairs: Sequence[DigitPair], shape: tuple[int, int], path: str | Path) -> Path:
    """Draw one row per pair: the image, the difference in colours of its own range, and the nearest adversarial image."""
    if not pairs:
        raise InputError("no images to draw; give at least one")
    for pair in pairs:
        if np.size(pair.image) != shape[0] * shape[1] or np.size(pair.nearest) != np.size(pair.image):
            raise InputError(f"images of {np.size(pair.image)} values do not have the shape {shape}")
    figure = new_figure(figsize=(6.3, 2.25 * len(pairs)), layout="constrained")
    grid = np.atleast_2d(figure.subplots(len(pairs), 3))
    for row, pair in zip(grid, pairs, strict=True):
        image, nearest = np.reshape(pair.image, shape), np.reshape(pair.nearest, shape)
        change = nearest - image
        largest = float(np.abs(change).max()) or 1.0
        row[0].imshow(image, cmap="gray_r", vmin=0.0, vmax=1.0)
        shown = row[1].imshow(change, cmap="RdBu_r", vmin=-largest, vmax=largest)
        row[2].imshow(nearest, cmap="gray_r", vmin=0.0, vmax=1.0)
        row[0].set_title(f"classified {pair.label}", fontsize=10)
        row[1].set_title(f"nearest change, length {pair.margin:.3f}", fontsize=10)
        row[2].set_title(f"tie of {pair.label} and {pair.rival}", fontsize=10)
        figure.colorbar(shown, ax=row[1], fraction=0.046, pad=0.03).ax.tick_params(labelsize=8)
        for axes in row:
            axes.set(xticks=[], yticks=[])
    figure.savefig(path, dpi=110)
    return Path(path)


def margin_distribution(margins: ArrayLike, correct: ArrayLike, path: str | Path, *, title: str = "") -> Path:
    """Draw on the left the numbers of points by margin, on the right the accuracy left at each radius."""
    radii, right = np.asarray(margins, dtype=np.float64), np.asarray(correct, dtype=bool)
    if radii.ndim != 1 or right.shape != radii.shape or not len(radii):
        raise InputError(f"margins of shape {radii.shape} and flags of shape {right.shape}: expected (m,) twice")
    figure = new_figure(figsize=(8.6, 3.4), layout="constrained")
    left, curve = figure.subplots(1, 2)
    finite = radii[np.isfinite(radii)]
    limit = float(finite.max()) if len(finite) else 1.0
    edges = np.linspace(0.0, limit, 41)
    left.hist(
        [radii[right], radii[~right]],
        bins=edges,
        stacked=True,
        color=["#4c78a8", "#e45756"],
        label=["right answer", "wrong answer"],
    )
    middle = float(np.median(radii))
    left.axvline(middle, color="black", linewidth=1, linestyle="--", label=f"median {middle:.3f}")
    legend_below(left, 3)
    left.set(xlabel="margin (L2)", ylabel="images", xlim=(0.0, limit))
    certified = np.sort(radii[right])
    share = (len(certified) - np.arange(len(certified) + 1)) / len(radii)
    curve.step(np.append(0.0, certified), share, where="post", color="#4c78a8", linewidth=1.6)
    curve.set(xlabel="radius (L2)", ylabel="accuracy under the worst change", xlim=(0.0, limit), ylim=(0.0, 1.0))
    curve.grid(alpha=0.3)
    if title:
        figure.suptitle(title, fontsize=11)
    figure.savefig(path, dpi=110)
    return Path(path)
