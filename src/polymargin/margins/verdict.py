"""`verify`: does the class stay the same within a radius?"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymargin.errors import InputError
from polymargin.margins.compute import margin
from polymargin.margins.result import Margin
from polymargin.margins.standing import Standing
from polymargin.networks import PolynomialNetwork

# Floating-point answers this close to the radius (relative) are not decided.
GUARD = 1e-9


class Answer(Enum):
    ROBUST = "no point within the radius has another class"
    VULNERABLE = "a point within the radius ties or has another class"
    UNKNOWN = "not decided"


@dataclass(frozen=True, eq=False)
class Verdict:
    """The answer for one point and one radius, with the margin it rests on."""

    answer: Answer
    radius: float
    counterexample: NDArray[np.float64] | None
    status: Standing
    margin: Margin
    reason: str

    def __repr__(self) -> str:
        return f"Verdict({self.answer.name} at radius {self.radius:g}, {self.status.name}: {self.reason})"


def verify(network: PolynomialNetwork, point: ArrayLike, radius: float, **options: Any) -> Verdict:
    """Compare the exact margin at one point with a radius; `options` go to `margin`.

    >>> net = PolynomialNetwork([([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0]), ([[1.0, 4.0], [0.0, 0.0]], [0.0, 4.0])],
    ...                         degree=2)
    >>> verify(net, [0.0, 0.25], radius=0.7, cache=False).answer.name
    'ROBUST'
    """
    if not np.isfinite(radius) or radius < 0:
        raise InputError(f"radius {radius!r}: expected a finite number >= 0")
    found = margin(network, np.asarray(point, dtype=np.float64).ravel(), **options)
    return judge(found, radius)


def judge(found: Margin, radius: float) -> Verdict:
    """The verdict that a margin allows."""
    guard = GUARD * (1 + radius)
    if found.upper <= radius - guard or found.upper == 0.0:
        reason = f"class {found.rival} ties at distance {found.upper:.6g}"
        return Verdict(Answer.VULNERABLE, radius, found.point, found.status, found, reason)
    if found.lower > radius + guard:
        reason = f"the margin is {found.lower:.6g}"
        return Verdict(Answer.ROBUST, radius, None, found.status, found, reason)
    reason = found.error or f"the margin lies between {found.lower:.6g} and {found.upper:.6g}"
    return Verdict(Answer.UNKNOWN, radius, None, found.status, found, reason)
