"""Legends stand beside the data, never on it."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest

import polymargin.plots
from polymargin.plots.figure_file import legend_above, legend_below, new_figure

pytest.importorskip("matplotlib")


def test_legends_leave_the_axes_to_the_data() -> None:
    figure = new_figure(figsize=(6, 4), layout="constrained")
    for axes, place in zip(figure.subplots(1, 2), (legend_above, lambda axes: legend_below(axes, 2)), strict=True):
        axes.plot([0, 1], [0, 1], label="one")
        axes.plot([0, 1], [1, 0], label="other")
        axes.set_xlabel("x")
        place(axes)
    figure.savefig(io.BytesIO(), dpi=figure.dpi)  # lays everything out
    above, below = figure.axes
    assert above.get_legend().get_window_extent().y0 >= above.get_window_extent().y1 - 2
    assert below.get_legend().get_window_extent().y1 < below.xaxis.label.get_window_extent().y0 + 1


def test_an_axis_without_anything_drawn_gets_no_legend() -> None:
    axes = new_figure().add_subplot()
    legend_above(axes)
    assert axes.get_legend() is None


def test_no_picture_places_its_legend_inside() -> None:
    """A legend is made by these two, for a whole figure, or with an anchor outside the axes."""
    for file in Path(polymargin.plots.__file__).parent.glob("*.py"):
        for call in re.findall(r"(\w+)\.legend\(([^)]*)", file.read_text(encoding="utf-8")):
            assert call[0] == "figure" or "bbox_to_anchor" in call[1] or file.stem == "figure_file", (file.name, call)
