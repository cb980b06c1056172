"""Proofs from the lifted relaxation: cuts of ranges, and at every leaf the multipliers that prove B > 0 there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.bounds.bound import hexadecimal
from polymargin.bounds.lifted.relaxation import Multipliers
from polymargin.bounds.lifted.spectra import Spectra

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LiftedLeaf:
    """A part of the ball, given by the splits on the way to it; `multipliers` prove B > 0 there.

    minorants   parabolas below the last layer's neurons, rows (a, b, c) in t; None for activations of degree two
    ranges      of the rests where they are narrower than the splits of rests make them; None elsewhere
    """

    multipliers: Multipliers
    ranges: tuple[Array, ...] | None = None
    minorants: Array | None = None

    def to_proof(self) -> dict[str, Any]:
        found = self.multipliers
        return {
            "ball": found.ball.hex(),
            "equalities": [hexadecimal(layer) for layer in found.equalities],
            "intervals": [hexadecimal(layer) for layer in found.intervals],
            "cuts": hexadecimal(found.cuts),
            "first": hexadecimal(found.first),
            "minorants": None if self.minorants is None else hexadecimal(self.minorants),
            "ranges": None if self.ranges is None else [hexadecimal(limits) for limits in self.ranges],
        }


@dataclass(frozen=True, eq=False)
class LiftedSplit:
    """t¹ of a first-layer neuron (layer 1) or the rest w of a deeper one: at most `value` in `low`, at least in `high`."""

    layer: int
    neuron: int
    value: float
    low: LiftedSplit | LiftedLeaf
    high: LiftedSplit | LiftedLeaf

    def to_proof(self) -> dict[str, Any]:
        split = [self.layer, self.neuron, float(self.value).hex()]
        return {"split": split, "low": self.low.to_proof(), "high": self.high.to_proof()}


@dataclass(frozen=True, eq=False)
class LiftedProof:
    """Ranges of the rests on the whole ball, the tree over them, and what proves the ranges beyond the second layer."""

    ranges: tuple[Array, ...]
    tree: LiftedSplit | LiftedLeaf
    spectra: Spectra | None = None

    def to_proof(self) -> dict[str, Any]:
        proof = {"ranges": [hexadecimal(limits) for limits in self.ranges], "tree": self.tree.to_proof()}
        return proof if self.spectra is None else {**proof, "spectra": self.spectra.to_proof()}
