"""Networks: what users bring."""

from polymargin.networks.attention import LightningAttention
from polymargin.networks.files import load
from polymargin.networks.network import Network
from polymargin.networks.polynomial_network import PolynomialNetwork
from polymargin.networks.sklearn_import import from_sklearn

__all__ = ["LightningAttention", "Network", "PolynomialNetwork", "from_sklearn", "load"]
