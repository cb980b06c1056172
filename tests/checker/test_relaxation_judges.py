"""The judge of linear forms: sharp at zero, for all claims at once, and never of what is quadratic."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from polymargin.networks.forms import Forms
from polymargin.networks.network import Network
from polymargin.networks.stages import RELU, Piecewise, Polynomial, Product
from polymargin_checker import CheckResult, check
from tests.checker import relaxation_prover as prover
from tests.checker.stage_files import model_file
from tests.checker.test_relaxation_soundness import neighbourhood

FIRST = Forms((2,), ((0, np.array([[3.0, 4.0], [1.0, 0.0]])),), np.zeros(2))


def network(stage: Any, constant: float) -> Network:
    """B = constant + the first value of a stage."""
    size = len(stage)
    block = np.zeros((2, size))
    block[0, 0] = 1.0
    return Network([stage], Forms((2, size), ((1, block),), np.array([constant, 0.0])))


LINES = network(Polynomial(FIRST, (0.0, 1.0)), 5.0)
"""5 + 3x + 4y: zero at a distance of one, and in L∞ of 5/7; the lowest value at 5/8 is 5/8."""


def judged(
    net: Network, radius: float, leaf: Any, *, norm: str = "l2", exact: bool = False, **shared: Any
) -> CheckResult:
    entry = prover.shared(radius, prover.undecided(net), **shared)
    proof = {"kind": "relaxation", **entry, "tree": leaf}
    document = prover.certificate(net, [0.0, 0.0], 0, radius, {1: proof}, neighbourhood=neighbourhood(norm))
    found = check(model_file(net), json.dumps(document).encode(), exact)
    assert "could not finish" not in found.reason
    return found


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("coordinates", ["inputs", "forms"])
def test_lines_are_judged_up_to_their_zero(coordinates: str, exact: bool) -> None:
    for radius, accepted in ((0.999, True), (1.0, False), (1.001, False)):
        found = judged(LINES, radius, {"judge": "linear"}, exact=exact, coordinates=coordinates)
        assert found.accepted is accepted, found.reason
        assert accepted or "least value" in found.reason


@pytest.mark.parametrize("exact", [False, True])
def test_a_least_value_of_zero_is_not_positive(exact: bool) -> None:
    touching = network(Polynomial(FIRST, (0.0, 1.0)), 7.0)
    for radius, accepted in ((1 - 2.0**-30, True), (1.0, False)):
        assert judged(touching, radius, {"judge": "linear"}, norm="linf", exact=exact).accepted is accepted


@pytest.mark.parametrize(
    ("net", "leaf", "shared"),
    [
        (network(Polynomial(FIRST, (0.0, 0.0, 1.0)), 1.0), {}, {}),  # squares
        (network(Product(FIRST, Forms((2,), ((0, np.eye(2)),), np.zeros(2))), 9.0), {}, {}),  # products
        (LINES, {"ball": "0x1p-20"}, {}),  # a diagonal
        (LINES, {"ball": "0x1p-20"}, {"coordinates": "forms"}),
        (LINES, {"ellipsoid": "0x1p-20"}, {"ellipsoid": {"norm": "0x1p0", "box": None}}),
        (LINES, {"box": prover.packed([0.0, 2.0**-20])}, {}),
        (LINES, {"argument": prover.packed([2.0**-20, 0.0])}, {}),
        (network(Piecewise(FIRST, *RELU), 1.0), {"range": prover.packed([2.0**-20, 0.0])}, {}),
        (network(Piecewise(FIRST, *RELU), 1.0), {"pieces": prover.packed([2.0**-20, 0.0])}, {}),
    ],
)
def test_nothing_quadratic_is_judged_as_a_line(net: Network, leaf: Any, shared: Any) -> None:
    """All these are true, and by little multipliers."""
    found = judged(net, 0.5, {"judge": "linear", **leaf}, **shared)
    assert not found.accepted
    assert "a linear judge of something quadratic" in found.reason


@pytest.mark.parametrize("judge", ["linear", "definite"])
@pytest.mark.parametrize("wrong", [None, 0, 1])
def test_a_lemma_holds_for_each_of_its_forms(judge: str, wrong: int | None) -> None:
    """t ≥ −|a| r for both rows, and one of them a little more; the leaf itself needs neither."""
    net, radius = network(Piecewise(FIRST, *RELU), 1.0), 0.5
    low = -radius * np.array([5.0, 1.0]) * (1 + 1e-6)
    multipliers = np.array([5.0, 1.0]) / (2 * radius)
    if wrong is not None:
        low[wrong] *= 0.99
    lemma = {"group": 0, "of": "t", "side": "low", "forms": [0, 1], "bounds": prover.packed(low), "judge": judge}
    lemma |= {"ball": prover.packed(multipliers)} if judge == "definite" else {}
    leaf = {"judge": "linear", **prover.leaf_of({"minorant": [(0, 1, 0.0, 0.0, 0.0, 1.0)]})} | {"judge": "linear"}
    found = judged(net, radius, leaf, lemmas=[lemma])
    assert found.accepted is (wrong is None), found.reason
    assert wrong is None or "lemma 0" in found.reason
