"""What a perturbation may be: norm, domain, movable coordinates, rivals."""

from polymargin.neighbourhood.neighbourhood import Neighbourhood, NeighbourhoodOptions, Norm

__all__ = ["Neighbourhood", "NeighbourhoodOptions", "Norm"]
