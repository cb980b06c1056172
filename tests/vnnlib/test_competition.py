"""Files of VNN-COMP and the replay in ONNX Runtime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from problems import random_network

import polymargin as pm
from polymargin.networks.readers.onnx_graph import read_onnx
from polymargin.networks.writers.to_onnx import to_onnx
from polymargin.vnnlib.competition import (
    CompetitionInstance,
    ResultRow,
    counterexample_name,
    counterexample_text,
    read_instances,
    write_results,
)
from polymargin.vnnlib.replay import replay


def test_instances(tmp_path: Path) -> None:
    file = tmp_path / "instances.csv"
    file.write_text("onnx/a.onnx,vnnlib/b.vnnlib,116\n\nc.onnx, d.vnnlib ,2.5\n")
    assert read_instances(file) == [
        CompetitionInstance("onnx/a.onnx", "vnnlib/b.vnnlib", 116.0),
        CompetitionInstance("c.onnx", "d.vnnlib", 2.5),
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "0 instances"),
        (b"a.onnx,b.vnnlib\n", "row 1 has 2 entries"),
        (b"a.onnx,b.vnnlib,soon\n", "expected onnx, vnnlib, seconds"),
        (b"a.onnx,b.vnnlib,-1\n", "expected onnx, vnnlib, seconds"),
        (b"a.onnx,b.vnnlib,inf\n", "expected onnx, vnnlib, seconds"),
        (b",,1\n", "expected onnx, vnnlib, seconds"),
        (b"\xff\xfe", "not a CSV file"),
        (b'a,"' + b"x" * 200_000 + b'",1\n', "not a CSV file"),
    ],
)
def test_bad_instances(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "instances.csv").write_bytes(content)
    with pytest.raises(pm.InputError, match=message):
        read_instances(tmp_path / "instances.csv")
    with pytest.raises(pm.InputError, match="no such file"):
        read_instances(tmp_path / "none.csv")


def test_results_have_six_columns(tmp_path: Path) -> None:
    rows = [
        ResultRow("poly", "a.onnx", "b.vnnlib", 0.25, "unsat", 1.5),
        ResultRow("poly", "a,b.onnx", "c", 0.0, "timeout", 10),
    ]
    write_results(tmp_path / "results.csv", rows)
    lines = (tmp_path / "results.csv").read_text().splitlines()
    assert lines == ["poly,a.onnx,b.vnnlib,0.250000,unsat,1.500000", 'poly,"a,b.onnx",c,0.000000,timeout,10.000000']


def test_counterexamples_as_the_competition_reads_them() -> None:
    text = counterexample_text(np.array([0.5, -1e-7]), np.array([1.0, 2.25]))
    content = text.replace("\n", " ").strip()
    assert content[0] == "("
    assert content[-1] == ")"
    parts = [part.strip().removeprefix("(").split(" ") for part in content[1:-1].split(")") if part.strip()]
    assert [name for name, _ in parts] == ["X_0", "X_1", "Y_0", "Y_1"]
    assert [float(value) for _, value in parts] == [0.5, -1e-7, 1.0, 2.25]
    assert (
        counterexample_name(CompetitionInstance("onnx/net.onnx", "vnnlib/p_1.vnnlib", 1.0)) == "net_p_1.counterexample"
    )


def test_replay_sees_agreement_and_disagreement(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    net = random_network([3, 4, 2], 3, seed=1)
    file = to_onnx(net, tmp_path / "net.onnx", precision="float32")
    model = read_onnx(file)
    point = np.array([0.25, -0.5, 1.0])
    same = replay(file, model, point, model.network(point))
    assert same.agrees
    assert np.abs(same.outputs - net(point)).max() <= 1e-5
    assert not replay(file, model, point, 1.1 * model.network(point)).agrees
