"""Where to cut: read off the dual matrix of the relaxation, which holds moments of the worst inputs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polymargin.bounds.interior_point import BatchOptimum
from polymargin.bounds.minorants import horner, taylor
from polymargin.bounds.relaxation import GramRelaxation
from polymargin.bounds.view import View

Array = NDArray[np.float64]

# Cut within this central part of a range, and not one that is this much narrower than the widest.
CENTRAL = 0.5
NARROW = 1e-7
# A minimiser of a relaxation that has broken down may be anywhere; the ball has radius one.
FARTHEST = 1e3


def minimiser(optimum: BatchOptimum, row: int) -> Array:
    """δ/r at which the relaxation attains its least value, if the dual matrix has rank one; a mean otherwise."""
    dual = optimum.duals[-1][row, 0]
    place = dual[:-1, -1] / max(float(dual[-1, -1]), 1e-300)
    return np.asarray(np.clip(np.nan_to_num(place), -FARTHEST, FARTHEST))


def choose_split(
    view: View, program: GramRelaxation, optimum: BatchOptimum, row: int, place: Array
) -> tuple[int, float]:
    """The neuron that loses most at the minimiser, and where to cut its range.

    The dual matrix holds first and second moments of ξ_j. A first-layer neuron loses γσ(mean) minus the mean of its
    quadratic; summed over all neurons that is B(minimiser) − θ. What deeper neurons lose is handed down to those they
    listen to, in proportion to |weight| · spread of the activation.
    """
    x, one = optimum.x[row : row + 1], program.take(np.array([row]))
    dual, forms = optimum.duals[-1][row, 0], one.forms[0]
    means = forms @ np.append(place, 1.0)
    variances = np.maximum(((forms @ dual) * forms).sum(axis=1) / dual[-1, -1] - means**2, 0.0)
    values = view.preactivations(means * one.groups[-1].half[0] + one.groups[-1].middle[0])
    handed: Array | None = None
    for layer, group in zip(range(view.depth, 0, -1), one.groups, strict=True):
        where = np.clip((values[layer - 1] - group.middle[0]) / group.half[0], -1.0, 1.0)
        series = taylor(view.activation(layer), group.middle[0] + (view.shift if layer == 1 else 0.0), group.half[0])
        minorant = group.coefficients(x)[0]
        loss = group.gammas(x)[0] * horner(series, where[:, None])[:, 0] - horner(minorant, where[:, None])[:, 0]
        if layer == 1:
            loss -= minorant[:, 2] * variances
        if handed is not None:
            share = np.abs(view.weights(layer + 1)) * np.abs(series[:, 1:]).sum(axis=-1)
            loss = loss + handed @ (share / np.maximum(share.sum(axis=1, keepdims=True), 1e-300))
        handed = np.maximum(loss, 0.0)
    wide = group.half[0] > NARROW * group.half[0].max()
    neuron = int(np.argmax(np.where(wide & np.isfinite(loss), loss, -np.inf)))
    aim = float(np.clip(np.nan_to_num(where[neuron]), -CENTRAL, CENTRAL))
    return neuron, float(group.middle[0, neuron] + group.half[0, neuron] * aim)
