"""Exact margins by faces against a global optimiser that knows nothing of faces: SCIP, where it is installed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from problems import asked, random_network

import polymargin as pm

pyscipopt = pytest.importorskip("pyscipopt")

CASES: list[tuple[list[int], int, dict[str, Any]]] = [
    ([2, 3, 2], 2, {"norm": "linf"}),
    ([2, 3, 2], 3, {"norm": "linf", "domain": (-1.0, 0.8)}),
    ([3, 3, 2], 2, {"norm": "l1"}),
    ([2, 3, 2], 3, {"norm": "l1", "domain": (-0.8, 0.9)}),
    ([2, 3, 2], 2, {"norm": "l2", "domain": (-0.6, 0.6)}),
    ([2, 2, 2, 2], 2, {"norm": "linf"}),
]


def global_optimum(network: pm.Network, u: np.ndarray, norm: str, low: float, high: float) -> float:
    """min |x − u| subject to f_0(x) = f_1(x), lo ≤ x ≤ hi; the squared length for L2."""
    model = pyscipopt.Model()
    model.hideOutput()
    model.setParam("limits/gap", 1e-7)
    model.setParam("limits/time", 20)
    x = [model.addVar(f"x{i}", lb=low, ub=high) for i in range(len(u))]
    values: list[Any] = x
    for layer, sigma in zip(network.chain.layers, [*network.chain.activations, None], strict=True):
        forms = []
        for row, bias in zip(layer.weights.tolist(), layer.bias.tolist(), strict=True):
            z = model.addVar(lb=None)
            model.addCons(z == pyscipopt.quicksum(w * v for w, v in zip(row, values, strict=True)) + bias)
            forms.append(z)
        if sigma is not None:
            forms = [sum((c * z**k for k, c in enumerate(sigma) if c and k), 0) + sigma[0] for z in forms]
        values = forms
    model.addCons(values[0] == values[1])
    length = model.addVar("length", lb=0)
    if norm == "l2":
        model.addCons(pyscipopt.quicksum((v - c) * (v - c) for v, c in zip(x, u.tolist(), strict=True)) <= length)
    else:
        steps = [model.addVar(lb=0) for _ in x]
        for step, v, c in zip(steps, x, u.tolist(), strict=True):
            model.addCons(v - c <= step)
            model.addCons(c - v <= step)
            if norm == "linf":
                model.addCons(step <= length)
        if norm == "l1":
            model.addCons(pyscipopt.quicksum(steps) <= length)
    model.setObjective(length)
    model.optimize()
    if model.getStatus() == "infeasible":
        return np.inf
    assert model.getStatus() in ("optimal", "gaplimit"), model.getStatus()
    return float(model.getObjVal())


@pytest.mark.parametrize("case", range(len(CASES)))
def test_no_optimiser_finds_a_nearer_tie(case: int) -> None:
    shape, degree, options = CASES[case]
    network = random_network(shape, degree, seed=20 + case)
    u = np.clip(0.3 * np.random.default_rng(case).normal(size=shape[0]), -0.5, 0.5)
    found = pm.margin(network, u, proof=False, workers=1, **asked(**options))
    low, high = options.get("domain", (-50.0, 50.0))
    optimum = global_optimum(network, u, options["norm"], low, high)
    radius = np.sqrt(optimum) if options["norm"] == "l2" else optimum
    if np.isinf(found.radius) or np.isinf(radius):
        assert np.isinf(found.radius) == np.isinf(radius)
        return
    assert found.radius == pytest.approx(radius, rel=1e-4)
