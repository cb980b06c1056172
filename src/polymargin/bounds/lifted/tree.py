"""Proofs from the lifted relaxation: cuts of ranges, and at every leaf the multipliers that prove B > 0 there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.bounds.bound import hexadecimal
from polymargin.bounds.lifted.combinations import Combinations
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
        leaf: dict[str, Any] = {
            "ball": found.ball.hex(),
            "equalities": [hexadecimal(layer) for layer in found.equalities],
            "intervals": [hexadecimal(layer) for layer in found.intervals],
            "cuts": hexadecimal(found.cuts),
            "first": hexadecimal(found.first),
            "minorants": None if self.minorants is None else hexadecimal(self.minorants),
            "ranges": None if self.ranges is None else [hexadecimal(limits) for limits in self.ranges],
        }
        if len(found.exchanges):
            leaf["exchanges"] = hexadecimal(found.exchanges)
        if found.cubic is not None:
            weights, balance = found.cubic
            leaf["cubic"] = {"weights": hexadecimal(weights), "balance": balance.hex()}
        return leaf


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
    """Ranges of the rests on the whole ball, the tree over them, and what proves the ranges beyond the second layer.

    With `combinations` the ranges of the last layer, and its balances, end with those of the combinations.
    """

    ranges: tuple[Array, ...]
    tree: LiftedSplit | LiftedLeaf
    spectra: Spectra | None = None
    combinations: Combinations | None = None

    def to_proof(self) -> dict[str, Any]:
        *ranges, last = self.ranges or (np.zeros((0, 2)),)
        spectra, combined = self.spectra, {}
        if self.combinations is not None:
            count = self.combinations.weights.shape[1]
            balances = None
            if spectra is not None and not spectra.errors:  # the last layer is the third
                balances = hexadecimal(spectra.balances[count:])
                spectra = Spectra((), spectra.balances[:count])
            combined = {
                "weights": hexadecimal(self.combinations.weights),
                "directions": hexadecimal(self.combinations.directions),
                "ranges": hexadecimal(last[count:]),
                "balances": balances,
            }
            last = last[:count]
        proof: dict[str, Any] = {"ranges": [hexadecimal(limits) for limits in ([*ranges, last] if self.ranges else [])]}
        proof["tree"] = self.tree.to_proof()
        if combined:
            proof["combinations"] = combined
        return proof if spectra is None else {**proof, "spectra": spectra.to_proof()}
