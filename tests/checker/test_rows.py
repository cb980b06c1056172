"""Certificates of many points in one file: each row is judged for itself, and nothing is lost or added on the way."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from problems import random_network

import polymargin as pm
from polymargin.margins.certificate import lines_of
from polymargin_checker import check, check_rows
from polymargin_checker.__main__ import main

POINTS = np.random.default_rng(0).normal(size=(5, 3))


class Case:
    """Five points of a network, their certificates and the file of all of them."""

    def __init__(self, folder: Path, net: Any) -> None:
        self.model, self.file = folder / "model.npz", folder / "proofs.jsonl"
        net.save(self.model)
        self.certificates = [row.certificate for row in pm.margin(net, POINTS)]
        self.lines: list[Any] = [json.loads(line) for line in lines_of(self.certificates).splitlines()]

    def results(self, lines: list[Any], **options: Any) -> Any:
        self.file.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return check_rows(self.model, self.file, **options)


@pytest.fixture(scope="module", params=[2, 3], ids=["quadric", "cubic"])
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Case:
    return Case(tmp_path_factory.mktemp("rows"), random_network([3, 4, 3], request.param, seed=2))


@pytest.mark.parametrize("exact", [False, True])
def test_rows_say_what_they_say_alone(case: Case, exact: bool, tmp_path: Path) -> None:
    together = case.results(case.lines, exact=exact)
    assert len(together) == 5
    for row, certificate in zip(together, case.certificates, strict=True):
        alone = check(case.model, certificate.to_bytes(), exact)
        assert alone.accepted
        assert row == alone
    assert case.results(case.lines[:1] + case.lines[:0:-1])[0].usable
    assert check(case.model, case.file).accepted


def test_one_bad_row_is_refused_alone(case: Case, capsys: pytest.CaptureFixture[str]) -> None:
    lines = copy.deepcopy(case.lines)
    for entry in lines[3]["rivals"]:
        entry["lower"] = (2 * float.fromhex(entry["lower"])).hex() if entry["lower"] != "inf" else "inf"
    results = case.results(lines)
    assert [row.accepted for row in results] == [True, True, False, True, True]
    whole = check(case.model, case.file)
    assert not whole.accepted
    assert whole.reason.startswith("1 of 5 rows are not proved; row 2: rival ")
    assert main([str(case.model), str(case.file)]) == 1
    assert "row 2" in capsys.readouterr().out


def test_rows_do_not_lend_each_other_their_points(case: Case) -> None:
    """The proof of one point under the name of another one."""
    lines = copy.deepcopy(case.lines)
    lines[1]["point"], lines[2]["point"] = lines[2]["point"], lines[1]["point"]
    results = case.results(lines)
    assert [row.accepted for row in results] == [False, False, True, True, True]


@pytest.mark.parametrize("rows", [4, 6, 0, -1, 5.0, True, None, "5"])
def test_the_number_of_rows_is_checked(case: Case, rows: Any) -> None:
    lines = copy.deepcopy(case.lines)
    lines[0]["rows"] = rows
    (found,) = case.results(lines)
    assert not found.accepted
    assert "rows, and 5 follow" in found.reason


def test_a_cut_file_is_refused_as_a_whole(case: Case) -> None:
    (found,) = case.results(case.lines[:-1])
    assert not found.accepted
    assert "promises 5 rows, and 4 follow" in found.reason
    (nothing,) = case.results(case.lines[:1])
    assert not nothing.accepted


def test_what_is_shared_is_not_said_again(case: Case) -> None:
    for key, value in (("model", case.lines[0]["model"]), ("neighbourhood", None), ("note", 1)):
        lines = copy.deepcopy(case.lines)
        lines[2][key] = value
        results = case.results(lines)
        assert [row.accepted for row in results] == [True, False, True, True, True]
        assert "unknown key" in results[1].reason


def test_another_model_refuses_all(case: Case) -> None:
    lines = copy.deepcopy(case.lines)
    lines[0]["model"]["sha256"] = "0" * 64
    (found,) = case.results(lines)
    assert "another model" in found.reason


def test_junk_between_rows(case: Case) -> None:
    case.file.write_bytes(lines_of(case.certificates).replace(b"\n", b"\n{\n", 1))
    (found,) = check_rows(case.model, case.file)
    assert not found.accepted
    assert not found.usable
    for junk in ([], 1, "row", None):
        lines = copy.deepcopy(case.lines)
        lines[4] = junk
        assert [row.accepted for row in case.results(lines)] == [True, True, True, False, True]


def test_certificates_of_different_models_do_not_share_a_file(case: Case) -> None:
    other = pm.margin(random_network([3, 4, 3], 2, seed=9), POINTS[0]).certificate
    with pytest.raises(pm.InputError, match="different models"):
        lines_of([case.certificates[0], other])


def test_no_time_is_said_of_every_row(case: Case) -> None:
    results = case.results(case.lines, seconds=0)
    assert not any(row.accepted for row in results)
    assert all(not row.in_time for row in results)


def test_a_label_that_doubles_cannot_decide_is_decided_exactly(tmp_path: Path) -> None:
    """Two logits that differ by 2⁻⁶⁰ of their size; the tie itself is refused."""
    for gap, expected in ((2.0**-60, True), (0.0, False), (-(2.0**-60), False)):
        net = pm.PolynomialNetwork([([[1.0], [1.0 - 2.0**-53]], [gap, 0.0])])
        net.save(tmp_path / "model.npz")
        # f₀ − f₁ = 2⁻⁵³ x + gap at x = 0
        document = {
            "format": "polymargin-certificate-1",
            "model": {"sha256": net.fingerprint},
            "point": "AAAAAAAAAAA=",
            "label": 0,
            "claim": {"kind": "robust", "radius": "0x0p0"},
            "rivals": [{"rival": 1, "lower": "0x0p0", "proof": {"kind": "trivial"}}],
            "upper": None,
        }
        found = check(tmp_path / "model.npz", json.dumps(document).encode())
        assert found.accepted is expected, found.reason
