"""Networks: what users bring."""

from polymargin.networks.files import load
from polymargin.networks.polynomial_network import PolynomialNetwork

__all__ = ["PolynomialNetwork", "load"]
