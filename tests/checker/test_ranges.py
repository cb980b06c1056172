"""Certificates about ranges: accepted as they are, refused when an end or a multiplier is forged."""

from __future__ import annotations

import base64
import copy
import json
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from polymargin.value_ranges.bounded import ranges
from polymargin_checker import check
from tests.checker.stage_files import model_file
from tests.relaxation.test_search import network_of

NETWORK = network_of("square-square", 3, n=2, h=3)


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    found = ranges(NETWORK, domain=(0, 1), timeout=30)
    assert found.certificate is not None
    return found.certificate.data


def judged(document: dict[str, Any], exact: bool = False) -> tuple[bool, str]:
    found = check(model_file(NETWORK), json.dumps(document).encode(), exact)
    return found.accepted, found.reason


def numbers(text: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), dtype="<f8").copy()


def packed(values: np.ndarray) -> str:
    return base64.b64encode(values.astype("<f8").tobytes()).decode()


@pytest.mark.parametrize("exact", [False, True])
def test_the_proof_is_accepted(document: dict[str, Any], exact: bool) -> None:
    accepted, reason = judged(document, exact)
    assert accepted, reason
    assert "pre-activations and logits" in reason


def test_it_has_the_shape_of_the_schema(document: dict[str, Any]) -> None:
    schema = Path(__file__).parents[2] / "docs" / "certificate.schema.json"
    jsonschema.Draft202012Validator(json.loads(schema.read_text(encoding="utf-8"))).validate(document)


@pytest.mark.parametrize("layer", [0, 1, 2])
@pytest.mark.parametrize("side", ["lower", "upper"])
def test_narrower_ends_are_refused(document: dict[str, Any], layer: int, side: str) -> None:
    forged = copy.deepcopy(document)
    entry = forged["claim"]["layers"][layer]
    values = numbers(entry[side])
    values[1] += 1e-3 if side == "lower" else -1e-3
    entry[side] = packed(values)
    accepted, reason = judged(forged)
    assert not accepted
    assert "not shown to lie" in reason


def test_bolder_lemmas_are_refused(document: dict[str, Any]) -> None:
    programs = [k for k, lemma in enumerate(document["ranges"]["lemmas"]) if lemma["of"] == "t"]
    assert programs
    for k in programs:
        forged = copy.deepcopy(document)
        lemma = forged["ranges"]["lemmas"][k]
        values = numbers(lemma["bounds"])
        lemma["bounds"] = packed(values + (0.2 if lemma["side"] == "low" else -0.2))
        assert not judged(forged)[0]


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.pop("ranges"),
        lambda d: d.pop("neighbourhood"),
        lambda d: d.update(rivals=[]),
        lambda d: d["claim"].update(layers=[]),
        lambda d: d["claim"].update(radius="0x1p0"),
        lambda d: d["claim"]["layers"].pop(),
        lambda d: d["claim"]["layers"][0].pop("lower"),
        lambda d: d["claim"]["layers"][0].update(lower="AAAA"),
        lambda d: d["model"].update(sha256="0" * 64),
        lambda d: d["neighbourhood"].update(rivals=[0]),
        lambda d: d["neighbourhood"].update(abstain="0x1p0"),
    ],
)
def test_other_documents_are_refused(document: dict[str, Any], change: Any) -> None:
    forged = copy.deepcopy(document)
    change(forged)
    accepted, reason = judged(forged)
    assert not accepted
    assert reason.count("\n") == 0


def test_a_larger_box_is_refused(document: dict[str, Any]) -> None:
    forged = copy.deepcopy(document)
    forged["neighbourhood"]["low"] = None
    forged["neighbourhood"]["high"] = None
    forged["ranges"]["radius"] = (0.75).hex()
    assert not judged(forged)[0]
