"""The form of a leaf is B less what its multipliers take, exactly; and what a leaf may not say.

Truth: the program of `region_programs` in rationals at points of the region, with B, ranges and multipliers put together as
the definition says; the constants that replace rests come from intervals of doubles.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest
from checker.region_programs import (
    CUBIC,
    STEPS,
    Program,
    exact,
    form,
    grid,
    powers,
    program,
    region,
    rows,
    run,
    times,
    value_of_b,
)
from flint import arb, fmpq

from polymargin_checker import region_leaf
from polymargin_checker.arithmetic import working_precision
from polymargin_checker.enclosures import Balls
from polymargin_checker.refusal import Refused
from polymargin_checker.region import CheckedRegion
from polymargin_checker.region_expansion import EnclosedExpansion, EnclosedFunctional
from polymargin_checker.region_leaf import _RegionForm, check_linear, check_quadratic
from polymargin_checker.region_steps import EnclosedStep

LEAD = fmpq(5, 8)
BOX = [fmpq(1, 4), fmpq(3, 8)]
PARABOLAS = {0: [[0.25, -0.5, -64.0], [-0.125, 0.25, -32.0]], 3: [[0.5, -0.375, -4096.0]]}
"""Below the cubic ones, by step: square, linear, free."""
ROUNDING = 1e-9
_PLAIN = form([0.5, 0.25], s0=[[1.0, 0.5], [0.0, -0.5]])
_BENT = form([0.0, 1.0], s0=[[0.25, 0.0], [0.5, 1.0]], s1=[[0.5, -0.25], [0.0, 0.5]])
PROGRAMS = {
    "squares": STEPS,
    "cubes": CUBIC,
    "a rest on the left": (STEPS[0], EnclosedStep((_BENT, _PLAIN), None), *STEPS[2:]),
    "a rest on the right": (STEPS[0], EnclosedStep((_PLAIN, _BENT), None), *STEPS[2:]),
}


def total(terms: Iterable[fmpq]) -> fmpq:
    return sum(terms, fmpq(0))


def dyadic(value: float) -> fmpq:
    return fmpq(*float(value).as_integer_ratio())


def double(value: fmpq) -> float:
    return float(arb(value))


def around(norm: str, centre: str, steps: Any) -> tuple[CheckedRegion, EnclosedExpansion, list[Any]]:
    part = region("l1", low=0.0625, high=0.1875) if norm == "l1 above" else region(norm)
    place = part.middle() if centre == "middle" else list(part.point)
    minorants = [
        [[float(v).hex() for v in row] for row in PARABOLAS[k]]
        if step.coefficients is not None and len(step.coefficients) > 3
        else None
        for k, step in enumerate(steps)
    ]
    return part, EnclosedExpansion(program(steps), part, place), minorants


def taken(part: CheckedRegion, x: list[fmpq], norm: fmpq) -> fmpq:
    """What the multipliers of the region take at x, and the lead."""
    found = total(d * (v - low) * (high - v) for d, v, (low, high) in zip(BOX, x, part.box, strict=True))
    a, b, bound = part.norm_terms()
    steps = [v - u for v, u in zip(x, part.point, strict=True)]
    length = total(p * d * d + q * d for p, q, d in zip(a, b, steps, strict=True))
    return LEAD + found + norm * (bound - length)


def at(matrix: Any, vector: list[fmpq]) -> fmpq:
    return total(v * entry for v, entry in zip(vector, times(rows(matrix), vector), strict=True))


def moves(expansion: EnclosedExpansion, steps: Any, x: list[fmpq]) -> tuple[Any, Any, Any, list[list[fmpq]]]:
    """t, a·δ and w of every form, ρ of every step."""
    place = list(expansion.centre)
    here, values = run(place, steps)
    there, new = run(x, steps)
    delta = [a - b for a, b in zip(x, place, strict=True)]
    t = [
        [[a - b for a, b in zip(*z, strict=True)] for z in zip(*k, strict=True)] for k in zip(there, here, strict=True)
    ]
    linear = [[times(rows(f.slopes), delta) for f in step.forms] for step in expansion.at]
    w = [[[a - b for a, b in zip(*z, strict=True)] for z in zip(*k, strict=True)] for k in zip(t, linear, strict=True)]
    rho = []
    for k, step in enumerate(expansion.at):
        slopes = [exact(d) for d in step.derivatives]
        rho.append(
            [
                b - a - total(d[i] * move[i] for d, move in zip(slopes, t[k], strict=True))
                for i, (a, b) in enumerate(zip(values[k + 1], new[k + 1], strict=True))
            ]
        )
    return t, linear, w, rho


def lost(minorants: list[Any], adjoints: list[list[fmpq]], t: Any, rho: list[list[fmpq]]) -> fmpq:
    """What stated parabolas lie below β ρ."""
    result = fmpq(0)
    for k, stated in enumerate(minorants):
        if stated is not None:
            for row, factor, move, rest in zip(PARABOLAS[k], adjoints[k], t[k][0], rho[k], strict=True):
                a, b, c = map(dyadic, row)
                result += factor * rest - (a * move * move + b * move + c)
    return result


@pytest.mark.parametrize("norm", ["linf", "l2", "l1", "l1 above"])
@pytest.mark.parametrize("centre", ["point", "middle"])
@pytest.mark.parametrize("steps", PROGRAMS.values(), ids=PROGRAMS)
def test_with_all_rests_as_variables_the_form_is_b_less_what_the_multipliers_take(
    norm: str, centre: str, steps: Any
) -> None:
    with working_precision(2000):
        part, expansion, minorants = around(norm, centre, steps)
        functional = expansion.functional(0, 1)
        made = _RegionForm(expansion, functional, "leaf")
        rests = [(k, j, f) for k, step in enumerate(expansion.at) for j, f in enumerate(step.forms) if f.rest]
        shifts = [[dyadic(0.25 * k - 0.125 * j + 0.5 * i - 0.375) for i in range(len(f.linear))] for k, j, f in rests]
        kappas = [[dyadic(0.125 * k + 0.25 * j + 0.0625 * i) for i in range(len(f.linear))] for k, j, f in rests]
        multiplier = fmpq(0) if norm == "linf" else fmpq(3, 4)
        made.lift([[double(v).hex() for v in row] for row in shifts], [double(v).hex() for row in kappas for v in row])
        made.add_steps(minorants)
        made.add_region(BOX, multiplier, LEAD)
        matrix = made.matrix()
        adjoints = [exact(column) for column in functional.adjoints]
        for (_, _, f), shift in zip(rests, shifts, strict=True):
            for source, block in f.reached.items():
                less = times(rows(block.transpose), shift)
                adjoints[source - 1] = [a - b for a, b in zip(adjoints[source - 1], less, strict=True)]
        for x in grid(part):
            t, _, w, rho = moves(expansion, steps, x)
            delta = [a - b for a, b in zip(x, expansion.centre, strict=True)]
            found = at(matrix, [fmpq(1), *delta, *(v for k, j, _ in rests for v in w[k][j])])
            intervals = total(
                kappa * (v - dyadic(low)) * (dyadic(high) - v)
                for (k, j, f), row in zip(rests, kappas, strict=True)
                for kappa, v, (low, high) in zip(row, w[k][j], f.rest, strict=True)
            )
            truth = value_of_b(expansion.steps, run(x, steps)[1])
            assert found == truth - taken(part, x, multiplier) - intervals - lost(minorants, adjoints, t, rho)


def least(*factors: tuple[float, float]) -> float:
    """Of a product of numbers in intervals."""
    low, high = factors[0]
    for a, b in factors[1:]:
        ends = [low * a, low * b, high * a, high * b]
        low, high = min(ends), max(ends)
    return low


def constants(expansion: EnclosedExpansion, beta: list[list[fmpq]], minorants: list[Any]) -> float:
    """What replaces the rests of all steps."""
    result = 0.0
    for k, step in enumerate(expansion.at):
        for i, factor in enumerate(map(double, beta[k])):
            if step.remainders is None:
                left, right = step.forms
                if right.rest is not None:
                    result += least(right.rest[i], left.range[i], (factor, factor))
                if left.rest is not None:
                    result += least(left.rest[i], right.linear[i], (factor, factor))
                continue
            (f,) = step.forms
            if f.rest is not None:
                square, slope = factor * float(step.remainders[i][2].mid()), 0.0
                if minorants[k] is not None:
                    square, slope, _ = PARABOLAS[k][i]
                ends = sorted(square * (a + b) for a, b in zip(f.linear[i], f.range[i], strict=True))
                result += least(f.rest[i], (ends[0] + slope, ends[1] + slope))
    return result


@pytest.mark.parametrize("norm", ["linf", "l2", "l1", "l1 above"])
@pytest.mark.parametrize("centre", ["point", "middle"])
@pytest.mark.parametrize("steps", PROGRAMS.values(), ids=PROGRAMS)
def test_without_variables_for_rests_their_least_values_stand_in_the_corner(norm: str, centre: str, steps: Any) -> None:
    with working_precision(2000):
        part, expansion, minorants = around(norm, centre, steps)
        functional = expansion.functional(0, 1)
        made = _RegionForm(expansion, functional, "leaf")
        multiplier = fmpq(0) if norm == "linf" else fmpq(3, 4)
        made.add_steps(minorants)
        made.add_region(BOX, multiplier, LEAD)
        matrix = made.matrix()
        beta = [exact(column) for column in functional.adjoints]
        corner = constants(expansion, beta, minorants)
        for x in grid(part):
            _, linear, _, _ = moves(expansion, steps, x)
            delta = [a - b for a, b in zip(x, expansion.centre, strict=True)]
            expected = exact(functional.value)[0] + times([exact(functional.slope)], delta)[0]
            for k, step in enumerate(expansion.at):
                for i, factor in enumerate(beta[k]):
                    move = linear[k][0][i]
                    if minorants[k] is not None:
                        a, b, c = map(dyadic, PARABOLAS[k][i])
                        expected += a * move * move + b * move + c
                    elif step.remainders is None:
                        expected += factor * move * linear[k][1][i]
                    else:
                        expected += factor * exact(Balls.column([step.remainders[i][2]]))[0] * move * move
            gap = at(matrix, [fmpq(1), *delta]) - expected + taken(part, x, multiplier)
            assert double(gap) == pytest.approx(corner, abs=ROUNDING)
            assert at(matrix, [fmpq(1), *delta]) <= value_of_b(expansion.steps, run(x, steps)[1]) - LEAD


def nothing_but(value: float, slope: float) -> tuple[EnclosedExpansion, EnclosedFunctional]:
    """value + slope · δ for |δ| ≤ 1/2."""
    part = region("linf", high=0.5, size=1)
    expansion = EnclosedExpansion(Program(Balls, [1], (), None), part, list(part.point))  # type: ignore[arg-type]
    return expansion, EnclosedFunctional(Balls.of(1, 1, [value]), Balls.of(1, 1, [slope]), [])


def test_what_is_left_must_be_above_zero_with_all_of_the_lead() -> None:
    """The least value of (2 − 2⁻⁵¹) δ is −1 + 2⁻⁵², which is rounded down to −1 + 2⁻⁵³."""
    with working_precision(53):
        problem = nothing_but(5.0, 2 - 2.0**-51)
        check_linear(*problem, dyadic(4.0), "leaf")
        for lead in (dyadic(4.0) + fmpq(1, 2**53), dyadic(4.0) + fmpq(1, 2**52)):  # 4 in doubles
            with pytest.raises(Refused, match="leaf: ranges do not prove"):
                check_linear(*problem, lead, "leaf")
    with working_precision(128):
        check_linear(*problem, dyadic(4.0), "leaf")
        with pytest.raises(Refused):
            check_linear(*problem, dyadic(4.0) + fmpq(1, 2**53), "leaf")  # nothing is left


def leaf(**changes: Any) -> dict[str, Any]:
    flat = {"box": ["0x1p-1"], "norm": "0x0p+0", "rests": None, "shifts": None, "minorants": []}
    return {"quadratic": "point", **flat, **changes}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"norm": "0x1p-9"}, "leaf, norm: the L∞ ball is a box, which has multipliers of its own"),
        ({"norm": "-0x1p-9"}, "leaf, norm: a multiplier is negative"),
        ({"box": ["-0x1p-9"]}, "leaf, box: a multiplier is negative"),
        ({"rests": []}, "leaf: multipliers of the ranges of rests without those of what they are"),
        ({"minorants": [None]}, "leaf, minorants"),
        ({"box": ["0x1p+10"]}, "leaf: the form of the multipliers is not shown to be positive definite"),
    ],
)
def test_what_a_leaf_may_not_say(changes: dict[str, Any], reason: str) -> None:
    with working_precision(128):
        problem = nothing_but(1.0, 0.5)
        check_quadratic(*problem, fmpq(1, 2), leaf(), "leaf")
        with pytest.raises(Refused) as refusal:
            check_quadratic(*problem, fmpq(1, 2), leaf(**changes), "leaf")
    assert str(refusal.value).startswith(reason)


LOW = fmpq(-1, 2) - fmpq(1, 2**53)
TOUCHES = 3 * LOW**2 + LOW**3 + 4 * LOW
MEETS = 3 * LOW**2 - LOW**3 + 4 * LOW
CUBE = EnclosedStep((form([0.0], s0=[[1.0]]),), powers(0.0, 0.0, 0.0, 1.0))


def summed(value: fmpq) -> list[str]:
    """As doubles that add up to it."""
    terms = ["0x0p+0"]
    while value:
        terms.append(double(value).hex())
        value = value - dyadic(double(value))
    return terms


@pytest.mark.parametrize(
    ("parabola", "below"),
    [  # of 3t² + t³ on [−1/2, 1/2], rounded outward
        ((fmpq(0), fmpq(-4), fmpq(-2)), True),
        ((fmpq(0), fmpq(-4), fmpq(-1)), False),  # above at the low end alone, where 5/8 is the value
        ((fmpq(0), fmpq(4), fmpq(-1)), False),  # above at the high end alone, where 7/8 is the value
        ((fmpq(0), fmpq(0), fmpq(1, 8)), False),  # above in the middle alone
        ((fmpq(0), fmpq(-4), TOUCHES), True),  # it meets the function at the low end
        ((fmpq(0), fmpq(-4), TOUCHES + fmpq(1, 2**500)), False),
        ((fmpq(0), fmpq(4), MEETS), True),  # and at the high end
        ((fmpq(0), fmpq(4) + fmpq(1, 2**500), MEETS), False),
    ],
)
def test_parabolas_are_lowered_by_what_lies_above_anywhere_on_the_range(
    parabola: tuple[fmpq, fmpq, fmpq], below: bool
) -> None:
    with working_precision(400):
        part = region("linf", high=0.5, size=1)
        expansion = EnclosedExpansion(Program(Balls, [1, 1], (CUBE,), None), part, list(part.point))  # type: ignore[arg-type]
        assert expansion.at[0].forms[0].range == [(math.nextafter(-0.5, -1), math.nextafter(0.5, 1))]
        known = EnclosedFunctional(Balls.of(1, 1, [1.0]), Balls.of(1, 1, [0.0]), [Balls.of(1, 1, [1.0])])
        made = _RegionForm(expansion, known, "leaf")
        made.add_steps([[[summed(entry) for entry in parabola]]])
        ends = [fmpq(*end.as_integer_ratio()) for end in expansion.at[0].forms[0].range[0]]
        places = [ends[0] + (ends[1] - ends[0]) * k / 64 for k in range(65)]
        a, b, c = parabola
        over = max(fmpq(0), *(a * t * t + b * t + c - 3 * t * t - t**3 for t in places))
        corner = made._corner.entries()[0]
        assert (over == 0) is below
        assert corner <= arb(1 + c - over)
        assert corner == 1 + c if below else corner >= arb(1 + c - over - fmpq(1, 2**36))


def test_products_and_squares_need_no_parabolas() -> None:
    with working_precision(128):
        _, expansion, minorants = around("linf", "point", STEPS)
        for step, reason in ((1, "a product has none"), (3, "an activation of degree two needs none")):
            changed = [*minorants[:step], minorants[0], *minorants[step + 1 :]]
            with pytest.raises(Refused, match=reason):
                _RegionForm(expansion, expansion.functional(0, 1), "leaf").add_steps(changed)


def test_work_is_counted_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: Counter[str] = Counter()
    monkeypatch.setattr(region_leaf, "spend", lambda products, bits, what: asked.update({what: products}))
    with working_precision(128):
        _, expansion, minorants = around("linf", "point", STEPS)
        functional = expansion.functional(0, 1)
        with pytest.raises(Refused):
            check_linear(expansion, functional, fmpq(10**6), "ranges")
        _RegionForm(expansion, functional, "form").add_steps(minorants)
    assert asked["ranges"] >= 7
    assert asked["form"] >= 7


@pytest.mark.parametrize("entries", [["-0x1p-60", "0x1p+0"], ["0x1p+0", "-0x1p-60"], ["-0x1p+0", "-0x1p+0"]])
def test_no_multiplier_is_negative(entries: list[str]) -> None:
    with pytest.raises(Refused, match="box: a multiplier is negative"):
        region_leaf._multipliers(entries, "box", 2)
    assert region_leaf._multipliers(["0x0p+0", "0x1p+0"], "box", 2) == [0, 1]


def test_least_products_hold_for_balls() -> None:
    low = region_leaf._least(arb(1, 0.5), (-2.0, 3.0))
    assert -3.01 < low.lower() <= -3
