"""Neighbourhoods on the command line: verdicts and certificates in another norm, and wrong values in one sentence."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
from problems import random_network

import polymargin as pm


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from polymargin.cli import main; main()", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_verify_certify_and_check_in_a_box(tmp_path: Path) -> None:
    network, points = random_network([2, 3, 3], 2, seed=1), np.array([[0.1, 0.2]])
    model, file = tmp_path / "model.npz", tmp_path / "points.npy"
    network.save(model)
    np.save(file, points)
    near = ("--norm", "linf", "--domain", "-1,1", "--movable", "0,1", "--rivals", "0,1,2", "--abstain", "0.001")
    options = {"norm": "linf", "domain": (-1, 1), "abstain": 0.001}
    radius = 0.8 * pm.margin(network, points[0], cache=False, **options).radius
    proofs = tmp_path / "proofs"
    verdict = run("verify", model, file, "--radius", radius, *near, "--certificates", proofs)
    assert verdict.returncode == 0, verdict.stdout + verdict.stderr
    checked = run("check", model, proofs / "point-0.json")
    assert checked.returncode == 0
    assert "an L∞ distance below" in checked.stdout.replace("\n", " ")
    data = json.loads(run("certify", model, file, *near, "--json", "--timeout", "5").stdout)
    assert data["margins"][0]["lower"] >= radius
    assert data["margins"][0]["norm"] == "linf"


def test_wrong_values_get_one_sentence(tmp_path: Path) -> None:
    model, file = tmp_path / "model.npz", tmp_path / "points.npy"
    random_network([2, 3, 2], 2, seed=1).save(model)
    np.save(file, np.array([[0.1, 0.2]]))
    found = run("verify", model, file, "--radius", "0.1", "--rivals", "first")
    assert found.returncode == 2
    assert "expected whole numbers" in found.stderr
