"""f_label − f_rival of any network in layers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from numpy.typing import NDArray

from polymargin.bounds.layered.cubes import sum_of_cubes
from polymargin.bounds.layered.squares import layers_of_squares
from polymargin.networks.layers import Chain
from polymargin.networks.network import Network
from polymargin.networks.structures import Attention


@dataclass(frozen=True, eq=False)
class Layered:
    """f_label − f_rival of some pair of classes, as that of layers.

    chain      its difference of the two logits is the same polynomial, up to the rounding of its weights
    lowering   the choices from which a checker rebuilds the layers without rounding; None where the layers are the model
    """

    chain: Chain
    lowering: dict[str, NDArray[Any]] | None = None


_known: WeakKeyDictionary[Network, dict[tuple[int, int], Layered]] = WeakKeyDictionary()
EVERY_PAIR = (0, 0)


def layered(network: Network, label: int, rival: int) -> Layered:
    """Return the layers, made once: sums of cubes for one pair of classes of attention, squares for all pairs of others."""
    known = _known.setdefault(network, {})
    cubes = isinstance(network.structure, Attention)
    pair = (label, rival) if cubes else EVERY_PAIR
    if pair not in known:
        if isinstance(network.structure, Attention):
            known[pair] = Layered(*sum_of_cubes(network.structure, label, rival))
        elif network.chain is not None and network.chain.in_powers:
            known[pair] = Layered(network.chain)
        else:
            known[pair] = Layered(*layers_of_squares(network.stages, network.readout))
    return known[pair]


def is_layered(network: Network) -> bool:
    """Whether a network is made of layers with polynomials in powers."""
    return network.chain is not None and network.chain.in_powers


def is_program(network: Network) -> bool:
    """Whether a network is bounded product by product."""
    return not isinstance(network.structure, Attention) and not is_layered(network)
