"""Completeness: N disjoint boxes, each with one regular critical point, hold all critical points there are.

N = D Σ_{i<m} (D−1)^i with D the product of the activation degrees and m = min(inputs, width of the first layer) is the
most isolated solutions that the critical equations can have; N regular ones leave no room for any other solution
(docs/theorems.md). A real zero of B nearest to u is a real critical point, so the least distance to a box that may
hold a real one bounds the distance to {B = 0} from below, and a box that surely holds a real one bounds it from above.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from flint import acb, arb, fmpq

from polymargin_checker.arithmetic import LEAST, MOST, working_precision
from polymargin_checker.document import fields, integer, items
from polymargin_checker.dyadics import ball, number
from polymargin_checker.krawczyk import Box, contract, symmetrised
from polymargin_checker.network import LayeredBoundary
from polymargin_checker.refusal import Refused
from polymargin_checker.work import spend


class Nature(Enum):
    """What the boxes say about a solution."""

    REAL = "real"
    NONREAL = "nonreal"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Solution:
    """One critical point; the squares of the bounds on its distance from u, if it is real."""

    nature: Nature
    least_square: arb
    most_square: arb


@dataclass(frozen=True)
class Completeness:
    """All critical points of one rival."""

    precision: int
    solutions: list[Solution]

    def proves_lower(self, lower: fmpq | None) -> bool:
        """No real zero of B at a distance below `lower` (None is infinity)."""
        if lower is not None and lower <= 0:
            return True
        candidates = [solution for solution in self.solutions if solution.nature is not Nature.NONREAL]
        if lower is None:
            return not candidates
        with working_precision(self.precision):
            return all(bool(ball(lower) ** 2 <= solution.least_square) for solution in candidates)

    def proves_upper(self, index: int, upper: fmpq) -> bool:
        """Solution `index`, which is real, is at a distance of at most `upper`."""
        with working_precision(self.precision):
            return bool(upper >= 0) and bool(self.solutions[index].most_square <= ball(upper) ** 2)


def check_completeness(
    model: Any, jets: Callable[[Any, int, int], Any], point: Sequence[fmpq], label: int, rival: int, proof: Any
) -> Completeness:
    """Prove that the listed solutions are all critical points, or refuse; `jets` makes B of the model and a pair of classes."""
    fields(proof, "completeness proof", ("kind", "precision", "solutions"))
    precision = integer(proof["precision"], "precision", LEAST, MOST)
    entries = items(proof["solutions"], "solutions")
    _check_count(model, len(entries))
    with working_precision(precision):
        boundary = jets(model, label, rival)
        u = [ball(coordinate) for coordinate in point]
        boxes: list[Box] = []
        solutions: list[Solution] = []
        for index, entry in enumerate(entries):
            box = _box(entry, index, model.dimension)
            contracted = contract(boundary, u, box)
            if contracted is None:
                raise Refused(f"solution {index}: its box does not pass Krawczyk's test")
            boxes.append(box)
            solutions.append(_judge(boundary, u, box, contracted))
        _check_disjoint(boxes)
    return Completeness(precision, solutions)


def _check_count(model: Any, count: int) -> None:
    degree = model.degree
    if degree < 1:
        raise Refused("the network is constant and has no critical points; use a hyperplane proof")
    variables = model.variables
    needed, power = 0, degree
    for _ in range(variables):
        needed += power
        power *= degree - 1
        if needed > count or power == 0:
            break
    if needed != count:
        whole = "more" if needed > count else str(needed)
        raise Refused(f"{count} solutions are listed, but degree {degree} in {variables} variables needs {whole}")


def _box(entry: Any, index: int, dimension: int) -> Box:
    """The rectangle around the midpoint; radii round outward, which only makes the test harder."""
    name = f"solution {index}"
    fields(entry, name, ("x", "multiplier", "radius"))
    radius = number(entry["radius"], f"{name}, radius")
    if radius <= 0:
        raise Refused(f"{name}: the radius of its box is not positive")
    pairs = [*items(entry["x"], f"{name}, x", dimension), entry["multiplier"]]
    box = []
    for pair in pairs:
        real, imaginary = items(pair, f"{name}, a complex number", 2)
        box.append(
            acb(
                arb(ball(number(real, f"{name}, a real part")), ball(radius)),
                arb(ball(number(imaginary, f"{name}, an imaginary part")), ball(radius)),
            )
        )
    return box


def _judge(boundary: LayeredBoundary, u: Sequence[arb], box: Box, contracted: Box) -> Solution:
    """Real, nonreal or undecided, and the distance from u to the real part of the contracted box.

    The solution is real if the box symmetrised about the reals has one zero only: the conjugate is a zero as well.
    A real x has a real λ, because ∇B(x) is real and not zero; so a nonreal λ makes x nonreal.
    """
    if not all(entry.imag.contains(0) for entry in contracted):
        nature = Nature.NONREAL
    elif contract(boundary, u, symmetrised(box)) is not None:
        nature = Nature.REAL
    else:
        nature = Nature.UNDECIDED
    differences = [entry.real - coordinate for entry, coordinate in zip(contracted[:-1], u, strict=True)]
    least = sum((difference.abs_lower() ** 2 for difference in differences), arb(0))
    most = sum((difference.abs_upper() ** 2 for difference in differences), arb(0))
    return Solution(nature, least, most)


def _check_disjoint(boxes: Sequence[Box]) -> None:
    """Sweep along the real part of the first coordinate: only boxes whose shadows overlap there are compared."""
    shadows = sorted(((box[0].real.lower(), index) for index, box in enumerate(boxes)), key=lambda pair: pair[0])
    for position, (_, index) in enumerate(shadows):
        end = boxes[index][0].real.upper()
        for later in range(position + 1, len(shadows)):
            low, other = shadows[later]
            if low > end:
                break
            spend(len(boxes[other]), 0, "the boxes of a completeness proof, which share their shadows")
            if all(a.overlaps(b) for a, b in zip(boxes[index], boxes[other], strict=True)):
                first, second = sorted((index, other))
                raise Refused(f"the boxes of solutions {first} and {second} overlap; the solutions may be the same")
