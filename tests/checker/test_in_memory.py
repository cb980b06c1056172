"""What would be in the files is judged as the files are: same answer, same words, same strictness."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checker.certificate_makers import certificate, write
from checker.relaxation_prover import shared

import polymargin as pm
from polymargin_checker import check

NET = pm.PolynomialNetwork([([[3.0, 4.0], [0.0, 0.0], [0.0, 0.0]], [5.0, 0.0, -1.0])])


def robust(**entries: Any) -> dict[str, Any]:
    rivals = [{"rival": rival, "lower": "0x1p0", "proof": {"kind": "hyperplane"}} for rival in (1, 2)]
    return certificate(NET, [0.0, 0.0], 0, {"kind": "robust", "radius": "0x1p0"}, rivals, None) | entries


def neighbourhood(**entries: Any) -> dict[str, Any]:
    plain = {"norm": "l2", "weights": None, "low": None, "high": None, "movable": None, "rivals": None}
    return {**plain, "abstain": "0x0p+0", **entries}


def both(folder: Path, document: Any) -> str:
    """The reason, which is the same for files and for what is in them."""
    files = write(folder, NET, document)
    from_files = check(*files)
    from_memory = check(*(file.read_bytes() for file in files))
    assert (from_memory.accepted, from_memory.usable) == (from_files.accepted, from_files.usable)
    said = from_files.reason.replace(str(files[0]), "the model").replace(str(files[1]), "the certificate")
    assert from_memory.reason == said
    return from_memory.reason


@pytest.mark.parametrize(
    "document",
    [
        robust(),
        robust(extra=1),
        robust(label=0.0),
        robust(label=1),
        robust(point=[0.0, 0.0]),
        robust(format="polymargin-certificate-2"),
        robust(claim={"kind": "robust", "radius": "0x1.8p0"}),
        [],
        "{",
        "",
        '{"format": "polymargin-certificate-1", "format": "polymargin-certificate-1"}',
        json.dumps(robust()).replace('"upper": null', '"upper": NaN'),
        "[" * 100_000,
    ],
)
def test_certificates(document: Any, tmp_path: Path) -> None:
    assert both(tmp_path, document).startswith("class 0 is robust") is (json.dumps(document) == json.dumps(robust()))


def test_models(tmp_path: Path) -> None:
    model, file = write(tmp_path, NET, robust())
    content, document = model.read_bytes(), file.read_bytes()
    for damaged in (b"", b"no archive", content[:-1]):
        model.write_bytes(damaged)
        found = check(damaged, document)
        assert not found.accepted
        assert found.reason == check(model, file).reason.replace(str(model), "the model")
    np.savez(model, format=np.array("something else"))
    assert check(model.read_bytes(), document).reason.startswith("the model: not a polymargin network")


def test_only_bytes_stand_for_what_is_in_a_file(tmp_path: Path) -> None:
    model, file = write(tmp_path, NET, robust())
    assert check(model.read_bytes(), file).accepted
    assert check(model, file.read_bytes()).accepted
    for other in (robust(), json.dumps(robust()), bytearray(file.read_bytes())):
        assert not check(model, other).accepted


def test_a_claim_against_nobody_is_refused(tmp_path: Path) -> None:
    nobody = robust(neighbourhood=neighbourhood(rivals=[0]), claim={"kind": "robust", "radius": "inf"}, rivals=[])
    assert both(tmp_path, nobody) == "neighbourhood, rivals: class 0 is the label itself, so that no rival counts"
    one = copy.deepcopy(robust(neighbourhood=neighbourhood(rivals=[0, 2])))
    del one["rivals"][0]
    assert both(tmp_path, one).endswith("(no weights, no domain, 2 of 2 coordinates movable, 1 of 2 rivals: 2)")


@pytest.mark.parametrize(
    ("stated", "words"),
    [
        (
            {"weights": ["0x1p+300", "0x1p+300"]},
            "weights from 2.037035976334486e+90 to 2.037035976334487E+90, no domain,",
        ),
        (
            {"low": ["0x0p+0", "0x0p+0"], "high": ["0x0p+0", "0x0p+0"]},
            "a domain with low ends from 0.0 to 0.0 and high ends from 0.0 to 0.0, 0 of 2 coordinates movable,",
        ),
        ({"movable": [1]}, "no weights, no domain, 1 of 2 coordinates movable, 2 of 2 rivals)"),
    ],
)
def test_a_claim_that_says_little_says_why(stated: dict[str, Any], words: str, tmp_path: Path) -> None:
    proof = {"kind": "relaxation", **shared(0.25), "tree": {"judge": "linear"}}
    rivals = [{"rival": rival, "lower": "0x1p-2", "proof": proof} for rival in (1, 2)]
    claim = {"kind": "robust", "radius": "0x1p-2"}
    reason = both(tmp_path, robust(claim=claim, rivals=rivals, neighbourhood=neighbourhood(**stated)))
    assert "is robust" in reason
    assert words in reason
