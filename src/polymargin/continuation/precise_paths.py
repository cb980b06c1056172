"""The endpoints of a few paths, with enough digits to separate them.

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
from polymargin.deadlines import NEVER, Deadline
from polymargin.polynomials import Program
from polymargin.polynomials.balls import BallProgram, precision

Array = NDArray[np.float64]
ComplexArray = NDArray[np.complex128]

PRECISION = 960
# Relative accuracy of points on the way and of landed ones, and the worst that is taken where rounding allows no more.
ACCURACY, LANDED, WORST = 1e-60, 1e-120, 1e-50
# s shrinks by this factor in the first step, later by its roots and powers within limits.
SHRINK, SLOWEST_SHRINK, FASTEST_SHRINK = 0.25, 0.98, 2.0**-12
MOST_STEPS = 300
# The first correction after a prediction, relative to each coordinate, beyond which the step was too long, and below which the
# next one may be longer. Coordinates smaller than NOUGHT times the largest one are zero.
LARGEST_CORRECTION, SMALL_CORRECTION, NOUGHT = 0.1, 1e-3, 1e-100
# Changes proportional to s^e belong to a regular end if e is above REGULAR. Coordinates whose e is below GROWING when s is below
# TINY have no finite limit: a limit farther out than coefficients in doubles can put it would have shown.
REGULAR, GROWING, TINY = 0.75, -0.015, 1e-60
# The largest exponent that is told from others.
STEEPEST = 16.0
# The rest of the way, relative to the point, that is extrapolated.
CLOSE_ENOUGH = 1e-15
# Radius of the box around a landed point, relative to each coordinate. Krawczyk's test passes in every box that is small enough,
# however different the sizes of the coordinates.
BOX_SIZE = 1e-100
MOST_LANDINGS = 6
EPSILON = float(np.finfo(np.float64).eps)


class End(Enum):
    """The endpoint of a path."""

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
        """Return whether two regular endpoints may be the same solution."""
        return all(bool(a.overlaps(b)) for a, b in zip(self.box, other.box, strict=True))


def precise_ends(
    program: Program,
    starts: ComplexArray,
    end: ComplexArray,
    direction: ComplexArray,
    radius: complex,
    deadline: Deadline = NEVER,
) -> list[PreciseEnd]:
    """Return the limits as s → 0 of the paths that pass through `starts` at the parameters end + radius · direction."""
    with precision(PRECISION):
        segment, ends = _Segment(BallProgram(program), end, direction), []
        for start in starts:
            deadline.check()
            ends.append(_follow(segment, start, radius))
        return ends


def landings(
    program: Program, points: ComplexArray, parameters: ComplexArray, deadline: Deadline = NEVER
) -> list[PreciseEnd | None]:
    """Return the regular solutions that Newton's method finds from these points; None where Krawczyk's test proves none."""
    with precision(PRECISION):
        segment, found = _Segment(BallProgram(program), parameters, np.zeros_like(parameters)), []
        for point in points:
            deadline.check()
            found.append(_land(segment, _column(point)))
        return found


class _Segment:
    """The system along the line of parameters, as a function of s."""

    def __init__(self, system: BallProgram, end: ComplexArray, direction: ComplexArray) -> None:
        self.system = system
        self.end = [flint.acb(value) for value in end.tolist()]
        self.direction = [flint.acb(value) for value in direction.tolist()]

    def parameters(self, s: Any) -> list[Any]:
        return [a + s * b for a, b in zip(self.end, self.direction, strict=True)]

    def corrected(self, point: Any, s: Any, most: int, accuracy: float) -> tuple[Any, list[float]] | None:
        """Return what Newton's method finds and the sizes of its corrections relative to the point; None if it fails."""
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
            if sizes[-1] < accuracy:
                return point, sizes
        return (point, sizes) if sizes[-1] < WORST else None


def _follow(segment: _Segment, start: ComplexArray, radius: complex) -> PreciseEnd:
    s = flint.acb(radius)
    first = segment.corrected(_column(start), s, 12, ACCURACY)
    if first is None:
        return _undecided(start)
    point, shrink, landed = first[0], SHRINK, 0
    change: Any = None
    before_shrink = 0.0
    known: ComplexArray | None = None  # e with changes proportional to s^e, for each coordinate
    trend: ComplexArray | float = 0.0
    for _ in range(MOST_STEPS):
        # As long as nothing is known of the exponents, Newton's method at the new s begins with the point itself.
        guess = point if known is None else point + _continued(change, known + trend, before_shrink, shrink)
        moved = segment.corrected(guess, s * shrink, 9, ACCURACY)
        missed = 0.0 if moved is None or known is None else _largest_share(moved[0] - guess, moved[0])
        if moved is None or missed > LARGEST_CORRECTION:
            if shrink > SLOWEST_SHRINK:
                if known is None:
                    break
                known = None
            shrink = shrink**0.5
            continue
        before, change = change, moved[0] - point
        point, s = moved[0], s * shrink
        earlier, known = known, None if before is None else _exponents(change, before, shrink, before_shrink)
        before_shrink = shrink
        if known is None:
            continue
        trend = 0.0 if earlier is None else known - earlier
        exponents = known.real
        together = _together(change, exponents)
        ahead = float(1 / (shrink**-together - 1)) if together > 0 else math.inf  # of the last change
        tiny = float(abs(s).upper()) < TINY
        near = tiny or _largest_share(change, point) * ahead < LARGEST_CORRECTION
        if together > REGULAR and near and landed < MOST_LANDINGS:
            landed += 1
            regular = _land(segment, point)
            if regular is not None:
                return regular
        if tiny and together < GROWING:
            return PreciseEnd(End.INFINITE, _doubles(point), exponents < GROWING, float("inf"))
        if tiny and max(_sizes(change)[:-1]) * ahead < CLOSE_ENOUGH * (1 + max(_sizes(point)[:-1])):
            return _extrapolated(point, change, exponents, shrink)
        if missed < SMALL_CORRECTION:
            shrink = max(FASTEST_SHRINK, shrink**2)
    return _undecided(_doubles(point))


@np.errstate(all="ignore")  # exponents that are not finite are those of coordinates that stand still
def _exponents(change: Any, before: Any, q: float, p: float) -> ComplexArray:
    """Return e with changes proportional to s^e, coordinate by coordinate; STEEPEST for those that stand still.

    They are complex where terms of several powers compete: then the change turns as it shrinks. With a·s^e the change from p·s to
    p·q·s is p^e (1 − q^e) / (1 − p^e) times the one from s to p·s. Newton's method solves for e.
    """
    pairs = zip(change.entries(), before.entries(), strict=True)
    ratios = np.array([complex(new / old) if _size(new) > 0 < _size(old) else q**STEEPEST for new, old in pairs])
    e = np.log(ratios * np.log(p) / np.log(q)) / np.log(p) if p != q else np.log(ratios) / np.log(q)
    for _ in range(0 if p == q else 6):
        e = np.where(np.abs(e) < 1e-6, 1e-6, e)
        a, b = q**e, p**-e
        value = (1 - a) / (b - 1) - ratios
        slope = (-a * np.log(q) * (b - 1) + (1 - a) * b * np.log(p)) / (b - 1) ** 2
        e = e - value / slope
    known = np.isfinite(e) & (np.abs(e) < STEEPEST)
    return np.where(known, e, STEEPEST)


def _together(change: Any, exponents: Array) -> float:
    """Return the exponent of the unknowns, the multiplier apart: that of the coordinate that changes most."""
    return float(exponents[int(np.argmax(_sizes(change)[:-1]))])


def _continued(change: Any, exponents: ComplexArray, before: float, shrink: float) -> Any:
    """Return the next change: a·s^e changes by a·s^e(q^e − 1) when s becomes q·s."""
    e = np.where(np.abs(exponents) < 1e-6, 1e-6, exponents)
    factors = (shrink**e - 1) / (1 - before**-e)
    return flint.acb_mat([[x * flint.acb(f)] for x, f in zip(change.entries(), factors.tolist(), strict=True)])


def _land(segment: _Segment, point: Any) -> PreciseEnd | None:
    """Return the regular solution at s = 0 that Newton's method finds, if Krawczyk's test agrees."""
    zero = flint.acb(0)
    landed = segment.corrected(point, zero, 12, LANDED)
    if landed is None:
        return None
    entries = landed[0].entries()
    sizes = _sizes(landed[0])
    radii = [flint.arb(BOX_SIZE) * max(size, 1e-30 * max(sizes)) for size in sizes]
    for real in (True, False):
        box = [
            flint.acb(_ball(entry.real, radius), flint.arb(0, radius) if real else _ball(entry.imag, radius))
            for entry, radius in zip(entries, radii, strict=True)
        ]
        if passes(segment.system, segment.parameters(zero), box):
            values = np.array([complex(entry) for entry in entries])
            return PreciseEnd(
                End.REGULAR,
                values.real + 0j if real else values,
                np.zeros(len(values), dtype=bool),
                _rounding(values),
                tuple(box),
                real,
            )
    return None


def _ball(value: Any, radius: Any) -> Any:
    return value.mid() + flint.arb(0, radius)


def _extrapolated(point: Any, change: Any, exponents: Array, shrink: float) -> PreciseEnd:
    """Return Aitken's limit of a geometric sequence, NaN for coordinates that grow."""
    infinite = exponents < GROWING
    ratios = shrink**exponents
    entries, rest = [], 0.0
    for entry, step, ratio, grows in zip(point.entries(), change.entries(), ratios, infinite, strict=True):
        ahead = step * flint.acb(float(ratio / (1 - ratio))) if ratio < 1 and not grows else flint.acb(0)
        entries.append(entry + ahead)
        rest = max(rest, 0.0 if grows else float(abs(ahead).upper()))
    values = np.array([complex(entry) for entry in entries])
    return PreciseEnd(End.MULTIPLE, values, infinite, 4 * rest + _rounding(values))


def _rounding(values: ComplexArray) -> float:
    """Return how far the unknowns may be off as they are written in doubles."""
    return EPSILON * float(np.abs(values[:-1]).max(initial=0.0))


def _undecided(point: ComplexArray) -> PreciseEnd:
    return PreciseEnd(End.UNDECIDED, point, np.zeros(len(point), dtype=bool), float("inf"))


def _relative(change: Any, point: Any) -> float:
    """Return the change of the unknowns relative to their size; the multiplier has a size of its own."""
    changes, sizes = _sizes(change), _sizes(point)
    inner = max(changes[:-1]) / (1 + max(sizes[:-1]))
    return max(inner, changes[-1] / (1e-300 + sizes[-1]))


def _largest_share(change: Any, point: Any) -> float:
    """Return the largest change of a coordinate relative to itself; what is nothing beside the others does not count."""
    sizes = _sizes(point)
    nothing = NOUGHT * max(sizes)
    return max(new / size for new, size in zip(_sizes(change), sizes, strict=True) if size > nothing)


def _sizes(point: Any) -> list[float]:
    return [_size(entry) for entry in point.entries()]


def _size(entry: Any) -> float:
    return float(abs(entry).upper())


def _column(point: ComplexArray) -> Any:
    return flint.acb_mat([[flint.acb(value)] for value in point.tolist()])


def _doubles(point: Any) -> ComplexArray:
    return np.array([complex(entry) for entry in point.entries()])
