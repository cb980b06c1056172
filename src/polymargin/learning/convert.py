"""From a trained Sequential(Linear, x², Linear) to the network whose margins are computed."""

from __future__ import annotations

from typing import Any

from polymargin.learning.shallow import layer_tensors
from polymargin.networks import Network, PolynomialNetwork


def to_network(network: Any) -> Network:
    """Convert a module to a network with exactly its float32 or float64 weights.

    Takes a Sequential(Linear, x², Linear) or the tensors (W₁, b₁, W₂, b₂).
    """
    arrays = [tensor.detach().cpu().double().numpy() for tensor in layer_tensors(network)]
    return PolynomialNetwork([(arrays[0], arrays[1]), (arrays[2], arrays[3])], degree=2)
