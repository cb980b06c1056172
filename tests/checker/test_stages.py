"""Files of stages as the checker reads them: the same numbers, the same fingerprint, the same logits; every defect is named."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from flint import fmpq

import polymargin as pm
from polymargin.networks.attention import random_attention
from polymargin_checker import check
from polymargin_checker.exact import exact_logits
from polymargin_checker.refusal import Unusable
from polymargin_checker.stages import read_network
from tests.checker.stage_files import about_stages, file_of, model_file, random_network

BASES = ["powers", "chebyshev", "legendre", "hermite", "hermite_e"]


@pytest.mark.parametrize("kinds", [["product", "relu"], ["spline", "product"], ["legendre", "hermite", "relu"], BASES])
def test_the_logits_are_those_of_fractions(kinds: list[str]) -> None:
    rng = np.random.default_rng(len(kinds))
    for _ in range(5):
        network = random_network(rng, 3, [4] * len(kinds), kinds, 3)
        read = read_network(model_file(network))
        assert read.fingerprint == network.fingerprint
        for u in rng.normal(size=(3, 3)):
            found = exact_logits(read, [fmpq(*float(x).as_integer_ratio()) for x in u])
            assert [Fraction(int(value.p), int(value.q)) for value in found] == network.exact_logits(u)


def test_a_breakpoint_belongs_to_the_piece_on_its_right() -> None:
    arrays = pm.ReLUNetwork([([[1.0]], [0.0]), ([[1.0], [0.0]], None)]).to_arrays()
    arrays["stage1/pieces"] = np.array([[1.0, 0.0], [0.0, 1.0]])  # the solver refuses such a jump
    read = read_network(file_of(arrays))
    assert exact_logits(read, [fmpq(0)]) == [fmpq(0), fmpq(0)]
    assert exact_logits(read, [fmpq(-1, 1 << 60)]) == [fmpq(1), fmpq(0)]


def layers(widths: tuple[int, ...], seed: int, degree: int = 2) -> pm.Network:
    rng = np.random.default_rng(seed)
    parts = [(rng.normal(size=(high, low)), rng.normal(size=high)) for low, high in pairwise(widths)]
    return pm.PolynomialNetwork(parts, degree=degree)


@pytest.mark.parametrize(
    ("network", "options"),
    [
        (layers((3, 4, 2), 0), {}),
        (layers((2, 3, 2), 1, 3), {}),
        (layers((3, 4, 4, 2), 2), {}),
        (layers((3, 4, 2), 0), {"within": pm.Linf()}),
        (random_attention(2, 2, 1, 1, seed=0), {}),
        (random_attention(1, 1, 1, 1, seed=4), {}),
        (random_attention(2, 2, 1, 1, classes=3, seed=1), {}),
        (pm.pi_net([np.random.default_rng(k).normal(size=(3, 2)) for k in range(3)], np.eye(3)[:2]), {}),
    ],
)
def test_proofs_of_every_kind_hold_of_files_of_stages(network: Any, options: dict[str, Any]) -> None:
    u = np.random.default_rng(3).normal(size=network.dimension)
    certificate = json.loads(json.dumps(pm.margin(network, u, **options).certificate.data))
    model, document = about_stages(network, certificate)
    verdict = check(model, document)
    assert verdict.accepted, verdict.reason
    other = about_stages(network, {**certificate, "label": certificate["label"] ^ 1})[1]
    assert not check(model, other).accepted


def changed(change: Any) -> bytes:
    rng = np.random.default_rng(0)
    arrays = random_network(rng, 2, [2, 2, 2], ["product", "chebyshev", "spline"], 2).to_arrays()
    change(arrays)
    return file_of(arrays)


def header(**entries: Any) -> Any:
    def change(arrays: dict[str, Any]) -> None:
        now = json.loads(arrays["header"].tobytes())
        text = json.dumps({key: value for key, value in {**now, **entries}.items() if value is not None})
        arrays["header"] = np.frombuffer(text.encode(), dtype=np.uint8)

    return change


def put(name: str, value: Any) -> Any:
    return lambda arrays: arrays.__setitem__(name, value)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda arrays: arrays.pop("header"), "'header' is missing"),
        (header(format="polymargin"), "expected the format"),
        (header(version=3), "version 3"),
        (header(version=True), "version True"),
        (header(inputs=0), "0 inputs"),
        (header(inputs=1 << 40), "a huge integer inputs"),
        (header(stages=None), "lists no stages"),
        (header(stages=[{"kind": "product"}] * 1001), "more than 1000"),
        (header(stages=[{"kind": "gate"}] * 3), "stage 1: expected one of the kinds"),
        (header(extra=1), "unknown entry 'extra'"),
        (put("header", np.frombuffer(b'{"format": 1, "format": 2}', dtype=np.uint8)), "not valid JSON"),
        (put("header", np.frombuffer(b'{"format": NaN}', dtype=np.uint8)), "not valid JSON"),
        (put("header", np.frombuffer(b"[" * 100_000, dtype=np.uint8)), "not valid JSON"),
        (put("stage4/form/bias", np.zeros(2)), "'stage4/form/bias' is not part"),
        (put("readout/4", np.zeros((2, 2))), "'readout/4' is not part"),
        (lambda arrays: arrays.pop("readout/bias"), "'readout/bias' is missing"),
        (put("readout/bias", np.zeros(0)), "no forms"),
        (put("readout/bias", np.array([0.0, np.nan])), "not finite"),
        (put("readout/bias", np.zeros(2, dtype=np.float32)), "expected '<f8'"),
        (put("stage2/coefficients", np.array([1.0, 0.0])), "the last not zero"),
        (put("stage3/breakpoints", np.array([0.0, 0.0])), "breakpoints that rise"),
        (put("stage3/pieces", np.zeros((2, 2))), "one piece more"),
    ],
)
def test_defects_are_named(change: Any, reason: str) -> None:
    with pytest.raises(Unusable, match=reason):
        read_network(changed(change))


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ({"indptr": [0, 1]}, "do not fit 2 rows"),
        ({"indptr": [0, 2, 1]}, "do not rise from 0"),
        ({"indptr": [1, 1, 2]}, "do not rise from 0"),
        ({"indices": [0, 2]}, "do not rise within 0 and 1"),
        ({"indices": [-1, 0]}, "do not rise within 0 and 1"),
        ({"indptr": [0, 2, 2], "indices": [1, 1]}, "do not rise within 0 and 1"),
        ({"indptr": [0, 2, 2], "indices": [1, 0]}, "do not rise within 0 and 1"),
        ({"data": [1.0, np.inf]}, "not finite"),
    ],
)
def test_defects_of_sparse_rows_are_named(parts: dict[str, Any], reason: str) -> None:
    given = {"data": [1.0, 2.0], "indices": [0, 1], "indptr": [0, 1, 2], **parts}

    def change(arrays: dict[str, Any]) -> None:
        for name in list(arrays):
            if name.startswith("readout/0"):
                del arrays[name]
        for name, value in given.items():
            arrays[f"readout/0/{name}"] = np.array(value, dtype=np.float64 if name == "data" else np.int64)

    with pytest.raises(Unusable, match=reason):
        read_network(changed(change))


def test_how_blocks_are_stored_does_not_count() -> None:
    network = random_network(np.random.default_rng(1), 3, [3, 3], ["product", "relu"], 2)
    arrays = network.to_arrays()
    for name in [name for name in arrays if name.endswith("/data")]:
        block = np.zeros((len(arrays[f"{name[:-5]}/indptr"]) - 1, 3))
        rows = np.repeat(np.arange(len(block)), np.diff(arrays[f"{name[:-5]}/indptr"]))
        block[rows, arrays[f"{name[:-5]}/indices"]] = arrays.pop(name)
        arrays[name[:-5]] = block
        for part in ("indices", "indptr"):
            del arrays[f"{name[:-5]}/{part}"]
    assert read_network(file_of(arrays)).fingerprint == network.fingerprint
