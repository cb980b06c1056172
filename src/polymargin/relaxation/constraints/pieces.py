"""pieces:  (y − ℓ₁(z))(y − ℓ₂(z)) = 0 for a piecewise neuron whose z meets two pieces, both affine.

As squares: (y − (ℓ₁ + ℓ₂)/2)² − ((ℓ₁ − ℓ₂)/2)².
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polymargin.networks.stages import Piecewise
from polymargin.relaxation.constraints.constraint import Array, Squares, Unknowns
from polymargin.relaxation.constraints.encoding import scattered
from polymargin.relaxation.expansion import Neurons
from polymargin.relaxation.space import SMALLEST, Space

ROOM = 1e-9
BEYOND = 1e-12
"""Of an interval: an end that reaches a piece by no more than this leaves the neuron on the other one."""


@dataclass(frozen=True, eq=False)
class Pieces:
    """The constraint for all piecewise neurons of a space that meet two affine pieces."""

    space: Space
    name = "pieces"

    def unknowns(self) -> Unknowns:
        space = self.space
        sides: list[tuple[Array, Array]] = []
        for neurons in self._piecewise:
            used, lines = self._lines(neurons)
            z = space.inputs(neurons)[used]
            y = space.of_variables(np.eye(space.variables)[neurons.places][used])
            values = []
            for line in lines:
                value = line[:, 1:] * z
                value[:, 0] += line[:, 0]
                values.append(value)
            half = space.half[neurons.places][used][:, None]
            sides.append(((y - (values[0] + values[1]) / 2) / half, (values[0] - values[1]) / (2 * half)))
        first, second = (np.concatenate([side[k] for side in sides]) for k in (0, 1))
        ones = np.ones(len(first))
        squares = [Squares(("pieces", 0), first, ones), Squares(("pieces", 1), second, -ones)]
        return Unknowns(len(first), free=True, squares=squares, start=0.0)

    def entry(self, y: Array) -> str:
        places, halves, start = [], [], 0
        for neurons in self._piecewise:
            used = self._lines(neurons)[0]
            places.append(start + used)
            halves.append(self.space.half[neurons.places][used])
            start += len(neurons.forms)
        return scattered(-y / np.concatenate(halves) ** 2, np.concatenate(places), start)

    @property
    def is_used(self) -> bool:
        return any(len(self._lines(neurons)[0]) for neurons in self._piecewise)

    @property
    def _piecewise(self) -> list[Neurons]:
        return [neurons for neurons in self.space.neurons if neurons.powers is None]

    def _lines(self, neurons: Neurons) -> tuple[NDArray[np.int64], tuple[Array, Array]]:
        """Return the neurons that meet two affine pieces, and the coefficients (m, 2) of both."""
        space = self.space
        stage = space.expansion.network.stages[neurons.stage - 1]
        assert isinstance(stage, Piecewise)
        first, last = met_pieces(stage, *widened(*space.enclosures.inputs_of(neurons)))
        table = np.zeros((len(stage.pieces), max(2, stage.table.shape[1])))
        table[:, : stage.table.shape[1]] = stage.table
        curved = np.asarray(table[:, 2:].any(axis=1))
        used = np.flatnonzero((last == first + 1) & ~curved[first] & ~curved[last] & (settled(space, neurons) < 0))
        return used, (table[first[used], :2], table[last[used], :2])


def widened(low: Array, high: Array) -> tuple[Array, Array]:
    """Return intervals with room for the rounding of a checker."""
    room = ROOM * np.maximum(np.maximum(np.abs(low), np.abs(high)), SMALLEST)
    return low - room, high + room


def met_pieces(stage: Piecewise, low: Array, high: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first and the last piece that values in [low, high] take; an end at a breakpoint adds none."""
    points = np.array(stage.breakpoints)
    first = np.searchsorted(points, low, side="right")
    return first, np.maximum(np.searchsorted(points, high, side="left"), first)


def settled(space: Space, neurons: Neurons) -> NDArray[np.int64]:
    """Return for each neuron the number of its only piece if that is affine, else −1; an end just at a breakpoint adds none."""
    if neurons.powers is not None:
        return np.full(len(neurons.forms), -1)
    stage = space.expansion.network.stages[neurons.stage - 1]
    assert isinstance(stage, Piecewise)
    low, high = space.enclosures.inputs_of(neurons)
    little = BEYOND * np.maximum(np.abs(low), np.abs(high))
    first, last = met_pieces(stage, low + little, high - little)
    affine = np.array([len(piece) <= 2 for piece in stage.pieces])
    return np.where((first == last) & affine[first], first, -1)
