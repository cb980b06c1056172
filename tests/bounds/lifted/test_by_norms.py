"""Proofs by norms alone: true, accepted by the checker, and there when the time is up before it began."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polymargin as pm
from polymargin.bounds.exclusion import Exclusion
from polymargin.bounds.lifted.expansion import expansion_at
from polymargin.bounds.lifted.question import Question
from polymargin.bounds.lifted.radius import proved_by_norms
from polymargin.bounds.lower_bound import lower_bound_at
from polymargin.bounds.views import view_of
from polymargin.deadlines import Deadline
from polymargin.margins.certificate import certificate
from polymargin_checker.checker import check


def network_of(widths: tuple[int, ...], activations: Any) -> tuple[pm.Network, np.ndarray]:
    generator = np.random.default_rng(sum(widths))
    layers = [
        (generator.normal(size=(high, low)) / math.sqrt(low), generator.normal(size=high))
        for low, high in pairwise(widths)
    ]
    return pm.PolynomialNetwork(layers, activations=activations), generator.normal(size=widths[0])


SQUARE = [0.25, 0.5, 1.0]
NETWORKS = {
    "one cube": network_of((6, 8, 3), [[0.0, 0.5, 0.0, 1.0]]),
    "two squares": network_of((6, 9, 7, 3), [SQUARE, SQUARE]),
    "three squares": network_of((5, 7, 6, 5, 3), [SQUARE] * 3),
    "a cube at the top": network_of((6, 4, 7, 3), [SQUARE, [0.0, 1.0, 0.0, 0.5]]),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_the_checker_accepts_them(name: str, tmp_path: Path) -> None:
    network, u = NETWORKS[name]
    label = int(np.argmax(network(u)))
    rivals = [rival for rival in range(network.class_count) if rival != label]
    proofs, radii = {}, []
    for rival in rivals:
        view: Any = view_of(network, u, label, rival)
        radius, proof = proved_by_norms(Question(expansion_at(view), label, rival, 1.0), 1.0)
        assert radius > 0
        radii.append(radius)
        proofs[rival] = Exclusion(radius, label, rival, proof, 1, 0, "proved", 0.0)
        # Within an eighth of what norms prove, unless all that was asked for is proved.
        if radius < 1.0:
            assert Question(expansion_at(view), label, rival, 1.2 * radius).by_norms() is None
    nearest = pm.attack(network, u)
    assert nearest is None or min(radii) < nearest.distance
    content = certificate(
        network,
        u,
        label,
        {"kind": "robust", "radius": min(radii).hex()},
        [{"rival": r, "lower": e.radius.hex(), "proof": e.to_proof()} for r, e in proofs.items()],
        None,
        0,
    )
    network.save(tmp_path / "model.npz")
    content.save(tmp_path / "proof.json")
    verdict = check(tmp_path / "model.npz", tmp_path / "proof.json")
    assert verdict.accepted, verdict.reason


@pytest.mark.parametrize("name", NETWORKS)
def test_there_is_a_bound_when_there_was_no_time(name: str) -> None:
    network, u = NETWORKS[name]
    readings = iter(range(10**6))
    found = lower_bound_at(network, u, deadline=Deadline.after(0, clock=lambda: next(readings)))
    assert found.radius > 0
    assert all(exclusion.proved for exclusion in found.exclusions)
    assert pm.Verifier(network, settings=pm.Settings(limit=1)).margin(u, proof=False, timeout=1e-9).lower > 0
