"""The ends of a few paths to as many digits as it takes: are these several points or one?

A path x(s) = c₀ + c₁ s^{1/w} + … is followed towards s = 0 in floating point of many bits, s shrinking geometrically. Its
changes are proportional to a power of s, the first for a regular end, a smaller one for a multiple end or a tight cluster of
regular ones; the power predicts the next change. A cluster comes apart once s is small beside it. Then Newton's method lands
at s = 0, and Krawczyk's test proves that the point there is a solution, regular and alone in its box. What never comes apart is
given as a limit, extrapolated, with the distance that was still to go as its error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

from polymargin.continuation.krawczyk import passes
from polymargin.polynomials import Program
from polymargin.polynomials.balls import BallProgram, precision

ComplexArray = NDArray[np.complex128]

PRECISION = 960
# s shrinks by this factor in the first step, later by its roots and powers within limits.
SHRINK, SLOWEST_SHRINK, FASTEST_SHRINK = 0.25, 0.98, 2.0**-12
MOST_STEPS = 300
# The first correction after a prediction, relative to the point, beyond which the step was too long.
LARGEST_CORRECTION = 0.1
# Changes proportional to s^e belong to a regular end if e is above REGULAR. Coordinates whose e is below GROWING when s is below
# TINY have no finite limit.
REGULAR, GROWING, TINY = 0.75, -0.015, 1e-40
# The rest of the way, relative to the point, that is extrapolated.
CLOSE_ENOUGH = 1e-15
# Relative radius of the box around a landed point.
BOX_SIZE = 1e-36
MOST_LANDINGS = 6


class End(Enum):
    """Where a path leads."""

    REGULAR = "a regular solution, proved to be one"
    MULTIPLE = "a solution that stayed multiple as far as it was followed"
    INFINITE = "no finite limit"
    UNDECIDED = "lost on the way"


@dataclass(frozen=True, eq=False)
class PreciseEnd:
    """`point` (n,), the coordinates that have no finite limit, and how far the limit may be from the point at most.

    Regular ends have a `box` of complex balls that contains one solution; where it is symmetric under conjugation, the solution
    is `real`.
    """

    kind: End
    point: ComplexArray
    infinite: NDArray[np.bool_]
    error: float
    box: tuple[Any, ...] = ()
    real: bool = False

    def meets(self, other: PreciseEnd) -> bool:
        """Whether two regular ends may be the same solution."""
        return all(bool(a.overlaps(b)) for a, b in zip(self.box, other.box, strict=True))


def precise_ends(
    program: Program, starts: ComplexArray, end: ComplexArray, direction: ComplexArray, radius: complex
) -> list[PreciseEnd]:
    """The limits as s → 0 of the paths that pass through `starts` at the parameters end + radius · direction."""
    with precision(PRECISION):
        segment = _Segment(BallProgram(program), end, direction)
        return [_follow(segment, start, radius) for start in starts]


class _Segment:
    """The system along the line of parameters, as a function of s."""

    def __init__(self, system: BallProgram, end: ComplexArray, direction: ComplexArray) -> None:
        self.system = system
        self.end = [flint.acb(value) for value in end.tolist()]
        self.direction = [flint.acb(value) for value in direction.tolist()]

    def parameters(self, s: Any) -> list[Any]:
        return [a + s * b for a, b in zip(self.end, self.direction, strict=True)]

    def corrected(self, point: Any, s: Any, most: int) -> tuple[Any, list[float]] | None:
        """Newton's method until it stands still; the sizes of its corrections relative to the point, or None if it fails."""
        sizes: list[float] = []
        parameters = self.parameters(s)
        for _ in range(most):
            value, jacobian = self.system(point.entries(), parameters)
            try:
                change = jacobian.mid().solve(value.mid(), algorithm="approx")
            except ZeroDivisionError:
                return None
            point = (point - change).mid()
            sizes.append(_relative(change, point))
            if not sizes[-1] < 1 or (len(sizes) > 1 and sizes[-1] > 0.3 * sizes[-2] and sizes[-1] > 1e-60):
                return None
            if sizes[-1] < 1e-120:
                return point, sizes
        return (point, sizes) if sizes[-1] < 1e-50 else None


def _follow(segment: _Segment, start: ComplexArray, radius: complex) -> PreciseEnd:
    s = flint.acb(radius)
    first = segment.corrected(flint.acb_mat([[flint.acb(value)] for value in start.tolist()]), s, 12)
    if first is None:
        return _undecided(start)
    point, shrink, landings = first[0], SHRINK, 0
    change: Any = None
    before_shrink = 0.0
    exponents: NDArray[np.float64] | None = None
    for _ in range(MOST_STEPS):
        # As long as nothing is known of the exponents, Newton's method at the new s begins with the tangent.
        guess = point if exponents is None else point + _scaled(change, _continued(exponents, before_shrink, shrink))
        moved = segment.corrected(guess, s * shrink, 9)
        if moved is None or (exponents is not None and moved[1][0] > LARGEST_CORRECTION):
            if shrink > SLOWEST_SHRINK:
                if exponents is None:
                    break
                exponents = None
            shrink = shrink**0.5
            continue
        before, change = change, moved[0] - point
        point, s = moved[0], s * shrink
        if before is not None and before_shrink == shrink:
            exponents = _exponents(change, before, shrink)
        before_shrink = shrink
        if exponents is None:
            continue
        rest = float(shrink ** exponents[0])
        if exponents[0] > REGULAR and landings < MOST_LANDINGS:
            landings += 1
            landed = _land(segment, point)
            if landed is not None:
                return landed
        if float(abs(s).upper()) < TINY and exponents[0] < GROWING:
            return PreciseEnd(End.INFINITE, _doubles(point), _spread(exponents < GROWING, len(start)), float("inf"))
        if rest < 1 and _relative(change, point, values_only=True) * rest / (1 - rest) < CLOSE_ENOUGH:
            return _extrapolated(point, change, exponents, shrink)
        if moved[1][0] < 0.01 * LARGEST_CORRECTION:
            shrink = max(FASTEST_SHRINK, shrink**2)
    return _undecided(_doubles(point))


def _exponents(change: Any, before: Any, shrink: float) -> NDArray[np.float64]:
    """e with changes proportional to s^e, for the unknowns together and for the multiplier."""
    new = [float(abs(entry).upper()) for entry in change.entries()]
    old = [float(abs(entry).upper()) for entry in before.entries()]
    pairs = ((max(new[:-1]), max(old[:-1])), (new[-1], old[-1]))
    return np.array([math.log(max(a, 1e-300) / max(b, 1e-300)) / math.log(shrink) for a, b in pairs])


def _continued(exponents: NDArray[np.float64], before: float, shrink: float) -> NDArray[np.float64]:
    """The next change over the last one: a·s^e changes by a·s^e(q^e − 1) when s becomes q·s."""
    e = np.where(np.abs(exponents) < 1e-6, 1e-6, exponents)
    return np.asarray((shrink**e - 1) / (1 - before ** (-e)))


def _spread(two: NDArray[Any], size: int) -> NDArray[Any]:
    """One entry for all unknowns and one for the multiplier, written out."""
    return np.array([*[two[0]] * (size - 1), two[1]])


def _land(segment: _Segment, point: Any) -> PreciseEnd | None:
    """The regular solution at s = 0 that Newton's method finds, if Krawczyk's test agrees."""
    zero = flint.acb(0)
    landed = segment.corrected(point, zero, 12)
    if landed is None:
        return None
    entries = landed[0].entries()
    scale = max(float(abs(entry).upper()) for entry in entries[:-1])
    radii = [BOX_SIZE * max(scale, float(abs(entry).upper())) for entry in entries]
    for real in (True, False):
        box = [
            flint.acb(_ball(entry.real, radius), flint.arb(0, radius) if real else _ball(entry.imag, radius))
            for entry, radius in zip(entries, radii, strict=True)
        ]
        if passes(segment.system, segment.parameters(zero), box):
            values = np.array([complex(entry) for entry in entries])
            error = 1e-15 * (1 + scale)
            return PreciseEnd(
                End.REGULAR,
                values.real + 0j if real else values,
                np.zeros(len(values), dtype=bool),
                error,
                tuple(box),
                real,
            )
    return None


def _ball(value: Any, radius: float) -> Any:
    return value.mid() + flint.arb(0, radius)


def _extrapolated(point: Any, change: Any, exponents: NDArray[np.float64], shrink: float) -> PreciseEnd:
    """Aitken's limit of a geometric sequence; coordinates that grow have none."""
    size = len(point.entries())
    infinite = _spread(exponents < GROWING, size)
    ratios = _spread(shrink**exponents, size)
    entries, rest = [], 0.0
    for entry, step, ratio, grows in zip(point.entries(), change.entries(), ratios, infinite, strict=True):
        ahead = step * flint.acb(float(ratio / (1 - ratio))) if ratio < 1 and not grows else flint.acb(0)
        entries.append(entry + ahead)
        rest = max(rest, 0.0 if grows else float(abs(ahead).upper()))
    values = np.array([complex(entry) for entry in entries])
    scale = 1 + float(np.abs(values[~infinite]).max(initial=0.0))
    return PreciseEnd(End.MULTIPLE, values, infinite, 4 * rest + 1e-14 * scale)


def _undecided(point: ComplexArray) -> PreciseEnd:
    return PreciseEnd(End.UNDECIDED, point, np.zeros(len(point), dtype=bool), float("inf"))


def _relative(change: Any, point: Any, *, values_only: bool = False) -> float:
    """The change of the unknowns relative to their size; the last one, a multiplier, has a size of its own."""
    changes = [float(abs(entry).upper()) for entry in change.entries()]
    sizes = [float(abs(entry).upper()) for entry in point.entries()]
    inner = max(changes[:-1]) / (1 + max(sizes[:-1]))
    return inner if values_only else max(inner, changes[-1] / (1e-300 + sizes[-1]))


def _scaled(change: Any, two: NDArray[np.float64]) -> Any:
    factors = _spread(two, len(change.entries()))
    return flint.acb_mat([[entry * flint.acb(float(f))] for entry, f in zip(change.entries(), factors, strict=True)])


def _doubles(point: Any) -> ComplexArray:
    return np.array([complex(entry) for entry in point.entries()])
