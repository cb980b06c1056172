"""Proofs by products of programs written by hand: ranges and form against their definitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from checker.product_programs import mixed_program, sparse
from checker.test_lifted_form import matrix_of
from checker.test_product_expansion import U, forms, wide
from checker.views_of_files import stages_of
from flint import arb, fmpq

from polymargin_checker.arithmetic import working_precision
from polymargin_checker.enclosures import Balls
from polymargin_checker.exact import exact_logits
from polymargin_checker.floats import Floats
from polymargin_checker.product_ball import (
    Shown,
    _check_ranges,
    _form,
    _Given,
    _square_up,
    centre,
    single_products,
)
from polymargin_checker.product_expansion import EnclosedProducts, expanded
from polymargin_checker.refusal import Refused
from polymargin_checker.views import Products, Stage

WIDE = tuple(fmpq(k, 8) for k in range(5))
MODELS = {"mixed": (mixed_program(), U), "wide": (wide(5), WIDE)}
RADIUS = 2.0**-10
WIDER = 1 + 1e-9
"""For ranges that are proved whatever the rounding."""


def dyadic(value: float) -> fmpq:
    return fmpq(*float(value).as_integer_ratio())


def doubles(values: Any) -> Any:
    return np.array([float(value.mid()) for value in values])


def stated_curvatures(expansion: EnclosedProducts) -> list[tuple[float, float]]:
    ends = [np.linalg.eigvalsh(matrix)[[0, -1]] for matrix in forms(expansion)]
    return [(min(1.01 * low, 0.0) - 0.01, max(1.01 * high, 0.0) + 0.01) for low, high in ends]


def ranges_by_hand(expansion: EnclosedProducts, r: float) -> tuple[list[tuple[float, float]], list[Any]]:
    """r² times the curvatures and the terms of third order, by sum in the order of what they need; ρ of both sides."""
    p, q = doubles(expansion.left.value), doubles(expansion.right.value)
    a, b = (
        np.linalg.norm(doubles(side.slopes.entries()).reshape(-1, expansion.dimension), axis=1)
        for side in (expansion.left, expansion.right)
    )
    found: dict[int | None, tuple[float, float, float]] = {None: (0.0, 0.0, 0.0)}
    curvatures = stated_curvatures(expansion)
    for index in expansion.order:
        error = 0.0
        for j, weight in expansion.sums[index].items():
            (*left, el), (*right, er) = found[expansion.left.sums[j]], found[expansion.right.sums[j]]
            ol, om = max(map(abs, left)), max(map(abs, right))
            error += abs(float(weight.p) / float(weight.q)) * (
                abs(p[j]) * er + abs(q[j]) * el + r * a[j] * om + r * b[j] * ol + ol * om
            )
        low, high = curvatures[index]
        found[index] = (WIDER * (r * r * low - error), WIDER * (r * r * high + error), error)
    ranges = [found[index][:2] for index in range(len(expansion.sums))]
    sizes = [np.array([max(map(abs, found[s][:2])) for s in side.sums]) for side in (expansion.left, expansion.right)]
    return ranges, [r * a + sizes[0], r * b + sizes[1]]


def given(expansion: EnclosedProducts, ranges: Any, r: float) -> _Given:
    """Multipliers without any reason."""
    generator, count = np.random.default_rng(3), len(expansion.sums)
    cuts = []
    for _, j in single_products(expansion):
        linear = expansion.left.sums[j] is None and expansion.right.sums[j] is None
        cuts.append([dyadic(v) for v in generator.uniform(0.5, 1.0, 3) * (1, 1, linear)])
    return _Given(
        dyadic(r),
        [(dyadic(low), dyadic(high)) for low, high in ranges],
        dyadic(0.75),
        [dyadic(v) for v in generator.normal(size=count)],
        [dyadic(v) for v in generator.uniform(0.5, 1.0, count)],
        cuts,
    )


def pairs(values: Any) -> list[list[str]]:
    return [[float(low).hex(), float(high).hex()] for low, high in values]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("r", [RADIUS, 0.5])
def test_ranges_are_proved_from_what_the_definition_gives_on(name: str, r: float) -> None:
    with working_precision(128):
        expansion = expanded(*MODELS[name])
        ranges, reaches = ranges_by_hand(expansion, r)
        stated = pairs(stated_curvatures(expansion))
        found = _check_ranges(expansion, given(expansion, ranges, r), stated)
        for side, expected in zip(found, reaches, strict=True):
            assert doubles(side) == pytest.approx(expected, rel=1e-8)
        for index in range(len(ranges)):
            for end in (0, 1):
                less = [list(pair) for pair in ranges]
                less[index][end] *= 1 - 1e-7
                with pytest.raises(Refused, match=f"ranges of sum {index}: not proved"):
                    _check_ranges(expansion, given(expansion, less, r), stated)
                curved = [list(row) for row in stated]
                curved[index][end] = "0x0p+0"
                word = ("lower", "upper")[end]
                with pytest.raises(Refused, match=f"curvatures of sum {index}: the {word} end is not proved"):
                    _check_ranges(expansion, given(expansion, ranges, r), curved)
        same = {(low, high) for low, high in ranges}
        assert len(same) == len(ranges), "no two sums alike, or a mistake of one for the other is not seen"


SLIGHTLY = 1 + 2.0**-20


def chain(weight: float) -> Products:
    """v = x₀² / 2, then v' = (v + 1)(x₁ + 1), then (w v') x₀: the sums are v and w v'."""
    stages = (
        Stage("P", (sparse(2, ({0: 0.5}, 0.0)), sparse(2, ({0: 1.0}, 0.0))), ()),
        Stage("P", (sparse(3, ({2: 1.0}, 1.0)), sparse(3, ({1: 1.0}, 1.0))), ()),
        Stage("P", (sparse(4, ({3: weight}, 0.0)), sparse(4, ({0: 1.0}, 0.0))), ()),
    )
    return Products(2, stages, sparse(5, ({4: 1.0}, 1.0), ({}, 0.0)))


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("nothing", {}),
        ("the radius", {"r": SLIGHTLY}),
        ("the lower end of a curvature", {"low": -SLIGHTLY}),
        ("the upper end of a curvature", {"high": SLIGHTLY}),
        ("the lower end of a range", {"least": -1 / SLIGHTLY}),
        ("the upper end of a range", {"most": 1 / SLIGHTLY}),
    ],
)
def test_numbers_that_do_not_fit_the_precision_prove_nothing_that_is_false(
    name: str, changes: dict[str, float]
) -> None:
    """At 12 bits: r² low = −1 and r² high = 1 are the ends of the first range, for which nothing is added."""
    r, low, high, least, most = (
        changes.get(key, d) for key, d in zip(("r", "low", "high", "least", "most"), (1, -1, 1, -1, 1), strict=True)
    )
    with working_precision(12):
        expansion = expanded(chain(1.0), (fmpq(0), fmpq(0)))
        stated = pairs([(low, high), (-2.0, 2.0)])
        numbers = given(expansion, [(least, most), (-64.0, 64.0)], r)
        if name == "nothing":
            _check_ranges(expansion, numbers, stated)
        else:
            with pytest.raises(Refused, match="ranges of sum 0: not proved"):
                _check_ranges(expansion, numbers, stated)


@pytest.mark.parametrize(("weight", "end"), [(1.0, 1.0), (SLIGHTLY, 1.0), (1.0, SLIGHTLY)])
def test_rests_of_sums_are_held_at_any_precision(weight: float, end: float) -> None:
    """Around 0 with r = 1 what is added for the second sum is ω = max |range| of the first, and ε of it, which is zero."""
    with working_precision(12):
        expansion = expanded(chain(weight), (fmpq(0), fmpq(0)))
        stated = pairs([(-0.75, 0.75), (-0.75, 0.75)])
        numbers = given(expansion, [(-1.0, end), (-1.75, 1.75)], 1.0)
        if weight == end == 1.0:
            _check_ranges(expansion, numbers, stated)
        else:
            with pytest.raises(Refused, match="ranges of sum 1: not proved"):
                _check_ranges(expansion, numbers, stated)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("arithmetic", [Balls, Floats])
def test_the_form_is_that_of_its_definition(name: str, arithmetic: Any) -> None:
    """At random (δ, w), which need not fit the network."""
    model, point = MODELS[name]
    generator, r = np.random.default_rng(5), 0.5
    with working_precision(128):
        expansion = expanded(model, point)
        ranges, rho = ranges_by_hand(expansion, r)
        numbers = given(expansion, ranges, r)
        bounds = _check_ranges(expansion, numbers, pairs(stated_curvatures(expansion)))
        logits = exact_logits(stages_of(model), point)
        value = arb(logits[0] - logits[1])
        Z = matrix_of(_form(expansion, Shown.of(expansion, arithmetic), 0, 1, value, numbers, bounds))
        p, q = doubles(expansion.left.value), doubles(expansion.right.value)
        a, b = (doubles(s.slopes.entries()).reshape(-1, expansion.dimension) for s in (expansion.left, expansion.right))
    S = np.zeros((len(expansion.sums), len(p)))
    for s, row in enumerate(expansion.sums):
        for j, weight in row.items():
            S[s, j] = float(arb(weight))
    reals = lambda values: np.array([float(arb(v)) for v in values])  # noqa: E731
    nu, kappa, mu = reals(numbers.equalities), reals(numbers.intervals), 0.75
    direct, g = np.zeros(expansion.dimension), np.zeros(len(p))
    for sign, index in ((1, 0), (-1, 1)):
        for atom, weight in expansion.atoms.logits[index][0].items():
            into, place = (direct, atom) if atom < expansion.dimension else (g, atom - expansion.dimension)
            into[place] += sign * float(arb(weight))
    slope = direct + g @ (p[:, None] * b + q[:, None] * a)
    for _ in range(4):
        delta, w = generator.normal(size=expansion.dimension), generator.normal(size=len(S))
        padded = np.append(w, 0.0)
        wl, wr = (padded[[-1 if s is None else s for s in f.sums]] for f in (expansion.left, expansion.right))
        tl, tr = a @ delta + wl, b @ delta + wr
        rests = p * wr + q * wl + tl * tr
        total = float(arb(logits[0] - logits[1])) + slope @ delta + g @ rests + nu @ (w - S @ rests)
        total -= mu * (r * r - delta @ delta)
        total -= sum(k * (v - low) * (high - v) for k, v, (low, high) in zip(kappa, w, ranges, strict=True))
        for (s, j), row in zip(single_products(expansion), numbers.cuts, strict=True):
            one, two, three = reals(row)
            product = w[s] - p[j] * wr[j] - q[j] * wl[j]
            Q = (np.outer(a[j], b[j]) + np.outer(b[j], a[j])) / 2
            total -= one * (rho[0][j] ** 2 * tr[j] ** 2 - product**2)
            total -= two * (rho[1][j] ** 2 * tl[j] ** 2 - product**2)
            total -= three * (r * r * np.sum((Q @ delta) ** 2) - product**2)
        state = np.concatenate([[1.0], delta, w])
        assert state @ Z @ state == pytest.approx(total, rel=1e-7)


@pytest.mark.parametrize("name", MODELS)
def test_the_value_at_the_point_is_enclosed(name: str) -> None:
    model, point = MODELS[name]
    logits = exact_logits(stages_of(model), point)
    for bits in (12, 128):
        for label, rival in ((0, 1), (1, 0)):
            with working_precision(bits):
                found = centre(expanded(model, point), label, rival)
            with working_precision(3000):
                assert found.contains(arb(logits[label] - logits[rival]))
            assert found.rad() < 2.0 ** (6 - bits)


LONG = 1 + 2.0**-30
"""More bits than the precision below has; everything else is exact in it."""


@pytest.mark.parametrize(
    ("row", "bias", "coordinate"),
    [({}, LONG, 1.0), ({0: LONG}, 0.0, 1.0), ({0: 1.0}, 0.0, LONG), ({2: LONG}, 0.0, 1.0)],
)
def test_no_number_at_the_point_is_cut_to_the_precision(row: Any, bias: float, coordinate: float) -> None:
    product = Stage("P", (sparse(2, ({0: 1.0}, 0.0)), sparse(2, ({1: 1.0}, 0.0))), ())
    model = Products(2, (product,), sparse(3, (row, bias), ({}, 0.0)))
    point = (dyadic(coordinate), fmpq(1))
    with working_precision(12):
        found = centre(expanded(model, point), 0, 1)
    with working_precision(3000):
        assert found.contains(arb(dyadic(LONG)))
    assert found.rad() < 2.0**-8


@pytest.mark.parametrize("end", [1.0, LONG])
def test_the_corner_of_the_form_is_not_cut_to_the_precision(end: float) -> None:
    """B(u) plus the ends of the ranges with their multipliers, less μ r²."""
    with working_precision(12):
        expansion = expanded(chain(1.0), (fmpq(0), fmpq(0)))
        numbers = given(expansion, [(-1.0, end), (-64.0, 64.0)], LONG)
        bounds = [arb(1)] * 3, [arb(1)] * 3
        form = _form(expansion, Shown.of(expansion, Balls), 0, 1, arb(1), numbers, bounds)
        found = form.entries()[0]
    ends = sum((k * low * high for k, (low, high) in zip(numbers.intervals, numbers.ranges, strict=True)), fmpq(0))
    with working_precision(3000):
        assert found.contains(arb(1 + ends - numbers.ball * numbers.radius * numbers.radius))


def test_which_sums_are_single_products() -> None:
    expansion = expanded(*MODELS["wide"])
    assert expansion.sums == [{0: 1}, {0: 2, 1: fmpq(-1, 2)}]
    assert single_products(expansion) == [(0, 0)]
    twice = sparse(2, ({0: 1.0}, 0.0), ({1: 1.0}, 0.0))
    late = sparse(4, ({2: 2.0}, 0.0), ({3: 1.0}, 0.0))
    model = Products(
        2,
        (Stage("P", (twice, twice), ()), Stage("P", (late, sparse(4, ({0: 1.0}, 1.0), ({1: 1.0}, 1.0))), ())),
        sparse(6, ({4: 1.0}, 0.0), ({5: 1.0}, 0.0)),
    )
    assert single_products(expanded(model, U)) == [(1, 1)]


def test_squares_are_rounded_up_from_the_whole_ball() -> None:
    for value in (arb(3, 0.5), arb(-3, 0.5)):
        assert fmpq(49, 4) <= _square_up(value) < fmpq(123, 10)
