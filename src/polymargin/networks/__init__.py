"""Networks: what users bring."""

from polymargin.networks.attention import LightningAttention
from polymargin.networks.constructors import PolynomialNetwork, ReLUNetwork, SplineNetwork
from polymargin.networks.network import Network
from polymargin.networks.pi_nets import pi_net
from polymargin.networks.readers.from_arrays import from_arrays
from polymargin.networks.readers.from_sklearn import from_sklearn
from polymargin.networks.readers.from_torch import from_torch
from polymargin.networks.readers.load import load
from polymargin.networks.writers.to_onnx import to_onnx
from polymargin.networks.writers.to_torch import to_torch

__all__ = [
    "LightningAttention",
    "Network",
    "PolynomialNetwork",
    "ReLUNetwork",
    "SplineNetwork",
    "from_arrays",
    "from_sklearn",
    "from_torch",
    "load",
    "pi_net",
    "to_onnx",
    "to_torch",
]
