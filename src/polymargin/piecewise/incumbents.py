"""The best counterexample so far: a point at which a rival ties or wins, compared in exact arithmetic.

A search finds ties in floating point. Just beyond such a tie the rival is ahead; how far beyond, exact arithmetic decides. A
tie that it does not confirm (two classes that touch without crossing, at a point that is no float) is kept apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

# Relative steps beyond a tie until the rival is ahead in exact arithmetic.
NUDGES = (1e-15, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10)
# Where classes only touch, the tie may be a point with short coordinates, as short weights make them.
GRID = 2.0**40
# Points per look along a segment, and looks: each divides what is left.
SAMPLES, LOOKS = 33, 11


class Classifier(Protocol):
    """The interface of a network for the search."""

    @property
    def dimension(self) -> int:
        """Return the number of inputs."""
        ...

    @property
    def class_count(self) -> int:
        """Return the number of classes."""
        ...

    def __call__(self, points: ArrayLike) -> Array:
        """Return the logits at points."""
        ...

    def exact_logits(self, point: ArrayLike) -> list[Fraction]:
        """Return the logits at a point as rational numbers."""
        ...


class Incumbent:
    """The nearest confirmed counterexample around u, over all rivals and for each of them."""

    def __init__(self, network: Classifier, u: Array, label: int) -> None:
        self.network, self.u, self.label = network, u, label
        self.distance = math.inf
        self.point: Array | None = None
        self.rival: int | None = None
        self.by_rival: dict[int, tuple[float, Array]] = {}

    def offer(self, x: Array, rival: int) -> bool:
        """Take the tie if a point just beyond it is confirmed in exact arithmetic; return whether there is one."""
        beyond = [self.u + (1 + nudge) * (x - self.u) for nudge in NUDGES]
        for candidate in (x, np.round(x * GRID) / GRID, *beyond):
            logits = self.network.exact_logits(candidate)
            if logits[rival] >= logits[self.label]:
                self._take(candidate, rival)
                return True
        return False

    def _take(self, x: Array, rival: int) -> None:
        distance = distance_above(x, self.u)
        if distance < self.by_rival.get(rival, (math.inf, x))[0]:
            self.by_rival[rival] = (distance, x)
        if distance < self.distance:
            self.distance, self.point, self.rival = distance, x, rival


def distance_above(x: Array, u: Array) -> float:
    """Return ‖x − u‖, rounded up."""
    square = sum(((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(x.tolist(), u.tolist(), strict=True)), Fraction(0))
    root = math.sqrt(square)
    return root if Fraction(root) ** 2 >= square else math.nextafter(root, math.inf)


def first_crossing(value: Callable[[Array], Array], start: Array, end: Array) -> Array:
    """Return about the first point on the segment where a function, positive at the start, no longer is."""
    low, high = 0.0, 1.0
    for _ in range(LOOKS):
        steps = np.linspace(low, high, SAMPLES)
        beyond = value(start + steps[:, None] * (end - start)) <= 0
        beyond[-1] = True
        index = int(np.argmax(beyond))
        if index == 0:
            return start + low * (end - start)
        low, high = float(steps[index - 1]), float(steps[index])
    return start + high * (end - start)
