"""The command-line functions for ReLU networks in ONNX files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from piecewise.networks import random_relu
from piecewise.test_relu_files import write_onnx

from polymargin.cli.piecewise import relu_network_in, run_relu_margin, run_relu_verify
from polymargin.piecewise import piecewise_margin


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    model, points = tmp_path / "net.onnx", tmp_path / "points.csv"
    write_onnx(model, random_relu([2, 6, 3], 0), "gemm")
    points.write_text("0.1,0.2\n-0.5,0.3\nnan,1\n")
    return model, points


def test_margins(files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    network = relu_network_in(files[0])
    assert network is not None
    assert run_relu_margin(network, *files, as_json=True, seed=0, timeout=None) == 2  # one row is bad
    rows = json.loads(capsys.readouterr().out)["margins"]
    assert rows[0]["radius"] == pytest.approx(piecewise_margin(network, [0.1, 0.2]).radius, rel=1e-12)
    assert rows[2]["status"] == "FAILED"
    run_relu_margin(network, *files, as_json=False, seed=0, timeout=None)
    shown = capsys.readouterr().out
    assert "ReLUNetwork(2-6-3" in shown
    assert "quadratic programs" in shown


def test_verdicts(files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    network = relu_network_in(files[0])
    assert network is not None
    assert run_relu_verify(network, *files, 0.01, as_json=True, seed=0, timeout=None) == 2
    assert "nan" in json.loads(capsys.readouterr().out)["verdicts"][2]["error"]
    files[1].write_text("0.1,0.2\n-0.5,0.3\n")
    radii = [piecewise_margin(network, point).radius for point in ([0.1, 0.2], [-0.5, 0.3])]
    assert run_relu_verify(network, *files, 0.9 * min(radii), as_json=False, seed=0, timeout=None) == 0
    assert "ROBUST" in capsys.readouterr().out
    assert run_relu_verify(network, *files, 1.1 * max(radii), as_json=True, seed=0, timeout=None) == 1
    verdict = json.loads(capsys.readouterr().out)["verdicts"][0]
    assert verdict["answer"] == "VULNERABLE"
    assert np.linalg.norm(np.array(verdict["counterexample"]) - [0.1, 0.2]) <= 1.1 * max(radii)


def test_other_files_are_left_alone(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    assert relu_network_in(tmp_path / "net.npz") is None
    helper, kind = onnx.helper, onnx.TensorProto.DOUBLE
    ends = [helper.make_tensor_value_info(name, kind, [1, 2]) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Mul", ["x", "x"], ["y"])], "g", ends[:1], ends[1:])
    onnx.save(helper.make_model(graph), tmp_path / "square.onnx")
    assert relu_network_in(tmp_path / "square.onnx") is None
