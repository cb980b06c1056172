"""What a perturbation may be: norm, domain, movable coordinates, rivals."""

from polymargin.neighbourhood.frame import Frame
from polymargin.neighbourhood.neighbourhood import Neighbourhood, NeighbourhoodOptions
from polymargin.regions.norms import Norm

__all__ = ["Frame", "Neighbourhood", "NeighbourhoodOptions", "Norm"]
