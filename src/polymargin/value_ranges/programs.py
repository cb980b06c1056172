"""One side of the range of one form: a bound by the rule of constraints and multipliers, as a lemma of a certificate.

The forms of a stage are functionals of the stages before it, so that the same programs bound them as bound the lead over a rival.
The lemma speaks of t = z − value and of the form's own remainder w, which its definition replaces, with multiplier ±1.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polymargin.deadlines import Deadline
from polymargin.networks.forms import Forms, dense
from polymargin.relaxation.constraints.argument import Argument
from polymargin.relaxation.constraints.box import BoxConstraint
from polymargin.relaxation.constraints.constraint import Constraint
from polymargin.relaxation.constraints.encoding import packed
from polymargin.relaxation.enclosures import Enclosures
from polymargin.relaxation.expansion import Combination, Group
from polymargin.relaxation.linear_bounds import Lemma
from polymargin.relaxation.prover import PreparedRegion
from polymargin.relaxation.relaxation import Leaf, Relaxation
from polymargin.value_ranges.box_quadratic import box_bound

Array = NDArray[np.float64]

SHARP = 4e-3
"""Of the width that is found: how far a bound may be from the best of its program."""
ROOM = 1e-6
"""What is given up for rounding, relative to the sizes of the form's values."""
LITTLE = 2.0**-34
"""Of the square of an interval's width: what a variable gets that only the definition removes."""


@dataclass(frozen=True, eq=False)
class FormSide:
    """z_i ≥ … (sign 1) or −z_i ≥ … (sign −1) for form i of a group, with the worst step δ that is known and the value there."""

    form: int
    sign: float
    worst: Array
    found: float


@dataclass(frozen=True, eq=False)
class SideBound:
    """sign · z ≥ value, and the lemma that says so."""

    value: float
    lemma: Lemma


@dataclass(frozen=True, eq=False)
class FormPrograms:
    """Programs for the forms of one group.

    before      the stages before the group, on the region
    enclosures  those of the group's own expansion, with its w
    """

    before: PreparedRegion
    forms: Forms
    enclosures: Enclosures
    number: int

    @property
    def group(self) -> Group:
        """Return the group whose forms are bounded."""
        return self.enclosures.expansion.groups[self.number]

    def bound(self, side: FormSide, width: float, deadline: Deadline) -> SideBound | None:
        """Bound one side of one form; `width` is the width of its range that was found. None if there is no bound."""
        functional = self._functional(side)
        relaxation = Relaxation(self.before.space, functional, self._constraints(functional, side.worst))
        if not relaxation.base.any():
            return None
        found = self._multipliers(relaxation, side, width, deadline)
        if found is None:
            return None
        y, room = found, ROOM * (abs(float(found[0])) + abs(side.found) + width)
        value = float(y[0]) - room
        y[0] = room
        y = relaxation.with_room(y)
        y[0] = value
        if not relaxation.is_definite(y):
            return None
        y[0] = 0.0
        return SideBound(value, self._lemma(side, value, room, relaxation.leaf(y)))

    def _functional(self, side: FormSide) -> Combination:
        rows = {source: side.sign * dense(block[[side.form]]) for source, block in self.forms.blocks}
        return self.before.space.expansion.combined(rows, side.sign * self.forms.bias[[side.form]])

    def _constraints(self, functional: Combination, worst: Array) -> list[Constraint]:
        found = self.before.constraints(functional, worst)
        expansion = self.before.space.expansion
        if not any(constraint.name == "argument" for constraint in found):
            curved = [np.arange(g.start, g.start + len(g)) for g in expansion.groups if g.remainder is not None]
            if curved:
                found.append(Argument(self.before.space, np.concatenate(curved)))
        return found

    def _multipliers(self, relaxation: Relaxation, side: FormSide, width: float, deadline: Deadline) -> Array | None:
        if [type(constraint) for constraint in relaxation.constraints] == [BoxConstraint]:
            made = box_bound(relaxation.base, SHARP * width, deadline=deadline)
            return None if made is None else np.concatenate([[made.value], made.multipliers])
        scale = max(abs(relaxation.value), 1e-3 * float(np.abs(relaxation.base[0]).max()))
        accuracy = SHARP * width / max(scale, 1e-300)
        outcome = self.before.bound(relaxation, side.worst, decide=False, accuracy=accuracy, deadline=deadline)
        return None if outcome.y is None or not np.isfinite(outcome.value) else outcome.y.copy()

    def _lemma(self, side: FormSide, value: float, room: float, leaf: Leaf) -> Lemma:
        group, expansion = self.group, self.enclosures.expansion
        stated = side.sign * value - float(group.value[side.form])
        lemma: Lemma = {
            "group": self.number,
            "of": "t",
            "side": "low" if side.sign > 0 else "high",
            "forms": [side.form],
            "bounds": packed([stated]),
            "judge": "definite",
        }
        for name, entry in leaf.items():
            if name == "minorant":
                lemma[name] = [entry]
            elif name in ("ball", "ellipsoid"):
                lemma[name] = packed([float.fromhex(str(entry))])
            elif name != "judge":
                lemma[name] = str(entry)
        known = expansion.groups[: self.number + 1]
        if "argument" in lemma:
            lemma["argument"] = _extended(lemma["argument"], sum(map(len, known)))
        if group.remainder is None:
            return lemma
        remainders = group.remainder[0] + len(group)
        if "cauchy_schwarz" in lemma:
            lemma["cauchy_schwarz"] = _extended(lemma["cauchy_schwarz"], remainders)
        definition = _numbers(_extended(lemma.get("definition", ""), remainders))
        definition[group.remainder[0] + side.form] = side.sign
        lemma["definition"] = packed(definition)
        ranges = _numbers(_extended(lemma.get("range", ""), group.end))
        own = slice(self.before.space.expansion.variables, group.end)
        low, high = (ends[own] for ends in self.enclosures.variables)
        ranges[own] = room * LITTLE / ROOM * np.where(high > low, 1 / np.maximum(high - low, 1e-150) ** 2, 0.0)
        lemma["range"] = packed(ranges)
        return lemma


def _numbers(text: object) -> Array:
    return np.frombuffer(base64.b64decode(str(text)), dtype="<f8").copy()


def _extended(text: object, length: int) -> str:
    values = _numbers(text)
    return packed(np.concatenate([values, np.zeros(length - len(values))]))
