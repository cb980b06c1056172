"""Linear bounds of arguments: every neuron is replaced by a line on one side of its function, the last ones first.

    t = slopes · δ + tail · (w, y),      y ≥ b x + c where its weight is positive,   y ≤ b x + c where it is negative

until only δ and the remainders w are left (Zhang, Weng, Chen, Hsieh and Daniel 2018). As a lemma: the weights are multipliers of
minorants, and what is left is judged by its least value on the region.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from polymargin.relaxation.candidates import lines_around
from polymargin.relaxation.constraints.constraint import Entry
from polymargin.relaxation.constraints.encoding import packed
from polymargin.relaxation.enclosures import Enclosures
from polymargin.relaxation.expansion import Neurons

Array = NDArray[np.float64]
Lemma: TypeAlias = "dict[str, Entry | int | list[int] | list[Entry]]"

ROOM = 1e-10
"""By how much stated bounds are wider than those found, relative to what was added up."""


@dataclass(frozen=True, eq=False)
class _Substituted:
    """Rows with all neurons replaced, and the weights (h, neurons) that were used, by stage."""

    constant: Array
    slopes: Array
    tail: Array
    size: Array
    used: list[tuple[Neurons, Array]]


def linear_lemmas(enclosures: Enclosures, number: int) -> list[Lemma]:
    """Return lemmas for the arguments of a group that lines make narrower, and narrow them."""
    expansion = enclosures.expansion
    group = expansion.groups[number]
    before = [neurons for neurons in expansion.neurons if neurons.places.stop <= group.tail.shape[1]]
    if not any(group.tail[:, neurons.places].any() for neurons in before):
        return []
    lines = {neurons.number: lines_around(enclosures, neurons) for neurons in before}
    lemmas: list[Lemma] = []
    for side, sign, ends in (("low", 1.0, enclosures.arguments[0]), ("high", -1.0, enclosures.arguments[1])):
        rows = _substitute(enclosures, sign * group.slopes, sign * group.tail, before, lines)
        support = enclosures.region.support(rows.slopes)[0]
        known = rows.tail.shape[1]
        low, high = (part[:known] for part in enclosures.variables)
        finite = np.isfinite(low) & np.isfinite(high)
        if rows.tail[:, ~finite].any():
            continue
        rest = np.maximum(rows.tail, 0) @ np.where(finite, low, 0) + np.minimum(rows.tail, 0) @ np.where(
            finite, high, 0
        )
        bounds = rows.constant + support + rest - ROOM * (rows.size + np.abs(support))
        stated, here = sign * bounds, ends[group.forms]
        better = np.flatnonzero(stated > here if sign > 0 else stated < here)
        if len(better):
            here[better] = stated[better]
            lemmas.append(
                {
                    "group": number,
                    "of": "t",
                    "side": side,
                    "forms": better.tolist(),
                    "bounds": packed(stated[better]),
                    "judge": "linear",
                    "minorant": [_entry(rows.used, lines, int(form)) for form in better],
                }
            )
    return lemmas


def _substitute(
    enclosures: Enclosures,
    slopes: Array,
    tail: Array,
    before: list[Neurons],
    lines: dict[int, tuple[Array, Array]],
) -> _Substituted:
    constant, slopes, tail = np.zeros(len(tail)), slopes.copy(), tail.copy()
    size, used = np.zeros(len(tail)), []
    for neurons in reversed(before):
        group = enclosures.expansion.groups[neurons.group]
        weights = tail[:, neurons.places].copy()
        tail[:, neurons.places] = 0.0
        below, above = lines[neurons.number]
        for part, line in ((np.maximum(weights, 0.0), below), (np.minimum(weights, 0.0), above)):
            shift = line[:, 0] + (line[:, 1] * group.value[neurons.forms] if neurons.powers is None else 0.0)
            constant += part @ shift
            size += np.abs(part) @ (np.abs(line[:, 0]) + np.abs(shift))
            rise = part * line[:, 1]
            slopes += rise @ group.slopes[neurons.forms]
            own = group.tail[neurons.forms]
            tail[:, : own.shape[1]] += rise @ own
        used.append((neurons, weights))
    return _Substituted(constant, slopes, tail, size, used)


def _entry(used: list[tuple[Neurons, Array]], lines: dict[int, tuple[Array, Array]], form: int) -> Entry:
    """Return the minorants of one claim."""
    numbers: list[int] = []
    signs: list[int] = []
    columns: list[Array] = []
    for neurons, weights in used:
        below, above = lines[neurons.number]
        row = weights[form]
        places = np.flatnonzero(row)
        chosen = np.where(row[places, None] > 0, below[places], above[places])
        numbers += (neurons.number + places).tolist()
        signs += np.where(row[places] > 0, 1, -1).tolist()
        columns.append(np.stack([np.zeros(len(places)), chosen[:, 1], chosen[:, 0], np.abs(row[places])]))
    a, b, c, weight = np.concatenate(columns, axis=1) if columns else np.zeros((4, 0))
    return {
        "neuron": numbers,
        "sign": signs,
        "a": packed(a),
        "b": packed(b),
        "c": packed(c),
        "weight": packed(weight),
    }
