"""The expansion that region proofs rest on, step by step: what it says is an identity, and its ranges hold what they say.

Truth: a program that sees everything that came before it, evaluated in rationals at points of the region; and ranges by hand.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from checker.region_programs import (
    STEPS,
    Program,
    exact,
    form,
    grid,
    inside,
    powers,
    program,
    region,
    rows,
    run,
    times,
    value_of_b,
)
from flint import arb, fmpq

from polymargin_checker import region_expansion
from polymargin_checker.arithmetic import working_precision
from polymargin_checker.enclosures import Balls
from polymargin_checker.floats import Floats
from polymargin_checker.refusal import Refused
from polymargin_checker.region_expansion import EnclosedExpansion, _remainders
from polymargin_checker.region_steps import EnclosedForm, EnclosedStep


@pytest.mark.parametrize("norm", ["linf", "l2", "l1"])
@pytest.mark.parametrize("centre", ["point", "middle"])
def test_b_is_what_the_expansion_says_and_all_ranges_hold(norm: str, centre: str) -> None:
    part = region(norm)
    place = part.middle() if centre == "middle" else list(part.point)
    with working_precision(128):
        expansion = EnclosedExpansion(program(), part, place)
        functional = expansion.functional(0, 1)
        at_centre, values = run(place)
        assert [exact(value) for value in expansion.values] == values
        places = grid(part)
        assert len(places) > 5
        for x in places:
            delta = [a - b for a, b in zip(x, place, strict=True)]
            forms, there = run(x)
            rests: list[list[fmpq]] = []
            for k, (step, at) in enumerate(zip(STEPS, expansion.at, strict=True)):
                moves = []
                for j, around in enumerate(at.forms):
                    t = [a - b for a, b in zip(forms[k][j], at_centre[k][j], strict=True)]
                    linear = times(rows(around.slopes), delta)
                    w = [a - b for a, b in zip(t, linear, strict=True)]
                    assert inside(linear, around.linear)
                    assert inside(t, around.range)
                    assert inside(w, around.rest or [(0.0, 0.0)] * len(w))
                    sums = [times(rows(block), rests[source - 1]) for source, block in around.reached.items()]
                    assert w == [sum(terms, fmpq(0)) for terms in zip(*sums, strict=True)] if sums else not any(w)
                    moves.append(t)
                first_order = [
                    sum((exact(d)[i] * t[i] for d, t in zip(at.derivatives, moves, strict=True)), fmpq(0))
                    for i in range(len(at.range))
                ]
                rho = [a - b - c for a, b, c in zip(there[k + 1], values[k + 1], first_order, strict=True)]
                assert inside(rho, at.range)
                if step.coefficients is not None:
                    assert at.remainders is not None
                    assert all(p(arb(t)).contains(arb(r)) for p, t, r in zip(at.remainders, moves[0], rho, strict=True))
                rests.append(rho)
            truth = value_of_b(expansion.steps, there)
            said = exact(functional.value)[0] + times([exact(functional.slope)], delta)[0]
            said += sum((times([exact(b)], r)[0] for b, r in zip(functional.adjoints, rests, strict=True)), fmpq(0))
            assert said == truth


SQUARE = EnclosedStep((form([0.0], s0=[[1.0]]),), powers(0.0, 0.0, 1.0))


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [  # of x = 1 + δ and x² = 1 + 2δ + w, where |δ| ≤ 1/2 and 0 ≤ w ≤ 1/4
        (form([0.0], s1=[[1.0]]), form([0.0], s1=[[1.0]]), (-0.015625, 1.5625)),  # the two rests differ by 1/4 at most
        (form([0.0], s1=[[1.0]]), form([3.0], s1=[[2.0]]), (-0.03125, 3.125)),
        (form([0.0], s1=[[1.0]]), form([0.0], s1=[[-1.0]]), (-1.5625, 0.015625)),
        (form([0.0], s0=[[1.0]]), form([0.0], s1=[[1.0]]), (-0.025, 0.625)),
        (form([0.0], s1=[[1.0]]), form([0.0], s0=[[-1.0]]), (-0.625, 0.025)),
        (form([0.0], s0=[[2.0]]), form([1.0], s0=[[0.5]]), (0.0, 0.25)),
        (form([0.0], s0=[[2.0]]), form([5.0]), (0.0, 0.0)),
        (form([5.0]), form([0.0], s0=[[2.0]]), (0.0, 0.0)),
    ],
)
def test_a_product_of_forms_that_see_the_same_has_a_range_of_its_own(
    left: EnclosedForm, right: EnclosedForm, expected: tuple[float, float]
) -> None:
    with working_precision(128):
        part = region("linf", high=0.5, size=1)
        steps = Program(Balls, [1, 1, 1], (SQUARE, EnclosedStep((left, right), None)), None)  # type: ignore[arg-type]
        expansion = EnclosedExpansion(steps, part, list(part.point))
        assert expansion.at[0].range[0] == pytest.approx((0.0, 0.25))
        low, high = expansion.at[1].range[0]
        assert (low, high) == pytest.approx(expected)
        assert low <= expected[0] + 1e-15
        assert high >= expected[1] - 1e-15


ULP = 2.0**-52


@pytest.mark.parametrize("ends", [(1.0, 1 + ULP), (-1 - ULP, -1.0), (1 + ULP, 1 + 2 * ULP), (-3.0, 1.0), (2.0, 2.0)])
@pytest.mark.parametrize("weight", [1.0, -2.0])
def test_sums_of_rests_hold_both_ends_of_every_range(ends: tuple[float, float], weight: float) -> None:
    """Between neighbouring doubles there is no middle."""
    with working_precision(128):
        part = region("linf", size=1)
        expansion = EnclosedExpansion(Program(Balls, [1], (), None), part, list(part.point))  # type: ignore[arg-type]
        ((low, high),) = expansion._through(Balls.of(1, 2, [weight, 1.0]), [ends, (0.5, 1.0)])
    least, most = sorted(weight * end for end in ends)
    assert (low, high) == pytest.approx((least + 0.5, most + 1.0))
    assert fmpq(*low.as_integer_ratio()) <= fmpq(*least.as_integer_ratio()) + fmpq(1, 2)
    assert fmpq(*high.as_integer_ratio()) >= fmpq(*most.as_integer_ratio()) + 1


@pytest.mark.parametrize("arithmetic", [Balls, Floats])
@pytest.mark.parametrize("ends", [(-(2.0**-60), 1.0), (-1.0, 2.0**-60), (1.0, 1 + 2.0**-52), (-(2.0**-70), 2.0**-9)])
def test_half_of_a_range_is_rounded_up(ends: tuple[float, float], arithmetic: Any) -> None:
    """In doubles the middle of −2⁻⁶⁰ and 1 is 1/2, and so is what lies on either side of it."""
    with working_precision(128):
        part = region("linf", size=1)
        expansion = EnclosedExpansion(Program(arithmetic, [1], (), None), part, list(part.point))  # type: ignore[arg-type]
        ((low, high),) = expansion._through(arithmetic.of(1, 1, [1.0]), [ends])
    assert low <= ends[0] < ends[1] <= high


def test_coefficients_that_are_no_doubles_are_held_and_work_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: Counter[str] = Counter()
    monkeypatch.setattr(region_expansion, "spend", lambda products, bits, what: asked.update({what: products}))
    with working_precision(53):
        (found,) = _remainders((fmpq(1), fmpq(1), fmpq(1, 3)), [arb(0)])
    with working_precision(200):
        assert [found[k].contains(arb(exact)) for k, exact in enumerate((0, 0, fmpq(1, 3)))] == [True] * 3
    assert asked["the remainders of activations"] >= 9
    with working_precision(128):
        part = region("linf")
        EnclosedExpansion(program(), part, list(part.point))
    assert asked["the ranges of products"] >= 4


def test_stated_ranges_are_those_of_the_step_that_is_seen() -> None:
    """x² is seen past 64 x², whose rest is no part of it: 0 ≤ w ≤ 1/4 for |δ| ≤ 1/2."""
    other = EnclosedStep((form([0.0], s0=[[8.0]]),), powers(0.0, 0.0, 1.0))
    last = EnclosedStep((form([0.0], s1=[[1.0]]),), powers(0.0, 0.0, 1.0))
    steps = Program(Balls, [1, 1, 1, 1], (SQUARE, other, last), None)  # type: ignore[arg-type]
    with working_precision(128):
        part = region("linf", high=0.5, size=1)
        for high, proved in ((0.2500001, True), (0.2499999, False)):
            stated = [[["-0x1p-10", high.hex()]]]
            if proved:
                rest = EnclosedExpansion(steps, part, list(part.point), stated).at[2].forms[0].rest
                assert rest == [pytest.approx((0.0, 0.25), abs=1e-6)]
            else:
                with pytest.raises(Refused, match="is not shown to hold its rest"):
                    EnclosedExpansion(steps, part, list(part.point), stated)
