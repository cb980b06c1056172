"""Ranges of all forms on a region, stage by stage: extremes found by search, and proved ends.

    intervals ─▶ curvatures ─▶ one program a side, the widest first, as long as there is time

Ends that are proved for one stage hold in the programs of the next ones. The read-out is one more stage.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from polymargin.deadlines import Deadline, TimeUpError
from polymargin.networks.forms import Forms, dense
from polymargin.networks.network import Network
from polymargin.networks.stages import Piecewise, Polynomial, Stage
from polymargin.regions.perturbations import Perturbations
from polymargin.relaxation.constraints.ellipsoid import EllipsoidShape
from polymargin.relaxation.curvatures import CurvatureCache
from polymargin.relaxation.descent import lowest_of
from polymargin.relaxation.enclosures import Enclosures
from polymargin.relaxation.expansion import Expansion
from polymargin.relaxation.gradients import Functionals
from polymargin.relaxation.lemmas import ProvedEnclosures, decided_pieces
from polymargin.relaxation.linear_bounds import Lemma
from polymargin.relaxation.prover import PreparedRegion, is_cut
from polymargin.relaxation.space import ProgramCoordinates
from polymargin.value_ranges.programs import FormPrograms, FormSide

Array = NDArray[np.float64]

SEARCH = 0.2
"""Share of a group's time that the search for extremes may take."""
CLOSE = 1.005
"""A form whose proved width is at most this times the width found is not looked at again."""
OUTWARD = 1e-9
"""Room of stated ends, relative to the sizes of what was added up."""


@dataclass(eq=False)
class FoundRange:
    """Ends (h,) of the forms of a group: proved ones, those at inputs that were found, and these inputs (h, n)."""

    lower: Array
    upper: Array
    found_lower: Array
    found_upper: Array
    lowest: Array
    highest: Array


@dataclass(eq=False)
class RangeSearch:
    """A network on a region around a point."""

    network: Network
    point: Array
    near: Perturbations
    deadline: Deadline
    seed: int = 0
    cache: CurvatureCache = field(default_factory=CurvatureCache)
    lemmas: list[Lemma] = field(default_factory=list)
    decided: dict[int, NDArray[np.int8]] = field(default_factory=dict)
    _last: Enclosures | None = None

    def __post_init__(self) -> None:
        self.stages: tuple[Stage, ...] = (*self.network.stages, Polynomial(self.network.readout, (0.0, 1.0)))
        self.is_cut = is_cut(self.near)
        first = Expansion(self._network(1), self.point, self.near.dimension, self.near.seen, self._open(1))
        later = [forms for stage in self.stages[1:] for forms in stage.forms]
        sees_inputs = any(source == 0 for forms in later for source, _ in forms.blocks)
        self.coordinates = ProgramCoordinates.of(first, self.near, is_cut=self.is_cut or sees_inputs)
        self.shape = EllipsoidShape.around(self.near)

    def run(self) -> list[FoundRange]:
        """Return the ranges of all groups of forms, the logits last."""
        results = []
        for number, stage in enumerate(self.stages, start=1):
            part = self._up_to(number)
            for operand, forms in enumerate(stage.forms):
                left = len(self.stages) - number + 1
                end = self.deadline.part(1 / left)
                results.append(self._group(part, number, operand, forms, end))
            if isinstance(stage, Piecewise):
                self.decided[number] = decided_pieces(part.enclosures, number)
            self._last = part.enclosures
        return results

    # -- parts of the network ------------------------------------------------------------------

    def _network(self, count: int) -> Network:
        """Return the first stages; their logits do not matter."""
        widths = (self.network.dimension, *(len(stage) for stage in self.stages[:count]))
        return Network(self.stages[:count], Forms(widths, (), np.zeros(2)))

    def _open(self, count: int) -> dict[int, NDArray[np.int8]]:
        """Return the pieces of piecewise stages, of which the last may not be decided yet."""
        stages = [(k, stage) for k, stage in enumerate(self.stages[:count], start=1) if isinstance(stage, Piecewise)]
        return {k: self.decided.get(k, np.full(len(stage), -1, dtype=np.int8)) for k, stage in stages}

    def _up_to(self, number: int) -> ProvedEnclosures:
        """Return the first stages with all intervals that are known of them."""
        network, near = self._network(number), self.near
        expansion = Expansion(network, self.point, near.dimension, near.seen, self._open(number))
        enclosures = Enclosures.unknown(expansion, near)
        last = self._last
        if last is not None:
            forms, variables = last.expansion.forms, last.expansion.groups[-1].end
            for side in (0, 1):
                enclosures.arguments[side][:forms] = last.arguments[side]
                enclosures.variables[side][:variables] = last.variables[side][:variables]
            enclosures.enclose_neurons(number - 1)
        return ProvedEnclosures(enclosures, self.coordinates, self.shape, self.lemmas)

    def _before(self, part: ProvedEnclosures, number: int) -> PreparedRegion:
        """Return the stages before one as a region of their own."""
        network, near = self._network(number - 1), self.near
        expansion = Expansion(network, self.point, near.dimension, near.seen, self._open(number - 1))
        variables, arguments = (
            (ends[0][:count].copy(), ends[1][:count].copy())
            for ends, count in (
                (part.enclosures.variables, expansion.variables),
                (part.enclosures.arguments, expansion.forms),
            )
        )
        enclosures = Enclosures(expansion, near, variables, arguments)
        return PreparedRegion(network, near, self.is_cut, ProvedEnclosures(enclosures, self.coordinates, self.shape))

    # -- one group -----------------------------------------------------------------------------

    def _group(self, part: ProvedEnclosures, number: int, operand: int, forms: Forms, deadline: Deadline) -> FoundRange:
        enclosures = part.enclosures
        place = [k for k, group in enumerate(enclosures.expansion.groups) if group.stage == number][operand]
        group = enclosures.expansion.groups[place]
        part.narrow(place, self.cache, every_argument=True)
        result, steps = self._found(number, forms, deadline.part(SEARCH))
        ends = enclosures.arguments
        exact = group.remainder is None and not group.tail.any()
        if not exact and not deadline.passed:
            programs = FormPrograms(self._before(part, number), forms, enclosures, place)
            for side in self._sides(result, steps, group.value, enclosures.of_forms(group)):
                if deadline.left <= 0:
                    break
                width = float(result.found_upper[side.form] - result.found_lower[side.form])
                try:
                    made = programs.bound(side, max(width, 1e-9 * abs(side.found)), deadline)
                except TimeUpError:
                    break
                here = ends[0 if side.sign > 0 else 1][group.forms]
                stated = side.sign * made.value - group.value[side.form] if made is not None else np.nan
                if made is not None and side.sign * stated > side.sign * here[side.form]:
                    here[side.form] = stated
                    self.lemmas.append(made.lemma)
            enclosures.enclose_arguments(group)
        low, high = enclosures.of_forms(group)
        room = OUTWARD * (np.abs(group.value) + np.maximum(np.abs(low), np.abs(high)) + self._sizes(group.slopes))
        room = room + 1e-3 * float(room.max())  # a form that cancels is not shown to be zero
        result.lower, result.upper = group.value + low - room, group.value + high + room
        return result

    def _sizes(self, slopes: Array) -> Array:
        return np.asarray(np.abs(slopes) @ np.maximum(np.abs(self.near.low), np.abs(self.near.high)))

    def _found(self, number: int, forms: Forms, deadline: Deadline) -> tuple[FoundRange, Array]:
        """Return extremes at inputs, and the steps δ (2h, d) to them, first of the lowest and then of the highest values."""
        both = Forms(
            forms.widths,
            tuple((source, np.concatenate([dense(block), -dense(block)])) for source, block in forms.blocks),
            np.concatenate([forms.bias, -forms.bias]),
        )
        functionals = Functionals.of(self.stages[: number - 1], both)
        _, steps = lowest_of(functionals, self.point, self.near, None, self.seed, deadline)
        inputs = self.near.inputs(self.point, steps)
        values = np.diagonal(functionals.all_values(inputs))
        count = len(forms)
        nothing = np.zeros(count)
        lower, upper = values[:count].copy(), -values[count:]
        return FoundRange(nothing, nothing, lower, upper, inputs[:count], inputs[count:]), steps

    def _sides(self, found: FoundRange, steps: Array, value: Array, ends: tuple[Array, Array]) -> list[FormSide]:
        """Return all sides that are not nearly proved, those with the widest gaps first."""
        width = np.maximum(found.found_upper - found.found_lower, 1e-300)
        gaps = np.concatenate([found.found_lower - (value + ends[0]), value + ends[1] - found.found_upper])
        relative = gaps / np.tile(width, 2)
        count = len(width)
        sides = []
        for place in np.argsort(-relative):
            if relative[place] <= (CLOSE - 1) / 2:
                break
            form, sign = int(place) % count, 1.0 if place < count else -1.0
            extreme = float(found.found_lower[form] if sign > 0 else -found.found_upper[form])
            sides.append(FormSide(form, sign, steps[place], extreme))
        return sides
