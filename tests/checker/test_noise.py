"""Certificates with noise: accepted as they are, refused when the noise or the bound is forged."""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

import polymargin as pm
from polymargin_checker import check
from tests.checker.stage_files import model_file
from tests.relaxation.test_search import network_of

NETWORK, POINT = network_of("square-square", 5, n=2, h=3), np.array([0.3, -0.4])
NOISE = {0: 0.01, 1: [0.01, 0.0, 0.02]}


def numbers(text: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), dtype="<f8").copy()


def packed(values: np.ndarray) -> str:
    return base64.b64encode(np.asarray(values, dtype="<f8").tobytes()).decode()


@pytest.fixture(scope="module")
def documents() -> dict[str, dict[str, Any]]:
    margin = pm.margin(NETWORK, POINT, noise=NOISE, timeout=20)
    robust = pm.verify(NETWORK, POINT, 0.9 * margin.lower, noise=NOISE, timeout=20)
    vulnerable = pm.verify(NETWORK, POINT, 1.1 * margin.upper, noise=NOISE, timeout=20)
    budget = pm.Verifier(NETWORK).noise_budget(POINT, NOISE, timeout=20)
    found = {"margin": margin, "robust": robust, "vulnerable": vulnerable, "budget": budget}
    return {name: one.certificate.data for name, one in found.items()}


def judged(document: dict[str, Any], exact: bool = False) -> tuple[bool, str]:
    found = check(model_file(NETWORK), json.dumps(document).encode(), exact)
    return found.accepted, found.reason


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("name", ["margin", "robust", "vulnerable", "budget"])
def test_the_proofs_are_accepted(documents: dict[str, dict[str, Any]], name: str, exact: bool) -> None:
    accepted, reason = judged(documents[name], exact)
    assert accepted, reason
    assert "noise" in reason
    schema = Path(__file__).parents[2] / "docs" / "certificate.schema.json"
    jsonschema.Draft202012Validator(json.loads(schema.read_text(encoding="utf-8"))).validate(documents[name])


def more_noise(noise: dict[str, Any]) -> None:
    noise["layers"][0][1] = packed(4.0 * numbers(noise["layers"][0][1]) + 0.05)


def other_layer(noise: dict[str, Any]) -> None:
    noise["layers"][1][0] = 2


def negative(noise: dict[str, Any]) -> None:
    noise["layers"][0][1] = packed(-numbers(noise["layers"][0][1]))


def twice(noise: dict[str, Any]) -> None:
    noise["layers"][1][0] = 0


def no_such_layer(noise: dict[str, Any]) -> None:
    noise["layers"][1][0] = 3


def too_few(noise: dict[str, Any]) -> None:
    noise["layers"][0][1] = packed(numbers(noise["layers"][0][1])[:2])


def no_weights(noise: dict[str, Any]) -> None:
    noise["weights"] = None


def heavy(noise: dict[str, Any]) -> None:
    noise["weights"] = packed(1e6 * numbers(noise["weights"]))


def light(noise: dict[str, Any]) -> None:
    noise["weights"] = packed(0.0 * numbers(noise["weights"]))


def more_words(noise: dict[str, Any]) -> None:
    noise["about"] = "nothing"


CHEATS = [more_noise, other_layer, negative, twice, no_such_layer, too_few, no_weights, heavy, light, more_words]


@pytest.mark.parametrize("cheat", CHEATS, ids=[cheat.__name__ for cheat in CHEATS])
@pytest.mark.parametrize("name", ["margin", "robust"])
def test_forged_noise_is_refused(
    documents: dict[str, dict[str, Any]], name: str, cheat: Callable[[dict[str, Any]], None]
) -> None:
    forged = copy.deepcopy(documents[name])
    cheat(forged["noise"])
    accepted, reason = judged(forged)
    assert not accepted, reason


@pytest.mark.parametrize("name", ["margin", "robust", "vulnerable", "budget"])
def test_without_its_noise_nothing_is_proved(documents: dict[str, dict[str, Any]], name: str) -> None:
    forged = {key: value for key, value in documents[name].items() if key != "noise"}
    assert not judged(forged)[0]


def test_the_slack_counts(documents: dict[str, dict[str, Any]]) -> None:
    """A proof at R proves R − Σ w η, and not R itself."""
    forged = copy.deepcopy(documents["robust"])
    radius = forged["rivals"][0]["proof"]["radius"]
    forged["claim"]["radius"] = radius
    for entry in forged["rivals"]:
        entry["lower"] = radius
    accepted, reason = judged(forged)
    assert not accepted
    assert "above the radius" in reason


def test_noise_beyond_its_sizes_is_no_counterexample(documents: dict[str, dict[str, Any]]) -> None:
    forged = copy.deepcopy(documents["vulnerable"])
    point = numbers(forged["upper"]["point"])
    point[2:5] *= 2
    point[2:5] += 0.02
    forged["upper"]["point"] = packed(point)
    accepted, reason = judged(forged)
    assert not accepted
    assert "not allowed" in reason


def test_budgets_are_about_the_noise_alone(documents: dict[str, dict[str, Any]]) -> None:
    for key, value in (("norm", "l2"), ("movable", [0]), ("low", [(-1.0).hex()] * 2)):
        forged = copy.deepcopy(documents["budget"])
        forged["neighbourhood"][key] = value
        if key == "low":
            forged["neighbourhood"]["high"] = [(1.0).hex()] * 2
        accepted, reason = judged(forged)
        assert not accepted
        assert "noise without weights" in reason


def mask(entry: dict[str, str]) -> np.ndarray:
    return np.frombuffer(base64.b64decode(entry["own"]), dtype=np.int8).copy()


@pytest.fixture(scope="module")
def wide() -> tuple[Any, dict[str, Any]]:
    """A network of more inputs than forms, whose proofs see the inputs through forms and the noise by itself."""
    network = network_of("square-square", 5, n=6, h=3)
    verdict = pm.verify(network, np.linspace(-0.5, 0.5, 6), 0.02, noise={0: 0.001, 1: 0.001})
    assert verdict.certificate is not None
    return network, verdict.certificate.data


def test_coordinates_of_forms_and_of_noise(wide: tuple[Any, dict[str, Any]]) -> None:
    network, document = wide
    shared = document["ranges"]
    assert mask(shared["coordinates"]).tolist() == [0] * 6 + [1] * 6
    for exact in (False, True):
        found = check(model_file(network), json.dumps(document).encode(), exact)
        assert found.accepted, found.reason
    schema = Path(__file__).parents[2] / "docs" / "certificate.schema.json"
    jsonschema.Draft202012Validator(json.loads(schema.read_text(encoding="utf-8"))).validate(document)


@pytest.mark.parametrize(
    ("own", "words"),
    [
        ([0] * 12, "only the first stage sees"),
        ([0] * 6 + [1] * 3 + [0] * 3, "only the first stage sees"),
        ([0] * 6 + [2] * 6, "zeros and ones"),
        ([0] * 5 + [1] * 6, "bytes in base64"),
        ([1] * 12, ""),
        ([1] * 6 + [1] * 6, ""),
        ([0] * 5 + [1] * 7, ""),
    ],
)
def test_forged_coordinates_are_refused(wide: tuple[Any, dict[str, Any]], own: list[int], words: str) -> None:
    """Masks that hide noise from later stages; other masks are other coordinates, and must not prove more."""
    network, document = wide
    forged = copy.deepcopy(document)
    entry = {"own": base64.b64encode(np.array(own, dtype=np.int8).tobytes()).decode()}
    forged["ranges"]["coordinates"] = entry
    for rival in forged["rivals"]:
        rival["proof"]["coordinates"] = entry
    found = check(model_file(network), json.dumps(forged).encode())
    if words:
        assert not found.accepted
        assert words in found.reason
    larger = copy.deepcopy(forged)
    larger["noise"]["layers"] = [[layer, packed(1000 * numbers(sizes))] for layer, sizes in larger["noise"]["layers"]]
    assert not check(model_file(network), json.dumps(larger).encode()).accepted


def test_boxes_of_inputs_that_are_no_coordinates_are_refused(wide: tuple[Any, dict[str, Any]]) -> None:
    network, document = wide
    forged = copy.deepcopy(document)
    for rival in forged["rivals"]:
        multipliers = numbers(rival["proof"]["tree"]["box"])
        multipliers[0] = 1e-6
        rival["proof"]["tree"]["box"] = packed(multipliers)
    found = check(model_file(network), json.dumps(forged).encode())
    assert not found.accepted
    assert "a box in coordinates of forms" in found.reason
