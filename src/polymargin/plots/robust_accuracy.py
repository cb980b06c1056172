"""Robust accuracy against radius, with proved, numerical and bracketed parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from polymargin.margins import Margin
from polymargin.plots.accuracy import ANSWERED, RobustAccuracy
from polymargin.plots.figure_file import legend_above
from polymargin.plots.palette import BRACKETED, INK, LINE, NAMES, OF_STANDING, SOFT
from polymargin.standing import Standing

# Radii at which the curve is drawn.
SAMPLES = 400


def robust_accuracy(axes: Any, margins: Sequence[Margin], labels: ArrayLike | None = None) -> Any:
    """Draw on the given Matplotlib axis and return it; without labels, draw the share of points that keep their class."""
    return draw_accuracy(axes, RobustAccuracy.of(margins, labels))


def draw_accuracy(axes: Any, accuracy: RobustAccuracy) -> Any:
    """Draw a curve that was computed before."""
    reach = accuracy.reach
    radii = np.linspace(0.0, reach, SAMPLES)
    below = np.zeros(SAMPLES)
    for standing in ANSWERED:
        if not len(accuracy.lowers[standing]):
            continue
        top = below + accuracy.part(standing, radii)
        kind = "bracketed, lower bound" if standing is Standing.BRACKETED else NAMES[standing]
        colour = OF_STANDING[standing]
        axes.fill_between(radii, below, top, color=colour, alpha=0.45, linewidth=0, step="post", label=kind)
        below = top
    axes.step(radii, below, where="post", color=INK, linewidth=1.4)
    if len(accuracy.lowers[Standing.BRACKETED]):
        top = below + accuracy.open(radii)
        axes.fill_between(radii, below, top, color=BRACKETED, alpha=0.15, linewidth=0, step="post", label="open")
        axes.step(radii, top, where="post", color=BRACKETED, linewidth=1.0, linestyle=(0, (4, 2)))
    word = "clean accuracy" if accuracy.labelled else "answered"
    axes.axhline(accuracy.clean, color=SOFT, linewidth=1.0, linestyle=(0, (1, 2)), label=f"{word} {accuracy.clean:.1%}")
    axes.set(xlim=(0.0, reach), ylim=(0.0, 1.0), xlabel=f"radius ({accuracy.norm})")
    axes.set_ylabel("robust accuracy" if accuracy.labelled else "share that keeps its class")
    axes.grid(color=LINE, linewidth=0.7)
    axes.set_axisbelow(True)
    legend_above(axes)
    return axes
