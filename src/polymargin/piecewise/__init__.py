"""Piecewise networks: ReLU and splines, their regions, and the margin by a search over them."""

from polymargin.piecewise.piecewise_margin import piecewise_margin
from polymargin.piecewise.piecewise_verify import piecewise_verify
from polymargin.piecewise.relu.files import has_relu, relu_from_onnx, relu_from_torch
from polymargin.piecewise.relu.network import ReLUNetwork
from polymargin.piecewise.relu.regions import LinearRegion, linear_regions
from polymargin.piecewise.result import PiecewiseMargin
from polymargin.piecewise.spline.network import SplineNetwork

__all__ = [
    "LinearRegion",
    "PiecewiseMargin",
    "ReLUNetwork",
    "SplineNetwork",
    "has_relu",
    "linear_regions",
    "piecewise_margin",
    "piecewise_verify",
    "relu_from_onnx",
    "relu_from_torch",
]
