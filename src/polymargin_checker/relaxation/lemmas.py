"""Lemmas: narrower intervals of w and t, proved by the only rule on the whole region, one group of forms after the other.

A lemma about a group uses what comes before the y of the group's stage. What it says is used at once by what comes later.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin_checker.arrays import doubles
from polymargin_checker.document import fields, integer, items
from polymargin_checker.refusal import Refused
from polymargin_checker.relaxation.arithmetic import EnclosedMatrix, Floats, QuadraticForms
from polymargin_checker.relaxation.constraints import CONSTRAINTS
from polymargin_checker.relaxation.constraints.definition import add_bracket
from polymargin_checker.relaxation.constraints.pieces import met_pieces
from polymargin_checker.relaxation.enclosures import Enclosures
from polymargin_checker.relaxation.expansion import Expansion, Group
from polymargin_checker.relaxation.judges import judge
from polymargin_checker.relaxation.numbers import Multipliers
from polymargin_checker.relaxation.scene import Coordinates, Ellipsoid, Scene
from polymargin_checker.stages import Piecewise

_FIELDS = ("group", "of", "side", "forms", "bounds", "judge")
_ENTRIES = 1 << 24
"""Of the forms that are judged at once."""


def prove_enclosures(expansion: Expansion, coordinates: Coordinates, ellipsoid: Ellipsoid | None, lemmas: Any) -> Scene:
    """Return the intervals on the whole region, with all lemmas proved, or refuse."""
    enclosures, waiting = Enclosures.unknown(expansion), items(lemmas, "lemmas")
    place, rows = 0, dict[int, EnclosedMatrix]()
    for number, group in enumerate(expansion.groups):
        enclosures.enclose_remainders(group)
        enclosures.enclose_arguments(group)
        while place < len(waiting) and _group(waiting[place], place, expansion) == number:
            scene = Scene(enclosures, coordinates, ellipsoid, rows, number)
            _prove(f"lemma {place}", waiting[place], scene, group)
            enclosures.enclose_arguments(group)
            place += 1
        if number + 1 == len(expansion.groups) or expansion.groups[number + 1].stage != group.stage:
            _check_decided(enclosures, group)
            enclosures.enclose_neurons(group.stage)
    if place < len(waiting):
        raise Refused(f"lemma {place}: lemmas must come in the order of their groups")
    return Scene(enclosures, coordinates, ellipsoid, rows)


def _group(lemma: Any, place: int, expansion: Expansion) -> int:
    fields(lemma, f"lemma {place}", _FIELDS, tuple(CONSTRAINTS))
    return integer(lemma["group"], f"lemma {place}, group", 0, len(expansion.groups) - 1)


def _prove(name: str, lemma: dict[str, Any], scene: Scene, group: Group) -> None:
    of, side = lemma["of"], lemma["side"]
    if of not in ("w", "t") or side not in ("low", "high"):
        raise Refused(f"{name}: expected one side, low or high, of w or t")
    if of == "w" and group.remainder is None:
        raise Refused(f"{name}: the forms of this group have no w")
    given_forms = items(lemma["forms"], f"{name}, forms")
    forms = [integer(form, f"{name}, forms", 0, len(group) - 1) for form in given_forms]
    if not forms or any(a >= b for a, b in pairwise(forms)):
        raise Refused(f"{name}: expected forms in rising order")
    chosen = np.array(forms, dtype=np.int64)
    bounds = doubles(lemma["bounds"], f"{name}, bounds", len(forms))
    size = max(1, _ENTRIES // scene.size**2) if len(forms) > 1 else 1
    whole = Multipliers(lemma, name, len(forms))
    for first in range(0, len(forms), size):
        part = slice(first, first + size)
        given = whole if size >= len(forms) else whole.part(part)
        claim = _Claim(group, of, 1.0 if side == "low" else -1.0, chosen[part], bounds[part], "definition" in lemma)
        judge(lemma["judge"], given, scene, claim)
    start = group.start if of == "t" else group.remainder[1]  # type: ignore[index]
    ends = scene.enclosures.arguments if of == "t" else scene.enclosures.variables
    if side == "low":
        ends[0][start + chosen] = np.maximum(ends[0][start + chosen], bounds)
    else:
        ends[1][start + chosen] = np.minimum(ends[1][start + chosen], bounds)


class _Claim:
    """±(w_i − bound) or ±(t_i − bound) for some forms of a group."""

    def __init__(
        self, group: Group, of: str, sign: float, forms: NDArray[np.int64], bounds: Floats, with_definition: bool
    ) -> None:
        self.group, self.of, self.sign = group, of, sign
        self.forms, self.bounds, self.with_definition = forms, bounds, with_definition

    def __call__(self, scene: Scene, forms: QuadraticForms) -> None:
        """Add the functionals; without a definition w is replaced by its bracket."""
        exact, count = scene.arithmetic.exact, len(self.forms)
        forms.row(exact(-self.sign * self.bounds[:, None]))
        chosen = np.zeros((count, len(self.group)))
        chosen[np.arange(count), self.forms] = self.sign
        if self.of == "t":
            forms.linear(exact(chosen), scene.arguments(scene.groups.index(self.group)))
        elif self.with_definition:
            assert self.group.remainder is not None
            forms.row(exact(chosen), scene.first + self.group.remainder[1])
        else:
            add_bracket(forms, scene, self.group, exact(chosen))


def _check_decided(enclosures: Enclosures, group: Group) -> None:
    """Refuse a decided neuron that is not on its piece for all z of the region."""
    expansion = enclosures.expansion
    stage = expansion.network.stages[group.stage - 1]
    if not isinstance(stage, Piecewise):
        return
    pieces = expansion.decided[group.stage]
    taken = np.flatnonzero(pieces >= 0)
    exact = expansion.arithmetic.exact
    low, high = (end[:, None] for end in enclosures.of_forms(group))
    inputs = (group.value + exact(low)).lower()[taken, 0], (group.value + exact(high)).upper()[taken, 0]
    first, last = met_pieces(stage, *inputs)
    if ((first != pieces[taken]) | (last != pieces[taken])).any():
        raise Refused(f"decided: a neuron of stage {group.stage} is not shown to be on its piece")
