"""Verdicts at radii around the margin, and a second opinion by a global optimiser."""

from __future__ import annotations

import math

import numpy as np
import pytest
from piecewise.networks import HARD_SWISH, random_layers, random_point, random_relu, random_spline

import polymargin as pm
from polymargin.networks import ReLUNetwork


@pytest.mark.parametrize("seed", range(6))
def test_verdicts_around_the_margin(seed: int) -> None:
    network = random_relu([4, 8, 5, 3], seed) if seed % 2 else random_spline([2, 5, 3], seed, HARD_SWISH)
    u = random_point(network.dimension, seed)
    margin = pm.margin(network, u, proof=False).radius
    for factor, answer in ((0.5, "ROBUST"), (0.999, "ROBUST"), (1.001, "VULNERABLE"), (2.0, "VULNERABLE")):
        verdict = pm.verify(network, u, factor * margin)
        assert verdict.answer.name == answer
        assert verdict.standing is pm.Standing.CERTIFIED
        assert verdict.lower <= margin * (1 + 1e-9)
        if answer == "VULNERABLE":
            logits = network.exact_logits(verdict.counterexample)
            assert logits[verdict.rival] >= logits[verdict.label]
            assert np.linalg.norm(verdict.counterexample - u) <= verdict.radius
        else:
            assert verdict.counterexample is None
            assert verdict.lower == verdict.radius
            assert verdict.certificate is not None


def test_a_timeout_is_unknown() -> None:
    network, u = random_relu([20, 40, 20, 5], 1), 2 * random_point(20, 1)
    upper = pm.margin(network, u, proof=False, timeout=1e-9).upper
    verdict = pm.verify(network, u, 0.99 * upper, timeout=1e-9)
    assert verdict.answer is pm.Answer.UNKNOWN
    assert verdict.standing is pm.Standing.BRACKETED
    assert "the time is up" in verdict.reason


@pytest.mark.parametrize("radius", [0.0, -1.0, math.nan, math.inf, "1"])
def test_bad_radius(radius: object) -> None:
    with pytest.raises(pm.InputError, match="radius"):
        pm.verify(random_relu([2, 3, 2], 0), [0.0, 0.0], radius)


def scip_margin(
    layers: list[tuple[np.ndarray, np.ndarray]], u: np.ndarray, label: int, rival: int, reach: float
) -> float:
    """min ‖x − u‖ subject to f_rival ≥ f_label as a mixed-integer program with big-M constraints, solved by SCIP."""
    scip = pytest.importorskip("pyscipopt")
    model = scip.Model()
    model.hideOutput()
    model.setParam("limits/gap", 0.0)
    model.setParam("numerics/feastol", 1e-9)
    values = [model.addVar(lb=float(c - reach), ub=float(c + reach)) for c in u]
    low, high = u - reach, u + reach
    steps = list(values)
    for weights, bias in layers[:-1]:
        centre, width = (low + high) / 2, (high - low) / 2
        low = weights @ centre + bias - np.abs(weights) @ width
        high = weights @ centre + bias + np.abs(weights) @ width
        after = []
        for row, shift, least, most in zip(weights, bias, low, high, strict=True):
            z = scip.quicksum(float(w) * v for w, v in zip(row, steps, strict=True)) + float(shift)
            active, on = model.addVar(lb=0.0, ub=max(float(most), 0.0)), model.addVar(vtype="B")
            model.addCons(active >= z)
            model.addCons(active <= z - min(float(least), 0.0) * (1 - on))
            model.addCons(active <= max(float(most), 0.0) * on)
            after.append(active)
        steps, low, high = after, np.maximum(low, 0.0), np.maximum(high, 0.0)
    weights, bias = layers[-1]
    lead = weights[rival] - weights[label]
    model.addCons(
        scip.quicksum(float(w) * v for w, v in zip(lead, steps, strict=True)) >= float(bias[label] - bias[rival])
    )
    square = model.addVar(lb=0.0)
    model.addCons(square >= scip.quicksum((v - float(c)) * (v - float(c)) for v, c in zip(values, u, strict=True)))
    model.setObjective(square, "minimize")
    model.optimize()
    return math.sqrt(max(model.getObjVal(), 0.0)) if model.getStatus() == "optimal" else math.inf


@pytest.mark.parametrize(("widths", "seed"), [([3, 10, 3], 0), ([5, 12, 2], 1), ([3, 5, 4, 2], 2)])
def test_second_opinion_by_scip(widths: list[int], seed: int) -> None:
    layers, u = random_layers(widths, seed), random_point(widths[0], seed)
    found = pm.margin(ReLUNetwork(layers), u, proof=False)
    others = [rival for rival in range(widths[-1]) if rival != found.label]
    theirs = min(scip_margin(layers, u, found.label, rival, 1.5 * found.radius) for rival in others)
    assert theirs == pytest.approx(found.radius, abs=1e-6)
