"""One leaf of a proof on a region: B > lead by ranges alone, or by a quadratic with multipliers.

    linear      B ≥ B(c) + min ∇B·δ + Σ min β_v ρ_v.
    quadratic   B − Σ d_i (δ_i − l_i)(h_i − δ_i) − λ (bound − N) − Σ κ (w − lo)(hi − w)  is positive definite in (1, δ, w).

For the second, ρ is quadratic in t, or β_v ρ_v is replaced by a stated parabola below it. Rests w are variables if the leaf
states their multipliers: κ of their ranges, and Δ, of any sign, of what they are, w − Σ M ρ = 0. Else what w adds to ρ is
replaced by its least value, and the form is one in (1, δ).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flint import arb, arb_poly, ctx, fmpq

from polymargin_checker.document import fields, items
from polymargin_checker.dyadics import ball, number
from polymargin_checker.refusal import Refused, Unproved
from polymargin_checker.region import Interval, down, product, total
from polymargin_checker.region_expansion import (
    EnclosedExpansion,
    EnclosedFormAround,
    EnclosedFunctional,
    EnclosedStepAround,
)
from polymargin_checker.univariate import shortfall
from polymargin_checker.work import spend

LARGEST_FORM = 6000
"""Variables 1, δ and w at most."""
_TOUCHED = 256
"""Products that an interval counts for."""


def check_linear(expansion: EnclosedExpansion, functional: EnclosedFunctional, lead: fmpq, name: str) -> None:
    """Prove B > lead by ranges alone, or refuse."""
    slope = functional.slope.transpose
    ((low, _),) = expansion.region.support(slope, expansion.arithmetic, expansion.centre)
    bound = functional.value.entries()[0] - ball(lead) + arb(low)
    for beta, at in zip(functional.adjoints, expansion.at, strict=True):
        spend(_TOUCHED * len(at.range), ctx.prec, name)
        for factor, interval in zip(beta.entries(), at.range, strict=True):
            bound += _least(factor, interval)
    if not bound > 0:
        raise Unproved(f"{name}: ranges do not prove that the label stays ahead")


def check_quadratic(
    expansion: EnclosedExpansion, functional: EnclosedFunctional, lead: fmpq, leaf: Any, name: str
) -> None:
    """Prove B > lead by multipliers, or refuse."""
    fields(leaf, name, ("quadratic", "box", "norm", "rests", "shifts", "minorants"), ("ranges",))
    region = expansion.region
    rests = 0 if leaf["shifts"] is None else sum(len(form.linear) for form in expansion.forms_with_rest)
    variables = 1 + len(region.moving) + rests
    if variables > LARGEST_FORM:
        raise Refused(f"{name}: a form in {variables} variables; this checker accepts up to {LARGEST_FORM}")
    box = _multipliers(leaf["box"], f"{name}, box", len(region.moving))
    norm = number(leaf["norm"], f"{name}, norm")
    if norm < 0:
        raise Refused(f"{name}, norm: a multiplier is negative")
    if norm > 0 and region.near.norm == "linf":
        raise Refused(f"{name}, norm: the L∞ ball is a box, which has multipliers of its own")
    form = _RegionForm(expansion, functional, name)
    if leaf["shifts"] is None:
        if leaf["rests"] is not None:
            raise Refused(f"{name}: multipliers of the ranges of rests without those of what they are")
    else:
        form.lift(leaf["shifts"], leaf["rests"])
    form.add_steps(items(leaf["minorants"], f"{name}, minorants", len(expansion.at)))
    form.add_region(box, norm, lead)
    if not form.matrix().positive_definite():
        raise Unproved(f"{name}: the form of the multipliers is not shown to be positive definite")


@dataclass(frozen=True)
class _Rest:
    """A lifted rest: its form, Δ as a column, κ."""

    form: EnclosedFormAround
    shift: Any
    kappa: list[fmpq]


class _RegionForm:
    """corner + border·v + vᵀ inner v, v = (δ, w of every lifted form)."""

    def __init__(self, expansion: EnclosedExpansion, functional: EnclosedFunctional, name: str) -> None:
        self._expansion, self._name, self._of = expansion, name, expansion.arithmetic.of
        self._corner, self._border = functional.value, functional.slope
        size = len(expansion.region.moving)
        self._inner = self._of(size, size, [0.0] * size * size)
        self._adjoints = list(functional.adjoints)
        self._rests: dict[tuple[int, int], _Rest] = {}
        self._pulls: dict[tuple[int, int], Any] = {}  # what multiplies w
        self._crosses: dict[tuple[int, int], Any] = {}  # half of what multiplies w_i δ_j
        self._squares: dict[tuple[int, int], Any] = {}  # what multiplies w²
        self._pairs: dict[int, Any] = {}  # half of what multiplies w w' of one product

    def lift(self, shifts: Any, kappas: Any) -> None:
        """Make rests variables: Δ (w − Σ M ρ) is added, −κ (w − lo)(hi − w) too."""
        places = [
            (number_, index)
            for number_, at in enumerate(self._expansion.at)
            for index, form in enumerate(at.forms)
            if form.rest is not None
        ]
        forms = [self._expansion.at[k].forms[j] for k, j in places]
        sizes = [len(form.linear) for form in forms]
        flat = _multipliers(kappas, f"{self._name}, rests", sum(sizes))
        rows = items(shifts, f"{self._name}, shifts", len(places))
        start = 0
        for place, form, size, row in zip(places, forms, sizes, rows, strict=True):
            numbers = [number(entry, f"{self._name}, shifts") for entry in items(row, f"{self._name}, shifts", size)]
            shift, kappa = self._of(size, 1, numbers), flat[start : start + size]
            start += size
            self._rests[place] = _Rest(form, shift, kappa)
            for source, block in form.reached.items():
                less = (block.transpose @ shift).times(fmpq(-1))
                self._adjoints[source - 1] = self._adjoints[source - 1] + less
            assert form.rest is not None
            ends = [(fmpq(*a.as_integer_ratio()), fmpq(*b.as_integer_ratio())) for a, b in form.rest]
            self._pulls[place] = shift + self._of(
                size, 1, [-q * (lo + hi) for q, (lo, hi) in zip(kappa, ends, strict=True)]
            )
            self._squares[place] = self._of(size, 1, kappa)
            products = [q * lo * hi for q, (lo, hi) in zip(kappa, ends, strict=True)]
            self._corner = self._corner + self._of(1, 1, [sum(products, fmpq(0))])

    def add_steps(self, minorants: list[Any]) -> None:
        """β_v ρ_v of every step."""
        for number_, (at, minorant) in enumerate(zip(self._expansion.at, minorants, strict=True)):
            beta = self._adjoints[number_]
            spend(_TOUCHED * len(at.range), ctx.prec, self._name)
            if at.remainders is None:
                if minorant is not None:
                    raise Refused(f"{self._name}, minorants: a product has none")
                self._add_product(number_, at, beta)
            else:
                self._add_activation(number_, at, beta, minorant)

    def _add_product(self, number_: int, at: EnclosedStepAround, beta: Any) -> None:
        left, right = at.forms
        half = beta.times(fmpq(1, 2))
        term = left.slopes.transpose @ right.slopes.entrywise(half)
        self._inner = self._inner + term + term.transpose
        lifted = [(number_, index) in self._rests for index in (0, 1)]
        for index, other in ((0, right), (1, left)):
            if lifted[index]:
                self._crosses[number_, index] = other.slopes.entrywise(half)
        if all(lifted):
            self._pairs[number_] = half
        if self._rests:  # a form that is not lifted has no rest then
            return
        bound = arb(0)
        for factor, intervals in zip(beta.entries(), _least_products(left, right), strict=True):
            for interval in intervals:
                bound += _least(factor, interval)
        self._add_constant(bound)

    def _add_activation(self, number_: int, at: EnclosedStepAround, beta: Any, minorant: Any) -> None:
        (form,) = at.forms
        size = len(at.range)
        square, linear, free = self._parabolas(at, beta, minorant)
        columns = [self._of(size, 1, part) if minorant is not None else part for part in (square, linear)]
        self._inner = self._inner + form.slopes.weighted_squares(columns[0])
        if minorant is not None:
            self._border = self._border + form.slopes.transpose @ columns[1]
            self._corner = self._corner + self._of(1, 1, [free])
        place = (number_, 0)
        if place in self._rests:
            self._crosses[place] = form.slopes.entrywise(columns[0])
            self._squares[place] = self._squares[place] + columns[0]
            if minorant is not None:
                self._pulls[place] = self._pulls[place] + columns[1]
            return
        if form.rest is None:
            return
        bound = arb(0)
        slopes = columns[1].entries() if minorant is not None else [arb(0)] * size
        for a, b, w, s, t in zip(columns[0].entries(), slopes, form.rest, form.linear, form.range, strict=True):
            both = total(s, t)  # of a·δ + t; then w (square (a·δ + t) + linear)
            ends = [a * arb(end) + b for end in both]
            inner = min(down(end) for end in ends), -min(down(-end) for end in ends)
            bound += arb(product(w, inner)[0])
        self._add_constant(bound)

    def _parabolas(self, at: EnclosedStepAround, beta: Any, minorant: Any) -> tuple[Any, Any, fmpq]:
        """Coefficients of t² and t, and the sum of those of 1.

        They are those of β ρ for degrees up to two, and those of stated parabolas for others, less what lies above β ρ.
        """
        assert at.remainders is not None
        size = len(at.range)
        if all(len(remainder) <= 3 for remainder in at.remainders):
            if minorant is not None:
                raise Refused(f"{self._name}, minorants: an activation of degree two needs none")
            bends = [remainder[2] for remainder in at.remainders]
            return beta.entrywise(_column(self._expansion.arithmetic, bends)), None, fmpq(0)
        rows = [
            [number(entry, f"{self._name}, minorants") for entry in items(row, f"{self._name}, minorants", 3)]
            for row in items(minorant, f"{self._name}, minorants", size)
        ]
        over = fmpq(0)
        for row, factor, remainder, (low, high) in zip(
            rows, beta.entries(), at.remainders, at.forms[0].range, strict=True
        ):
            gap = remainder * factor - arb_poly([ball(entry) for entry in reversed(row)])
            over += shortfall(gap, (arb(low), arb(high)))
        squares, linear, free = (list(part) for part in zip(*rows, strict=True))
        return squares, linear, sum(free, -over)

    def add_region(self, box: list[fmpq], norm: fmpq, lead: fmpq) -> None:
        """−Σ d_i (δ_i − l_i)(h_i − δ_i) − λ (bound − N), and the lead."""
        expansion, region = self._expansion, self._expansion.region
        squares, linear, constant = list(box), [], -lead
        for d, i in zip(box, region.moving, strict=True):
            low, high = (end - expansion.centre[i] for end in region.box[i])
            linear.append(-d * (low + high))
            constant += d * low * high
        if norm > 0:
            a, b, bound = region.norm_terms()
            constant -= norm * bound
            for place, i in enumerate(region.moving):
                offset = expansion.centre[i] - region.point[i]
                squares[place] += norm * a[place]
                linear[place] += norm * (2 * a[place] * offset + b[place])
                constant += norm * (a[place] * offset + b[place]) * offset
        size = len(box)
        self._inner = self._inner + expansion.arithmetic.identity(size).entrywise(self._of(size, 1, squares))
        self._border = self._border + self._of(size, 1, linear)
        self._corner = self._corner + self._of(1, 1, [constant])

    def matrix(self) -> Any:
        """[[corner, border/2], [border/2, inner]] with all rests."""
        arithmetic, half = self._expansion.arithmetic, fmpq(1, 2)
        blocks: list[list[Any]] = [[self._corner], [self._border.times(half), self._inner]]
        places = list(self._rests)
        for index, place in enumerate(places):
            height = self._squares[place].shape[0]
            line = [self._pulls[place].times(half), self._crosses[place]]
            for other in places[:index]:
                width = self._squares[other].shape[0]
                if other[0] == place[0]:
                    line.append(arithmetic.identity(height).entrywise(self._pairs[place[0]]))
                else:
                    line.append(self._of(height, width, [0.0] * height * width))
            line.append(arithmetic.identity(height).entrywise(self._squares[place]))
            blocks.append(line)
        return arithmetic.symmetric(blocks)

    def _add_constant(self, bound: arb) -> None:
        low = down(bound)
        self._corner = self._corner + self._of(1, 1, [fmpq(*low.as_integer_ratio())])


def _least(factor: arb, interval: Interval) -> arb:
    """Below factor · v for all v in the interval."""
    return (factor * arb(interval[0])).min(factor * arb(interval[1]))


def _least_products(left: EnclosedFormAround, right: EnclosedFormAround) -> list[list[Interval]]:
    """t t' − (a·δ)(a'·δ) = w' t + w (a'·δ): what the two terms do not leave."""
    result: list[list[Interval]] = [[] for _ in left.linear]
    for rest, others in ((right.rest, left.range), (left.rest, right.linear)):
        if rest is not None:
            for place, (w, other) in enumerate(zip(rest, others, strict=True)):
                result[place].append(product(w, other))
    return result


def _column(arithmetic: type[Any], values: list[arb]) -> Any:
    """Balls as a column; those of doubles hold them."""
    return arithmetic.column(values)


def _multipliers(value: Any, name: str, size: int) -> list[fmpq]:
    found = [number(entry, name) for entry in items(value, name, size)]
    if any(entry < 0 for entry in found):
        raise Refused(f"{name}: a multiplier is negative")
    return found
