"""Histogram of margins by standing, with wrongly classified points apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from polymargin.margins import Margin
from polymargin.plots.accuracy import ANSWERED, RobustAccuracy, correct_rows, norm_of
from polymargin.plots.figure_file import legend_above
from polymargin.plots.palette import INK, LINE, NAMES, OF_STANDING, WRONG
from polymargin.standing import Standing

BARS = 40


def margin_histogram(axes: Any, margins: Sequence[Margin], labels: ArrayLike | None = None) -> Any:
    """Draw on the given Matplotlib axis and return it. Bracketed margins count at their lower bounds."""
    right = correct_rows(margins, labels)
    lower = np.array([margin.lower for margin in margins])
    groups, colours, names = [], [], []
    for standing in ANSWERED:
        rows = right & np.array([margin.standing is standing for margin in margins])
        if rows.any():
            groups.append(lower[rows])
            colours.append(OF_STANDING[standing])
            names.append(f"{NAMES[standing]}, lower bound" if standing is Standing.BRACKETED else NAMES[standing])
    wrong = ~right & np.array([margin.standing is not Standing.FAILED for margin in margins])
    if wrong.any():
        groups.append(lower[wrong])
        colours.append(WRONG)
        names.append("wrong class")
    reach = RobustAccuracy.of(margins, None).reach
    shown = [np.minimum(group[np.isfinite(group)], reach) for group in groups]
    if any(len(group) for group in shown):
        axes.hist(shown, bins=np.linspace(0.0, reach, BARS + 1), stacked=True, color=colours, label=names, alpha=0.8)
    finite = lower[np.isfinite(lower)]
    if len(finite):
        middle = float(np.median(finite))
        axes.axvline(middle, color=INK, linewidth=1.0, linestyle=(0, (4, 2)), label=f"median {middle:.3g}")
    endless = int(np.isposinf(lower).sum())
    beyond = int((finite > reach).sum())
    remarks = [f"{endless} never change class"] * bool(endless) + [f"{beyond} farther out, in the last bar"] * bool(
        beyond
    )
    axes.set(
        xlim=(0.0, reach),
        xlabel=f"margin ({norm_of(margins)})" + "".join(f"; {text}" for text in remarks),
        ylabel="points",
    )
    axes.yaxis.get_major_locator().set_params(integer=True)
    axes.grid(axis="y", color=LINE, linewidth=0.7)
    axes.set_axisbelow(True)
    legend_above(axes)
    return axes
