"""Proofs on the command line: certify, check with any model, folders of certificates, runs that are continued."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np
import pytest
from cli.test_cli import run
from problems import random_network

import polymargin as pm


@pytest.fixture
def model(tmp_path: Path) -> Path:
    random_network([2, 4, 2], 3, seed=1).save(tmp_path / "model.npz")
    return tmp_path / "model.npz"


@pytest.fixture
def points(tmp_path: Path) -> Path:
    np.save(tmp_path / "points.npy", np.array([[0.1, 0.2], [0.5, -0.5], [0.3, 0.0]]))
    return tmp_path / "points.npy"


def test_certify_encloses_the_margin_and_the_printed_command_checks_it(
    model: Path, points: Path, tmp_path: Path
) -> None:
    proofs = tmp_path / "my proofs"
    table = run("margin", model, points, "--certificates", proofs)
    assert table.returncode == 0, table.stderr
    assert "3 points: 3 CERTIFIED" in table.stdout
    command = table.stdout.splitlines()[-1].partition("with: polymargin ")[2]
    *words, pattern = shlex.split(command)
    checked = run(*words, *sorted(Path("/").glob(pattern.lstrip("/"))))
    assert checked.returncode == 0, checked.stdout
    data = json.loads(run("margin", model, points, "--json").stdout)
    for row, margin in zip(data["margins"], pm.margin(pm.load(model), np.load(points), proof=False), strict=True):
        assert row["lower"] <= margin.radius * (1 + 1e-12)
        assert row["upper"] >= margin.radius * (1 - 1e-12)
        assert row["certificate"] is None  # no folder was named


def test_bounds_that_do_not_meet_are_status_1(tmp_path: Path, points: Path) -> None:
    random_network([2, 5, 4, 3], 3, seed=1).save(tmp_path / "deep.npz")
    found = run(
        "margin", tmp_path / "deep.npz", points, "--timeout", "0.05", "--json", "--certificates", tmp_path / "proofs"
    )
    standings = {row["standing"] for row in json.loads(found.stdout)["margins"]}
    assert found.returncode == (0 if standings == {"CERTIFIED"} else 1)


def test_any_model_that_verify_reads_can_be_checked(model: Path, points: Path, tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    network = pm.load(model)
    pm.to_onnx(network, tmp_path / "model.onnx")
    proofs = tmp_path / "proofs"
    assert run("verify", tmp_path / "model.onnx", points, "--radius", "1e-3", "--certificates", proofs).returncode == 0
    certificate = proofs / "point-0.json"
    assert run("check", tmp_path / "model.onnx", certificate).stdout.startswith("PROVED: ")
    assert run("check", proofs / "model.npz", certificate).stdout.startswith("PROVED: ")
    random_network([2, 4, 2], 3, seed=2).save(tmp_path / "other.npz")
    other = run("check", tmp_path / "other.npz", certificate)
    assert (other.returncode, other.stdout.startswith("REFUSED: ")) == (1, True)


def test_what_cannot_be_read_is_not_refused(model: Path, points: Path, tmp_path: Path) -> None:
    (tmp_path / "broken.onnx").write_bytes(b"no model")
    (tmp_path / "broken.json").write_bytes(b"\xff")
    proof = tmp_path / "proof.json"
    verdict = pm.verify(pm.load(model), np.load(points)[0], 1e-3)
    assert verdict.certificate is not None
    verdict.certificate.save(proof)
    for words in (
        [tmp_path / "broken.onnx", proof],
        [tmp_path / "none.npz", proof],
        [points, proof],
        [proof, proof],
        [model, tmp_path / "none.json"],
    ):
        found = run("check", *words)
        assert (found.returncode, found.stdout, found.stderr.count("\n")) == (2, "", 1), words
        assert found.stderr.startswith("polymargin: ")


def test_two_models_do_not_share_a_folder(model: Path, points: Path, tmp_path: Path) -> None:
    proofs = tmp_path / "proofs"
    words = [points, "--radius", "1e-3", "--certificates", proofs]
    assert run("verify", model, *words).returncode == 0
    assert run("verify", model, *words).returncode == 0
    random_network([2, 4, 2], 3, seed=2).save(tmp_path / "other.npz")
    other = run("verify", tmp_path / "other.npz", *words)
    assert (other.returncode, other.stdout) == (2, "")
    assert "choose another" in other.stderr


@pytest.mark.parametrize("command", [["verify", "--radius", "0.05"], ["margin", "--no-cache"]])
def test_an_interrupted_run_is_continued_with_its_certificates(
    model: Path, points: Path, tmp_path: Path, command: list[str]
) -> None:
    rows, proofs = tmp_path / "rows.jsonl", tmp_path / "proofs"
    words = [command[0], model, points, *command[1:], "--checkpoint", rows, "--json", "--certificates"]
    first = json.loads(run(*words, proofs).stdout)
    lines = rows.read_text().splitlines(keepends=True)
    rows.write_text("".join(lines[:3]))  # as if interrupted after two rows
    again = json.loads(run(*words, tmp_path / "others").stdout)
    name = "verdicts" if command[0] == "verify" else "margins"
    for number in (0, 1):
        one, other = first[name][number], again[name][number]
        assert one["seconds"] == other["seconds"]  # read, not computed
        assert Path(one["certificate"]).read_bytes() == Path(other["certificate"]).read_bytes()
    assert first[name][2]["lower"] == again[name][2]["lower"]
    changed = run(command[0], model, points, *command[1:], "--checkpoint", rows, "--seed", "1")
    assert changed.returncode == 2
    assert "choose a new file" in changed.stderr


def test_jobs_share_the_rows(model: Path, points: Path) -> None:
    alone, shared = (json.loads(run("margin", model, points, "--json", "--jobs", jobs).stdout) for jobs in (1, 2))
    for one, other in zip(alone["margins"], shared["margins"], strict=True):
        assert (one["lower"], one["upper"], one["standing"]) == (other["lower"], other["upper"], other["standing"])


def test_json_is_strict(tmp_path: Path) -> None:
    never = pm.PolynomialNetwork([np.eye(2), ([[1.0, 1.0], [0.0, 0.0]], [1.0, 0.0])], degree=2)  # x² + y² + 1 = 0
    never.save(tmp_path / "never.npz")
    np.save(tmp_path / "p.npy", np.array([[0.0, 0.0], [np.nan, 0.0]]))

    def refuse(word: str) -> None:
        raise AssertionError(word)

    for command in (["margin"], ["verify", "--radius", "1"]):
        found = run(command[0], tmp_path / "never.npz", tmp_path / "p.npy", *command[1:], "--json")
        rows = next(
            value for value in json.loads(found.stdout, parse_constant=refuse).values() if isinstance(value, list)
        )
        assert rows[0]["upper"] is None
        assert rows[1]["standing"] == "FAILED"
        assert '"nan"' not in found.stdout
        assert '"inf"' not in found.stdout


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "not a certificate, as it is not valid JSON (it is empty)"),
        (b"hello", "not a certificate, as it is not valid JSON"),
        (b"\x93NUMPY", "not a certificate, as it is not valid JSON"),
        (b"[1, 2]", "not a certificate but a list of length 2; expected an object"),
        (b"{}", "not a certificate, as the key 'format' is missing"),
        (b'{"format": "polymargin-checkpoint-1"}', "unknown certificate format 'polymargin-checkpoint-1'"),
    ],
)
def test_what_is_no_certificate_is_bad_input_and_no_wrong_proof(tmp_path: Path, content: bytes, reason: str) -> None:
    pm.PolynomialNetwork([np.eye(2), np.eye(2)], degree=2).save(tmp_path / "model.npz")
    (tmp_path / "proof.json").write_bytes(content)
    said = run("check", tmp_path / "model.npz", tmp_path / "proof.json")
    assert (said.returncode, said.stdout) == (2, "")
    assert said.stderr.startswith(f"polymargin: {tmp_path / 'proof.json'}: {reason}")
    assert said.stderr.count("\n") == 1
