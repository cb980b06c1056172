"""Noise: numbers that are added to the forms of some layers, each of at most a stated size.

A network with noise is a network over more inputs, v⁰ = (x, e), with e_i added to form i. Layers are the forms of each operand of
each stage in their order, from 0, and the logits. The certificate states a size η_i for each form of its layers, and

    weights w    the inputs move within the neighbourhood, and |e_i| ≤ η_i. Proofs are about the region ‖(ω δ, w e)‖ ≤ R in the
                 domain |e_i| ≤ η_i, which contains all δ with ‖ω δ‖ ≤ R − Σ w_i η_i. So bounds R prove radii that are smaller
                 by the slack Σ w_i η_i, in every norm.
    no weights   the inputs stay, and distances are those of the noise, max |e_i| / η_i.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import numpy as np
from flint import fmpq

from polymargin_checker.arrays import Floats, doubles
from polymargin_checker.document import fields, integer, items
from polymargin_checker.neighbourhood import PLAIN, StatedNeighbourhood
from polymargin_checker.refusal import Refused
from polymargin_checker.relaxation.arithmetic import rational
from polymargin_checker.stages import LARGEST_BLOCK, Block, Forms, Network, Product, Stage
from polymargin_checker.words import rounded_up
from polymargin_checker.work import spend_doubles

_TOUCHED = 8
"""Products that an entry of a block over inputs and noise counts for."""


@dataclass(frozen=True, eq=False)
class StatedNoise:
    """The layers with noise, by number: the sizes of the noise of each form. `weights` are of all noise together.

    network   over (x, e), for so many inputs x
    """

    network: Network
    inputs: int
    layers: dict[int, Floats]
    weights: Floats | None

    @property
    def sizes(self) -> list[fmpq]:
        return [rational(size) for sizes in self.layers.values() for size in sizes.tolist()]

    @property
    def slack(self) -> fmpq:
        """By how much radii are smaller than those of proofs."""
        if self.weights is None:
            return fmpq(0)
        return sum((rational(w) * size for w, size in zip(self.weights.tolist(), self.sizes, strict=True)), fmpq(0))

    def at(self, point: list[fmpq]) -> list[fmpq]:
        """Return (x, 0)."""
        return [*point, *(fmpq(0) for _ in self.sizes)]

    def around(self, near: StatedNeighbourhood) -> StatedNeighbourhood:
        """Return the neighbourhood of (x, 0) that stands for one of x."""
        size, zero, sizes = self.inputs, fmpq(0), self.sizes
        every = range(size, size + len(sizes))
        if near.frame is not None:
            raise Refused("noise: expected a neighbourhood without a matrix of weights and without a subspace")
        if self.weights is None:
            if replace(near, rivals=None, abstain=zero) != replace(PLAIN, norm="linf"):
                raise Refused("noise without weights: expected a neighbourhood with the norm linf and nothing else")
            loud = frozenset(place for place, eta in zip(every, sizes, strict=True) if eta > 0)
            if not loud:
                raise Refused("noise without weights: all sizes are zero")
            scales = tuple(1 / eta if eta > 0 else fmpq(1) for eta in sizes)
            return replace(near, weights=(fmpq(1),) * size + scales, movable=loud)
        low, high = ((None,) * size if end is None else end for end in (near.low, near.high))
        return replace(
            near,
            weights=((fmpq(1),) * size if near.weights is None else near.weights)
            + tuple(map(rational, self.weights.tolist())),
            low=low + tuple(-eta for eta in sizes),
            high=high + tuple(sizes),
            movable=None if near.movable is None else near.movable | frozenset(every),
        )

    @property
    def words(self) -> str:
        """Return the noise in words."""
        parts = [f"{rounded_up(rational(float(sizes.max())))} at layer {k}" for k, sizes in self.layers.items()]
        if self.weights is None:
            return f"the inputs stay, distances are those of noise in units of {', '.join(parts)} at most"
        return f"with noise of at most {', '.join(parts)}"


def read_noise(value: Any, network: Network) -> StatedNoise:
    """From a certificate about a network."""
    fields(value, "noise", ("layers", "weights"))
    widths = [len(forms) for forms in _layers(network)]
    found: dict[int, Floats] = {}
    for entry in items(value["layers"], "noise, layers"):
        place, sizes = items(entry, "noise, layer", 2)
        number = integer(place, "noise, layer", max(found, default=-1) + 1, len(widths) - 1)
        found[number] = doubles(sizes, f"noise, layer {number}", widths[number])
        if (found[number] < 0).any():
            raise Refused(f"noise, layer {number}: a size is negative")
    if not found:
        raise Refused("noise: no layers")
    weights = None
    if value["weights"] is not None:
        weights = doubles(value["weights"], "noise, weights", sum(map(len, found.values())))
        if not (weights > 0).all():
            raise Refused("noise, weights: expected positive numbers")
    return StatedNoise(_with_noise(network, list(found)), network.dimension, found, weights)


def _layers(network: Network) -> list[Forms]:
    return [*(forms for stage in network.stages for forms in stage.forms), network.readout]


def _with_noise(network: Network, layers: list[int]) -> Network:
    """Return the network over (x, e), the noise of the layers one after the other."""
    forms, places, end = _layers(network), dict[int, int](), network.dimension
    for layer in layers:
        places[layer] = end
        end += len(forms[layer])
    if end * max(map(len, forms)) > LARGEST_BLOCK:
        raise Refused(f"noise: {end} inputs and noise together; this checker accepts fewer")
    numbers = count()
    stages = tuple(_stage(stage, places, end, numbers) for stage in network.stages)
    return Network(stages, _widened(network.readout, places.get(next(numbers)), end))


def _stage(stage: Stage, places: dict[int, int], end: int, numbers: Iterator[int]) -> Stage:
    first, *others = [_widened(forms, places.get(next(numbers)), end) for forms in stage.forms]
    return Product(first, others[0]) if isinstance(stage, Product) else replace(stage, form=first)


def _widened(forms: Forms, place: int | None, end: int) -> Forms:
    """Return the forms over more inputs; the input `place` + i is added to form i."""
    blocks, height = dict(forms.blocks), len(forms)
    spend_doubles(_TOUCHED * height * end, "the forms of a network with noise")
    matrix = np.zeros((height, end))
    if 0 in blocks:
        matrix[:, : forms.widths[0]] = blocks[0].dense
    if place is not None:
        matrix[:, place : place + height] = np.eye(height)
    rows, columns = np.nonzero(matrix)
    starts = np.searchsorted(rows, np.arange(height + 1)).astype(np.int64)
    own = Block((height, end), starts, columns, matrix[rows, columns])
    later = tuple((source, block) for source, block in forms.blocks if source)
    return Forms((end, *forms.widths[1:]), ((0, own), *later) if len(rows) else later, forms.bias)
