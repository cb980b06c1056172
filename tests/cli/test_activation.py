"""`--activation`: files of plain weights on the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import polymargin as pm


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from polymargin.cli import main; main()", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def weights(tmp_path: Path) -> tuple[str, str]:
    """A network of two layers as plain arrays, and two points."""
    generator = np.random.default_rng(3)
    arrays = {
        "fc1.weight": generator.normal(size=(4, 3)),
        "fc1.bias": generator.normal(size=4),
        "fc2.weight": generator.normal(size=(2, 4)),
        "fc2.bias": generator.normal(size=2),
    }
    np.savez(tmp_path / "weights.npz", **arrays)
    np.save(tmp_path / "points.npy", generator.normal(size=(2, 3)))
    return str(tmp_path / "weights.npz"), str(tmp_path / "points.npy")


@pytest.mark.parametrize(
    ("given", "meant"), [("square", "square"), ("3", 3), ("0,0.5,0.25", (0.0, 0.5, 0.25)), ("1,0,2", (1.0, 0.0, 2.0))]
)
def test_plain_weights_with_an_activation(weights: tuple[str, str], given: str, meant: object) -> None:
    model, points = weights
    answer = run("margin", model, points, "--activation", given, "--threads", "1", "--no-cache", "--json")
    assert answer.returncode == 0, answer.stderr
    network = pm.load(model, activation=meant)
    truth = [one.radius for one in pm.margin(network, np.load(points), proof=False, workers=1)]
    assert [row["radius"] for row in json.loads(answer.stdout)["margins"]] == pytest.approx(truth)


def test_without_or_with_a_wrong_one_it_is_one_sentence(weights: tuple[str, str]) -> None:
    model, points = weights
    for words, sentence in (
        ([], "activation"),
        (["--activation", "step"], "expected square, relu, a degree"),
        (["--activation", "square;2;3"], "activation"),
    ):
        answer = run("margin", model, points, *words)
        assert answer.returncode == 2
        assert answer.stderr.count("\n") == 1
        assert sentence in answer.stderr


def test_a_proof_about_plain_weights_is_checked_with_them(weights: tuple[str, str], tmp_path: Path) -> None:
    model, points = weights
    words = ["--activation", "square"]
    proofs = tmp_path / "proofs"
    made = run("margin", model, points, *words, "--certificates", proofs, "--threads", "1")
    assert made.returncode == 0, made.stderr
    checked = run("check", model, proofs / "point-0.json", *words)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert checked.stdout.startswith("PROVED")
