"""A model at a point, as a certificate states it: what all its proofs are about."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from flint import fmpq

from polymargin_checker.arrays import Floats, as_doubles, read_point
from polymargin_checker.document import integer
from polymargin_checker.exact import exact_logits
from polymargin_checker.lifted_spectra import Known
from polymargin_checker.neighbourhood import PLAIN, StatedNeighbourhood, read_neighbourhood
from polymargin_checker.noise import StatedNoise
from polymargin_checker.refusal import Refused
from polymargin_checker.region_proof import KnownExpansions, check_frame
from polymargin_checker.relaxation.arithmetic import Arithmetic
from polymargin_checker.relaxation.tree import Relaxations, check_shared
from polymargin_checker.rounding import Lead, read_format
from polymargin_checker.stages import Network
from polymargin_checker.views import Attention, Model, Products, View, of_layers, view_of


@dataclass(frozen=True)
class Situation:
    """A model at a point: everything that the proofs of a certificate are about."""

    model: Network
    point: list[fmpq]
    label: int
    exact: bool
    known: Known
    near: StatedNeighbourhood
    relaxations: Relaxations
    doubles: Floats | None
    noise: StatedNoise | None = None
    arithmetic: str | None = None

    @cached_property
    def view(self) -> View | None:
        """The model as layers, attention or products; None for piecewise stages."""
        return view_of(self.model)

    @cached_property
    def expansions(self) -> KnownExpansions | None:
        """For region proofs; None for attention modules and piecewise stages."""
        view = self.view
        if view is None or isinstance(view, Attention):
            return None
        return KnownExpansions(view, self.exact, self.near, self.point)

    @cached_property
    def logits(self) -> list[fmpq]:
        """Without rounding."""
        return exact_logits(self.model, self.point)

    @cached_property
    def program(self) -> Products | None:
        """The model as a network of products, if it is one or made of layers."""
        model = of_layers(self.view) if isinstance(self.view, Model) else self.view
        return model if isinstance(model, Products) else None

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
    return Situation(model, point, label, exact, Known(), near, relaxations, in_doubles, noise, arithmetic)


def rival_of(situation: Situation, value: Any, name: str) -> int:
    rival = integer(value, name, 0, situation.model.class_count - 1)
    if rival == situation.label:
        raise Refused(f"{name}: class {rival} is the label itself")
    return rival


def counted_rival(situation: Situation, value: Any, name: str) -> int:
    """A rival whose ties count."""
    rival = rival_of(situation, value, name)
    if situation.near.rivals is not None and rival not in situation.near.rivals:
        raise Refused(f"{name}: class {rival} does not count in this neighbourhood")
    return rival
