"""Networks: what users bring."""

from polymargin.networks.attention import LightningAttention
from polymargin.networks.files import load
from polymargin.networks.network import Network
from polymargin.networks.onnx_export import to_onnx
from polymargin.networks.polynomial_network import PolynomialNetwork
from polymargin.networks.sklearn_import import from_sklearn
from polymargin.networks.torch_export import to_torch
from polymargin.networks.torch_import import from_torch

__all__ = [
    "LightningAttention",
    "Network",
    "PolynomialNetwork",
    "from_sklearn",
    "from_torch",
    "load",
    "to_onnx",
    "to_torch",
]
