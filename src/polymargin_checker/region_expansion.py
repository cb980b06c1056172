"""The steps of a model around a centre c: every functional is value + linear part + remainders, exactly.

With forms z = p + t a step has the remainder ρ = t t' (a product) or σ(p + t) − σ(p) − σ'(p) t (an activation); the rest of it is
linear. So with the derivatives β = ∂B/∂values at the centre, and t = a·δ + w for every form,

    B(c + δ) = B(c) + ∇B(c)·δ + Σ β_v ρ_v,        w = Σ M_v ρ_v over earlier steps, M_v = ∂form/∂values.

Ranges of t and of ρ follow step by step from what the region allows a·δ (docs/theorems.md, section 10).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flint import arb, arb_poly, ctx, fmpq

from polymargin_checker.dyadics import ball
from polymargin_checker.refusal import Refused
from polymargin_checker.region import CheckedRegion, Interval, down, product, total, up
from polymargin_checker.region_curvatures import StatedRanges, proved_rests
from polymargin_checker.region_steps import EnclosedForm, EnclosedStep, EnclosedSteps
from polymargin_checker.univariate import value_range
from polymargin_checker.work import spend

_TOUCHED = 256
"""Products that an interval counts for."""


@dataclass(frozen=True)
class EnclosedFormAround:
    """p as a column, a over the moving coordinates, ranges of a·δ and of w (None: w = 0), M by source."""

    value: Any
    slopes: Any
    linear: list[Interval]
    rest: list[Interval] | None
    reached: dict[int, Any]

    @property
    def range(self) -> list[Interval]:
        """Of t."""
        if self.rest is None:
            return self.linear
        return [total(a, b) for a, b in zip(self.linear, self.rest, strict=True)]


@dataclass(frozen=True)
class EnclosedStepAround:
    """The forms of a step, the derivatives by them, ρ as polynomials in t (None for a product), and its range."""

    forms: tuple[EnclosedFormAround, ...]
    derivatives: list[Any]
    remainders: list[arb_poly] | None
    range: list[Interval]

    @property
    def has_linear_squares(self) -> bool:
        """Whether all ρ are multiples of (a·δ)²."""
        return self.remainders is not None and self.forms[0].rest is None and all(len(r) <= 3 for r in self.remainders)


@dataclass(frozen=True)
class EnclosedFunctional:
    """B(c), ∇B(c) over the moving coordinates, β by step."""

    value: Any
    slope: Any
    adjoints: list[Any]


class EnclosedExpansion:
    """All steps around the centre, on a region."""

    def __init__(self, steps: EnclosedSteps, region: CheckedRegion, centre: Sequence[fmpq], ranges: Any = None) -> None:
        self.steps, self.region, self.centre, self.arithmetic = steps, region, centre, steps.arithmetic
        self.values: list[Any] = [self.arithmetic.of(len(centre), 1, list(centre))]
        self.at: list[EnclosedStepAround] = []
        self._slopes: list[Any] = [None]
        self._reached: list[dict[int, Any]] = [{}]
        self._stated = StatedRanges(ranges)
        for step in steps.steps:
            self._add(step)
        self._stated.end()

    @property
    def forms_with_rest(self) -> list[EnclosedFormAround]:
        return [form for at in self.at for form in at.forms if form.rest is not None]

    def _add(self, step: EnclosedStep) -> None:
        forms = tuple(self._form(form) for form in step.forms)
        values, derivatives = step.results(self.arithmetic, [form.value for form in forms])
        remainders = None if step.coefficients is None else _remainders(step.coefficients, forms[0].value.entries())
        ranges = self._products(*forms) if remainders is None else _ranges(remainders, forms[0].range)
        self.at.append(EnclosedStepAround(forms, derivatives, remainders, ranges))
        self.values.append(values)
        slopes: Any = None
        reached: dict[int, Any] = {}
        for slope, form in zip(derivatives, forms, strict=True):
            slopes = _sum(slopes, form.slopes.entrywise(slope))
            for source, block in form.reached.items():
                reached[source] = _sum(reached.get(source), block.entrywise(slope))
        self._slopes.append(slopes)
        self._reached.append(reached)

    def _form(self, form: EnclosedForm) -> EnclosedFormAround:
        region, moving = self.region, self.region.moving
        value, slopes = form.bias, None
        rows = list(range(form.bias.shape[0]))
        reached: dict[int, Any] = {}
        for source, block in form.blocks:
            value = value + block @ self.values[source]
            if source == 0:
                slopes = _sum(slopes, block.part(rows, moving))
                continue
            slopes = _sum(slopes, block @ self._slopes[source])
            reached[source] = _sum(reached.get(source), block)
            for number, inner in self._reached[source].items():
                reached[number] = _sum(reached.get(number), block @ inner)
        if slopes is None:
            slopes = self.arithmetic.of(len(rows), len(moving), [0.0] * (len(rows) * len(moving)))
        rest: list[Interval] | None = None
        for number, block in reached.items():
            part = self._through(block, self.at[number - 1].range)
            rest = part if rest is None else [total(a, b) for a, b in zip(rest, part, strict=True)]
        if rest is not None:
            curved = self._curved(reached, len(rows))
            rest = (
                rest
                if curved is None
                else [(max(a, c), min(b, d)) for (a, b), (c, d) in zip(rest, curved, strict=True)]
            )
        return EnclosedFormAround(value, slopes, region.support(slopes, self.arithmetic, self.centre), rest, reached)

    def _curved(self, reached: dict[int, Any], size: int) -> list[Interval] | None:
        """The stated ranges of rests, if there are any; they are proved by curvatures."""
        stated = self._stated.next(size)
        if stated is None:
            return None
        found = [(block, self.at[source - 1]) for source, block in reached.items()]
        if len(found) > 1 or not found[0][1].has_linear_squares:
            raise Refused("ranges: expected a rest of squares of linear forms")
        ((block, step),) = found
        bends = self.arithmetic.column([remainder[2] for remainder in step.remainders or ()])
        weights = block.transpose.entrywise(bends).transpose
        return proved_rests(stated, step.forms[0].slopes, weights, self.region, self.centre, self.arithmetic)

    def _through(self, block: Any, ranges: list[Interval]) -> list[Interval]:
        """What block @ ρ does not leave."""
        middles = [low + (high - low) / 2 for low, high in ranges]
        halves = [
            math.nextafter(max(high - middle, middle - low), math.inf)
            for middle, (low, high) in zip(middles, ranges, strict=True)
        ]
        of, size = self.arithmetic.of, len(ranges)
        about, reach = block @ of(size, 1, middles), block.absolute @ of(size, 1, halves)
        return [(down(a - r), up(a + r)) for a, r in zip(about.entries(), reach.entries(), strict=True)]

    def _products(self, left: EnclosedFormAround, right: EnclosedFormAround) -> list[Interval]:
        """t t' from both ranges, and from ((αt + α't')² − (αt − α't')²) / 4αα': both forms see the same δ."""
        spend(4 * _TOUCHED * len(left.linear), ctx.prec, "the ranges of products")
        ranges = [product(a, b) for a, b in zip(left.range, right.range, strict=True)]
        scales = [_scales(a, b) for a, b in zip(left.range, right.range, strict=True)]
        of, size = self.arithmetic.of, len(scales)
        largest = []
        for sign in (1.0, -1.0):
            factors = [pair[0] for pair in scales], [sign * pair[1] for pair in scales]
            mixed = _sum(*(f.slopes.entrywise(of(size, 1, s)) for f, s in zip((left, right), factors, strict=True)))
            ends = self.region.support(mixed, self.arithmetic, self.centre)
            for form, factor in zip((left, right), factors, strict=True):
                if form.rest is not None:
                    parts = [product((f, f), rest) for f, rest in zip(factor, form.rest, strict=True)]
                    ends = [total(a, b) for a, b in zip(ends, parts, strict=True)]
            squares = [arb(max(abs(low), abs(high))) ** 2 for low, high in ends]
            largest.append([up(s / (4 * arb(a) * arb(b))) for s, (a, b) in zip(squares, scales, strict=True)])
        return [
            (max(low, -least), min(high, most))
            for (low, high), most, least in zip(ranges, largest[0], largest[1], strict=True)
        ]

    def functional(self, label: int, rival: int) -> EnclosedFunctional:
        weights, value = self.steps.output(label, rival)
        for column, values in zip(weights, self.values, strict=True):
            value = value + column.transpose @ values
        adjoints = list(weights)
        for number in reversed(range(len(self.at))):
            step, at = self.steps.steps[number], self.at[number]
            for form, slope in zip(step.forms, at.derivatives, strict=True):
                inner = adjoints[number + 1].entrywise(slope)
                for source, block in form.blocks:
                    adjoints[source] = adjoints[source] + block.transpose @ inner
        return EnclosedFunctional(value, adjoints[0].part(self.region.moving, [0]), adjoints[1:])


def _remainders(coefficients: tuple[fmpq, ...], values: list[arb]) -> list[arb_poly]:
    """σ(p + t) − σ(p) − σ'(p) t in powers of t."""
    spend(_TOUCHED * len(values) * len(coefficients) ** 2, ctx.prec, "the remainders of activations")
    sigma = arb_poly([ball(c) for c in coefficients])
    return [arb_poly([arb(0), arb(0), *sigma(arb_poly([p, 1])).coeffs()[2:]]) for p in values]


def _ranges(remainders: list[arb_poly], ranges: list[Interval]) -> list[Interval]:
    result = []
    for remainder, (low, high) in zip(remainders, ranges, strict=True):
        least, most = value_range(remainder, (arb(low), arb(high)))
        result.append((down(least), up(most)))
    return result


def _scales(first: Interval, second: Interval) -> tuple[float, float]:
    """Positive numbers that make both factors alike; any do."""
    one, other = (max(abs(end) for end in interval) for interval in (first, second))
    if one <= 0 or other <= 0:
        return 1.0, 1.0
    alpha = math.sqrt(other) / math.sqrt(one)
    return (alpha, 1 / alpha) if 2.0**-200 < alpha < 2.0**200 else (1.0, 1.0)


def _sum(first: Any, second: Any) -> Any:
    return second if first is None else first + second
