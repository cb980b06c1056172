"""One part of a region: the cheapest bound that proves a functional positive there.

In order of cost: every remainder by its range, and the linear part by what the region allows it; a quadratic with one
multiplier per coordinate; the same with the rests of deeper forms as variables.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.bounds.bound import hexadecimal
from polymargin.bounds.regions.curvatures import curved_ranges
from polymargin.bounds.regions.expansion import RegionExpansion
from polymargin.bounds.regions.multipliers import (
    LARGEST_PROGRAM,
    RegionMultipliers,
    ScaledQuadratic,
    guessed,
    improved,
    with_room,
)
from polymargin.bounds.regions.quadratic import Functional, by_ranges, effective, lifted, lifted_forms
from polymargin.bounds.regions.region import AllowedRegion
from polymargin.bounds.regions.steps import NetworkSteps
from polymargin.deadlines import Deadline

Array = NDArray[np.float64]

# A functional counts as positive if it is proved to exceed this fraction of all the terms that are added up for it.
ENOUGH = 1e-11
# NetworkSteps to the worst point of a quadratic.
DESCENTS = 40
# How much of the range of a rest, times what multiplies it, becomes its multiplier.
TIGHTNESS = (0.3, 1.0, 0.1)
LARGEST_LIFTED = 1600
LARGEST_QUADRATIC = 1600


@dataclass(frozen=True, eq=False)
class RegionLeaf:
    """A proof on one part: by ranges alone, or by multipliers.

    centre      'point' or 'middle': where the network was expanded
    ranges      of rests by their curvatures, by form that has one; None where intervals do
    shifts      Δ of the lifted rests, form by form; None where rests are known by their ranges alone
    """

    centre: str
    ranges: list[Array | None] | None = None
    multipliers: RegionMultipliers | None = None
    minorants: list[Array | None] | None = None
    shifts: list[Array] | None = None

    def to_proof(self) -> dict[str, Any]:
        curved = {}
        if self.ranges is not None:
            curved = {"ranges": [None if ends is None else hexadecimal(ends) for ends in self.ranges]}
        if self.multipliers is None:
            return {"linear": self.centre, **curved}
        found, minorants = self.multipliers, self.minorants or []
        return {
            **curved,
            "quadratic": self.centre,
            "box": hexadecimal(found.box),
            "norm": float(found.norm).hex(),
            "rests": None if self.shifts is None else hexadecimal(found.rests),
            "shifts": None if self.shifts is None else [hexadecimal(shift) for shift in self.shifts],
            "minorants": [None if rows is None else hexadecimal(rows) for rows in minorants],
        }


@dataclass(frozen=True, eq=False)
class RegionPart:
    """A region with the network expanded on it, and functionals f_label − f_rival − lead."""

    steps: NetworkSteps
    region: AllowedRegion
    centre: str
    weights: list[Array]
    constants: Array
    ranges: list[Array | None] | None = None

    @cached_property
    def expansion(self) -> RegionExpansion:
        middle = self.region.middle if self.centre == "middle" else self.region.point
        return RegionExpansion.of(self.steps, self.region, middle, self.ranges)

    def curved(self) -> RegionPart | None:
        """The same with narrower ranges of rests; None where curvatures say nothing about them."""
        found = curved_ranges(self.expansion)
        return None if found is None else replace(self, ranges=found)

    def leaf(
        self, found: RegionMultipliers, minorants: list[Array | None], shifts: list[Array] | None = None
    ) -> RegionLeaf:
        return RegionLeaf(self.centre, self.ranges, found, minorants, shifts)

    @cached_property
    def _functionals(self) -> tuple[Array, Array, list[Array]]:
        return self.expansion.functional(self.weights, self.constants)

    def functional(self, row: int) -> Functional:
        values, slopes, adjoints = self._functionals
        return Functional(float(values[row]), slopes[row], [beta[row] for beta in adjoints])

    @cached_property
    def enough(self) -> Array:
        """Bounds above these leave room for rounding: a value that is small because its terms cancel is not small to rounding."""
        sizes = [np.abs(self.expansion.centre)]
        for step, at in zip(self.steps.steps, self.expansion.at, strict=True):
            terms = [form.term_sizes(sizes) for form in step.forms]
            sizes.append(step.term_sizes([form.value for form in at.forms], terms))
        total = sum((np.abs(w) @ size for w, size in zip(self.weights, sizes, strict=True)), np.abs(self.constants))
        return ENOUGH * np.asarray(total)

    def linear(self) -> Array:
        """Lower bounds of all functionals by ranges alone."""
        values, slopes, adjoints = self._functionals
        low = self.region.support(slopes, self.expansion.centre)[0]
        for beta, at in zip(adjoints, self.expansion.at, strict=True):
            low = low + np.minimum(beta, 0.0) @ at.remainder[1] + np.maximum(beta, 0.0) @ at.remainder[0]
        return np.asarray(values + low)

    def states(self, point: Array) -> list[list[Array]]:
        """t by step and form at a point."""
        values = self.steps.values(point[None])
        return [
            [(form(values)[0] - at.value) for form, at in zip(step.forms, step_at.forms, strict=True)]
            for step, step_at in zip(self.steps.steps, self.expansion.at, strict=True)
        ]

    def quadratic(self, row: int, worst: Array, deadline: Deadline) -> tuple[float, RegionLeaf | None, Array]:
        """A bound of one functional by multipliers, the proof if it is positive, and the worst point of the quadratic."""
        region, centre, enough = self.region, self.expansion.centre, float(self.enough[row])
        moving = region.moving
        below = by_ranges(self.expansion, self.functional(row), self.states(worst))
        scaled = ScaledQuadratic.of(below, region, centre, np.zeros((0, 2)))
        middle = (region.low + region.high)[moving] / 2
        place = self._descend(scaled, (worst[moving] - middle) / scaled.halves)
        found = guessed(scaled, place, np.zeros(0), 10 * enough)
        size = abs(float(self._functionals[0][row]))
        if found[0] <= enough and len(moving) <= LARGEST_PROGRAM // 8:
            found = improved(scaled, found, size, 10 * enough, deadline)
        point = region.point.copy()
        point[moving] = middle + scaled.halves * place
        value, d, norm = found
        if value <= enough:
            return value, None, point
        d = with_room(value, d)
        leaf = self.leaf(scaled.natural(d, norm, region), below.minorants)
        return value, leaf, point

    def _descend(self, scaled: ScaledQuadratic, start: Array) -> Array:
        """A worst place of the quadratic: steps to where its gradient is least on the region, as far as it falls."""
        region, moving = self.region, self.region.moving
        middle = (region.low + region.high)[moving] / 2
        place = np.clip(start, -1.0, 1.0)
        for _ in range(DESCENTS):
            gradient = scaled.border + 2 * scaled.inner @ place
            aim = (region.lowest((gradient / scaled.halves)[None])[0, moving] - middle) / scaled.halves
            way = aim - place
            falling, bend = float(gradient @ way), float(way @ scaled.inner @ way)
            if falling >= -1e-12 * abs(scaled.corner):
                break
            step = 1.0 if bend <= 0 or falling + 2 * bend <= 0 else -falling / (2 * bend)
            place = place + min(step, 1.0) * way
        return place

    def lifted(self, row: int, worst: Array) -> tuple[float, RegionLeaf | None]:
        """The same with rests as variables; the worst point known says what their multipliers are."""
        forms = lifted_forms(self.expansion)
        region, centre, enough = self.region, self.expansion.centre, float(self.enough[row])
        moving, functional, states = region.moving, self.functional(row), self.states(worst)
        delta = worst[moving] - centre[moving]
        ranges, rests = [], []
        for k, j in forms:
            form = self.expansion.at[k].forms[j]
            assert form.rest is not None
            ranges.append(np.stack(form.rest, axis=1))
            rests.append(states[k][j] - form.slopes @ delta)
        best: tuple[float, RegionLeaf | None] = (-math.inf, None)
        for tightness in TIGHTNESS:
            shifts, kappas = self._stationary(functional, states, rests, tightness)
            below = lifted(self.expansion, functional, states, shifts)
            scaled = ScaledQuadratic.of(below, region, centre, np.concatenate(ranges))
            count = len(moving)
            middle = (region.low + region.high)[moving] / 2
            place = np.concatenate([(worst[moving] - middle) / scaled.halves[:count], *self._places(ranges, rests)])
            kappa = np.concatenate(kappas) * scaled.halves[count:] ** 2
            value, d, norm = guessed(scaled, place, kappa, 10 * enough)
            if value > best[0]:
                leaf = None
                if value > enough:
                    d = with_room(value, d)
                    leaf = self.leaf(scaled.natural(d, norm, region), below.minorants, shifts)
                best = (value, leaf)
            if best[1] is not None:
                break
        return best

    @staticmethod
    def _places(ranges: list[Array], rests: list[Array]) -> list[Array]:
        return [
            np.clip((w - r.mean(axis=1)) / np.maximum((r[:, 1] - r[:, 0]) / 2, 1e-300), -1.0, 1.0)
            for r, w in zip(ranges, rests, strict=True)
        ]

    def _stationary(
        self, functional: Functional, states: list[list[Array]], rests: list[Array], tightness: float
    ) -> tuple[list[Array], list[Array]]:
        """Δ and κ, from the last step down: κ makes the Lagrangian convex in w, Δ makes it stationary at the worst point."""
        forms = lifted_forms(self.expansion)
        shifts = [np.zeros(len(rest)) for rest in rests]
        kappas = [np.zeros(len(rest)) for rest in rests]
        for index in reversed(range(len(forms))):
            k, j = forms[index]
            at, form = self.expansion.at[k], self.expansion.at[k].forms[j]
            assert form.rest is not None
            beta = effective(self.expansion, functional, shifts)[k]
            half = np.maximum((form.rest[1] - form.rest[0]) / 2, 1e-300)
            if at.taylor is None:
                other = at.forms[1 - j]
                slope = beta * states[k][1 - j]
                reach = np.maximum(np.abs(other.range[0]), np.abs(other.range[1]))
                kappas[index] = tightness * np.abs(beta) * reach / half
            else:
                bend = beta * at.taylor[:, 2]
                slope = 2 * bend * states[k][j]
                reach = np.maximum(np.abs(form.linear[0]), np.abs(form.linear[1]))
                kappas[index] = 1.2 * np.maximum(0.0, -bend) + tightness * np.abs(bend) * np.minimum(reach / half, 10.0)
            kappas[index] += 1e-3 * float(kappas[index].mean()) + 1e-300
            shifts[index] = -slope - kappas[index] * (2 * rests[index] - form.rest[0] - form.rest[1])
        return shifts, kappas
