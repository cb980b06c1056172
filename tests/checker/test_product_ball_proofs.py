"""Proofs by products of programs written by hand: small balls are proved, and what a proof may not say."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from checker.product_programs import sparse
from checker.test_product_ball_form import (
    MODELS,
    RADIUS,
    dyadic,
    pairs,
    ranges_by_hand,
    stated_curvatures,
)
from checker.test_product_expansion import U, forms, many_products
from checker.views_of_files import stages_of
from flint import fmpq

from polymargin_checker import arithmetic as arithmetics
from polymargin_checker import product_ball, product_expansion
from polymargin_checker.arithmetic import working_precision
from polymargin_checker.enclosures import Balls
from polymargin_checker.exact import exact_logits
from polymargin_checker.floats import Floats
from polymargin_checker.lifted_spectra import Known
from polymargin_checker.product_ball import (
    check_product_ball,
    single_products,
)
from polymargin_checker.product_expansion import EnclosedProducts, expanded
from polymargin_checker.refusal import Refused
from polymargin_checker.views import Products, Stage


def small_proof(model: Products, point: tuple[fmpq, ...]) -> dict[str, Any]:
    """On a ball that is so small that the multipliers of the ball and the ranges outweigh all the rest."""
    with working_precision(128):
        expansion = expanded(model, point)
        ranges, _ = ranges_by_hand(expansion, RADIUS)
        count, single = len(expansion.sums), single_products(expansion)
    return {
        "kind": "products",
        "radius": RADIUS.hex(),
        "curvatures": pairs(stated_curvatures(expansion)),
        "ranges": pairs([(1.01 * low, 1.01 * high) for low, high in ranges]),
        "ball": "0x1p+10",
        "equalities": ["0x0p+0"] * count,
        "intervals": ["0x1p+24"] * count,
        "cuts": [["0x0p+0"] * 3 for _ in single],
    }


def judged(name: str, proof: Any, exact: bool = False, **options: Any) -> str:
    model, point = MODELS[name]
    logits = exact_logits(stages_of(model), point)
    label, rival = (0, 1) if (logits[0] > logits[1]) is not options.get("swapped", False) else (1, 0)
    try:
        found = check_product_ball(model, point, label, rival, proof, options.get("known", Known()), exact)
    except Refused as refusal:
        return str(refusal)
    assert found == dyadic(RADIUS)
    return "proved"


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("largest", [0, 100])
def test_small_balls_are_proved_in_both_arithmetics(
    name: str, exact: bool, largest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arithmetics, "LARGEST_EXACT", largest)
    proof, known = small_proof(*MODELS[name]), Known()
    assert judged(name, proof, exact, known=known) == "proved"
    assert judged(name, proof, exact, known=known) == "proved"
    assert len(known.products) == 1
    assert list(known.products[0].shown) == [Balls if exact or largest else Floats]
    assert "positive definite" in judged(name, proof, exact, swapped=True)


def cut(*row: str) -> dict[str, Any]:
    return {"cuts": [list(row)]}


ZERO = "0x0p+0"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"radius": ZERO}, "the radius of the proof by products is not positive"),
        ({"radius": "-0x1p-10"}, "the radius of the proof by products is not positive"),
        ({"radius": "0x1p-9"}, "ranges of sum 0: not proved"),
        ({"ranges": [["0x1p+0", "0x1p+0"], ["-0x1p+0", "0x1p+0"]]}, "ranges: one of them is empty"),
        ({"ranges": [["-0x1p+0", "0x1p+0"], ["0x1p+0", "-0x1p+0"]]}, "ranges: one of them is empty"),
        ({"ranges": [["-0x1p+0", "0x1p+0"]]}, "ranges"),
        ({"ball": "-0x1p-60"}, "ball, intervals, cuts: a multiplier is negative"),
        ({"ball": ZERO}, "the form of the multipliers is not shown to be positive definite"),
        ({"intervals": ["0x1p+24", "-0x1p-60"]}, "ball, intervals, cuts: a multiplier is negative"),
        ({"intervals": [ZERO, ZERO]}, "the form of the multipliers is not shown to be positive definite"),
        (cut("-0x1p-60", ZERO, ZERO), "ball, intervals, cuts: a multiplier is negative"),
        (cut(ZERO, ZERO, "-0x1p-60"), "ball, intervals, cuts: a multiplier is negative"),
        (cut(ZERO, ZERO), "cuts"),
        (cut("0x1p-4", "0x1p-4", "0x1p-4"), "proved"),
        (cut(ZERO, ZERO, "0x1p+60"), "the form of the multipliers is not shown to be positive definite"),
        ({"equalities": [ZERO]}, "equalities"),
        ({"equalities": ["0x1p+30", ZERO]}, "the form of the multipliers is not shown to be positive definite"),
        ({"equalities": ["-0x1p-4", "0x1p-4"]}, "proved"),
        ({"more": 1}, "proof by products"),
    ],
)
def test_what_a_proof_may_not_say(changes: dict[str, Any], reason: str) -> None:
    proof = small_proof(*MODELS["wide"])
    assert judged("wide", proof) == "proved"
    assert judged("wide", {**proof, **changes}).startswith(reason)


def test_the_third_cut_is_for_linear_factors() -> None:
    """A single product whose left factor has a rest itself, and then one whose right factor has one."""
    bent, plain = ({2: 1.0}, 0.5), ({1: 1.0}, 0.25)
    for left, right in ((bent, plain), (plain, bent), (bent, bent)):
        stages = (
            Stage("P", (sparse(2, ({0: 1.0}, 0.0)), sparse(2, ({1: 1.0}, 1.0))), ()),
            Stage("P", (sparse(3, left), sparse(3, right)), ()),
            Stage("P", (sparse(4, ({3: 1.0}, 0.0)), sparse(4, ({0: 1.0}, 2.0))), ()),
        )
        model = Products(2, stages, sparse(5, ({4: 1.0}, 1.0), ({1: 1.0}, 0.0)))
        proof = small_proof(model, U)
        assert len(proof["cuts"]) == 2
        for row, refused in ((0, False), (1, True)):
            proof["cuts"] = [[ZERO] * 3, [ZERO] * 3]
            proof["cuts"][row][2] = "0x1p-20"
            arguments = (model, U, 0, 1, proof, Known())
            if refused:
                with pytest.raises(Refused, match="the third multiplier is for products of two linear factors"):
                    check_product_ball(*arguments)
            else:
                assert check_product_ball(*arguments) == dyadic(RADIUS)


@pytest.mark.parametrize(
    ("largest", "reason"),
    [
        (8, "proved"),
        (7, "a proof by products in 8 variables; this checker accepts up to 7"),
        (4, "a proof by products in 5"),
    ],
)
def test_the_number_of_variables_is_bounded(largest: int, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One, five inputs, two sums."""
    proof = small_proof(*MODELS["wide"])
    monkeypatch.setattr(product_ball, "LARGEST_SPACE", largest)
    assert judged("wide", proof).startswith(reason)


def test_a_network_of_linear_factors_alone_has_no_sums() -> None:
    """B = 1 + x₀ x₁ around 0 on the ball of radius 1/2: at least 7/8."""
    factors = tuple(sparse(2, ({k: 1.0}, 0.0)) for k in (0, 1))
    model = Products(2, (Stage("P", factors, ()),), sparse(3, ({2: 1.0}, 1.0), ({}, 0.0)))
    nothing: dict[str, Any] = {key: [] for key in ("curvatures", "ranges", "equalities", "intervals", "cuts")}
    point = (fmpq(0), fmpq(0))
    for largest_ball, accepted in (("0x1p+0", True), ("0x1p-1", False), ("0x1p+2", False)):
        proof = {"kind": "products", "radius": "0x1p-1", "ball": largest_ball, **nothing}
        for exact in (False, True):
            if accepted:
                assert check_product_ball(model, point, 0, 1, proof, Known(), exact) == fmpq(1, 2)
            else:
                with pytest.raises(Refused, match="positive definite"):
                    check_product_ball(model, point, 0, 1, proof, Known(), exact)


def test_work_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: Counter[str] = Counter()
    monkeypatch.setattr(product_ball, "spend", lambda products, bits, what: asked.update({what: products}))
    assert judged("wide", small_proof(*MODELS["wide"])) == "proved"
    assert asked["the ranges of a proof by products"] >= 3
    assert asked["the form of a proof by products"] >= 4 * 2


@pytest.mark.parametrize("exact", [False, True])
def test_sums_of_many_products_are_proved_in_the_arithmetic_of_the_form(
    exact: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In doubles, with slopes of the left and of the right; and in balls if asked to."""
    model, point = many_products(20, 50), tuple(fmpq(k % 5, 8) for k in range(50))
    proof = small_proof(model, point)
    with working_precision(128):
        low, high = np.linalg.eigvalsh(forms(expanded(model, point))[0])[[0, -1]]
    if exact:
        monkeypatch.setattr(EnclosedProducts, "_in_doubles", lambda *given: pytest.fail("doubles"))
    else:
        monkeypatch.setattr(product_expansion, "positive_definite", lambda matrix: pytest.fail("balls"))
    logits = exact_logits(stages_of(model), point)
    label, rival = (0, 1) if logits[0] > logits[1] else (1, 0)

    def reason(down: float, up: float) -> str:
        stated = {"curvatures": pairs([(low * down, high * up)])}
        try:
            check_product_ball(model, point, label, rival, proof | stated, Known(), exact)
        except Refused as refusal:
            return str(refusal)
        return ""

    assert reason(1.001, 1.001) == ""
    assert "curvatures of sum 0: the lower end is not proved" in reason(0.999, 1.001)
    assert "curvatures of sum 0: the upper end is not proved" in reason(1.001, 0.999)
