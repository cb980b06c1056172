"""pieces:  (y − ℓ₁(z))(y − ℓ₂(z)) = 0 for a piecewise neuron whose z meets at most two pieces, both affine."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polymargin_checker.refusal import Refused
from polymargin_checker.relaxation.arithmetic import Floats, QuadraticForms
from polymargin_checker.relaxation.numbers import Multipliers
from polymargin_checker.relaxation.scene import Scene
from polymargin_checker.stages import Piecewise


def pieces(given: Multipliers, scene: Scene, forms: QuadraticForms) -> None:
    piecewise = [neurons for neurons in scene.neurons if neurons.powers is None]
    found = given.free("pieces", sum(len(neurons.forms) for neurons in piecewise))
    if found is None:
        return
    start, exact = 0, scene.arithmetic.exact
    for neurons in piecewise:
        multipliers = found[:, start : start + len(neurons.forms)]
        start += len(neurons.forms)
        used = np.flatnonzero(multipliers.any(axis=0))
        if not len(used):
            continue
        stage = scene.expansion.network.stages[neurons.stage - 1]
        assert isinstance(stage, Piecewise)
        low, high = scene.enclosures.inputs_of(neurons)
        first, last = met_pieces(stage, low[used], high[used])
        if (last - first > 1).any() or stage.pieces[np.concatenate([first, last]), 2:].any():
            raise Refused(f"{given.name}, pieces: a neuron that meets more than two pieces, or one that is not affine")
        z = scene.inputs(neurons)[used]
        y = np.zeros((len(used), scene.size))
        y[np.arange(len(used)), scene.first + neurons.start[1] + used] = 1.0
        sides = []
        for piece in (first, last):
            line = np.zeros((len(used), 2))
            width = min(2, stage.pieces.shape[1])
            line[:, :width] = stage.pieces[piece, :width]
            constant = np.zeros((len(used), scene.size))
            constant[:, 0] = line[:, 0]
            value = scene.arithmetic.padded(exact(line[:, 1:]) * z, scene.size) + exact(constant)
            sides.append(exact(y) - value)
        forms.products(-exact(multipliers[:, used]), sides[0], sides[1])


def met_pieces(stage: Piecewise, low: Floats, high: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first and the last piece that z takes; at a breakpoint the right one counts, unless both agree there."""
    points = stage.breakpoints
    first, last = np.searchsorted(points, low, side="right"), np.searchsorted(points, high, side="left")
    place = np.minimum(last, len(points) - 1)
    jumps = (points[place] == high) & (last < len(points)) & ~stage.agreements[place]
    return first, np.maximum(np.where(jumps, last + 1, last), first)
