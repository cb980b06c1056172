"""Proofs on regions: B > lead on all points that a neighbourhood allows within a radius.

The tree splits coordinates of the input; the two parts of a split together are the whole, so it is enough that every leaf is
proved: it is empty, or one of the two ways of `region_leaf` proves it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from flint import ctx, fmpq

from polymargin_checker.arithmetic import arithmetic_of, judging
from polymargin_checker.document import fields, integer, items
from polymargin_checker.dyadics import number
from polymargin_checker.frame import StatedFrame
from polymargin_checker.neighbourhood import StatedNeighbourhood
from polymargin_checker.refusal import Refused
from polymargin_checker.region import CheckedRegion
from polymargin_checker.region_expansion import EnclosedExpansion
from polymargin_checker.region_leaf import check_linear, check_quadratic
from polymargin_checker.region_steps import EnclosedSteps
from polymargin_checker.views import Model, Products
from polymargin_checker.words import shown
from polymargin_checker.work import spend

LARGEST_SPACE = 12_000
"""Values (inputs and steps) at most: with them ranges take up to 2 GB of memory."""


@dataclass
class KnownExpansions:
    """A model around a point, for all rivals.

    What is expanded on the whole of a region, around its point or its middle, need not be expanded again for the next rival; of
    each the last is kept, for it takes much memory.
    """

    model: Model | Products
    exact: bool
    near: StatedNeighbourhood
    point: Sequence[fmpq]
    steps: EnclosedSteps | None = None
    whole: dict[str, tuple[fmpq, Any, EnclosedExpansion]] = field(default_factory=dict)
    """By centre: the radius, the stated ranges, and the expansion."""

    @cached_property
    def arithmetic(self) -> type[Any]:
        model = self.model
        parts = model.stages if isinstance(model, Products) else model.biases[:-1]
        count = model.dimension + sum(map(len, parts))
        if count > LARGEST_SPACE:
            raise Refused(
                f"a proof on a region of a model of {count} values; this checker accepts up to {LARGEST_SPACE}"
            )
        return arithmetic_of(count, self.exact)

    def prepared(self) -> EnclosedSteps:
        if self.steps is None:
            self.steps = EnclosedSteps.of(self.model, self.arithmetic)
            if self.near.frame is not None:
                origin = self.arithmetic.of(len(self.point), 1, list(self.point))
                self.steps = self.steps.along(self.near.frame.directions(self.arithmetic), origin)
        return self.steps

    def root(self, radius: fmpq) -> CheckedRegion:
        """All that the neighbourhood allows within the radius; with a frame, in its coordinates."""
        near, frame, point = self.near, self.near.frame, self.point
        if frame is not None:
            near, point = near.round, [fmpq(0)] * frame.size
        return CheckedRegion(near, point, radius, near.box(point, radius))

    def on(self, region: CheckedRegion, centre: str, whole: bool, ranges: Any) -> EnclosedExpansion:
        if whole and centre in self.whole:
            radius, stated, found = self.whole[centre]
            if (radius, stated) == (region.radius, ranges):
                return found
            del self.whole[centre], found  # before there is another one
        place = region.middle() if centre == "middle" else list(region.point)
        made = EnclosedExpansion(self.prepared(), region, place, ranges)
        if whole:
            self.whole[centre] = region.radius, ranges, made
        return made


def check_frame(frame: StatedFrame, exact: bool) -> None:
    """Prove that a ball in its coordinates contains what the neighbourhood allows, or refuse."""
    arithmetic = arithmetic_of(len(frame.columns), exact)
    with judging(arithmetic):
        frame.check(arithmetic)


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
    with judging(known.arithmetic):
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
