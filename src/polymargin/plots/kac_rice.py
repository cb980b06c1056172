"""Simulated numbers of real critical points in one variable beside the expectation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from polymargin.errors import InputError
from polymargin.expected import SimulatedCounts
from polymargin.plots.figure_file import legend_below, new_figure

BLUE = "#4c78a8"


# Samples of a degree that are drawn one by one.
MOST_DOTS = 1000


def real_zero_counts(degrees: Sequence[int], simulations: Sequence[SimulatedCounts], path: str | Path) -> Path:
    """Draw real critical points in one variable against the degree: single samples, their mean, and d/√(2d−1)."""
    if not degrees or len(degrees) != len(simulations):
        raise InputError(f"{len(degrees)} degrees and {len(simulations)} simulations: expected as many, at least one")
    figure = new_figure(figsize=(6.4, 4.6), layout="constrained")
    axes = figure.add_subplot()
    generator = np.random.default_rng(0)  # places points of equal count beside each other
    for degree, found in zip(degrees, simulations, strict=True):
        shown = found.counts[:MOST_DOTS]
        x = degree + generator.uniform(-0.35, 0.35, len(shown))
        y = shown + generator.uniform(-0.15, 0.15, len(shown))
        axes.plot(x, y, ".", color=BLUE, alpha=0.1, markersize=2.5, markeredgewidth=0, rasterized=True)
    dots = "one network each" if simulations[0].samples <= MOST_DOTS else f"{MOST_DOTS:,} of the networks"
    axes.plot([], [], ".", color=BLUE, alpha=0.6, markersize=5, label=dots)
    axes.plot(degrees, [found.mean for found in simulations], color=BLUE, linewidth=2.2, label="mean")
    fine = np.linspace(min(degrees), max(degrees), 300)
    axes.plot(fine, fine / np.sqrt(2 * fine - 1), "--", color="black", linewidth=1.4, label=r"$d/\sqrt{2d-1}$")
    axes.set(xlabel="degree d of the activation", ylabel="real critical points", ylim=(-0.4, None))
    axes.set_title(f"One input, {simulations[0].samples:,} random networks per degree", fontsize=11)
    legend_below(axes, 3)
    figure.savefig(path, dpi=160)
    return Path(path)
