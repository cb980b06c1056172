"""Programs in floating point against what is proved of them: simulated in NumPy in random orders, on many points of a region."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest

import polymargin as pm
from polymargin.errors import InputError
from polymargin.networks.network import Network
from polymargin.networks.stages import Piecewise, Polynomial
from polymargin_checker import check
from tests.checker.stage_files import model_file
from tests.relaxation.test_search import network_of

KINDS = ["square", "square-square", "product", "quartic", "square-relu", "relu"]
U = np.array([0.3, -0.4])


def to_bfloat16(values: np.ndarray) -> np.ndarray:
    """Round float32 to the nearest of 8 bits, ties to even."""
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32).astype(np.uint64)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    return rounded.astype(np.uint32).view(np.float32)


def rounded(values: np.ndarray, arithmetic: str) -> np.ndarray:
    """Values of a format, held in float32 so that sums are accumulated there."""
    if arithmetic == "bfloat16":
        return to_bfloat16(np.asarray(values, dtype=np.float32))
    kind = np.float16 if arithmetic == "float16" else np.float32
    return np.asarray(values).astype(kind).astype(np.float32)


def program(network: Network, points: np.ndarray, arithmetic: str, order: np.random.Generator) -> np.ndarray:
    """The logits as a program computes them, sums in a random order."""
    values = [rounded(points, arithmetic)]

    def forms(own: object) -> np.ndarray:
        terms = [np.broadcast_to(rounded(own.bias, arithmetic), (len(points), len(own.bias)))]
        for source, width in enumerate(own.widths):
            weights = rounded(own.block(source), arithmetic)
            terms += [values[source][:, j, None] * weights[:, j] for j in range(width) if weights[:, j].any()]
        total = np.zeros_like(terms[0])
        for k in order.permutation(len(terms)):
            total = total + terms[k]
            assert total.dtype == np.float32
        return rounded(total, arithmetic)

    for stage in network.stages:
        z = [forms(own) for own in stage.forms]
        if isinstance(stage, Polynomial):
            total = np.zeros_like(z[0])
            for c in rounded(np.array(stage.coefficients), arithmetic)[::-1]:
                total = rounded(rounded(total * z[0], arithmetic) + c, arithmetic)
            values.append(total)
        elif isinstance(stage, Piecewise):
            values.append(np.maximum(z[0], np.float32(0)))
        else:
            values.append(rounded(z[0] * z[1], arithmetic))
    return forms(network.readout)


@pytest.mark.parametrize("arithmetic", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("kind", KINDS)
def test_programs_differ_by_no_more_than_the_lead_that_is_asked_for(kind: str, arithmetic: str) -> None:
    """On the region of a proof every logit is within the lead; half of a violation would show for the two logits together."""
    network, within = network_of(kind, 5, n=2, h=3), pm.Linf(domain=(-1, 1))
    plain = pm.margin(network, U, within=within, timeout=5) if network.is_polynomial else None
    radius = 0.3 * plain.upper if plain is not None else 0.05
    verdict = pm.verify(network, U, radius, within=within, arithmetic=arithmetic, timeout=10)
    draw = np.random.default_rng(1)
    points = np.clip(U + draw.uniform(-radius, radius, size=(20_000, 2)), -1, 1)
    logits = program(network, points, arithmetic, draw)
    if verdict.answer is pm.Answer.ROBUST:
        assert verdict.certificate is not None
        lead = float.fromhex(verdict.certificate.data["neighbourhood"]["abstain"])
        errors = np.abs(logits - network(points)).max(axis=0)
        others = np.delete(errors, verdict.label)
        assert errors[verdict.label] + others.max() <= lead
        assert (logits.argmax(axis=1) == verdict.label).all()
    else:
        assert verdict.answer is pm.Answer.UNKNOWN
    if arithmetic == "float32":
        assert verdict.answer is pm.Answer.ROBUST


def test_margins_cost_little_in_float32_and_more_in_short_formats() -> None:
    network = network_of("square-square", 3, n=2, h=3)
    plain = pm.margin(network, U, timeout=10)
    lower = {
        name: pm.margin(network, U, arithmetic=name, timeout=10).lower for name in ("float32", "float16", "bfloat16")
    }
    assert plain.upper >= lower["float32"] >= lower["float16"] >= lower["bfloat16"]
    assert lower["float32"] >= 0.98 * plain.lower


def test_a_lead_is_used_up_where_classes_are_close() -> None:
    """Two logits that differ by 1e-5 of their size are told apart in float32 and not in bfloat16."""
    network = pm.PolynomialNetwork([np.eye(2), [[1.0, 1.0], [1.0, 1.0 + 1e-5]]], degree=2)
    u = np.array([1.0, 1.0])
    assert pm.verify(network, u, 1e-3, arithmetic="float32").answer is pm.Answer.ROBUST
    assert pm.verify(network, u, 1e-3, arithmetic="bfloat16").answer is pm.Answer.UNKNOWN


def test_forged_leads_and_formats_are_refused() -> None:
    network = network_of("square-square", 5, n=2, h=3)
    verdict = pm.verify(network, U, 0.05, arithmetic="float32")
    assert verdict.certificate is not None
    document = verdict.certificate.data

    def judged(forged: dict[str, object], exact: bool = False) -> tuple[bool, str]:
        found = check(model_file(network), json.dumps(forged).encode(), exact)
        return found.accepted, found.reason

    schema = Path(__file__).parents[2] / "docs" / "certificate.schema.json"
    jsonschema.Draft202012Validator(json.loads(schema.read_text(encoding="utf-8"))).validate(document)
    for exact in (False, True):
        accepted, reason = judged(document, exact)
        assert accepted, reason
        assert "programs in float32" in reason
    for value, words in (
        ("bfloat16", "not shown to be more"),
        ("float99", "expected one of"),
        (None, "expected one of"),
    ):
        accepted, reason = judged({**document, "arithmetic": value})
        assert not accepted
        assert words in reason
    smaller = copy.deepcopy(document)
    lead = float.fromhex(smaller["neighbourhood"]["abstain"])
    smaller["neighbourhood"]["abstain"] = (0.9 * lead).hex()
    accepted, reason = judged(smaller)
    assert not accepted
    assert "errors of rounding" in reason
    plain = pm.verify(network, U, 0.05).certificate
    assert plain is not None
    assert not judged({**plain.data, "arithmetic": "float32"})[0]
    loss = pm.verify(network, U, 5.0).certificate
    assert loss is not None
    assert loss.claim["kind"] == "vulnerable"
    assert not judged({**loss.data, "arithmetic": "float32"})[0]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"arithmetic": "float8"}, "expected one of float32"),
        ({"arithmetic": "float32", "abstain": 0.1}, "expected one of them"),
        ({"arithmetic": "float32", "noise": {0: 0.1}}, "expected one of them"),
        ({"arithmetic": "float32", "within": pm.L2(ellipsoid=[[2.0, 0.5], [0.5, 1.0]])}, "ellipsoid"),
    ],
)
def test_bad_options_are_one_sentence(options: dict[str, object], words: str) -> None:
    network = pm.PolynomialNetwork([np.eye(2), np.eye(2)], degree=2)
    with pytest.raises(InputError, match=words):
        pm.verify(network, [3.0, 1.0], 0.1, **options)
    jumps = network_of("hardswish", 5, n=2, h=3)
    with pytest.raises(InputError, match="jumps"):
        pm.verify(jumps, U, 0.1, arithmetic="float32")
    large = pm.PolynomialNetwork([1e3 * np.eye(2), np.eye(2)], degree=2)
    with pytest.raises(InputError, match="overflow"):
        pm.verify(large, [3.0, 1.0], 0.1, arithmetic="float16")
    tiny_inputs = pm.PolynomialNetwork([1e5 * np.eye(2), np.eye(2)], degree=2)
    with pytest.raises(InputError, match="overflow"):
        pm.verify(tiny_inputs, [3e-6, 1e-6], 1e-7, arithmetic="float16")
