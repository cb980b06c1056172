"""Pictures. matplotlib is an extra: it is imported when a picture is drawn."""

from polymargin.plots.accuracy import RobustAccuracy
from polymargin.plots.conic_strata import conic_strata
from polymargin.plots.counterexamples import nearest_counterexamples
from polymargin.plots.margin_histogram import margin_histogram
from polymargin.plots.margin_plane import margin_plane
from polymargin.plots.robust_accuracy import robust_accuracy

__all__ = [
    "RobustAccuracy",
    "conic_strata",
    "margin_histogram",
    "margin_plane",
    "nearest_counterexamples",
    "robust_accuracy",
]
