"""line:  y − ℓ(z) = 0 for a piecewise neuron whose z stays on one affine piece. In a certificate: a minorant from either side."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from polymargin.networks.stages import Piecewise
from polymargin.relaxation.constraints.constraint import Array, Unknowns
from polymargin.relaxation.constraints.encoding import packed
from polymargin.relaxation.constraints.pieces import settled
from polymargin.relaxation.space import Space

LOWERED = 1e-11
"""Room for rounding, relative to the size of the line."""


@dataclass(frozen=True, eq=False)
class LineConstraint:
    """The constraint for all piecewise neurons that a part of the region decides."""

    space: Space
    name = "line"

    def unknowns(self) -> Unknowns:
        space = self.space
        numbers, lines, halves, _ = self._known
        x = np.concatenate([space.inputs(neurons) for neurons in space.neurons])
        places = np.concatenate([np.arange(n.places.start, n.places.stop) for n in space.neurons])
        linear = space.of_variables(np.eye(space.variables)[places[numbers]]) - lines[:, 1:] * x[numbers]
        linear[:, 0] -= lines[:, 0]
        return Unknowns(len(numbers), free=True, linear=linear / halves[:, None], start=0.0)

    def entry(self, y: Array) -> dict[str, str | list[int]]:
        numbers, lines, halves, steepest = self._known
        sign = -np.sign(y)
        used = np.flatnonzero(sign)
        room = LOWERED * (np.abs(lines[:, 0]) + steepest * halves)
        return {
            "neuron": numbers[used].tolist(),
            "sign": sign[used].astype(int).tolist(),
            "a": packed(np.zeros(len(used))),
            "b": packed(lines[used, 1]),
            "c": packed((lines[:, 0] - sign * room)[used]),
            "weight": packed(np.abs(y / halves)[used]),
        }

    @property
    def is_used(self) -> bool:
        return bool(len(self._known[0]))

    @cached_property
    def _known(self) -> tuple[NDArray[np.int64], Array, Array, Array]:
        """Return numbers of neurons, their lines (c, b), sizes of their arguments, and steepest slopes of their functions."""
        numbers, lines, sizes, slopes = [np.zeros(0, dtype=np.int64)], [np.zeros((0, 2))], [np.zeros(0)], [np.zeros(0)]
        for neurons in self.space.neurons:
            found = settled(self.space, neurons)
            numbers.append(neurons.number + np.flatnonzero(found >= 0))
            if neurons.powers is None:
                stage = self.space.expansion.network.stages[neurons.stage - 1]
                assert isinstance(stage, Piecewise)
                table = np.zeros((len(stage.pieces), 2))
                width = min(2, stage.table.shape[1])
                table[:, :width] = stage.table[:, :width]
                lines.append(table[found[found >= 0]])
                low, high = self.space.enclosures.inputs_of(neurons)
                sizes.append(np.maximum(np.maximum(-low, high), 1e-150)[found >= 0])
                slopes.append(np.full(len(sizes[-1]), np.abs(table[:, 1]).max()))
        return np.concatenate(numbers), np.concatenate(lines), np.concatenate(sizes), np.concatenate(slopes)
