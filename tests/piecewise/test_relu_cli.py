"""The command line for ReLU networks in ONNX files."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from piecewise.networks import random_relu
from piecewise.test_relu_files import write_onnx

import polymargin as pm
from polymargin.cli.margins import run_margin
from polymargin.cli.model_options import ModelOptions
from polymargin.cli.models import read_model
from polymargin.cli.verdicts import run_verify
from polymargin.cli.work_options import WorkOptions
from polymargin.errors import InputError
from polymargin.networks import Network

WORK = WorkOptions(no_cache=True)


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    model, points = tmp_path / "net.onnx", tmp_path / "points.csv"
    write_onnx(model, random_relu([2, 6, 3], 0), "gemm")
    points.write_text("0.1,0.2\n-0.5,0.3\nnan,1\n")
    return model, points


def network_in(model: Path) -> Network:
    return read_model(model, ModelOptions())


def test_margins(files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert run_margin(*files, WORK, as_json=True, proof=False, timeout=60.0, certificates=None) == 2  # one row is bad
    rows = json.loads(capsys.readouterr().out)["margins"]
    assert rows[0]["radius"] == pytest.approx(
        pm.margin(network_in(files[0]), [0.1, 0.2], proof=False).radius, rel=1e-12
    )
    assert (rows[2]["standing"], rows[2]["radius"]) == ("FAILED", None)
    run_margin(*files, WORK, as_json=False, proof=False, timeout=60.0, certificates=None)
    shown = capsys.readouterr().out
    assert "Network(2-6-3, ReLU" in shown
    assert " cells; " in shown


def test_verdicts(files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    options: dict[str, Any] = {"timeout": 60.0, "certificates": None}
    assert run_verify(*files, 0.01, WORK, as_json=True, **options) == 2
    assert "nan" in json.loads(capsys.readouterr().out)["verdicts"][2]["reason"]
    files[1].write_text("0.1,0.2\n-0.5,0.3\n")
    radii = [pm.margin(network_in(files[0]), point, proof=False).radius for point in ([0.1, 0.2], [-0.5, 0.3])]
    assert run_verify(*files, 0.9 * min(radii), WORK, as_json=False, **options) == 2
    assert "there is no proof for such networks" in capsys.readouterr().out
    assert run_verify(*files, 1.1 * max(radii), WORK, as_json=True, **options) == 1
    verdict = json.loads(capsys.readouterr().out)["verdicts"][0]
    assert verdict["answer"] == "VULNERABLE"
    assert np.linalg.norm(np.array(verdict["counterexample"]) - [0.1, 0.2]) <= 1.1 * max(radii)
    with pytest.raises(InputError, match="no certificates for piecewise networks"):
        run_verify(*files, 0.1, WORK, as_json=True, timeout=60.0, certificates=files[0].parent / "proofs")


def test_a_run_can_be_continued(files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    work = replace(WORK, checkpoint=tmp_path / "rows.jsonl")
    answers = []
    for _ in range(2):
        run_margin(*files, work, as_json=True, proof=False, timeout=60.0, certificates=None)
        answers.append(json.loads(capsys.readouterr().out)["margins"][:2])
    assert answers[0] == answers[1]  # to the last digit of the time: they were not computed again


def test_other_files_are_left_alone(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    helper, kind = onnx.helper, onnx.TensorProto.DOUBLE
    ends = [helper.make_tensor_value_info(name, kind, [1, 2]) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Mul", ["x", "x"], ["y"])], "g", ends[:1], ends[1:])
    onnx.save(helper.make_model(graph), tmp_path / "square.onnx")
    assert read_model(tmp_path / "square.onnx", ModelOptions()).is_polynomial
