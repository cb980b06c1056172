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
