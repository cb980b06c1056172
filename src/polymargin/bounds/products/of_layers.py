"""Layers as a network of products: every activation is a stage, and its forms see the layer before it alone.

For deep networks in many dimensions whose activations before the last layer are not quadratic: z³ is z · z² there, and what a
parabola or a line below a neuron would lose is kept. The checker does the same (`polymargin_checker/products.py`).
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

from polymargin.networks.conversion import stages_of_layers
from polymargin.networks.polynomial_network import PolynomialNetwork
from polymargin.networks.product_network import ProductNetwork

_known: WeakKeyDictionary[PolynomialNetwork, ProductNetwork] = WeakKeyDictionary()


def products_of(network: PolynomialNetwork) -> ProductNetwork:
    """Once per network."""
    if network not in _known:
        _known[network] = ProductNetwork(*stages_of_layers(network.layers, network.activations))
    return _known[network]
