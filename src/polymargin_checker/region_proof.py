"""Proofs on regions: B > lead on all points that a neighbourhood allows within a radius.

The tree splits coordinates of the input; the two parts of a split together are the whole, so it is enough that every leaf is
proved: it is empty, or one of the two ways of `region_leaf` proves it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from flint import ctx, fmpq

from polymargin_checker.arithmetic import working_precision
from polymargin_checker.document import fields, integer, items
from polymargin_checker.dyadics import number
from polymargin_checker.enclosures import Balls
from polymargin_checker.frame import StatedFrame
from polymargin_checker.model import Model
from polymargin_checker.neighbourhood import StatedNeighbourhood
from polymargin_checker.products import Products
from polymargin_checker.refusal import Refused
from polymargin_checker.region import CheckedRegion
from polymargin_checker.region_expansion import EnclosedExpansion
from polymargin_checker.region_leaf import check_linear, check_quadratic
from polymargin_checker.region_steps import EnclosedSteps
from polymargin_checker.words import shown
from polymargin_checker.work import spend

PRECISION = 128
LARGEST_EXACT = 48
"""Values (inputs and steps) up to which ball arithmetic is used without being asked for."""
LARGEST_SPACE = 12_000
"""Values at most: with them ranges take up to 2 GB of memory."""


@dataclass
class KnownExpansions:
    """A model around a point, for all rivals: what is expanded on the whole of a region need not be expanded again."""

    model: Model | Products
    exact: bool
    near: StatedNeighbourhood
    point: Sequence[fmpq]
    steps: EnclosedSteps | None = None
    whole: dict[tuple[fmpq, str, str], EnclosedExpansion] = field(default_factory=dict)

    def prepared(self) -> EnclosedSteps:
        if self.steps is None:
            model = self.model
            sizes = (
                [weights.rows for weights in model.weights[:-1]]
                if isinstance(model, Model)
                else list(map(len, model.stages))
            )
            count = model.dimension + sum(sizes)
            if count > LARGEST_SPACE:
                raise Refused(
                    f"a proof on a region of a model of {count} values; this checker accepts up to {LARGEST_SPACE}"
                )
            arithmetic = _arithmetic(self.exact or count <= LARGEST_EXACT)
            self.steps = EnclosedSteps.of(model, arithmetic)
            if self.near.frame is not None:
                origin = arithmetic.of(len(self.point), 1, list(self.point))
                self.steps = self.steps.along(self.near.frame.directions(arithmetic), origin)
        return self.steps

    def root(self, radius: fmpq) -> CheckedRegion:
        """All that the neighbourhood allows within the radius; with a frame, in its coordinates."""
        near, frame, point = self.near, self.near.frame, self.point
        if frame is not None:
            near, point = near.round, [fmpq(0)] * frame.size
        return CheckedRegion(near, point, radius, near.box(point, radius))

    def on(self, region: CheckedRegion, centre: str, whole: bool, ranges: Any) -> EnclosedExpansion:
        key = (region.radius, centre, json.dumps(ranges))
        if whole and key in self.whole:
            return self.whole[key]
        place = region.middle() if centre == "middle" else list(region.point)
        found = EnclosedExpansion(self.prepared(), region, place, ranges)
        if whole:
            self.whole[key] = found
        return found


def check_frame(frame: StatedFrame, exact: bool) -> None:
    """Prove that a ball in its coordinates contains what the neighbourhood allows, or refuse."""
    with working_precision(PRECISION):
        frame.check(_arithmetic(exact or len(frame.columns) <= LARGEST_EXACT))


def check_region(known: KnownExpansions, label: int, rival: int, proof: Any, lead: fmpq) -> fmpq:
    """Prove that B exceeds the lead asked for on the region and return its radius, or refuse; `lead` is B(u)."""
    fields(proof, "region proof", ("kind", "radius", "tree"))
    radius = number(proof["radius"], "radius of the region proof")
    if radius <= 0:
        raise Refused("the radius of the region proof is not positive")
    root = known.root(radius)
    if not root.moving:  # the point itself is all there is
        if lead <= root.near.abstain:
            raise Refused("the label does not lead at the point by what the neighbourhood asks for")
        return radius
    with working_precision(PRECISION):
        waiting: list[tuple[Any, CheckedRegion]] = [(proof["tree"], root)]
        count = 0
        while waiting:
            node, region = waiting.pop()
            if isinstance(node, dict) and "split" in node:
                waiting += _parts(node, region)
            else:
                _check_leaf(known, region, region is root, label, rival, node, f"leaf {count}")
                count += 1
    return radius


def _check_leaf(
    known: KnownExpansions, region: CheckedRegion, whole: bool, label: int, rival: int, leaf: Any, name: str
) -> None:
    if isinstance(leaf, dict) and "empty" in leaf:
        fields(leaf, name, ("empty",))
        spend(64 * len(region.box), ctx.prec, name)
        if leaf["empty"] is not True or not region.is_empty:
            raise Refused(f"{name}: the part is not shown to be empty")
        return
    way = "linear" if isinstance(leaf, dict) and "linear" in leaf else "quadratic"
    centre = leaf.get(way) if isinstance(leaf, dict) else None
    if centre not in ("point", "middle"):
        raise Refused(f"{name}: expanded at {shown(centre)}; expected 'point' or 'middle'")
    expansion = known.on(region, centre, whole, leaf.get("ranges"))
    functional = expansion.functional(label, rival)
    if way == "linear":
        fields(leaf, name, ("linear",), ("ranges",))
        check_linear(expansion, functional, region.near.abstain, name)
    else:
        check_quadratic(expansion, functional, region.near.abstain, leaf, name)


def _parts(node: Any, region: CheckedRegion) -> list[tuple[Any, CheckedRegion]]:
    """The two sides of a split; the low one is looked at first."""
    fields(node, "a split of the tree", ("split", "low", "high"))
    coordinate_entry, value_entry = items(node["split"], "split", 2)
    coordinate = integer(coordinate_entry, "split, coordinate", 0, len(region.box) - 1)
    value = number(value_entry, "split, value")
    low, high = region.box[coordinate]
    if not low < value < high:
        raise Refused(f"a split value lies outside the range of coordinate {coordinate}")
    spend(len(region.box), 0, "the splits of a region proof")
    before, after = region.box[:coordinate], region.box[coordinate + 1 :]
    sides = [replace(region, box=(*before, ends, *after)) for ends in ((value, high), (low, value))]
    return [(node["high"], sides[0]), (node["low"], sides[1])]


def _arithmetic(exact: bool) -> type[Any]:
    if exact:
        return Balls
    from polymargin_checker.floats import Floats  # NumPy is loaded only where it is needed

    return Floats
