"""Margins and verdicts of networks that are too large to be enumerated, in every norm: proofs of kind relaxation."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import polymargin as pm
from polymargin_checker import check
from tests.checker.stage_files import model_file

REGIONS = [pm.L2(), pm.L2(domain=(-1, 1)), pm.Linf(), pm.Linf(domain=(-1, 1), movable=list(range(10)))]


def network() -> pm.Network:
    draw = np.random.default_rng(2)
    sizes = (30, 40, 20, 3)
    layers = [(draw.normal(size=(b, a)) / np.sqrt(a), 0.3 * draw.normal(size=b)) for a, b in pairwise(sizes)]
    return pm.PolynomialNetwork(layers, activations=[(0.0, 0.5, 0.5), (0.0, 0.5, 0.5)])


@pytest.mark.parametrize("region", REGIONS, ids=repr)
def test_bounds_are_proved_and_the_checker_agrees(region: pm.Region) -> None:
    net, u = network(), np.random.default_rng(3).uniform(-0.8, 0.8, size=30)
    found = pm.margin(net, u, within=region, timeout=60)
    assert 0.5 * found.upper < found.lower <= found.upper
    assert found.certificate is not None
    assert {entry["proof"]["kind"] for entry in found.certificate.data["rivals"]} == {"relaxation"}
    assert check(model_file(net), found.certificate.to_bytes()).accepted
    logits = net(found.point)
    assert logits[found.rival] >= logits[found.label] - 1e-9


def test_verdicts_on_both_sides() -> None:
    net, u = network(), np.random.default_rng(3).uniform(-0.8, 0.8, size=30)
    upper = pm.margin(net, u, within=pm.Linf(), timeout=30).upper
    assert str(pm.verify(net, u, 0.5 * upper, within=pm.Linf(), timeout=60)).startswith("Verdict(ROBUST")
    assert str(pm.verify(net, u, 1.01 * upper, within=pm.Linf(), timeout=60)).startswith("Verdict(VULNERABLE")
