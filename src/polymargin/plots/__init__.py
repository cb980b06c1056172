"""Pictures. matplotlib is an extra: it is imported when a picture is drawn."""

from polymargin.plots.conic_strata import conic_strata
from polymargin.plots.margin_plane import margin_plane

__all__ = ["conic_strata", "margin_plane"]
