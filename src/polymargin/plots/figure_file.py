"""Matplotlib, imported only when a figure is made, because it is an extra."""

from __future__ import annotations

import importlib
from typing import Any

from polymargin.errors import MissingExtraError


def new_figure(**options: Any) -> Any:
    """Return an empty figure without a window."""
    return from_matplotlib("figure.Figure")(**options)


def legend_above(axes: Any) -> None:
    """Draw a legend above the axes, where it covers no data."""
    if not axes.get_legend_handles_labels()[0]:
        return  # no row has an answer
    axes.legend(frameon=False, fontsize=9, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, borderaxespad=0.1)


def legend_below(axes: Any, columns: int) -> None:
    """Draw a legend below the axis label, for panels with a title."""
    figure = axes.get_figure()
    lower = axes.transAxes + from_matplotlib("transforms.ScaledTranslation")(0, -0.46, figure.dpi_scale_trans)  # inches
    place = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0), "bbox_transform": lower, "borderaxespad": 0.2}
    axes.legend(frameon=False, fontsize=9, ncols=columns, columnspacing=1.4, handlelength=1.8, **place)


def from_matplotlib(name: str) -> Any:
    """Return a class of matplotlib such as "patches.Circle"; raise MissingExtraError if matplotlib is not installed."""
    module, _, attribute = name.rpartition(".")
    try:
        return getattr(importlib.import_module(f"matplotlib.{module}"), attribute)
    except ImportError:
        raise MissingExtraError("pictures need matplotlib; install it with: pip install 'polymargin[plot]'") from None
