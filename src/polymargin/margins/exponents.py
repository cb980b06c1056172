"""Scales far from one are taken out before anything is computed.

A network whose first layer has weights of 1e-160, or whose logits are of size 1e200, is as good as any other: multiplying a layer
by a power of two changes no digit. With x = s·y the first layer becomes s·W, so the margin in y is 1/s times the margin in x; the
last layer may be multiplied by anything positive. Both powers are one for every network of ordinary size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from polymargin.margins.result import Margin, PairMargin
from polymargin.networks.layers import Layer, stages_of_layers
from polymargin.networks.network import Network
from polymargin.networks.recurrences import POWERS

Array = NDArray[np.float64]
Answer = TypeVar("Answer", Margin, PairMargin)

# Binary exponents of the largest weight of a layer within this of zero are left alone.
ORDINARY = 64
LARGEST_EXPONENT = 1000


@dataclass(frozen=True, eq=False)
class Unscaled:
    """A network of ordinary size; its inputs are those of the original divided by `unit`, a power of two."""

    network: Network
    unit: float

    def point(self, u: Array) -> Array:
        """Return the point in the units of the scaled network."""
        if self.unit == 1.0:
            return u
        with np.errstate(over="ignore"):
            return np.asarray(u / self.unit)

    def original(self, margin: Margin) -> Margin:
        """Return the margin in the units of the original network."""
        if self.unit == 1.0:
            return margin
        return replace(self._lengthened(margin), pairs=tuple(self._lengthened(pair) for pair in margin.pairs))

    def originals(self, margins: Sequence[Margin]) -> Sequence[Margin]:
        """Return margins in the units of the original network."""
        return margins if self.unit == 1.0 else [self.original(margin) for margin in margins]

    def _lengthened(self, found: Answer) -> Answer:
        lengths = {name: self.unit * getattr(found, name) for name in ("radius", "lower", "upper")}
        point = None if found.point is None else self.unit * found.point
        return replace(found, point=point, **lengths)


def unscaled(network: Network) -> Unscaled:
    """Return the network without its exponents; itself if they are ordinary or if it is not made of layers."""
    chain = network.chain
    if chain is None or not chain.in_powers or not chain.stages:
        return Unscaled(network, 1.0)
    first, *middle, last = chain.layers
    unit, factor = _power(first.weights), _power(last.weights, last.bias)
    if unit == factor == 1.0:
        return Unscaled(network, 1.0)
    layers = [Layer(unit * first.weights, first.bias), *middle, Layer(factor * last.weights, factor * last.bias)]
    functions = [(coefficients, POWERS.name) for coefficients in chain.activations]
    return Unscaled(Network(*stages_of_layers(layers, functions)), unit)


def _power(*arrays: Array) -> float:
    """Return the power of two that brings the largest entry near one."""
    largest = max(float(np.abs(array).max()) for array in arrays)
    if largest == 0.0:
        return 1.0
    exponent = int(np.frexp(largest)[1])
    return 1.0 if abs(exponent) <= ORDINARY else float(np.ldexp(1.0, min(-exponent, LARGEST_EXPONENT)))
