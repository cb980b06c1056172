"""Piecewise networks: ReLU and splines, their regions, and the search over them."""

from polymargin.piecewise.relu.regions import LinearRegion, linear_regions

__all__ = [
    "LinearRegion",
    "linear_regions",
]
