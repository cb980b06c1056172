"""Σ_j θ_j Q_j² in doubles, for many weights θ, over symmetric matrices Q_j that live on a few rows and columns each.

Matrices on the same rows and columns are a stack, and a sum over it is one product. Convolutions have the same stack in many
places; it is kept once. Errors are one number per row, as in `float_forms` (docs/theorems.md, section 9).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polymargin_checker.float_forms import LARGEST, SAFE, UNDERFLOW, UNIT, FloatForm
from polymargin_checker.work import SHORTEST, spend

Array = np.ndarray[Any, np.dtype[np.float64]]
Places = np.ndarray[Any, np.dtype[np.int64]]

_PASS, _AT_ONCE = 4, 128
"""Entries that count as one product of 128 bits when they are looked at, and products in a product of matrices."""


def _spend(products: int) -> None:
    spend(products, SHORTEST, "the squared curvatures of a lifted proof")


@dataclass(frozen=True, eq=False)
class Square:
    """Q² of a symmetric Q, of which |E| ≤ √spread √spreadᵀ entry by entry, and `size` and `spread` of the square.

    With u = √spread and v = |Q|u the error |QE + EQ + E²| is at most uvᵀ + vuᵀ + ‖u‖² uuᵀ.
    """

    middle: Array
    size: Array
    spread: Array

    @classmethod
    def of(cls, form: FloatForm) -> Square:
        width = len(form.middle)
        _spend(width**3 // _AT_ONCE + 8 * width * width // _PASS)
        Q = np.tril(form.middle) + np.tril(form.middle, -1).T
        size = SAFE * (Q * Q).sum(axis=0) + UNDERFLOW
        u = SAFE * np.sqrt(form.spread) + UNDERFLOW
        v = SAFE * (np.abs(Q) @ u) + UNDERFLOW
        theta = float(np.sqrt((v * v).sum() / (u * u).sum())) + 2.0**-300
        spread = (width + 4) * UNIT * size + (theta + float((u * u).sum()) * SAFE) * u * u + v * v / theta
        return cls(Q @ Q, size, SAFE * spread)


@dataclass(frozen=True, eq=False)
class Stack:
    """Squares on the rows and columns `places`: their numbers, and all their entries, a row each."""

    places: Places
    numbers: Places
    entries: Array


class WeightedSquares:
    """Of matrices 0, 1, …, each with its rows and columns among `side`; None where there is no matrix."""

    def __init__(self, side: int, parts: Iterable[tuple[Sequence[int], FloatForm | None]]) -> None:
        self._side = side
        squares: dict[bytes, Square] = {}
        found: dict[bytes, tuple[Places, list[int], list[bytes]]] = {}
        sizes, spreads = [], []
        for number, (places, form) in enumerate(parts):
            _spend(side // _PASS)
            size, spread = np.zeros(side), np.zeros(side)
            if form is not None:
                rows = np.array(places, dtype=np.int64)
                key = form.key() or b"%d" % number
                if key not in squares:
                    squares[key] = Square.of(form)
                size[rows], spread[rows] = squares[key].size, squares[key].spread
                _, numbers, keys = found.setdefault(rows.tobytes(), (rows, [], []))
                numbers.append(number)
                keys.append(key)
            sizes.append(size)
            spreads.append(spread)
        self._sizes, self._spreads = np.array(sizes), np.array(spreads)
        stacks: dict[tuple[bytes, ...], Array] = {}
        self._stacks: list[Stack] = []
        for rows, numbers, keys in found.values():
            if tuple(keys) not in stacks:
                _spend(sum(squares[key].middle.size for key in keys) // _PASS)
                stacks[tuple(keys)] = np.stack([squares[key].middle.ravel() for key in keys])
            self._stacks.append(Stack(rows, np.array(numbers), stacks[tuple(keys)]))

    def sum(self, weights: Any) -> FloatForm:
        """For a column of `Floats` that encloses the weights θ; its middle is not negative."""
        middle, theta, radius = np.zeros((self._side, self._side)), weights.middle[:, 0], weights.radius[:, 0]
        entries = sum(stack.entries.size for stack in self._stacks) + 4 * self._sizes.size
        _spend(entries // _AT_ONCE + middle.size // _PASS)
        for stack in self._stacks:
            width = len(stack.places)
            total = theta[stack.numbers] @ stack.entries
            middle[stack.places[:, None], stack.places] += total.reshape(width, width)
        if not (theta.max(initial=0.0) < LARGEST and radius.max(initial=0.0) < LARGEST):
            none = np.full(self._side, np.inf)
            return FloatForm(middle, none, none)
        terms = len(theta) + len(self._stacks) + 4
        size = SAFE * (theta @ self._sizes)
        spread = (theta + radius) @ self._spreads + radius @ self._sizes + terms * UNIT * size
        return FloatForm(middle, size + UNDERFLOW, SAFE * spread + UNDERFLOW)
