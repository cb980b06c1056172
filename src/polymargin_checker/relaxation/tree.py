"""Relaxation proofs: f_label − f_rival − lead > 0 on the region, by a tree of splits whose leaves are judged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from polymargin_checker.arrays import doubles, small_integers
from polymargin_checker.document import fields, integer, items
from polymargin_checker.dyadics import number
from polymargin_checker.neighbourhood import StatedNeighbourhood
from polymargin_checker.refusal import Refused, Unproved
from polymargin_checker.relaxation.arithmetic import Arithmetic, QuadraticForms
from polymargin_checker.relaxation.constraints import CONSTRAINTS
from polymargin_checker.relaxation.constraints.definition import add_products
from polymargin_checker.relaxation.enclosures import Enclosures
from polymargin_checker.relaxation.expansion import Expansion
from polymargin_checker.relaxation.judges import judge
from polymargin_checker.relaxation.lemmas import prove_enclosures
from polymargin_checker.relaxation.numbers import Multipliers, double
from polymargin_checker.relaxation.region import region_of
from polymargin_checker.relaxation.scene import Coordinates, Ellipsoid, Scene
from polymargin_checker.stages import Network, Piecewise
from polymargin_checker.words import shown
from polymargin_checker.work import spend

_SHARED = ("radius", "coordinates", "ellipsoid", "decided", "lemmas")


@dataclass
class Relaxations:
    """A network around a point, for the relaxation proofs of all rivals; what is shared is proved when it is first asked for.

    lead   by how much the label must lead over a rival at least, from the intervals of a proof; None if that is all the same
    """

    network: Network
    near: StatedNeighbourhood
    point: list[fmpq]
    label: int
    arithmetic: Arithmetic
    shared_entry: Any = None
    lead: Callable[[Scene, int], fmpq] | None = None
    _shared: Scene | None = field(default=None, repr=False)

    def check(self, rival: int, proof: Any, lead: Callable[[], fmpq]) -> fmpq:
        """Prove that the lead over a rival exceeds the one asked for on the region and return its radius, or refuse."""
        fields(proof, "relaxation proof", ("kind", *_SHARED, "tree"))
        radius = _radius(proof)
        if self.lead is None and not region_of(self.near, self.point, radius, self.arithmetic).dimension:
            if lead() <= self.near.abstain:  # the point itself is all there is
                raise Refused("the label does not lead at the point by what the neighbourhood asks for")
            return radius
        scene = self._scene(proof)
        if self.lead is not None and self.near.abstain < self.lead(scene, rival):
            raise Unproved("arithmetic: the lead that is asked for is not shown to be more than errors of rounding")
        functional = Functional(scene, self.label, rival, self.near.abstain)
        waiting: list[tuple[Any, Enclosures]] = [(proof["tree"], scene.enclosures)]
        count = 0
        while waiting:
            node, part = waiting.pop()
            if part is not scene.enclosures and part.is_empty:
                continue
            if isinstance(node, dict) and "split" in node:
                waiting += split_parts(node, part)
            else:
                self._check_leaf(f"leaf {count}", node, scene, part, functional)
                count += 1
        return radius

    def _scene(self, proof: Any) -> Scene:
        """Return the rows and intervals of the root; those that are shared if the proof says so."""
        if proof["lemmas"] != "shared":
            return self.prepared(proof)
        if self.shared_entry is None:
            raise Refused("lemmas are shared, and the certificate has no ranges")
        if any(proof[key] != self.shared_entry[key] for key in _SHARED[:-1]):
            raise Refused("shared lemmas are about another radius, ellipsoid, other coordinates or pieces")
        if self._shared is None:
            self._shared = self.prepared(self.shared_entry)
        return self._shared

    def prepared(self, entry: Any) -> Scene:
        """Return the rows and intervals that an entry describes, its lemmas proved."""
        region = region_of(self.near, self.point, _radius(entry), self.arithmetic)
        name = entry["coordinates"]
        if not isinstance(name, dict) and name not in ("inputs", "forms"):
            raise Refused(f"coordinates {shown(name)}; expected 'inputs' or 'forms'")
        shape = None
        if entry["ellipsoid"] is not None:
            fields(entry["ellipsoid"], "ellipsoid", ("norm", "box"))
            box = entry["ellipsoid"]["box"]
            ends = np.zeros(region.dimension) if box is None else doubles(box, "ellipsoid, box", region.dimension)
            shape = Ellipsoid.of(region, number(entry["ellipsoid"]["norm"], "ellipsoid, norm"), ends)
        expansion = Expansion(self.network, region, _decided(self.network, entry["decided"]))
        coordinates = Coordinates.of(expansion, name)
        return prove_enclosures(expansion, coordinates, shape, entry["lemmas"])

    def _check_leaf(self, name: str, node: Any, scene: Scene, part: Enclosures, functional: Functional) -> None:
        if isinstance(node, dict) and "empty" in node:
            raise Refused(f"{name}: the part is not shown to be empty")
        fields(node, name, ("judge",), tuple(CONSTRAINTS))
        here = Scene(part, scene.coordinates, scene.ellipsoid, scene.rows)
        judge(node["judge"], Multipliers(node, name, None), here, functional)


class Functional:
    """f_label − f_rival − lead."""

    def __init__(self, scene: Scene, label: int, rival: int, lead: fmpq) -> None:
        self.made = scene.expansion.functional(label, rival)
        self.lead = scene.arithmetic.column([lead])

    def __call__(self, scene: Scene, forms: QuadraticForms) -> None:
        made = self.made
        forms.row(scene.row(made.slopes, made.tail, made.constant - self.lead))
        add_products(forms, scene, made.products)


def check_shared(entry: Any) -> None:
    """Refuse shared ranges that are not an object with the right keys."""
    fields(entry, "ranges", _SHARED)


def _radius(entry: Any) -> fmpq:
    radius = number(entry["radius"], "radius of the relaxation proof")
    if radius <= 0:
        raise Refused("the radius of the relaxation proof is not positive")
    return radius


def _decided(network: Network, value: Any) -> dict[int, NDArray[np.int8]]:
    """Return the pieces of piecewise stages, which must all be listed, in order."""
    expected = [k for k, stage in enumerate(network.stages, start=1) if isinstance(stage, Piecewise)]
    result: dict[int, NDArray[np.int8]] = {}
    for entry, number_ in zip(items(value, "decided", len(expected)), expected, strict=True):
        place, content = items(entry, "decided", 2)
        integer(place, "decided, stage", number_, number_)
        stage = network.stages[number_ - 1]
        assert isinstance(stage, Piecewise)
        pieces = small_integers(content, "decided", len(stage.form))
        used = pieces[pieces >= 0]
        if (pieces < -1).any() or (used >= len(stage.pieces)).any() or stage.pieces[used, 3:].any():
            raise Refused(f"decided: stage {number_} has no such piece, or one of degree above two")
        result[number_] = pieces
    return result


def split_parts(node: Any, part: Enclosures) -> list[tuple[Any, Enclosures]]:
    """Return the two sides of a split, the low one first."""
    fields(node, "a split of the tree", ("split", "low", "high"))
    word, index, value = items(node["split"], "split", 3)
    ends = {
        "input": (part.region.low, part.region.high),
        "variable": part.variables,
        "argument": part.arguments,
    }.get(word if isinstance(word, str) else "")
    if ends is None:
        raise Refused(f"a split of {shown(word)}; expected input, variable or argument")
    place, where = integer(index, "split, index", 0, len(ends[0]) - 1), double(value, "split, value")
    low, high = float(ends[0][place]), float(ends[1][place])
    if not low < where < high:
        raise Refused(f"a split value lies outside the range of {word} {place}")
    spend(64 * (len(part.variables[0]) + len(part.arguments[0])), 0, "the splits of a relaxation proof")
    return [
        (node["high"], _side(part, word, place, (where, high))),
        (node["low"], _side(part, word, place, (low, where))),
    ]


def _side(part: Enclosures, word: str, place: int, ends: tuple[float, float]) -> Enclosures:
    result = part.copy()
    if word == "input":
        result.region = part.region.cut(place, ends)
    else:
        low, high = result.variables if word == "variable" else result.arguments
        low[place], high[place] = ends
    result.narrow()
    return result
