"""minorant:  s (y − (a x² + b x + c)) ≥ 0, s = ±1, because s (f − parabola) ≥ 0 on the enclosure of x.

For a polynomial's y = ρ(t), x is t. For a piecewise y = σ(z), x is z = p + t, in which the breakpoints are exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin_checker.arrays import doubles
from polymargin_checker.document import fields, items
from polymargin_checker.refusal import Refused
from polymargin_checker.relaxation.arithmetic import EnclosedMatrix, Floats, QuadraticForms
from polymargin_checker.relaxation.expansion import Neurons
from polymargin_checker.relaxation.functions import Polynomials, nonnegative
from polymargin_checker.relaxation.numbers import Multipliers
from polymargin_checker.relaxation.scene import Scene

_FIELDS = ("neuron", "sign", "a", "b", "c", "weight")


@dataclass(frozen=True, eq=False)
class Parabolas:
    """s (y − (a x² + b x + c)) of neurons, with their weights in the claims `claim`."""

    claim: NDArray[np.int64]
    neuron: NDArray[np.int64]
    sign: Floats
    a: Floats
    b: Floats
    c: Floats
    weight: Floats

    def __getitem__(self, chosen: NDArray[Any]) -> Parabolas:
        return Parabolas(*(part[chosen] for part in vars(self).values()))


def minorant(given: Multipliers, scene: Scene, forms: QuadraticForms) -> None:
    parabolas = _read(given, sum(len(neurons.forms) for neurons in scene.neurons))
    if parabolas is None:
        return
    for neurons in scene.neurons:
        first = neurons.start[0]
        own = parabolas[(parabolas.neuron >= first) & (parabolas.neuron < first + len(neurons.forms))]
        if len(own.neuron):
            _check_below(scene, neurons, own)
            _take_off(given.count, scene, neurons, own, forms)


def _read(given: Multipliers, count: int) -> Parabolas | None:
    """Return all parabolas with a weight."""
    found: list[tuple[Any, ...]] = []
    for claim, entry in enumerate(given.entries("minorant")):
        name = f"{given.name}, minorant"
        fields(entry, name, _FIELDS)
        neurons = items(entry["neuron"], f"{name}, neuron")
        signs = items(entry["sign"], f"{name}, sign", len(neurons))
        if not all(type(neuron) is int and 0 <= neuron < count for neuron in neurons):
            raise Refused(f"{name}: expected numbers of neurons from 0 to {count - 1}")
        if not all(type(sign) is int and sign in (1, -1) for sign in signs):
            raise Refused(f"{name}: expected signs 1 and -1")
        a, b, c, weight = (doubles(entry[key], f"{name}, {key}", len(neurons)) for key in _FIELDS[2:])
        if not (weight >= 0).all():
            raise Refused(f"{name}: a weight is negative")
        found.append((np.full(len(neurons), claim), np.array(neurons, int), np.array(signs, float), a, b, c, weight))
    if not found:
        return None
    whole = Parabolas(*(np.concatenate(parts) for parts in zip(*found, strict=True)))
    return whole[whole.weight > 0]


def _check_below(scene: Scene, neurons: Neurons, own: Parabolas) -> None:
    """Prove s (f − parabola) ≥ 0 on the enclosure of x, or refuse; equal ones of several claims once."""
    table = np.unique(np.stack([own.neuron - neurons.start[0], own.sign, own.a, own.b, own.c], axis=1), axis=0)
    functions, exact = scene.enclosures.parts(neurons), scene.arithmetic.exact
    for sign in (1.0, -1.0):
        chosen = table[table[:, 1] == sign]
        # Every part of a function once for each of its parabolas; parts are in the order of their functions.
        starts, stops = (np.searchsorted(functions.owner, chosen[:, 0], side) for side in ("left", "right"))
        which = np.repeat(np.arange(len(chosen)), stops - starts)
        part = np.arange(len(which)) - np.repeat(np.cumsum(stops - starts) - stops, stops - starts)
        if not len(part):
            continue
        width = max(3, functions.coefficients.shape[1])
        parabola = np.zeros((len(part), width))
        parabola[:, :3] = chosen[which][:, [4, 3, 2]]
        gap = scene.arithmetic.padded(functions.coefficients[part], width) - exact(parabola)
        gap = gap if sign > 0 else -gap
        if not nonnegative(scene.arithmetic, Polynomials(gap, functions.low[part], functions.high[part], which)):
            raise Refused("minorant: a parabola is not shown to lie on its side of the function")


def _take_off(count: int, scene: Scene, neurons: Neurons, own: Parabolas, forms: QuadraticForms) -> None:
    """Take off Σ weight · s (y − a x² − b x − c), by claim and neuron."""
    exact, size = scene.arithmetic.exact, len(neurons.forms)
    place = own.claim * size + own.neuron - neurons.start[0]
    order = np.argsort(place, kind="stable")
    first = np.searchsorted(place[order], place[order])
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order)) - first
    totals: list[EnclosedMatrix] = [scene.arithmetic.zeros(count, size) for _ in range(4)]
    for turn in range(int(rank.max()) + 1):
        now = rank == turn
        weights, *parts = (np.zeros(count * size) for _ in range(5))
        weights[place[now]] = own.weight[now]
        for part, values in zip(parts, (-np.ones(len(own.a)), own.a, own.b, own.c), strict=True):
            part[place[now]] = (own.sign * values)[now]
        factor = exact(weights.reshape(count, size))
        for k, part in enumerate(parts):
            totals[k] = totals[k] + factor * exact(part.reshape(count, size))
    rows = scene.inputs(neurons)
    forms.row(totals[0], scene.first + neurons.start[1])
    forms.squares(totals[1], rows)
    forms.linear(totals[2], rows)
    forms.row(totals[3] @ exact(np.ones((size, 1))))
