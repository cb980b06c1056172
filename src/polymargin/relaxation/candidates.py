"""Parabolas on one side of the functions of neurons, from which a program mixes the best.

    s (f(x) − a x² − b x − c) ≥ 0 on [l, h],    s = 1 below the function, s = −1 above it.

For a polynomial: the parabola that touches at a place with the largest curvature that still stays below, and
the one that meets the function at both ends. For affine pieces: lines through two of the ends and the breakpoints between them.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from polymargin.relaxation.constraints.minorant import Parabolas
from polymargin.relaxation.constraints.pieces import widened
from polymargin.relaxation.enclosures import Enclosures
from polymargin.relaxation.expansion import Neurons
from polymargin.relaxation.functions import FunctionParts, values

Array = NDArray[np.float64]
Places = NDArray[np.int64]

STEPS, STEEPEST, NEAREST = 16, 64.0, 1e-7
"""Steps to the largest curvature, the first one, and how near to where a parabola touches differences mean nothing."""
TOUCHES = (0.0, 0.5, 1.0)
"""Where parabolas touch, as parts of the interval."""
AROUND = (-0.1, 0.0, 0.1)
"""Where they touch besides, as parts of the interval from the worst place that is known."""
LOWERED = 1e-10
"""Room for rounding, relative to the sizes of function and parabola."""


def parabolas(
    enclosures: Enclosures, neurons: Neurons, worst: Array, weights: Array | None, wanted: NDArray[np.bool_]
) -> Parabolas:
    """Return candidates for the neurons of a stage.

    worst     values of x (neurons,) that matter most
    weights   of y in the functional, where nothing else depends on it: only one side of the function matters then
    wanted    (neurons,) which of them
    """
    parts = _widened(enclosures.parts(neurons))
    count = len(neurons.forms)
    low, high = np.full(count, np.inf), np.full(count, -np.inf)
    np.minimum.at(low, parts.owner, parts.low)
    np.maximum.at(high, parts.owner, parts.high)
    curved = np.zeros(count, dtype=bool)
    np.logical_or.at(curved, parts.owner, (parts.coefficients[:, 2:] != 0).any(axis=1))
    found = []
    for sign in (1.0, -1.0):
        here = wanted if weights is None else wanted & (sign * weights >= 0)
        bent = np.flatnonzero(here & curved & (high > low))
        if len(bent):
            found.append(_touching(parts, bent, sign, low, high, worst))
        straight = np.flatnonzero(here & (~curved | (high <= low)))
        if len(straight):
            found += _lines(parts, straight, sign)
    return _numbered(Parabolas.joined([Parabolas.none(), *found]), neurons.number)


def _widened(parts: FunctionParts) -> FunctionParts:
    """The same with the outer ends a little farther out."""
    low, high = widened(parts.low, parts.high)
    first = np.append(True, parts.owner[1:] != parts.owner[:-1])
    last = np.append(first[1:], True)
    return FunctionParts(
        parts.coefficients, np.where(first, low, parts.low), np.where(last, high, parts.high), parts.owner
    )


def _numbered(found: Parabolas, start: int) -> Parabolas:
    return Parabolas(found.neuron + start, found.sign, found.a, found.b, found.c)


def _touching(parts: FunctionParts, neurons: Places, sign: float, low: Array, high: Array, worst: Array) -> Parabolas:
    first, last = low[neurons], high[neurons]
    signed = FunctionParts(sign * parts.coefficients, parts.low, parts.high, parts.owner)
    here = signed.of(neurons)
    lines, squares = [], []
    places = [first + share * (last - first) for share in TOUCHES]
    places += [np.clip(worst[neurons] + share * (last - first), first, last) for share in AROUND]
    for place in places:
        value, slope = _at(here, place)
        # T(x) = f(p) + f'(p)(x − p) + a (x − p)²
        lines.append(np.stack([value - slope * place, slope], axis=1))
        squares.append(np.stack([place**2, -2 * place, np.ones_like(place)], axis=1))
    ends = [_at(here, end)[0] for end in (first, last)]
    slope = (ends[1] - ends[0]) / (last - first)
    lines.append(np.stack([ends[0] - slope * first, slope], axis=1))
    # (x − first)(last − x) ≥ 0 between the ends.
    squares.append(np.stack([-first * last, first + last, -np.ones_like(first)], axis=1))
    every = np.tile(neurons, len(lines))
    whole = _largest(signed.of(every), np.concatenate(lines), np.concatenate(squares), (high - low)[every])
    return Parabolas(every, np.full(len(every), sign), sign * whole[:, 2], sign * whole[:, 1], sign * whole[:, 0])


def _at(parts: FunctionParts, places: Array) -> tuple[Array, Array]:
    """Values and slopes of functions at one place each."""
    last = np.append(parts.owner[1:] != parts.owner[:-1], True)
    reached = last | (places[parts.owner] <= parts.high)
    chosen = np.flatnonzero(reached)[np.unique(parts.owner[reached], return_index=True)[1]]
    rows = parts.coefficients[chosen]
    slopes = np.append(rows[:, 1:] * np.arange(1, rows.shape[1]), np.zeros((len(rows), 1)), axis=1)
    return values(rows, places[:, None])[:, 0], values(slopes, places[:, None])[:, 0]


def _largest(parts: FunctionParts, line: Array, square: Array, width: Array) -> Array:
    """Return line + a · square with the largest a that stays below the functions, lowered by the room for rounding.

    Where the difference to a parabola is least, the ratio of function − line to square says how much smaller a has to be.
    """
    count = len(line)
    sizes = np.zeros(count)
    np.maximum.at(sizes, parts.owner, _sizes(parts))
    tolerance = LOWERED * sizes
    whole = np.zeros((count, 3))
    whole[:, :2] = line
    whole += (STEEPEST * sizes / np.maximum(width**2, 1e-300))[:, None] * square
    for _ in range(STEPS):
        value, place = parts.minus(whole).lowest_of(count)
        distance = values(square, place[:, None])[:, 0]
        lower = (value < -tolerance) & (distance > NEAREST * width**2)
        if not lower.any():
            break
        whole += np.where(lower, value / np.where(lower, distance, 1.0), 0.0)[:, None] * square
    whole[:, 0] += np.minimum(parts.minus(whole).lowest_of(count)[0], 0.0) - tolerance
    return whole


def _sizes(parts: FunctionParts) -> Array:
    far = np.maximum(np.abs(parts.low), np.abs(parts.high))
    return np.asarray(values(np.abs(parts.coefficients), far[:, None])[:, 0]) + 1e-300


def _lines(parts: FunctionParts, neurons: Places, sign: float) -> list[Parabolas]:
    """Lines through two knots of functions with affine pieces, those that stay on their side."""
    found: dict[tuple[float, float], None]
    rows: list[tuple[int, float, float, float]] = []
    starts, stops = (np.searchsorted(parts.owner, neurons, side) for side in ("left", "right"))
    for neuron, start, stop in zip(neurons.tolist(), starts.tolist(), stops.tolist(), strict=True):
        x = np.append(parts.low[start:stop], parts.high[stop - 1])
        c = parts.coefficients[start:stop]
        slopes = c[:, 1] if c.shape[1] > 1 else np.zeros(stop - start)
        y = np.append(c[:, 0] + slopes * x[:-1], c[-1, 0] + slopes[-1] * x[-1])
        found = {}
        lines = [(float(c[k, 0]), float(slopes[k])) for k in range(stop - start)]
        for i, j in combinations(range(len(x)), 2):
            if x[j] > x[i] and j > i + 1:  # neighbours lie on one piece
                slope = float((y[j] - y[i]) / (x[j] - x[i]))
                lines.append((float(y[i] - slope * x[i]), slope))
        size = float(np.abs(y).max()) + float(np.abs(slopes).max(initial=0.0) * np.abs(x).max()) + 1e-300
        for constant, slope in lines:
            gap = float((sign * (y - constant - slope * x)).min())
            if gap < -1e-9 * size:
                continue
            # Only at zero do lines and pieces meet without rounding, as those of ReLU do.
            is_exact = constant == 0 and gap >= 0 and not x[1:-1].any()
            lowered = constant if is_exact else constant + sign * (min(gap, 0.0) - LOWERED * size)
            found[lowered, slope] = None
        rows += [(neuron, 0.0, slope, constant) for constant, slope in found]
    columns = np.array(rows, dtype=np.float64).reshape(-1, 4).T
    return [Parabolas(columns[0].astype(np.int64), np.full(columns.shape[1], sign), columns[1], columns[2], columns[3])]


def lines_around(enclosures: Enclosures, neurons: Neurons) -> tuple[Array, Array]:
    """Return for each neuron of a stage one line (c, b) below its function and one above it, with little area between them."""
    parts = _widened(enclosures.parts(neurons))
    count = len(neurons.forms)
    low, high = np.full(count, np.inf), np.full(count, -np.inf)
    np.minimum.at(low, parts.owner, parts.low)
    np.maximum.at(high, parts.owner, parts.high)
    straight = np.ones(count, dtype=bool)
    np.logical_and.at(straight, parts.owner, (parts.coefficients[:, 2:] == 0).all(axis=1))
    result = []
    for sign in (1.0, -1.0):
        best, lines = np.full(count, -np.inf), np.zeros((count, 2))
        found = [
            *_lines(parts, np.flatnonzero(straight), sign),
            *_secants(parts, np.flatnonzero(~straight), sign, low, high),
        ]
        for group in found:
            # The mean of a line over the interval decides.
            area = sign * (group.c + group.b * (low + high)[group.neuron] / 2)
            for place, value in enumerate(area.tolist()):
                neuron = int(group.neuron[place])
                if value > best[neuron]:
                    best[neuron] = value
                    lines[neuron] = group.c[place], group.b[place]
        result.append(lines)
    return result[0], result[1]


def _secants(parts: FunctionParts, neurons: Places, sign: float, low: Array, high: Array) -> list[Parabolas]:
    """Lines of a few slopes, moved until they stay below the functions (above for the other sign)."""
    if not len(neurons):
        return []
    signed = FunctionParts(sign * parts.coefficients, parts.low, parts.high, parts.owner).of(neurons)
    first, last = low[neurons], high[neurons]
    ends = [_at(signed, end)[0] for end in (first, last)]
    slopes = [(ends[1] - ends[0]) / np.maximum(last - first, 1e-300)]
    slopes += [_at(signed, first + share * (last - first))[1] for share in TOUCHES]
    found, zeros = [], np.zeros(len(neurons))
    sizes = np.zeros(len(neurons))
    np.maximum.at(sizes, signed.owner, _sizes(signed))
    for slope in slopes:
        line = np.stack([zeros, slope, zeros], axis=1)
        constant = signed.minus(line).lowest_of(len(neurons))[0] - LOWERED * (
            sizes + np.abs(slope) * np.maximum(-first, last)
        )
        found.append(Parabolas(neurons, np.full(len(neurons), sign), zeros, sign * slope, sign * constant))
    return found
