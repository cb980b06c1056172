"""R = W¹ᵀ (W¹W¹ᵀ ∘ Z Zᵀ) W¹ with Z = W²ᵀ diag(x) A in doubles, for many columns x, where neurons see few inputs; or its mean with
W¹ᵀ (K ∘ Kᵀ) W¹, K = W¹Zᵀ (`float_crossed`).

First-layer neurons that see the same inputs are a place. W¹W¹ᵀ is zero between places that have no input in common, so a place
meets its neighbours only; places are put in the order of their inputs, and neighbours one after the other are a run. Second-layer
neurons that listen to the same neurons make their part of Z together.

Errors are one number per row, as in `float_forms`: with ‖z_l‖ ≤ n_l as computed and ‖Δz_l‖ ≤ ζ_l for what may be wrong with it,

    |R| ≤ BBᵀ,   |ΔR| ≤ g BBᵀ + ABᵀ + BAᵀ + AAᵀ,      B_i = Σ_l |W¹_li| ‖W¹_l‖ n_l,   A_i = Σ_l |W¹_li| ‖W¹_l‖ ζ_l

entry by entry, g the rounding of the last products (docs/theorems.md, section 9); |K_lm| ≤ ‖W¹_l‖ n_m, so the same holds for the
other matrix. W¹ and W² are doubles without an error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from polymargin_checker.float_crossed import Place, crossed_squares, crossed_work
from polymargin_checker.float_forms import SAFE, UNIT, FloatForm
from polymargin_checker.work import SHORTEST, spend

Array = np.ndarray[Any, np.dtype[np.float64]]
Places = np.ndarray[Any, np.dtype[np.int64]]

_LARGEST = 2.0**100
"""Of all entries and of ‖z_l‖: seven factors meet in R, and underflow in one must not be large in the product."""
_SHORTEST = 2.0**-500
"""Of a length: squares below 2⁻¹⁰⁷⁴ vanish."""
_LEAST = 2.0**-250
"""Of A and B: more than what vanishes elsewhere adds to them, and their squares do not vanish."""
_PASS, _AT_ONCE, _STEP = 4, 128, 1024
"""Entries that count as one product of 128 bits when looked at, products in a product of matrices; what a step counts as."""


def _spend(products: int) -> None:
    spend(products, SHORTEST, "the mixed squares of a lifted proof")


@dataclass(frozen=True, eq=False)
class _Run:
    """Places one after the other that meet a place: their rows, their inputs from first to last, W¹ there, W¹W¹ᵀ with the place.

    Of the place with itself W¹W¹ᵀ is halved, for what is summed up is added to its transpose.
    """

    rows: slice
    inputs: slice
    weights: Array
    gram: Array


@dataclass(frozen=True, eq=False)
class _MeetingPlace(Place):
    """A place, the columns of Z that its rows have, and what meets it."""

    columns: slice
    runs: list[_Run]


@dataclass(frozen=True, eq=False)
class _Listeners:
    """Second-layer neurons that listen to the same rows: their slopes on some columns, and W²ᵀ for runs of rows."""

    neurons: Places
    columns: slice
    slopes: Array
    weights: list[tuple[slice, Array]]


class MixedSquares:
    """For W¹, W² and A as `Floats`."""

    @classmethod
    def of(cls, first: Any, second: Any, slopes: Any) -> MixedSquares | None:
        """None where weights are not doubles."""
        return None if first.radius.any() or second.radius.any() else cls(first, second, slopes)

    def __init__(self, first: Any, second: Any, slopes: Any) -> None:
        groups = _alike(first.middle != 0)
        order = np.concatenate([np.zeros(0, dtype=np.int64), *(rows for rows, _ in groups)])
        self._first, heard = first.middle[order], second.middle[:, order]
        _spend((4 * self._first.size + 4 * heard.size + 4 * slopes.middle.size) // _PASS)
        self._sizes, self._heard = np.abs(self._first), np.abs(heard)
        self._lengths = _lengths(self._first)
        self._steep, self._blurred = _lengths(slopes.middle), _lengths(slopes.radius)
        tables = (self._first, heard, slopes.middle, slopes.radius)
        self._usable = all(np.abs(table).max(initial=0.0) < _LARGEST for table in tables)
        self._listeners = [_listeners(neurons, rows, heard, slopes.middle) for neurons, rows in _alike(heard != 0)]
        self._places = self._meetings(groups)
        runs = [run for place in self._places for run in place.runs]
        widest = max((len(rows) for rows, _ in groups), default=0)
        self._terms = 2 * len(runs) + max((len(run.weights) for run in runs), default=0)
        self._terms += 2 * slopes.shape[1] + 2 * widest + 16
        self._summed = len(self._listeners) + max((len(each.neurons) for each in self._listeners), default=0) + 8
        self._work = self._products() // _AT_ONCE + 8 * self._first.size // _PASS
        self._work += _STEP * (len(runs) + sum(len(each.weights) for each in self._listeners))
        products, entries, steps = crossed_work(self._places)
        self._more_work = products // _AT_ONCE + entries // _PASS + _STEP * steps

    def _products(self) -> int:
        """Of all products of matrices for one x."""
        count = sum(weights.size * each.slopes.shape[1] for each in self._listeners for _, weights in each.weights)
        for place in self._places:
            width = place.columns.stop - place.columns.start
            count += sum(run.gram.size * (width + len(place.inputs)) for run in place.runs)
            count += sum(run.weights.size * len(place.inputs) for run in place.runs)
        return int(count)

    def form(self, weights: Any, symmetric: bool) -> FloatForm:
        """R for a column of `Floats` that encloses x, or its mean with the other matrix."""
        _spend(self._work + self._more_work * symmetric)
        x, radius, side = weights.middle[:, 0], weights.radius[:, 0], self._first.shape[1]
        Z, middle = self._table(x), np.zeros((side, side))
        whole = np.abs(x) * (self._blurred + self._summed * UNIT * self._steep) + radius * (self._steep + self._blurred)
        lengths, wrong = _lengths(Z), SAFE * (SAFE * whole @ self._heard)
        known = (np.abs(x), radius, lengths, wrong)
        if not (self._usable and all((column < _LARGEST).all() for column in known)):
            none = np.full(side, np.inf)
            return FloatForm(middle, none, none)
        for place in self._places:
            own = Z[place.rows, place.columns]
            for run in place.runs:
                core = (own @ Z[run.rows, place.columns].T) * run.gram
                middle[place.inputs, run.inputs] += (place.weights @ core) @ run.weights
        middle = middle + middle.T
        if symmetric:
            middle = (middle + crossed_squares(self._places, Z)) / 2
        B, A = (np.maximum(SAFE * ((self._lengths * each) @ self._sizes), _LEAST) for each in (lengths, wrong))
        # 2ab ≤ θa² + b²/θ
        theta = float(np.sqrt((B * B).sum() / (A * A).sum()))
        spread = self._terms * UNIT * B * B + (1 + theta) * A * A + B * B / theta
        return FloatForm(middle, SAFE * B * B, SAFE * spread)

    def _table(self, x: Array) -> Array:
        Z = np.zeros((len(self._first), self._first.shape[1]))
        for each in self._listeners:
            steep = each.slopes * x[each.neurons][:, None]
            for rows, weights in each.weights:
                Z[rows, each.columns] += weights @ steep
        return Z

    def _meetings(self, groups: list[tuple[Places, Places]]) -> list[_MeetingPlace]:
        """The places, and which of those after them have an input in common with them."""
        ends = np.cumsum([0, *(len(rows) for rows, _ in groups)])
        side = self._first.shape[1]
        seen = np.zeros((len(groups), side), dtype=np.float32)
        for number, (_, inputs) in enumerate(groups):
            seen[number, inputs] = 1
        _spend(len(groups) ** 2 * side // _PASS**2 + len(groups) * side)
        result = []
        for number, (_, inputs) in enumerate(groups):
            rows = slice(int(ends[number]), int(ends[number + 1]))
            meets = number + np.flatnonzero(seen[number:] @ seen[number])
            place = _MeetingPlace(rows, inputs, self._first[rows][:, inputs].T.copy(), self._columns(rows), [])
            for start, stop in _stretches(meets):
                place.runs.append(self._run(place, slice(int(ends[start]), int(ends[stop]))))
            place.runs[0].gram[:, : rows.stop - rows.start] /= 2
            result.append(place)
        return result

    def _run(self, place: _MeetingPlace, rows: slice) -> _Run:
        block = self._first[rows]
        inputs = _range(block != 0)
        weights = block[:, inputs]  # not a copy: all runs together may be far larger than W¹
        _spend(_STEP + block.size // _PASS + block.shape[0] * place.weights.size // _AT_ONCE)
        return _Run(rows, inputs, weights, place.weights.T @ block[:, place.inputs].T)

    def _columns(self, rows: slice) -> slice:
        """Where rows of Z may differ from zero."""
        _spend(_STEP // _PASS**2 * sum(len(each.weights) for each in self._listeners))
        found = [
            each.columns
            for each in self._listeners
            if any(run.start < rows.stop and rows.start < run.stop for run, _ in each.weights)
        ]
        return slice(min((part.start for part in found), default=0), max((part.stop for part in found), default=0))


def _listeners(neurons: Places, rows: Places, heard: Array, slopes: Array) -> _Listeners:
    columns = _range(slopes[neurons] != 0)
    blocks = [(slice(start, stop), heard[neurons, start:stop].T.copy()) for start, stop in _stretches(rows)]
    return _Listeners(neurons, columns, slopes[neurons, columns].copy(), blocks)


def _alike(pattern: Any) -> list[tuple[Places, Places]]:
    """Rows with the same zeros, and where they are not zero, in the order of the first such column; not those of zeros alone."""
    _spend(pattern.size // _PASS)
    found: dict[bytes, list[int]] = {}
    for number, line in enumerate(np.packbits(pattern, axis=1)):
        found.setdefault(line.tobytes(), []).append(number)
    groups = [(np.array(rows, dtype=np.int64), np.flatnonzero(pattern[rows[0]])) for rows in found.values()]
    return sorted((group for group in groups if len(group[1])), key=lambda group: int(group[1][0]))


def _stretches(numbers: Places) -> list[tuple[int, int]]:
    """Increasing numbers as ranges of numbers one after the other."""
    breaks = np.flatnonzero(np.diff(numbers) > 1) + 1
    return [(int(part[0]), int(part[-1]) + 1) for part in np.split(numbers, breaks)]


def _range(pattern: Any) -> slice:
    """From the first column that is not all zeros to the last."""
    columns = np.flatnonzero(pattern.any(axis=0))
    return slice(int(columns[0]), int(columns[-1]) + 1) if len(columns) else slice(0, 0)


def _lengths(table: Array) -> Array:
    """Of the rows, from above."""
    lengths: Array = np.maximum(SAFE * np.sqrt((table * table).sum(axis=1)), _SHORTEST)
    return lengths
