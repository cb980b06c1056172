"""Regions on the command line: verdicts and certificates in another norm, and wrong values in one sentence."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
from problems import asked, random_network

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
    options = {"within": pm.Linf(domain=(-1, 1)), "abstain": 0.001}
    radius = 0.8 * pm.margin(network, points[0], proof=False, **options).radius
    proofs = tmp_path / "proofs"
    verdict = run("verify", model, file, "--radius", radius, *near, "--certificates", proofs)
    assert verdict.returncode == 0, verdict.stdout + verdict.stderr
    title = verdict.stdout.splitlines()[0]
    assert title.endswith(", norm linf, domain [-1, 1], movable 0,1, rivals [0, 1, 2], abstain 0.001")
    checked = run("check", model, proofs / "point-0.json")
    assert checked.returncode == 0
    assert "an L∞ distance below" in checked.stdout.replace("\n", " ")
    data = json.loads(run("margin", model, file, *near, "--json", "--timeout", "5").stdout)
    assert data["margins"][0]["lower"] >= radius
    assert data["margins"][0]["norm"] == "linf"
    verdicts = json.loads(run("verify", model, file, "--radius", radius, *near, "--json").stdout)
    margins = json.loads(run("margin", model, file, *near, "--json").stdout)
    for answers in (data, verdicts, margins):
        assert answers["version"] == pm.__version__
        assert (answers["norm"], answers["domain"], answers["movable"]) == ("linf", [-1, 1], "0,1")
        assert (answers["rivals"], answers["abstain"]) == ([0, 1, 2], 0.001)
        assert "weights" not in answers


def test_wrong_values_get_one_sentence(tmp_path: Path) -> None:
    model, file = tmp_path / "model.npz", tmp_path / "points.npy"
    random_network([2, 3, 2], 2, seed=1).save(model)
    np.save(file, np.array([[0.1, 0.2]]))
    for command in (("verify", "--radius", "0.1"), ("margin",)):
        ask = (command[0], model, file, *command[1:])
        for option, value, words in (
            ("--rivals", "first", "expected whole numbers such as 0,3,5"),
            ("--rivals", "0,9", "rivals [0, 9]: the model has classes 0 to 1"),
        ):
            found = run(*ask, option, value)
            assert found.returncode == 2
            assert words in " ".join(found.stderr.split())
            assert "\n" not in found.stderr.strip() or len(found.stderr) < 200
    ask = ("verify", model, file, "--radius", "0.1")
    np.savetxt(tmp_path / "matrix.csv", np.diag([1.0, 2.0]), delimiter=",")
    for options, words in (
        (("--movable", "x"), "or a .npy, .npz or .csv file with the columns of a subspace"),
        (("--movable", tmp_path / "none.npy"), "no such file"),
        (("--weights", tmp_path / "weights.txt"), "no such file"),
        (("--weights", tmp_path / "matrix.csv", "--domain", "-1,1"), "leave out the domain"),
    ):
        found = run(*ask, *options)
        assert found.returncode == 2
        assert words in " ".join(found.stderr.split())


def test_matrices_and_subspaces_come_from_files(tmp_path: Path) -> None:
    network, point = random_network([2, 3, 3], 2, seed=1), np.array([0.1, 0.2])
    model, file = tmp_path / "model.npz", tmp_path / "points.npy"
    network.save(model)
    np.save(file, point[None])
    matrix, column = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([1.0, -0.5])
    np.savetxt(tmp_path / "matrix.csv", matrix, delimiter=",")
    np.save(tmp_path / "column.npy", column)
    np.savetxt(tmp_path / "vector.csv", np.array([[1.0], [3.0]]), delimiter=",")
    for arguments, options in (
        (("--weights", tmp_path / "matrix.csv"), {"weights": matrix}),
        (("--movable", tmp_path / "column.npy"), {"movable": column[:, None]}),
        (("--weights", tmp_path / "vector.csv"), {"weights": [1.0, 3.0]}),
    ):
        exact = pm.margin(network, point, proof=False, **asked(**options)).radius
        data = json.loads(run("margin", model, file, *arguments, "--json").stdout)
        assert np.isclose(data["margins"][0]["radius"], exact)
    proofs = tmp_path / "proofs"
    verdict = run("verify", model, file, "--radius", 0.9 * exact, *arguments, "--certificates", proofs)
    assert verdict.returncode == 0, verdict.stdout + verdict.stderr
    assert run("check", model, proofs / "point-0.json").returncode == 0
