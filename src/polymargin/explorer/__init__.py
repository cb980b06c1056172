"""The explorer: a page on the loopback address in which a point is dragged and the answer follows."""

from polymargin.explorer.explore import explore
from polymargin.explorer.scene import Scene
from polymargin.explorer.server import Explorer

__all__ = ["Explorer", "Scene", "explore"]
