"""The view of a network in which it is attacked and bounded: its products themselves where it has such, else its layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymargin.arguments import checked_point
from polymargin.bounds.products.view import ProductView
from polymargin.bounds.view import View
from polymargin.networks.network import Network
from polymargin.networks.product_network import ProductNetwork

AnyView: TypeAlias = View | ProductView


def view_of(network: Network, point: ArrayLike, label: int = 0, rival: int = 1) -> AnyView:
    """For a pair of classes; networks of products and of layers have one view for all pairs."""
    if isinstance(network, ProductNetwork) and network.entry is None and network.stages:
        return ProductView(network, checked_point(point, network.dimension))
    return View.of(network, point, label, rival)


def views(
    network: Network, point: NDArray[np.float64], label: int, rivals: Sequence[int]
) -> list[tuple[AnyView, list[int]]]:
    """Views and the rivals that each of them serves."""
    result: list[tuple[AnyView, list[int]]] = []
    for rival in rivals:
        view = view_of(network, point, label, rival)
        if result and view.shares(result[-1][0]):
            result[-1][1].append(rival)
        else:
            result.append((view, [rival]))
    return result
