"""Proofs by products: B > 0 on the closed ball ‖x − u‖ ≤ r for a network of products, in one piece.

In the variables δ and w, the rests of all sums (`product_expansion`), B and all that is known are quadratic:

    w_s = Σ_j S_sj (p_L w_R + p_R w_L + t_L t_R)_j,      (w_s − lo)(hi − w_s) ≥ 0,      r² − ‖δ‖² ≥ 0,

and for every sum of a single product with weight one, q = t_L t_R = w_s − p_L w_R − p_R w_L, |t_L| ≤ ρ_L, |t_R| ≤ ρ_R,

    ρ_L² t_R² − q² ≥ 0,      ρ_R² t_L² − q² ≥ 0,      r²‖Qδ‖² − q² ≥ 0 if t_L = a·δ, t_R = b·δ and Q = (abᵀ + baᵀ)/2.

If B plus the first times ν, minus the others times κ, μ, θ ≥ 0, is a positive definite form in (1, δ, w), then B > 0 on the ball
(docs/theorems.md, section 9). Ranges: r² times the stated curvatures, and what is left of third order and higher,

    |e_j| ≤ |p_L| ε_R + |p_R| ε_L + r‖a_L‖ ω_R + r‖a_R‖ ω_L + ω_L ω_R,      |w| ≤ ω and |e| ≤ ε for the sums in the factors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flint import arb, ctx, fmpq

from polymargin_checker.arithmetic import PRECISION, arithmetic_of, judging, working_precision
from polymargin_checker.document import fields, items
from polymargin_checker.dyadics import ball, number
from polymargin_checker.enclosures import Balls
from polymargin_checker.lifted import LARGEST_SPACE
from polymargin_checker.lifted_spectra import Known
from polymargin_checker.product_expansion import EnclosedProducts, expanded
from polymargin_checker.refusal import Refused, Unproved
from polymargin_checker.views import Products
from polymargin_checker.work import spend

Range = tuple[fmpq, fmpq]

_TOUCHED = 128


@dataclass(frozen=True)
class _Given:
    """The numbers of a proof, read."""

    radius: fmpq
    ranges: list[Range]
    ball: fmpq
    equalities: list[fmpq]
    intervals: list[fmpq]
    cuts: list[list[fmpq]]


def check_product_ball(
    model: Products,
    point: Sequence[fmpq],
    label: int,
    rival: int,
    proof: Any,
    known: Known,
    exact: bool = False,
) -> fmpq:
    """Prove B > 0 on the ball and return its radius, or refuse."""
    fields(
        proof,
        "proof by products",
        ("kind", "radius", "curvatures", "ranges", "ball", "equalities", "intervals", "cuts"),
    )
    if model.dimension > LARGEST_SPACE:
        raise Refused(f"a proof by products in {model.dimension} inputs; this checker accepts up to {LARGEST_SPACE}")
    with working_precision(PRECISION):
        if not known.products:
            known.products.append(expanded(model, point))
        expansion: EnclosedProducts = known.products[0]
        variables = 1 + expansion.dimension + len(expansion.sums)
        if variables > LARGEST_SPACE:
            raise Refused(f"a proof by products in {variables} variables; this checker accepts up to {LARGEST_SPACE}")
        given = _read(expansion, proof)
    arithmetic = arithmetic_of(variables, exact)
    with judging(arithmetic):
        shown = Shown.of(expansion, arithmetic)
        bounds = _check_ranges(expansion, given, proof["curvatures"], None if arithmetic is Balls else shown.linear)
        value = centre(expansion, label, rival)
        if not _form(expansion, shown, label, rival, value, given, bounds).positive_definite():
            raise Unproved("the form of the multipliers is not shown to be positive definite")
    return given.radius


def _read(expansion: EnclosedProducts, proof: Any) -> _Given:
    radius = number(proof["radius"], "radius of the proof by products")
    if radius <= 0:
        raise Refused("the radius of the proof by products is not positive")
    count = len(expansion.sums)
    ranges = _pairs(proof["ranges"], "ranges", count)
    if any(low >= high for low, high in ranges):
        raise Refused("ranges: one of them is empty")
    equalities, intervals = (
        [number(entry, key) for entry in items(proof[key], key, count)] for key in ("equalities", "intervals")
    )
    single = single_products(expansion)
    cuts = [
        [number(entry, "cuts") for entry in items(row, "cuts", 3)] for row in items(proof["cuts"], "cuts", len(single))
    ]
    multiplier = number(proof["ball"], "ball")
    if multiplier < 0 or any(value < 0 for value in intervals) or any(value < 0 for row in cuts for value in row):
        raise Refused("ball, intervals, cuts: a multiplier is negative")
    for row, (_, j) in zip(cuts, single, strict=True):
        if row[2] and not (expansion.left.sums[j] is None and expansion.right.sums[j] is None):
            raise Refused("cuts: the third multiplier is for products of two linear factors")
    return _Given(radius, ranges, multiplier, equalities, intervals, cuts)


def _pairs(value: Any, name: str, length: int) -> list[Range]:
    rows = [items(row, name, 2) for row in items(value, name, length)]
    return [(number(low, name), number(high, name)) for low, high in rows]


def single_products(expansion: EnclosedProducts) -> list[tuple[int, int]]:
    """The sums that are one product with weight one, and the product."""
    rows = [(index, next(iter(row.items()))) for index, row in enumerate(expansion.sums) if len(row) == 1]
    return [(index, j) for index, (j, weight) in rows if weight == 1]


def _check_ranges(
    expansion: EnclosedProducts, given: _Given, stated: Any, slopes: tuple[Any, ...] | None = None
) -> tuple[list[arb], list[arb]]:
    """Prove the curvatures and the ranges; returns bounds of |t_L| and |t_R| of all products."""
    left, right, r = expansion.left, expansion.right, ball(given.radius)
    curvatures = _pairs(stated, "curvatures", len(expansion.sums))
    errors: dict[int | None, arb] = {None: arb(0)}
    sizes: dict[int | None, arb] = {None: arb(0)}
    reach = [[r * norm for norm in side.norms] for side in (left, right)]
    for index in expansion.order:
        low, high = curvatures[index]
        for side, shift in (("lower", -low), ("upper", high)):
            if not expansion.dominates(index, side, shift, slopes):
                raise Unproved(f"curvatures of sum {index}: the {side} end is not proved")
        error = arb(0)
        for j, weight in expansion.sums[index].items():
            spend(_TOUCHED, ctx.prec, "the ranges of a proof by products")
            first, second = left.sums[j], right.sums[j]
            rest = abs(left.value[j]) * errors[second] + abs(right.value[j]) * errors[first]
            rest += reach[0][j] * sizes[second] + reach[1][j] * sizes[first] + sizes[first] * sizes[second]
            error += abs(ball(weight)) * rest
        least, most = r * r * ball(low) - error, r * r * ball(high) + error
        if not (ball(given.ranges[index][0]) <= least and ball(given.ranges[index][1]) >= most):
            raise Refused(f"ranges of sum {index}: not proved")
        errors[index], sizes[index] = error, ball(max(abs(end) for end in given.ranges[index]))
    return (
        [length + sizes[place] for length, place in zip(reach[0], left.sums, strict=True)],
        [length + sizes[place] for length, place in zip(reach[1], right.sums, strict=True)],
    )


@dataclass(frozen=True)
class Shown:
    """What the form is made of, in the arithmetic in which it is tested: a and t of both sides, what passes, ∇v, a_L·a_R."""

    arithmetic: Any
    linear: tuple[Any, ...]
    moved: tuple[Any, ...]
    passing: Any
    slopes: Any
    angles: Any

    @classmethod
    def of(cls, expansion: EnclosedProducts, arithmetic: Any) -> Shown:
        if arithmetic not in expansion.shown:
            expansion.shown[arithmetic] = cls._made(expansion, arithmetic)
        return expansion.shown[arithmetic]  # type: ignore[no-any-return]

    @classmethod
    def _made(cls, expansion: EnclosedProducts, arithmetic: Any) -> Shown:
        sides, count = (expansion.left, expansion.right), len(expansion.sums)
        products = len(expansion.left.sums)
        spend(_TOUCHED * (products * count + products), ctx.prec, "the form of a proof by products")

        def shown(whole: Balls) -> Any:
            return whole if arithmetic is Balls else arithmetic.of(*whole.shape, whole.entries())

        columns, slopes = [shown(side.column) for side in sides], tuple(shown(side.slopes) for side in sides)
        angles = slopes[0].entrywise(slopes[1]) @ arithmetic.of(expansion.dimension, 1, [1.0] * expansion.dimension)
        if not count:
            return cls(arithmetic, slopes, slopes, None, shown(expansion.slopes), angles)
        chosen = [
            arithmetic.of(products, count, [float(place == s) for place in side.sums for s in range(count)])
            for side in sides
        ]
        moved = tuple(
            arithmetic.stacked([a.transpose, b.transpose]).transpose for a, b in zip(slopes, chosen, strict=True)
        )
        passing = chosen[1].entrywise(columns[0]) + chosen[0].entrywise(columns[1])
        return cls(arithmetic, slopes, moved, passing, shown(expansion.slopes), angles)


def _form(
    expansion: EnclosedProducts,
    shown: Shown,
    label: int,
    rival: int,
    value: arb,
    given: _Given,
    bounds: tuple[list[arb], list[arb]],
) -> Any:
    """The form over (1, δ, w) of B minus all that is known times its multipliers; `value` is B(u)."""
    of, n, r2 = shown.arithmetic.of, expansion.dimension, given.radius * given.radius
    left, right, sums = expansion.left, expansion.right, expansion.sums
    products, count = len(left.sums), len(sums)
    direct, weights = _difference(expansion, label, rival)
    factors = list(weights)  # of the rests of products: those of B, less what the equalities take
    for nu, row in zip(given.equalities, sums, strict=True):
        for j, weight in row.items():
            factors[j] -= nu * weight
    mixed, own_left, own_right, squares = (_zeros(products) for _ in range(4))
    single = single_products(expansion)
    for (_, j), (one, two, three) in zip(single, given.cuts, strict=True):
        a, b = _square_up(left.norms[j]), _square_up(right.norms[j])
        own_left[j] = -two * _square_up(bounds[1][j]) - three * r2 * b / 4
        own_right[j] = -one * _square_up(bounds[0][j]) - three * r2 * a / 4
        mixed[j], squares[j] = -three * r2 / 2, one + two + three
    moved, passing = shown.moved, shown.passing
    rests = of(products, 1, factors)
    beside = rests + of(products, 1, mixed).entrywise(shown.angles)
    inner = moved[0].paired_form(moved[1], of(products, 1, own_left), beside, of(products, 1, own_right))
    if single:
        rows = [j for _, j in single]
        picked = of(len(rows), count, [float(s == index) for index, _ in single for s in range(count)])
        q = picked + passing.part(rows, range(count)).times(fmpq(-1))
        padded = shown.arithmetic.stacked([of(n, len(rows), [0.0] * (n * len(rows))), q.transpose]).transpose
        inner = inner + padded.form(of(len(rows), 1, [squares[j] for j in rows]))
    inner = inner.with_diagonal(of(n + count, 1, [given.ball] * n + given.intervals))
    slope = of(n, 1, direct) + shown.slopes.transpose @ of(products, 1, weights)
    pull = [nu - k * (lo + hi) for nu, k, (lo, hi) in zip(given.equalities, given.intervals, given.ranges, strict=True)]
    linear = slope if not count else shown.arithmetic.stacked([slope, of(count, 1, pull) + passing.transpose @ rests])
    ends = sum((k * lo * hi for k, (lo, hi) in zip(given.intervals, given.ranges, strict=True)), fmpq(0))
    corner = value + ball(ends - given.ball * r2)
    return inner.bordered(of(1, 1, [corner]), linear.times(fmpq(1, 2)))


def centre(expansion: EnclosedProducts, label: int, rival: int) -> arb:
    """B(u)."""
    spend(_TOUCHED * len(expansion.atoms.levels), ctx.prec, "the form of a proof by products")
    direct, weights = _difference(expansion, label, rival)
    logits = expansion.atoms.logits
    total = ball(logits[label][1] - logits[rival][1])
    for weight, coordinate in zip(direct, expansion.point, strict=True):
        total += ball(weight) * ball(coordinate)
    for weight, p, q in zip(weights, expansion.left.value, expansion.right.value, strict=True):
        if weight:
            total += ball(weight) * p * q
    return total


def _difference(expansion: EnclosedProducts, label: int, rival: int) -> tuple[list[fmpq], list[fmpq]]:
    """f_label − f_rival as weights of the inputs and of the products."""
    n, total = expansion.dimension, len(expansion.atoms.levels)
    result = _zeros(total)
    for sign, index in ((1, label), (-1, rival)):
        for atom, weight in expansion.atoms.logits[index][0].items():
            result[atom] += sign * weight
    return result[:n], result[n:]


def _square_up(value: arb) -> fmpq:
    """A rational that is not below the square of the ball."""
    mantissa, exponent = (value * value).upper().man_exp()
    return fmpq(mantissa) * (fmpq(2) ** int(exponent))


def _zeros(count: int) -> list[fmpq]:
    return [fmpq(0)] * count
