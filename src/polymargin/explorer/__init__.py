"""The explorer: a local page in which you drag a point and see its margin."""

from polymargin.explorer.explore import explore
from polymargin.explorer.scene import Scene
from polymargin.explorer.server import Explorer

__all__ = ["Explorer", "Scene", "explore"]
