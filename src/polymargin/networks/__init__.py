"""Networks: what users bring."""

from polymargin.networks.files import load
from polymargin.networks.polynomial_network import PolynomialNetwork
from polymargin.networks.sklearn_import import from_sklearn

__all__ = ["PolynomialNetwork", "from_sklearn", "load"]
