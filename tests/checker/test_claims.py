"""Claims, labels, rivals, hyperplanes, counterexamples, and the command line."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checker.certificate_makers import certificate, hexes, write

import polymargin as pm
from polymargin_checker import check
from polymargin_checker.__main__ import main

AFFINE = pm.PolynomialNetwork([([[3.0, 4.0], [0.0, 0.0], [0.0, 0.0]], [10.0, 5.0, 5.0])])
U = [0.0, 0.0]
"""Class 0 leads class 1 and class 2 by 5 at the origin, with slope (3, 4): both ties are at distance one exactly."""


def affine(lower: str = "0x1p0", rivals: tuple[int, ...] = (1, 2)) -> Any:
    entries = [{"rival": rival, "lower": lower, "proof": {"kind": "hyperplane"}} for rival in rivals]
    tie = {"kind": "counterexample", "rival": 1, "point": ["-0x1.3333333333334p-1", "-0x1.999999999999ap-1"]}
    claim = {"kind": "margin", "lower": lower, "upper": (1 + 1e-15).hex()}
    return certificate(AFFINE, U, 0, claim, entries, tie)


def verdict(folder: Path, document: Any, net: pm.Network = AFFINE) -> Any:
    return check(*write(folder, net, document))


def test_hyperplane_bounds_are_sharp(tmp_path: Path) -> None:
    assert verdict(tmp_path, affine()).accepted
    refused = verdict(tmp_path, affine((1 + 2**-52).hex()))
    assert not refused.accepted
    assert "the hyperplane is nearer" in refused.reason
    assert "the hyperplane is nearer" in verdict(tmp_path, infinite(affine("inf"))).reason
    assert verdict(tmp_path, affine("-0x1p+9")).accepted
    assert verdict(tmp_path, affine("0x0p0")).accepted


def infinite(document: Any) -> Any:
    document["claim"]["upper"] = "inf"
    document["upper"] = None
    return document


def test_hyperplanes_through_layers_of_degree_one(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    layers = [(generator.normal(size=(4, 3)), generator.normal(size=4)), (generator.normal(size=(2, 4)), [3.0, 0.0])]
    net = pm.PolynomialNetwork(layers, activations=[[0.5, -2.0]])
    u = generator.normal(size=3)
    label = int(net.predict(u))
    w = -2.0 * (layers[1][0][label] - layers[1][0][1 - label]) @ layers[0][0]
    logits = net(u)
    distance = (logits[label] - logits[1 - label]) / np.linalg.norm(w)
    for factor, expected in ((1 - 1e-12, True), (1 + 1e-12, False)):
        radius = float(distance * factor).hex()
        rivals = [{"rival": 1 - label, "lower": radius, "proof": {"kind": "hyperplane"}}]
        document = certificate(net, u, label, {"kind": "robust", "radius": radius}, rivals, None)
        assert verdict(tmp_path, document, net).accepted is expected


def test_constant_differences_are_infinitely_far(tmp_path: Path) -> None:
    layers = [(np.eye(2), np.zeros(2)), ([[1.0, 1.0], [0.0, 0.0]], [1.0, 0.0])]
    net = pm.PolynomialNetwork(layers, activations=[[0.5]])
    rivals = [{"rival": 1, "lower": "inf", "proof": {"kind": "hyperplane"}}]
    document = certificate(net, U, 0, {"kind": "robust", "radius": "inf"}, rivals, None)
    assert verdict(tmp_path, document, net).accepted


def test_a_hyperplane_proof_needs_degree_one(tmp_path: Path) -> None:
    net = pm.PolynomialNetwork([(np.eye(2), np.zeros(2)), ([[1.0, 1.0], [0.0, 0.0]], [1.0, 0.0])], degree=2)
    rivals = [{"rival": 1, "lower": "inf", "proof": {"kind": "hyperplane"}}]
    document = certificate(net, U, 0, {"kind": "robust", "radius": "inf"}, rivals, None)
    assert "degree above one" in verdict(tmp_path, document, net).reason


def test_vulnerable_needs_only_the_counterexample(tmp_path: Path) -> None:
    document = affine()
    document["claim"] = {"kind": "vulnerable", "radius": (1 + 1e-15).hex()}
    document["rivals"] = []
    assert verdict(tmp_path, document).accepted
    document["upper"]["point"] = hexes([-0.6, -0.79])
    assert "neither ties nor wins" in verdict(tmp_path, document).reason
    document["upper"] = None
    assert "no proof of it" in verdict(tmp_path, document).reason


def test_an_exact_tie_is_a_counterexample_and_one_ulp_less_is_not(tmp_path: Path) -> None:
    net = pm.PolynomialNetwork([([[1.0], [0.0]], [1.0, 0.0])])
    claim = {"kind": "vulnerable", "radius": "0x1p0"}
    tie = {"kind": "counterexample", "rival": 1, "point": ["-0x1p0"]}
    document = certificate(net, [0.0], 0, claim, [], tie)
    assert verdict(tmp_path, document, net).accepted
    tie["point"] = [["-0x1p0", "0x1p-1000"]]
    assert "neither ties nor wins" in verdict(tmp_path, document, net).reason
    tie["point"] = [["-0x1p0", "-0x1p-1000"]]
    assert "farther" in verdict(tmp_path, document, net).reason


def test_exact_logits_survive_cancellation(tmp_path: Path) -> None:
    """(1e8 + x)⁴ − (1e8)⁴ − …: doubles see a tie, exact arithmetic does not."""
    layers = [([[1.0], [0.0]], [1e8, 1e8]), ([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0])]
    net = pm.PolynomialNetwork(layers, degree=4)
    tiny = 2.0**-60
    assert net([tiny])[0] == net([tiny])[1]
    claim = {"kind": "vulnerable", "radius": "0x1p-60"}
    document = certificate(net, [tiny], 0, claim, [], {"kind": "counterexample", "rival": 1, "point": ["0x0p0"]})
    assert verdict(tmp_path, document, net).accepted
    document["label"], document["upper"]["rival"] = 1, 0
    assert "class 1 is not the only largest logit" in verdict(tmp_path, document, net).reason


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda d: d.update(label=1), "class 1 is not the only largest logit"),
        (lambda d: d.update(label=3), "label: expected an integer from 0 to 2"),
        (lambda d: d.update(label=-3), "label: expected an integer"),
        (lambda d: d.update(label=False), "label: expected an integer"),
        (lambda d: d.update(label="0"), "label: expected an integer"),
        (lambda d: d["rivals"].pop(), "rival 2 is missing"),
        (lambda d: d["rivals"].clear(), "rival 1 is missing"),
        (lambda d: d["rivals"].append(copy.deepcopy(d["rivals"][0])), "rival 1 is listed twice"),
        (lambda d: d["rivals"][0].update(rival=0), "is the label itself"),
        (lambda d: d["rivals"][0].update(rival=7), "rival: expected an integer"),
        (lambda d: d["rivals"][0].update(rival=3), "rival: expected an integer from 0 to 2"),
        (lambda d: d["upper"].update(rival=3), "upper, rival: expected an integer from 0 to 2"),
        (lambda d: d["rivals"][0].update(lower="0x1p-1"), "rival 1: its lower bound 0.5 is below the claimed 1.0"),
        (lambda d: d["rivals"][0].update(proof={"kind": "trust me"}), "unknown kind 'trust me'"),
        (lambda d: d["rivals"][0].update(proof=None), "proof: expected an object"),
        (lambda d: d["rivals"][0]["proof"].update(note="x"), "unknown key 'note'"),
        (lambda d: d["claim"].update(lower="0x1.1p0"), "above the upper bound"),
        (lambda d: d["claim"].update(lower="0x1.0000000000001p0"), "below the claimed"),
        (lambda d: d["claim"].update(upper="0x1p0"), "counterexample is farther"),
        (lambda d: d["claim"].update(lower="nan"), "not a hexadecimal float"),
        (lambda d: d["claim"].update(kind="certain"), "unknown kind 'certain'"),
        (lambda d: d.update(claim={"kind": "robust", "radius": "0x1.1p0"}), "below the claimed"),
        (lambda d: d.update(claim={"kind": "robust", "radius": "inf"}), "below the claimed"),
        (lambda d: d.update(claim={"kind": "vulnerable", "radius": "0x1.fp-1"}), "counterexample is farther"),
        (lambda d: d.update(claim={"kind": "vulnerable", "radius": "-0x1p1"}), "counterexample is farther"),
        (lambda d: d.update(claim={"kind": "vulnerable", "radius": "inf"}), "not a hexadecimal float"),
        (lambda d: d["claim"].update(upper="inf"), "upper must be null"),
        (lambda d: d.update(upper=None), "no proof of it"),
        (lambda d: d["upper"].update(point=hexes([-6, -8])), "counterexample is farther"),
        (lambda d: d["upper"].update(point=hexes([0.6, 0.8])), "neither ties nor wins"),
        (lambda d: d["upper"].update(point=hexes([0.6])), "expected 2 entries"),
        (lambda d: d["upper"].update(rival=0), "is the label itself"),
        (lambda d: d.update(upper={"kind": "critical-point", "rival": 1, "index": 0}), "there is none"),
        (lambda d: d["model"].update(sha256="0" * 64), "SHA-256 of the weights differs"),
        (lambda d: d["model"].update(sha256=None), "SHA-256 of the weights differs"),
        (lambda d: d["model"].update(name="attention"), "unknown key 'name'"),
        (lambda d: d.update(point=hexes([0.0, 0.1])), "farther"),
        (lambda d: d.update(point=hexes([0.0, 0.0, 0.0])), "expected 2 entries"),
        (lambda d: d.update(point=["0x1p1100"] * 2), "farther"),
        (lambda d: d.pop("upper"), "the key 'upper' is missing"),
        (lambda d: d.update(extra=1), "unknown key 'extra'"),
    ],
)
def test_tampering_is_refused_with_its_cause(tmp_path: Path, change: Any, reason: str) -> None:
    document = affine()
    change(document)
    refused = verdict(tmp_path, document)
    assert not refused.accepted
    assert refused.usable
    assert reason in refused.reason
    assert "\n" not in refused.reason


def test_one_ulp_in_one_weight_is_another_model(tmp_path: Path) -> None:
    weights = AFFINE.chain.layers[0].weights.copy()
    weights[2, 1] = np.nextafter(weights[2, 1], 1.0)
    other = pm.PolynomialNetwork([(weights, AFFINE.chain.layers[0].bias)])
    refused = verdict(tmp_path, affine(), other)
    assert "another model" in refused.reason
    assert not refused.accepted


def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, good = write(tmp_path, AFFINE, affine())
    bad = tmp_path / "bad.json"
    bad.write_text(json.dumps(affine() | {"extra": 1}))
    other = tmp_path / "other.json"
    other.write_text(json.dumps(affine() | {"format": "polymargin-certificate-2"}))
    assert main([str(model), str(good)]) == 0
    assert capsys.readouterr().out.startswith("PROVED: class 0: the margin lies in [1.0, 1.00")
    assert main([str(model), str(good), str(bad)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith(f"PROVED: {good}: class 0: ")
    assert lines[1].startswith(f"REFUSED: {bad}: certificate: ")
    assert main([str(model), str(other)]) == 2
    assert "unknown certificate format 'polymargin-certificate-2'" in capsys.readouterr().out
    assert main([str(model), str(tmp_path / "none.json"), str(bad)]) == 2
    assert main([str(tmp_path / "none.npz"), str(good)]) == 2
    assert main([str(good), str(good)]) == 2
    assert main([str(model), str(tmp_path)]) == 2
    assert main([]) == 2
    assert main(["--fast", str(model), str(good)]) == 2
    assert main(["--help"]) == 0


def test_the_checker_loads_nothing_of_polymargin_or_scipy() -> None:
    code = (
        "import sys, polymargin_checker.__main__; "
        "bad = {'polymargin', 'scipy'} & {name.split('.')[0] for name in sys.modules}; "
        "sys.exit(str(bad) if bad else 0)"
    )
    source = Path(check.__code__.co_filename).parents[1]
    result = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path[:0] = {[str(source), *sys.path]!r}; {code}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr


def test_a_trivial_proof_proves_nothing_above_zero(tmp_path: Path) -> None:
    document = affine()
    for lower, expected in (("0x0p+0", True), ("-0x1p+0", True), ("0x1p-60", False), ("inf", False)):
        document["rivals"] = [{"rival": r, "lower": lower, "proof": {"kind": "trivial"}} for r in (1, 2)]
        document["claim"]["lower"] = lower if lower != "inf" else "0x1p-1"
        assert verdict(tmp_path, document).accepted is expected, lower


@pytest.mark.parametrize("kind", ["margin", "robust", "vulnerable"])
@pytest.mark.parametrize("part", ["document", "model", "claim", "rival", "proof", "trivial", "upper", "critical point"])
def test_nothing_is_said_that_is_not_read(tmp_path: Path, kind: str, part: str) -> None:
    document = affine()
    if kind != "margin":
        document["claim"] = {"kind": kind, "radius": "0x1p0" if kind == "robust" else "0x1.1p0"}
    if part == "trivial":
        document["rivals"][0].update(lower="0x0p0", proof={"kind": "trivial"})
        document["claim"].update(
            {"lower": "0x0p0"} if kind == "margin" else {"radius": "0x0p0"} if kind == "robust" else {}
        )
    assert verdict(tmp_path, document).accepted
    if part == "critical point":
        document["upper"] = {"kind": "critical-point", "rival": 1, "index": 0}
    first = document["rivals"][0]
    places = {"document": document, "model": document["model"], "claim": document["claim"], "rival": first}
    place = places | {"proof": first["proof"], "trivial": first["proof"]}
    (place | {"upper": document["upper"], "critical point": document["upper"]})[part]["lower_bound"] = "0x1p+9"
    assert "unknown key 'lower_bound'" in verdict(tmp_path, document).reason
