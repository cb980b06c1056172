"""`polymargin ranges`: a table, JSON and a certificate that `check` accepts; wrong values in one sentence."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from problems import random_network


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from polymargin.cli import main; main()", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_ranges_and_check(tmp_path: Path) -> None:
    model, output, proof = (tmp_path / name for name in ("model.npz", "ranges.json", "proof.json"))
    random_network([2, 3, 3], 2, seed=1).save(model)
    found = run("ranges", model, "--domain", "0,1", "--output", output, "--certificate", proof)
    assert found.returncode == 0, found.stderr
    assert "CERTIFIED over [0, 1]^2" in found.stdout
    layers = json.loads(output.read_text())["layers"]
    assert [len(layer["lower"]) for layer in layers] == [3, 3]
    checked = run("check", model, proof)
    assert checked.returncode == 0, checked.stdout
    assert "6 pre-activations and logits" in checked.stdout.replace("\n", " ")


@pytest.mark.parametrize(
    ("options", "words"),
    [(("--domain", "1,0"), "lo"), ((), "need bounds"), (("--domain", "0,1", "--norm", "linf"), "without --radius")],
)
def test_wrong_values(tmp_path: Path, options: tuple[str, ...], words: str) -> None:
    model = tmp_path / "model.npz"
    random_network([2, 3, 3], 2, seed=1).save(model)
    found = run("ranges", model, *options)
    assert found.returncode == 2
    assert words in found.stderr


def test_a_picture_and_intervals_of_layers(tmp_path: Path) -> None:
    model, output, picture = (tmp_path / name for name in ("model.npz", "ranges.json", "ranges.svg"))
    random_network([2, 3, 3], 2, seed=1).save(model)
    found = run("ranges", model, "--domain", "0,1", "--output", output, "--plot", picture)
    assert found.returncode == 0, found.stderr
    for layer in json.loads(output.read_text())["layers"]:
        assert layer["interval"] == [min(layer["lower"]), max(layer["upper"])]
    assert picture.read_text().lstrip().startswith("<?xml")
    wrong = run("ranges", model, "--domain", "0,1", "--plot", tmp_path / "ranges.txt")
    assert wrong.returncode == 2
    assert ".png or .svg" in wrong.stderr


def test_noise_and_arithmetic_are_options_of_verify_and_margin(tmp_path: Path) -> None:
    model, points, proofs = (tmp_path / name for name in ("model.npz", "points.csv", "proofs"))
    random_network([2, 3, 3], 2, seed=1).save(model)
    points.write_text("0.3,-0.4\n0.9,0.1\n")
    for command in ("verify", "margin"):
        radius = ("--radius", "1e-4") if command == "verify" else ()
        for options in (("--noise", "0=1e-6", "--noise", "logits=1e-6"), ("--arithmetic", "float32")):
            found = run(
                command, model, points, *radius, *options, "--certificates", proofs / command / options[0], "--json"
            )
            assert found.returncode in (0, 1), found.stderr
            rows = json.loads(found.stdout)["verdicts" if command == "verify" else "margins"]
            assert all(row["lower"] > 0 for row in rows)
            data = json.loads(Path(rows[0]["certificate"]).read_text())
            assert ("noise" if options[0] == "--noise" else "arithmetic") in data
            checked = run("check", proofs / command / options[0] / "model.npz", rows[0]["certificate"])
            assert checked.returncode == 0, checked.stdout
    for options, words in (
        (("--noise", "0"), "LAYER=SIZE"),
        (("--noise", "0=much"), "is no number"),
        (("--noise", "fc=0.1"), "expected one of layer 0, logits"),
        (("--arithmetic", "float8"), "expected one of float32"),
    ):
        wrong = run("verify", model, points, "--radius", "0.1", *options)
        assert wrong.returncode == 2
        assert words in wrong.stderr.replace("\n", " ")


def test_agree_prints_radii_and_keeps_certificates(tmp_path: Path) -> None:
    first, second, points, proofs = (tmp_path / name for name in ("f.npz", "g.npz", "points.csv", "proofs"))
    random_network([2, 3, 3], 2, seed=1).save(first)
    random_network([2, 3, 3], 2, seed=2).save(second)
    points.write_text("0.3,-0.4\n0.9,0.1\n-0.5,0.7\n")
    found = run("agree", first, second, points, "--certificates", proofs, "--json")
    rows = json.loads(found.stdout)["rows"]
    same = [row["labels"][0] == row["labels"][1] for row in rows]
    assert found.returncode == (0 if all(same) else 1), found.stderr
    for place, (row, agreed) in enumerate(zip(rows, same, strict=True)):
        assert (row["lower"] > 0) == agreed
        for side in ("model", "other"):
            proof = proofs / side / f"point-{place}.json"
            assert proof.exists() == agreed
            if agreed:
                assert run("check", proofs / side / "model.npz", proof).returncode == 0
    assert all(row["standing"] == "CERTIFIED" for row in rows)
    table = run("agree", first, second, points, "--radius", "1e-3")
    assert "disagree at" in table.stdout
    wrong = run("agree", first, tmp_path / "none.npz", points)
    assert wrong.returncode == 2
