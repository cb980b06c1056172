"""The commands for VNN-LIB queries, as a user and as another program meets them."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from problems import random_network
from typer.testing import CliRunner

import polymargin as pm
from polymargin.cli.vnnlib import _check_names, commands
from polymargin.networks.writers.to_onnx import to_onnx
from polymargin.vnnlib import Query, read_query, write_robustness_query
from polymargin.vnnlib.query import DeclaredTensor

pytest.importorskip("vnnlib._core")
onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

POINT = np.array([0.25, -0.5])


def run(*arguments: object, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from polymargin.cli.vnnlib import main; main()", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """net.onnx, and queries robust.vnnlib (unsat) and broken.vnnlib (sat) about it, box.vnnlib in version 1.0 (sat)."""
    path = tmp_path_factory.mktemp("vnnlib")
    to_onnx(random_network([2, 4, 3], 3, seed=1), path / "net.onnx", precision="float32")
    margin = pm.margin(pm.load(path / "net.onnx"), POINT, proof=False)
    options = {"label": margin.label, "classes": 3}
    write_robustness_query(path / "robust.vnnlib", POINT, 0.9 * margin.radius, **options)
    write_robustness_query(path / "broken.vnnlib", POINT, 1.1 * margin.radius, **options)
    write_robustness_query(path / "box.vnnlib", POINT, 1.1 * margin.radius, norm=np.inf, version="1.0", **options)
    (path / "instances.csv").write_text(
        "net.onnx,robust.vnnlib,600\nnet.onnx,broken.vnnlib,600\nnet.onnx,box.vnnlib,600\n"
    )
    return path


def test_unsat(folder: Path) -> None:
    result = run("verify", folder / "robust.vnnlib", "--network", f"f={folder / 'net.onnx'}", "--timeout", 600)
    assert (result.returncode, result.stdout) == (0, "unsat\n")
    assert "CERTIFIED" in result.stderr


def test_sat_prints_a_witness_that_onnx_runtime_confirms(folder: Path) -> None:
    result = run("verify", folder / "broken.vnnlib", "--network", f"f={folder / 'net.onnx'}")
    lines = result.stdout.splitlines()
    assert result.returncode == 0, result.stderr
    assert lines[0] == "sat"
    assert (lines[1], lines[4]) == ("X real [1,2]", "Y real [1,3]")
    point, outputs = np.array(lines[2:4], dtype=np.float32), np.array(lines[5:8], dtype=np.float64)
    session = runtime.InferenceSession(str(folder / "net.onnx"), providers=["CPUExecutionProvider"])
    again = session.run(None, {"input": point[None]})[0][0]
    assert np.abs(again - outputs).max() <= 1e-5
    label = int(pm.load(folder / "net.onnx").predict(POINT))
    assert np.argmax(again) != label
    assert [str(float(value)) for value in point] == [
        str(float(line)) for line in lines[2:4]
    ]  # float32 holds it exactly


def test_old_queries_need_no_name_and_witnesses_can_be_files(folder: Path, tmp_path: Path) -> None:
    result = run(
        "verify", folder / "box.vnnlib", "--network", folder / "net.onnx", "--serialise-assignments", tmp_path / "w"
    )
    assert (result.returncode, result.stdout) == (0, "sat\n"), result.stderr
    point = onnx.numpy_helper.to_array(onnx.load_tensor(str(tmp_path / "w" / "X.pb")))
    outputs = onnx.numpy_helper.to_array(onnx.load_tensor(str(tmp_path / "w" / "Y.pb")))
    assert np.allclose(pm.load(folder / "net.onnx")(point), outputs)


@pytest.mark.parametrize(
    "names", [("../X", "Y"), ("X", "a/b"), ("/tmp/X", "Y"), ("..", "Y"), ("X\n", "Y"), ("X", "X"), ("", "Y")]
)
def test_names_of_tensors_do_not_lead_out_of_the_folder(names: tuple[str, str]) -> None:
    tensors = [DeclaredTensor(name, "real", (1, 2)) for name in names]
    with pytest.raises(pm.InputError, match="file"):
        _check_names(Query("2.0", "f", *tensors, cases=()))  # type: ignore[arg-type]


def test_a_name_that_is_a_path_is_refused_before_anything_is_computed(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The parser of today takes no such names; whatever a later one takes must not be written anywhere else."""
    query = read_query(folder / "broken.vnnlib")
    outside = replace(query, input=replace(query.input, name="../outside"))
    monkeypatch.setattr("polymargin.vnnlib.read_query", lambda path: outside)
    arguments = ["verify", str(folder / "broken.vnnlib"), "--network", f"f={folder / 'net.onnx'}"]
    result = CliRunner().invoke(commands, [*arguments, "--serialise-assignments", str(tmp_path / "w")])
    assert isinstance(result.exception, pm.InputError)
    assert not list(tmp_path.iterdir())


def test_timeout_is_an_answer(folder: Path) -> None:
    margin = pm.margin(pm.load(folder / "net.onnx"), POINT, proof=False)
    tight = folder / "tight.vnnlib"  # what the first relaxation proves without looking at the clock is not an example
    write_robustness_query(tight, POINT, (1 - 1e-12) * margin.radius, label=margin.label, classes=3)
    result = run("verify", tight, "--network", f"f={folder / 'net.onnx'}", "--timeout", "0.001")
    assert (result.returncode, result.stdout) == (0, "timed-out\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["robust.vnnlib", "--network", "g=net.onnx"], "declares the network 'f'"),
        (["robust.vnnlib", "--network", "net.onnx"], "declares the network 'f'"),
        (["robust.vnnlib", "--network", "f=net.onnx", "--network", "g=net.onnx"], "2 networks given"),
        (["robust.vnnlib", "--network", "f=none.onnx"], "none.onnx: no such file"),
        (["none.vnnlib", "--network", "f=net.onnx"], "no such file"),
        (["net.onnx", "--network", "f=net.onnx"], "not a text file"),
        (["typed.vnnlib", "--network", "f=net.onnx"], "declared as float32; polymargin reasons over the real numbers"),
        (["shape.vnnlib", "--network", "f=net.onnx"], "shape"),
    ],
)
def test_bad_calls_say_why_in_one_line(folder: Path, arguments: list[str], message: str) -> None:
    text = (folder / "robust.vnnlib").read_text()
    (folder / "typed.vnnlib").write_text(text.replace("real", "float32"))
    (folder / "shape.vnnlib").write_text(text.replace("Y real [1,3]", "Y real [1,4]"))
    result = run("verify", *arguments, folder=folder)
    assert (result.returncode, result.stdout) == (2, "")
    assert message in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_floating_point_types_only_with_consent(folder: Path) -> None:
    text = (folder / "robust.vnnlib").read_text().replace("real", "float32")
    (folder / "typed.vnnlib").write_text(text)
    result = run("verify", "typed.vnnlib", "--network", "f=net.onnx", "--as-real", folder=folder)
    assert result.stdout == "unsat\n"


def test_networks_with_one_output(tmp_path: Path) -> None:
    """f(x) = x_0² + x_1² + 1 in the unit box around 0: between 1 and 3."""
    nodes = [
        onnx.helper.make_node("Mul", ["x", "x"], ["s"]),
        onnx.helper.make_node("Gemm", ["s", "w", "b"], ["y"]),
    ]
    values = {"w": np.ones((2, 1), dtype=np.float32), "b": np.ones(1, dtype=np.float32)}
    constants = [onnx.numpy_helper.from_array(array, name) for name, array in values.items()]
    ends = [onnx.helper.make_tensor_value_info(name, 1, [1, n]) for name, n in (("x", 2), ("y", 1))]
    graph = onnx.helper.make_graph(nodes, "one", ends[:1], ends[1:], constants)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    (tmp_path / "one.onnx").write_bytes(model.SerializeToString())
    head = "(declare-const X_0 Real)(declare-const X_1 Real)(declare-const Y_0 Real)"
    bounds = "".join(f"(assert (>= X_{i} -1))(assert (<= X_{i} 1))" for i in range(2))
    results = []
    for condition in ("(<= Y_0 0.5)", "(>= Y_0 3.5)", "(>= Y_0 2.0)"):
        (tmp_path / "q.vnnlib").write_text(f"{head}{bounds}(assert {condition})")
        results.append(run("verify", "q.vnnlib", "--network", "one.onnx", folder=tmp_path).stdout.splitlines())
    assert [lines[0] for lines in results] == ["unsat", "unsat", "sat"]
    x, y = [float(v) for v in results[2][2:4]], float(results[2][5])
    assert results[2][4] == "Y real [1]"
    assert y == pytest.approx(x[0] ** 2 + x[1] ** 2 + 1)
    assert y >= 2


def test_batch_writes_results_and_counterexamples(folder: Path, tmp_path: Path) -> None:
    (folder / "more.csv").write_text((folder / "instances.csv").read_text() + "net.onnx,none.vnnlib,1\n")
    options = ["--category", "poly", "--results", tmp_path / "results.csv", "--counterexamples", tmp_path / "found"]
    result = run("batch", folder / "more.csv", *options)
    assert result.returncode == 2
    assert "none.vnnlib: no such file" in result.stderr
    assert result.stdout.startswith("4 instances: 2 sat, 1 unsat, 1 error; ")
    assert result.stdout.endswith(f"; wrote {tmp_path / 'results.csv'}\n")
    rows = [line.split(",") for line in (tmp_path / "results.csv").read_text().splitlines()]
    assert [(row[0], row[4]) for row in rows] == [("poly", word) for word in ("unsat", "sat", "sat", "error")]
    assert all(len(row) == 6 for row in rows)
    files = sorted(file.name for file in (tmp_path / "found").iterdir())
    assert files == ["net_box.counterexample", "net_broken.counterexample"]
    values = [line.strip("()").split() for line in (tmp_path / "found" / files[1]).read_text().splitlines()]
    point = np.array([value for name, value in values if name.startswith("X_")], dtype=np.float32)
    outputs = np.array([value for name, value in values if name.startswith("Y_")], dtype=np.float32)
    session = runtime.InferenceSession(str(folder / "net.onnx"), providers=["CPUExecutionProvider"])
    assert np.allclose(session.run(None, {"input": point[None]})[0][0], outputs, rtol=1e-5)
    assert run("batch", folder / "instances.csv", "--results", tmp_path / "again.csv").returncode == 0


def test_supports_and_names() -> None:
    def printed(*arguments: str) -> str:
        result = CliRunner().invoke(commands, arguments)
        assert result.exit_code == 0
        return result.stdout

    assert printed("--name") == "polymargin\n"
    assert printed("--version") == f"{pm.__version__}\n"
    assert printed("supports", "--onnx-element-types") == "real\n"
    opsets = printed("supports", "--onnx-opset-versions").split()
    assert len(opsets) == 2
    assert int(opsets[0]) < int(opsets[1])
    assert {"Gemm", "Pow", "Mul", "Conv"} <= set(printed("supports", "--onnx-operators").split())
    assert printed("supports", "--arithmetic-complexity-theories").split()[:2] == ["OUTC", "POLY"]
    assert "--hidden-node-theories: NH" in printed("supports")
    refused = run("supports", "--everything")
    assert refused.returncode == 2
    assert "expected one of" in refused.stderr
