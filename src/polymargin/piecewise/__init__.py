"""Piecewise networks: ReLU and splines, their regions, and the margin by a search over them."""

from polymargin.piecewise.piecewise_margin import piecewise_margin
from polymargin.piecewise.piecewise_verify import piecewise_verify
from polymargin.piecewise.relu.regions import LinearRegion, linear_regions
from polymargin.piecewise.result import PiecewiseMargin

__all__ = [
    "LinearRegion",
    "PiecewiseMargin",
    "linear_regions",
    "piecewise_margin",
    "piecewise_verify",
]
