"""Branch and bound on a region: coordinates of the input are cut in two until every part is proved.

The cheapest proof of a part is tried first (`leaves.py`). The coordinate to cut is the one whose curvature matters most on the
part. A point of a part at which the rival wins in exact arithmetic ends the search.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.bounds.bound import hexadecimal
from polymargin.bounds.regions.leaves import LARGEST_LIFTED, LARGEST_QUADRATIC, RegionLeaf, RegionPart
from polymargin.bounds.regions.quadratic import lifted_forms
from polymargin.bounds.regions.region import AllowedRegion
from polymargin.bounds.regions.steps import NetworkSteps
from polymargin.deadlines import NEVER, Deadline
from polymargin.relaxation.balls import NormBall
from polymargin.relaxation.confirmation import Counterexample
from polymargin.relaxation.descent import descend

Array = NDArray[np.float64]

# Coordinates up to which cutting them one by one can come to an end.
MOST_COORDINATES = 64
MOST_LEAVES = 100_000


@dataclass(frozen=True, eq=False)
class RegionSplit:
    """x_coordinate ≤ value in `low`, ≥ value in `high`."""

    coordinate: int
    value: float
    low: Tree
    high: Tree

    def to_proof(self) -> dict[str, Any]:
        split = [self.coordinate, float(self.value).hex()]
        return {"split": split, "low": self.low.to_proof(), "high": self.high.to_proof()}


class EmptyLeaf:
    """A part of the box that no point of the ball is in."""

    def to_proof(self) -> dict[str, Any]:
        return {"empty": True}


Tree = RegionSplit | RegionLeaf | EmptyLeaf


@dataclass(frozen=True, eq=False)
class RegionProof:
    """A tree that proves f_label − f_rival > lead on a region; `lowering` as in `Layered`."""

    radius: float
    tree: Tree
    leaves: int
    lowering: dict[str, Array] | None

    def to_proof(self) -> dict[str, Any]:
        proof: dict[str, Any] = {"kind": "region", "radius": float(self.radius).hex()}
        if self.lowering is not None:
            proof["lowering"] = {name: hexadecimal(array) for name, array in self.lowering.items()}
        return proof | {"tree": self.tree.to_proof()}


@dataclass(frozen=True, eq=False)
class CutOutcome:
    """A proof, or the reason why there is none; what was lost on the way."""

    proof: RegionProof | None
    reason: str
    loss: Counterexample | None = None


def prove_whole(
    steps: NetworkSteps, region: AllowedRegion, label: int, rivals: list[int], worst: Array, deadline: Deadline = NEVER
) -> dict[int, RegionProof]:
    """Proofs on the whole region, without cutting it, for the rivals that have one; `worst` (R, n) are low points."""
    part = _part(steps, region, label, rivals, "middle" if region.is_box else "point")
    found: dict[int, RegionProof] = {}

    def keep(row: int, leaf: RegionLeaf | None) -> None:
        if leaf is not None:
            found[rivals[row]] = RegionProof(region.radius, leaf, 1, steps.lowering)

    def by_ranges() -> None:
        for row, (bound, enough) in enumerate(zip(part.linear(), part.enough, strict=True)):
            if bound > enough and rivals[row] not in found:
                keep(row, RegionLeaf(part.centre, part.ranges))

    with np.errstate(all="ignore"):
        by_ranges()
        curved = part.curved() if len(found) < len(rivals) else None
        if curved is not None:
            part = curved
            by_ranges()
        for row, rival in enumerate(rivals):
            if rival not in found:
                keep(row, _leaf(part, row, worst[row], deadline)[1])
    return found


def prove_by_cutting(
    steps: NetworkSteps,
    region: AllowedRegion,
    label: int,
    rival: int,
    worst: Array,
    deadline: Deadline,
    lost: Callable[[Array], Counterexample | None],
    most_leaves: int = MOST_LEAVES,
) -> CutOutcome:
    """Branch and bound for one rival; `lost` says what is lost at a place."""
    if len(region.moving) > MOST_COORDINATES:
        return CutOutcome(None, "too large")
    numbers = count()
    found: dict[int, Any] = {}
    waiting: list[tuple[float, int, AllowedRegion, Array]] = [(-math.inf, next(numbers), region, worst)]
    leaves = 0
    with np.errstate(all="ignore"):
        while waiting:
            if deadline.passed:
                return CutOutcome(None, "timeout")
            if leaves + len(waiting) > most_leaves:
                return CutOutcome(None, "too many leaves")
            _, number, here, low = heapq.heappop(waiting)
            if here.is_empty:
                found[number] = EmptyLeaf()
                leaves += 1
                continue
            part = _part(steps, here, label, [rival], "middle")
            value, leaf, place, score, lowest = _bounded(part, low, deadline)
            if leaf is not None:
                found[number] = leaf
                leaves += 1
                continue
            loss = lost(place)
            if loss is not None:
                return CutOutcome(None, "counterexample", loss)
            if lowest <= part.enough[0]:  # no part that holds this point is ever proved
                return CutOutcome(None, "rounding hides whether a point of the region ties")
            if not score.size:
                return CutOutcome(None, "rounding")
            coordinate = int(part.region.moving[int(np.argmax(score))])
            cut = float(here.middle[coordinate])
            if not here.low[coordinate] < cut < here.high[coordinate]:
                return CutOutcome(None, "rounding")
            low_number, high_number = next(numbers), next(numbers)
            found[number] = (coordinate, cut, low_number, high_number)
            for name, half in zip((low_number, high_number), here.halves(coordinate, cut), strict=True):
                heapq.heappush(waiting, (value, name, half, np.clip(place, half.low, half.high)))
    return CutOutcome(RegionProof(region.radius, _tree(found, 0), leaves, steps.lowering), "proved")


def _part(steps: NetworkSteps, region: AllowedRegion, label: int, rivals: list[int], centre: str) -> RegionPart:
    weights, constants = steps.difference(label, rivals)
    return RegionPart(steps, region, centre, weights, constants - region.abstain)


def _leaf(part: RegionPart, row: int, worst: Array, deadline: Deadline) -> tuple[float, RegionLeaf | None, Array]:
    """By multipliers: of the coordinates, then of the rests too."""
    side = len(part.region.moving)
    if not 0 < side <= LARGEST_QUADRATIC:
        return -math.inf, None, worst
    value, leaf, place = part.quadratic(row, worst, deadline)
    rests = sum(len(part.expansion.at[k].forms[j].value) for k, j in lifted_forms(part.expansion))
    if leaf is None and rests and side + rests <= LARGEST_LIFTED:
        better, leaf = part.lifted(row, place)
        value = max(value, better)
    return value, leaf, place


def _bounded(part: RegionPart, low: Array, deadline: Deadline) -> tuple[float, RegionLeaf | None, Array, Array, float]:
    """Value, proof, a low point, how much it would help to cut each coordinate, and the functional at a low point."""
    region = part.region
    half = (region.high - region.low)[region.moving] / 2
    value = float(part.linear()[0])
    if value > part.enough[0]:
        return value, RegionLeaf("middle"), low, half, math.inf
    lowest, place = _lowest(part, low)
    better, leaf, _ = _leaf(part, 0, place, deadline)
    score = _cutting_helps(part, half)
    return max(value, better), leaf, place, score, lowest if region.holds(place) else math.inf


@dataclass(frozen=True, eq=False)
class _Scaled:
    """The functional of a part, of z with x = u + z / weights on the coordinates that change."""

    part: RegionPart

    def inputs(self, steps: Array) -> Array:
        region = self.part.region
        points = np.repeat(region.middle[None], len(steps), axis=0)
        points[:, region.moving] = region.point[region.moving] + steps / region.weights
        return points

    def gradients(self, steps: Array, rows: NDArray[np.int64]) -> tuple[Array, Array]:
        part, region = self.part, self.part.region
        weights, constants = [w[rows] for w in part.weights], part.constants[rows]
        values, slopes = part.steps.slopes(self.inputs(steps), weights, constants)
        return values, slopes[:, region.moving] / region.weights


def _lowest(part: RegionPart, start: Array) -> tuple[float, Array]:
    """A low value on a part, and where it is."""
    region, scaled = part.region, _Scaled(part)
    first, low, high = (
        (end - region.point)[region.moving] * region.weights for end in (start, region.low, region.high)
    )
    ball = NormBall(region.near.norm, low, high)
    radii, row = np.array([region.radius]), np.zeros(1, dtype=np.int64)
    values, steps = descend(scaled, row, ball, radii, ball.clipped(first)[None], 4)
    return float(values[0]), np.clip(scaled.inputs(steps)[0], region.low, region.high)


def _cutting_helps(part: RegionPart, half: Array) -> Array:
    """How much each coordinate has to do with what is not known: its share in the remainders, weighted by what they cost."""
    score = 1e-9 * half / half.max(initial=0.0)
    for at, beta in zip(part.expansion.at, part.functional(0).adjoints, strict=True):
        cost = np.abs(beta) * (at.remainder[1] - at.remainder[0])
        for form in at.forms:
            reach = np.abs(form.slopes) * half
            score = score + (cost / (1e-300 + reach.sum(axis=1))) @ reach
    return np.asarray(score)


def _tree(found: dict[int, Any], number: int) -> Tree:
    node = found[number]
    if isinstance(node, (RegionLeaf, EmptyLeaf)):
        return node
    coordinate, value, low, high = node
    return RegionSplit(coordinate, value, _tree(found, low), _tree(found, high))
