"""A model at a point, as a certificate states it: what all its proofs are about."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from flint import fmpq

from polymargin_checker.arrays import Floats, as_doubles, read_point
from polymargin_checker.document import integer
from polymargin_checker.exact import exact_logits
from polymargin_checker.frame import check_frame
from polymargin_checker.neighbourhood import PLAIN, StatedNeighbourhood, read_neighbourhood
from polymargin_checker.noise import StatedNoise
from polymargin_checker.refusal import Refused
from polymargin_checker.relaxation.arithmetic import Arithmetic
from polymargin_checker.relaxation.tree import Relaxations, check_shared
from polymargin_checker.rounding import Lead, read_format
from polymargin_checker.stages import Network


@dataclass(frozen=True)
class Situation:
    """A model at a point: everything that the proofs of a certificate are about."""

    model: Network
    point: list[fmpq]
    label: int
    exact: bool
    near: StatedNeighbourhood
    relaxations: Relaxations
    doubles: Floats | None
    noise: StatedNoise | None = None
    arithmetic: str | None = None

    @cached_property
    def logits(self) -> list[fmpq]:
        """Without rounding."""
        return exact_logits(self.model, self.point)

    @property
    def point_in_doubles(self) -> Floats:
        """The point, for proofs that need it in doubles."""
        if self.doubles is None:
            raise Refused("a proof of this kind is about a point whose coordinates are doubles")
        return self.doubles

    def lead(self, rival: int) -> fmpq:
        return self.logits[self.label] - self.logits[rival]


def read_situation(
    model: Network, document: dict[str, Any], exact: bool, noise: StatedNoise | None = None
) -> Situation:
    """Read what a row is about; with noise the model is that over (x, e), and the point is x."""
    size = model.dimension if noise is None else noise.inputs
    place = read_point(document["point"], "point", size)
    point = place.exact
    label = integer(document["label"], "label", 0, model.class_count - 1)
    near = PLAIN
    if "neighbourhood" in document:
        near = read_neighbourhood(document["neighbourhood"], point, model.class_count)
        if near.rivals == frozenset({label}):
            raise Refused(f"neighbourhood, rivals: class {label} is the label itself, so that no rival counts")
        if near.frame is not None:
            check_frame(near.frame, exact)
    in_doubles = place.doubles
    if noise is not None:
        near, point = noise.around(near), noise.at(point)
        in_doubles = as_doubles(point)
    shared = document.get("ranges")
    if "ranges" in document:
        check_shared(shared)
    lead, arithmetic = None, document.get("arithmetic")
    if "arithmetic" in document:
        if noise is not None:
            raise Refused("arithmetic and noise in one certificate; expected one of them")
        lead = Lead(read_format(arithmetic), label)
    relaxations = Relaxations(model, near, point, label, Arithmetic(exact), shared, lead)
    return Situation(model, point, label, exact, near, relaxations, in_doubles, noise, arithmetic)


def rival_of(situation: Situation, value: Any, name: str) -> int:
    """Read a class other than the label."""
    rival = integer(value, name, 0, situation.model.class_count - 1)
    if rival == situation.label:
        raise Refused(f"{name}: class {rival} is the label itself")
    return rival


def counted_rival(situation: Situation, value: Any, name: str) -> int:
    """Read a rival whose ties count."""
    rival = rival_of(situation, value, name)
    if situation.near.rivals is not None and rival not in situation.near.rivals:
        raise Refused(f"{name}: class {rival} does not count in this neighbourhood")
    return rival
