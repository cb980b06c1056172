"""Pictures. matplotlib is an extra: it is imported when a picture is drawn."""

from polymargin.plots.margin_plane import margin_plane

__all__ = ["margin_plane"]
