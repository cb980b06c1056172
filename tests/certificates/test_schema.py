"""Certificates have the shape that docs/certificate.schema.json describes."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from problems import random_network

import polymargin as pm

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "certificate.schema.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def documents() -> list[dict]:
    shallow, deep = random_network([3, 4, 3], 3, seed=1), random_network([2, 3, 3, 2], 2, seed=1)
    deeper = random_network([2, 3, 3, 3, 2], 2, seed=1)
    flat = pm.PolynomialNetwork([([[3.0, 4.0], [0.0, 0.0]], [0.0, 5.0])])
    certificates = [
        pm.margin(shallow, [0.1, 0.2, 0.3]).certificate,
        pm.margin(deep, [0.1, 0.2], timeout=2).certificate,
        pm.verify(deeper, [0.1, 0.2], 0.2).certificate,
        pm.margin(flat, [3.0, 4.0]).certificate,
    ]
    near = {"within": pm.Linf((0, 1), movable=[0, 2]), "rivals": [0, 1], "abstain": 1e-6}
    for network, point, radius in (
        (shallow, [0.1, 0.2, 0.3], 1e-3),
        (shallow, [0.1, 0.2, 0.3], 0.9),
        (deep, [0.1, 0.2], 0.05),
    ):
        options = near if network is shallow else {"within": pm.L1(weights=[1.0, 2.0])}
        found = pm.verify(network, point, radius, **options).certificate
        certificates += [] if found is None else [found]
    matrix = np.diag([1.0, 2.0, 3.0]) + 0.5
    for options in (
        {"within": pm.L2(ellipsoid=matrix)},
        {"within": pm.L2(subspace=matrix[:, :2])},
        {"within": pm.L2(weights=[1.0, 2.0, 3.0], subspace=matrix[:, :2])},
    ):
        for radius in (1e-3, 0.9):
            found = pm.verify(shallow, [0.1, 0.2, 0.3], radius, **options).certificate
            certificates += [] if found is None else [found]
    for radius in (1e-3, 1e3):
        found = pm.verify(shallow, [0.1, 0.2, 0.3], radius).certificate
        certificates += [] if found is None else [found]
    return [certificate.data for certificate in certificates]


def test_certificates_fit_the_schema() -> None:
    VALIDATOR.check_schema(SCHEMA)
    made = documents()
    assert len(made) >= 4
    kinds = {rival["proof"]["kind"] for document in made for rival in document["rivals"]}
    assert kinds == {"hyperplane", "completeness", "relaxation"}
    for document in made:
        VALIDATOR.validate(document)
        broken = copy.deepcopy(document)
        broken["claim"]["kind"] = "probably robust"
        with pytest.raises(jsonschema.ValidationError):
            VALIDATOR.validate(broken)


def test_threads_give_the_same_certificate() -> None:
    network = random_network([4, 6, 2], 3, seed=2)
    u = np.random.default_rng(2).normal(size=4)
    one, two = (pm.margin(network, u, workers=threads) for threads in (1, 2))
    assert one.certificate.data == two.certificate.data
