"""The figures of a report, sized for narrow and wide screens."""

from __future__ import annotations

from typing import Any

from polymargin.plots import margin_histogram, nearest_counterexamples
from polymargin.plots.figure_file import new_figure
from polymargin.plots.palette import INK, SOFT
from polymargin.plots.robust_accuracy import draw_accuracy
from polymargin.reports.record import Report


def figures(report: Report) -> dict[str, Any]:
    """Return figures of accuracy, histogram and counterexamples."""
    drawn: dict[str, Any] = {}
    for name in ("accuracy", "histogram", "counterexamples"):
        figure = new_figure(figsize=(4.7, 3.5), layout="constrained")
        axes = figure.add_subplot()
        match name:
            case "accuracy":
                draw_accuracy(axes, report.accuracy)
            case "histogram":
                margin_histogram(axes, report.margins, report.named_labels)
            case _:
                nearest_counterexamples(axes, report.points, report.margins, image_shape=report.image_shape)
        _quiet(axes)
        drawn[name] = figure
    return drawn


def _quiet(axes: Any) -> None:
    """Remove superfluous lines, and use only colours that the page replaces in dark mode."""
    axes.set_facecolor("none")
    axes.figure.patch.set_facecolor("none")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(SOFT)
    axes.tick_params(colors=SOFT, labelcolor=INK)
    for text in (axes.xaxis.label, axes.yaxis.label, axes.title, *_legend_texts(axes)):
        text.set_color(INK)


def _legend_texts(axes: Any) -> list[Any]:
    legend = axes.get_legend()
    return [] if legend is None else list(legend.get_texts())
