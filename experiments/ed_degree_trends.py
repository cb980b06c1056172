"""Trends of attention's ED degrees: stable in the number of tokens, growing with the rank, saturated in the value dimension."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from polymargin.plots.figure_file import legend_below, new_figure

Sizes = tuple[int, int, int, int]
COLOURS = ("#4c78a8", "#e45756", "#54a24b", "#eeca3b", "#b279a2", "#72b7b2", "#9d755d")


def draw_trends(degrees: Mapping[Sizes, int], path: str | Path) -> Path:
    """Draw ED degrees by (t, d, d', a): against t for fixed (d, d', a), and against a for two tokens."""
    figure = new_figure(figsize=(9.4, 4.9), layout="constrained")
    left, right = figure.subplots(1, 2)
    fixed = [(2, 1, 1), (2, 1, 2), (2, 2, 1), (2, 2, 2)]
    for colour, (d, values, rank) in zip(COLOURS, fixed, strict=False):
        points = sorted(
            (t, n) for (t, d_, v, a), n in degrees.items() if (d_, v, a) == (d, values, rank) and t >= values
        )
        label = f"d′ = {values}, a = {rank}"
        left.plot(*zip(*points, strict=True), "o-", color=colour, label=label)
    left.set(xlabel="tokens t", ylabel="ED degree", title="d = 2: stable once there are enough tokens", yscale="log")
    left.set_xticks(range(1, 6))
    for colour, (d, values) in zip(COLOURS, [(3, 1), (3, 2), (4, 1), (4, 2), (5, 1), (5, 2)], strict=False):
        points = sorted((a, n) for (t, d_, v, a), n in degrees.items() if (t, d_, v) == (2, d, values))
        right.plot(*zip(*points, strict=True), "o-", color=colour, label=f"d = {d}, d′ = {values}")
    right.set(
        xlabel="rank a of the attention matrix", title="two tokens: the rank matters, d′ > 2 does not", yscale="log"
    )
    right.set_xticks(range(1, 6))
    for axes in (left, right):
        legend_below(axes, 2 if axes is left else 3)
        axes.grid(alpha=0.25)
    figure.savefig(path, dpi=160)
    return Path(path)
