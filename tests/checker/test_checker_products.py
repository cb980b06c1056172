"""Certificates of networks of products: the checker reads the file, and proves what is true only."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checker.stage_files import as_read
from flint import acb, fmpq
from product_modules import chebyshev_network, examples

import polymargin as pm
from polymargin_checker.arithmetic import working_precision
from polymargin_checker.boundary import Boundary
from polymargin_checker.checker import check
from polymargin_checker.completeness import degree_of, variables_of
from polymargin_checker.exact import exact_logits
from polymargin_checker.stages import Network

NAMES = ("gate", "ccp", "ncp", "quadratic neurons", "branches", "attention with residual")


def saved(name: str, folder: Path) -> tuple[Any, Network]:
    network = chebyshev_network(6)[0] if name == "chebyshev" else pm.from_torch(*examples()[name])
    network.save(folder / "model.npz")
    return network, as_read(network)


@pytest.mark.parametrize("name", [*NAMES, "chebyshev"])
def test_both_read_the_same_polynomial(name: str, tmp_path: Path) -> None:
    network, model = saved(name, tmp_path)
    assert (degree_of(model), model.dimension) == (network.degree, network.dimension)
    assert variables_of(model) == min(network.dimension, len(network.input_forms.bias))
    point = np.random.default_rng(1).integers(-8, 9, size=network.dimension) / 8
    rationals = [fmpq(*float(x).as_integer_ratio()) for x in point]
    exact = network.exact_logits(point)
    assert [Fraction(int(v.p), int(v.q)) for v in exact_logits(model, rationals)] == exact


@pytest.mark.parametrize("name", [*NAMES, "chebyshev"])
def test_jets_are_the_derivatives_of_the_boundary(name: str, tmp_path: Path) -> None:
    network, model = saved(name, tmp_path)
    point = np.random.default_rng(4).normal(size=network.dimension) / 2
    truth = pm.Boundary.from_network(network, 0, 1)
    with working_precision(128):
        jet = Boundary(model, 0, 1).jet([acb(x) for x in point], hessian=True)
        found = [float(entry.real.mid()) for entry in (jet.value, *jet.gradient.entries(), *jet.hessian.entries())]
    expected = [truth(point), *truth.gradient(point), *truth.hessian(point).ravel()]
    assert np.allclose(found, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", ["gate", "ccp", "attention with residual"])
def test_verdicts_and_margins_are_accepted_and_forgeries_are_not(name: str, tmp_path: Path) -> None:
    network, _ = saved(name, tmp_path)
    u = 0.3 * np.random.default_rng(5).normal(size=network.dimension)
    margin = pm.margin(network, u, proof=False)
    kinds = set()
    for share in (0.5, 0.97):
        verdict = pm.verify(network, u, share * margin.radius)
        assert verdict.answer.name == "ROBUST"
        verdict.certificate.save(tmp_path / "proof.json")
        assert check(tmp_path / "model.npz", tmp_path / "proof.json").accepted
        data = json.loads((tmp_path / "proof.json").read_text())
        kinds |= {entry["proof"]["kind"] for entry in data["rivals"]}
        data["claim"]["radius"] = data["rivals"][0]["lower"] = (1.01 * margin.radius).hex()
        data["rivals"][0]["proof"]["radius"] = (1.01 * margin.radius).hex()
        (tmp_path / "forged.json").write_text(json.dumps(data))
        assert not check(tmp_path / "model.npz", tmp_path / "forged.json").accepted
    assert kinds == {"relaxation"}
    beaten = pm.verify(network, u, 1.05 * margin.radius)
    assert beaten.answer.name == "VULNERABLE"
    beaten.certificate.save(tmp_path / "proof.json")
    assert check(tmp_path / "model.npz", tmp_path / "proof.json").accepted


def test_completeness_speaks_of_the_products_themselves(tmp_path: Path) -> None:
    network, _ = saved("ccp", tmp_path)
    u = np.array([0.1, -0.2])
    certified = pm.margin(network, u)
    certified.certificate.save(tmp_path / "proof.json")
    data = json.loads((tmp_path / "proof.json").read_text())
    assert {entry["proof"]["kind"] for entry in data["rivals"]} == {"completeness"}
    assert check(tmp_path / "model.npz", tmp_path / "proof.json").accepted
    data["rivals"][0]["proof"]["reals"] += 2
    (tmp_path / "forged.json").write_text(json.dumps(data))
    assert not check(tmp_path / "model.npz", tmp_path / "forged.json").accepted
