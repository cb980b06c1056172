"""The command line for ReLU networks in ONNX files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from piecewise.networks import random_relu
from piecewise.test_relu_files import write_onnx
from typer.testing import CliRunner

import polymargin as pm
from polymargin.cli.app import app


def ended(status: int, command: str, *words: object) -> str:
    result = CliRunner().invoke(app, [command, *map(str, words), "--no-cache"])
    if isinstance(result.exception, pm.InputError):
        raise result.exception
    assert result.exit_code == status, result.output
    return result.stdout


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    model, points = tmp_path / "net.onnx", tmp_path / "points.csv"
    write_onnx(model, random_relu([2, 6, 3], 0), "gemm")
    points.write_text("0.1,0.2\n-0.5,0.3\nnan,1\n")
    return model, points


def test_margins(files: tuple[Path, Path]) -> None:
    rows = json.loads(ended(2, "margin", *files, "--no-proof", "--json"))["margins"]  # one row is bad
    assert rows[0]["radius"] == pytest.approx(pm.margin(pm.load(files[0]), [0.1, 0.2], proof=False).radius, rel=1e-12)
    assert (rows[2]["standing"], rows[2]["radius"]) == ("FAILED", None)
    shown = ended(2, "margin", *files, "--no-proof")
    assert "Network(2-6-3, ReLU" in shown
    assert " cells; " in shown


def test_verdicts(files: tuple[Path, Path]) -> None:
    shown = ended(2, "verify", *files, "--radius", 0.01, "--json")
    assert "nan" in json.loads(shown)["verdicts"][2]["reason"]
    files[1].write_text("0.1,0.2\n-0.5,0.3\n")
    radii = [pm.margin(pm.load(files[0]), point, proof=False).radius for point in ([0.1, 0.2], [-0.5, 0.3])]
    assert "2 ROBUST" in ended(0, "verify", *files, "--radius", 0.9 * min(radii))
    verdict = json.loads(ended(1, "verify", *files, "--radius", 1.1 * max(radii), "--json"))["verdicts"][0]
    assert verdict["answer"] == "VULNERABLE"
    assert np.linalg.norm(np.array(verdict["counterexample"]) - [0.1, 0.2]) <= 1.1 * max(radii)
    folder = files[0].parent / "proofs"
    ended(0, "verify", *files, "--radius", 0.9 * min(radii), "--certificates", folder)
    assert any(folder.iterdir())


def test_a_run_can_be_continued(files: tuple[Path, Path], tmp_path: Path) -> None:
    words = (*files, "--no-proof", "--json", "--checkpoint", tmp_path / "rows.jsonl")
    answers = [json.loads(ended(2, "margin", *words))["margins"][:2] for _ in range(2)]
    assert answers[0] == answers[1]  # to the last digit of the time: they were not computed again


def test_other_files_are_left_alone(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    helper, kind = onnx.helper, onnx.TensorProto.DOUBLE
    ends = [helper.make_tensor_value_info(name, kind, [1, 2]) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Mul", ["x", "x"], ["y"])], "g", ends[:1], ends[1:])
    onnx.save(helper.make_model(graph), tmp_path / "square.onnx")
    assert pm.load(tmp_path / "square.onnx").is_polynomial
