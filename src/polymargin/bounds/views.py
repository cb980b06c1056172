"""The views of a network in which it is bounded: its products themselves where it has such, else its layers.

Deep layers are bounded as products where the lifted relaxation is not for them: in many dimensions, with activations before the
last layer that are not quadratic.
"""

from __future__ import annotations

from typing import TypeAlias

from numpy.typing import ArrayLike

from polymargin.arguments import checked_point
from polymargin.bounds.layered.layers import is_layered, is_program
from polymargin.bounds.lifted.expansion import can_lift
from polymargin.bounds.products.view import ProductView
from polymargin.bounds.view import View
from polymargin.networks.network import Network

AnyView: TypeAlias = View | ProductView

# Dimensions up to which lines and parabolas below all neurons, sought together, prove more than products do.
FEW = 48


def view_of(network: Network, point: ArrayLike, label: int = 0, rival: int = 1) -> AnyView:
    """For a pair of classes; networks of products and of layers have one view for all pairs."""
    if is_program(network):
        return ProductView(network, checked_point(point, network.dimension))
    return View.of(network, point, label, rival)


def bounded_view_of(network: Network, point: ArrayLike, label: int = 0, rival: int = 1) -> AnyView:
    """The view in which a pair of classes is bounded."""
    view = view_of(network, point, label, rival)
    if isinstance(view, ProductView) or not is_layered(network):
        return view
    return view if can_lift(view) or view.dimension <= FEW else ProductView(network, view.point)
