"""Layers as a network of products: every activation is a stage, and its forms see the layer before it alone.

For deep networks in many dimensions whose activations before the last layer are not quadratic: z³ is z · z² there, and what a
parabola or a line below a neuron would lose is kept. The checker does the same (`polymargin_checker/products.py`).
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

from scipy import sparse

from polymargin.networks.forms import Forms
from polymargin.networks.layers import Layer
from polymargin.networks.polynomial_network import PolynomialNetwork
from polymargin.networks.product_network import ProductNetwork
from polymargin.networks.stages import Polynomial

_known: WeakKeyDictionary[PolynomialNetwork, ProductNetwork] = WeakKeyDictionary()


def products_of(network: PolynomialNetwork) -> ProductNetwork:
    """Once per network."""
    if network not in _known:
        stages, seen = [], 0  # values before those of the last layer
        for layer, coefficients in zip(network.layers[:-1], network.activations, strict=True):
            stages.append(Polynomial(_forms(layer, seen), tuple(map(float, coefficients))))
            seen += layer.weights.shape[1]
        _known[network] = ProductNetwork(stages, _forms(network.layers[-1], seen))
    return _known[network]


def _forms(layer: Layer, seen: int) -> Forms:
    nothing = sparse.csr_array((len(layer.bias), seen))
    return Forms.of(sparse.hstack([nothing, sparse.csr_array(layer.weights)], format="csr"), layer.bias)
