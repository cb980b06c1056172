"""What a model file can do: be read as it was written, or be refused. Nothing in between, and not much memory."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import zipfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from problems import random_network

import polymargin as pm
from polymargin.errors import TooManyPathsError
from polymargin.networks.readers import npz

NET = random_network([3, 5, 2], 3, seed=2)


def refused(path: Path, message: str) -> None:
    with pytest.raises(pm.InputError, match=message):
        pm.load(path)


# -- .npz ------------------------------------------------------------------------------------------


def test_an_array_given_twice_is_refused(tmp_path: Path) -> None:
    NET.save(tmp_path / "net.npz")
    with zipfile.ZipFile(tmp_path / "net.npz", "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("readout/bias.npy", archive.read("stage1/form/bias.npy"))
    refused(tmp_path / "net.npz", "an entry occurs twice")


def test_files_of_ours_are_read() -> None:
    folder = Path(pm.__file__).parent / "data"
    for name in ("moons", "spheres", "cubic8"):
        assert pm.load(folder / f"{name}.npz").class_count >= 2


def flips(content: bytes, count: int, seed: int) -> Any:
    generator = np.random.default_rng(seed)
    for place in generator.integers(0, len(content), count).tolist():
        damaged = bytearray(content)
        damaged[place] ^= 1 << int(generator.integers(8))
        yield bytes(damaged)


def fingerprint(path: Path) -> str | None:
    try:
        return pm.load(path).fingerprint
    except pm.InputError:
        return None


def test_no_flip_of_a_network_gives_another_one(tmp_path: Path) -> None:
    NET.save(tmp_path / "net.npz")
    content = (tmp_path / "net.npz").read_bytes()
    for damaged in flips(content, 400, 0):
        (tmp_path / "net.npz").write_bytes(damaged)
        assert fingerprint(tmp_path / "net.npz") in (None, NET.fingerprint)


def test_no_flip_of_a_state_dict_gives_another_network(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    torch.save(pm.to_torch(NET).state_dict(), tmp_path / "net.pt")
    content = (tmp_path / "net.pt").read_bytes()
    truth = pm.load(tmp_path / "net.pt").fingerprint
    found = []
    for damaged in flips(content, 300, 1):
        (tmp_path / "net.pt").write_bytes(damaged)
        found.append(fingerprint(tmp_path / "net.pt"))
    assert set(found) == {None, truth}


# -- sizes -----------------------------------------------------------------------------------------

LIMITED = """
import resource, sys
import numpy as np, onnx
import polymargin as pm
from polymargin.networks.readers import npz
from polymargin.networks import load
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    load(sys.argv[1])
    print("read")
except pm.InputError as error:
    print(error)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def measured(path: Path) -> tuple[str, int]:
    """What is said about a file, and by how many kilobytes the process grew."""
    command = [sys.executable, "-c", LIMITED, str(path)]
    run = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    said, grown = run.stdout.splitlines()
    return said, int(grown)


def test_bombs_are_refused_by_what_they_declare(tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    file = tmp_path / "bomb.npz"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("stage1/form/0.npy", "w") as stream:
        np.lib.format.write_array_header_1_0(stream, {"descr": "<f8", "fortran_order": False, "shape": (6000, 6000)})
        for _ in range(6000):
            stream.write(bytes(8 * 6000))
    said, grown = measured(file)
    assert "more than 33554432 numbers" in said
    assert grown < 20_000


@pytest.mark.parametrize("suffix", ["npz", "pt", "skops"])
def test_entries_of_an_archive_are_not_listed_before_their_number_is_known(suffix: str, tmp_path: Path) -> None:
    """A list of a million empty entries, 47 MB: 6 seconds and 374 MB where it is listed first."""
    entry = struct.pack("<IHHHHHHIIIHHHHHII", 0x02014B50, 20, 20, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0) + b"a"
    listed = entry * 1_000_000
    end = struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, 65535, 65535, len(listed), 0, 0)
    (tmp_path / f"many.{suffix}").write_bytes(listed + end)
    if suffix == "npz":
        said, grown = measured(tmp_path / "many.npz")
        assert "a list of entries of 47000000 bytes, more than the 2097152" in said
        assert grown < 20_000
    else:
        pytest.importorskip({"pt": "torch", "skops": "skops"}[suffix])
        refused(tmp_path / f"many.{suffix}", "a list of entries of 47000000 bytes, more than the 2097152")


def test_the_header_of_a_safetensors_file_is_short(tmp_path: Path) -> None:
    header = b"[" + b"[]," * (1 << 20) + b"[]]"
    (tmp_path / "net.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)
    with pytest.raises(pm.InputError, match=r"not a safetensors file .a header of"):
        pm.load(tmp_path / "net.safetensors", activation="square")


def test_a_header_that_promises_more_than_there_is(tmp_path: Path) -> None:
    for shape in ((1 << 40, 1 << 20), (1 << 20,), (3, -1), (0, 1 << 62)):
        with zipfile.ZipFile(tmp_path / "net.npz", "w") as archive, archive.open("stage1/form/0.npy", "w") as stream:
            np.lib.format.write_array_header_1_0(stream, {"descr": "<f8", "fortran_order": False, "shape": shape})
            stream.write(bytes(64))
        refused(tmp_path / "net.npz", "has another size than its header says")


def test_a_million_coefficients_and_ten_thousand_stages(tmp_path: Path) -> None:
    np.savez(tmp_path / "net.npz", **(NET.to_arrays() | {"stage1/coefficients": np.ones(10**6)}))
    refused(tmp_path / "net.npz", "1000000 coefficients")
    with pytest.raises(pm.InputError, match="a degree from 1 to 127"):
        pm.PolynomialNetwork([np.eye(2), np.eye(2)], degree=10**9)
    header = {"format": "polymargin network", "version": 2, "inputs": 1, "stages": [{"kind": "product"}] * 1200}
    np.savez(tmp_path / "deep.npz", header=np.frombuffer(json.dumps(header).encode(), dtype=np.uint8))
    refused(tmp_path / "deep.npz", "more than 1000")


def test_numbers_are_counted_before_they_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.savez_compressed(tmp_path / "net.npz", **(NET.to_arrays() | {"stage1/coefficients": np.ones(1 << 25)}))
    monkeypatch.setattr(npz, "_array", lambda archive, entry: pytest.fail("numbers were read"))
    refused(tmp_path / "net.npz", "more than 33554432 numbers")


def field(number: int, content: bytes) -> bytes:
    """A length-delimited field of protobuf's wire format."""
    length, head = len(content), bytes([number << 3 | 2])
    while length > 127:
        head += bytes([length & 127 | 128])
        length >>= 7
    return head + bytes([length]) + content


NODE, INITIALIZER, ATTRIBUTE, GRAPH_OF_ATTRIBUTE, GRAPH = 1, 5, 5, 6, 7


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (field(GRAPH, field(NODE, b"") * 3_000_000), "more than 10000 nodes"),
        (field(GRAPH, field(INITIALIZER, b"") * 3_000_000), "more than 10000 initializers"),
        (field(GRAPH, field(NODE, field(ATTRIBUTE, b"") * 3_000_000)), "more than 500000 fields"),
        (field(GRAPH, field(NODE, b"")) * 3_000_000, "more than 500000 fields"),
        (field(14, b"") * 3_000_000, "more than 500000 fields"),
    ],
    ids=["nodes", "initializers", "attributes", "graphs", "metadata"],
)
def test_parts_of_an_onnx_file_are_counted_before_they_become_objects(
    content: bytes, said: str, tmp_path: Path
) -> None:
    pytest.importorskip("onnx")
    (tmp_path / "bomb.onnx").write_bytes(content)
    answer, grown = measured(tmp_path / "bomb.onnx")
    assert said in answer
    assert grown < len(content) / 1024 + 60_000


def test_deep_and_damaged_onnx_files(tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    deep = b""
    for _ in range(60):
        deep = field(GRAPH_OF_ATTRIBUTE, field(NODE, field(ATTRIBUTE, deep)))
    for content, said in (
        (field(GRAPH, field(NODE, field(ATTRIBUTE, deep))), "more than 100 messages in one another"),
        (bytes([GRAPH << 3 | 2, 100]), "not a valid ONNX file"),
        (bytes([GRAPH << 3 | 3]), "not a valid ONNX file"),
        (bytes([255] * 12), "not a valid ONNX file"),
        (bytes([1 << 3 | 1, 0, 0]), "not a valid ONNX file"),
        (field(GRAPH, bytes([NODE << 3 | 2, 100])) + bytes(200), "not a valid ONNX file"),
    ):
        (tmp_path / "net.onnx").write_bytes(content)
        refused(tmp_path / "net.onnx", said)


def test_the_list_of_tensors_of_a_torch_file_is_short(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    with zipfile.ZipFile(tmp_path / "net.pt", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("net/data.pkl", bytes((1 << 22) + 1))
    refused(tmp_path / "net.pt", "more than 4194304 bytes for the list of its tensors")


def test_a_hundred_thousand_nodes(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    names = ["x", *(f"v{number}" for number in range(100_000))]
    nodes = [onnx.helper.make_node("Add", [a, "x"], [b]) for a, b in pairwise(names)]
    ends = [onnx.helper.make_tensor_value_info(name, 1, [1, 2]) for name in ("x", names[-1])]
    model = onnx.helper.make_model(onnx.helper.make_graph(nodes, "long", ends[:1], ends[1:]))
    (tmp_path / "long.onnx").write_bytes(model.SerializeToString())
    refused(tmp_path / "long.onnx", "more than 10000 nodes")


def test_points_that_promise_more_than_there_is(tmp_path: Path) -> None:
    from polymargin.cli.points import read_points

    with (tmp_path / "p.npy").open("wb") as stream:
        np.lib.format.write_array_header_1_0(stream, {"descr": "<f8", "fortran_order": False, "shape": (1 << 40, 2)})
    np.save(tmp_path / "c.npy", np.array([[1 + 2j, 0]]))
    np.save(tmp_path / "d.npy", np.array([["2020-01-01"]], dtype="datetime64[D]"))
    with (tmp_path / "big.csv").open("wb") as stream:
        stream.truncate(1 << 31)
    for name, message in (("p", "cannot read points"), ("c", "complex128"), ("d", "datetime64")):
        with pytest.raises(pm.InputError, match=message):
            read_points(tmp_path / f"{name}.npy")
    with pytest.raises(pm.InputError, match="more than the"):
        read_points(tmp_path / "big.csv")


# -- data outside the file -------------------------------------------------------------------------


def test_external_data_behind_a_link_is_refused_by_both_readers(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    for operator in ("Mul", "Relu"):
        folder = tmp_path / operator
        folder.mkdir()
        weights = onnx.TensorProto(name="w", dims=[2, 2], data_type=1, data_location=onnx.TensorProto.EXTERNAL)
        weights.external_data.add(key="location", value="data.bin")
        inputs = ["y", "y"] if operator == "Mul" else ["y"]
        nodes = [onnx.helper.make_node("MatMul", ["x", "w"], ["y"]), onnx.helper.make_node(operator, inputs, ["z"])]
        nodes.append(onnx.helper.make_node("MatMul", ["z", "v"], ["out"]))
        ends = [onnx.helper.make_tensor_value_info(name, 1, [1, 2]) for name in ("x", "out")]
        plain = onnx.numpy_helper.from_array(np.eye(2, dtype=np.float32), "v")
        graph = onnx.helper.make_graph(nodes, "outside", ends[:1], ends[1:], [weights, plain])
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)])
        (folder / "model.onnx").write_bytes(model.SerializeToString())
        data = np.eye(2, dtype=np.float32).tobytes()
        read = pm.load
        (folder / "data.bin").write_bytes(data)
        assert read(folder / "model.onnx").class_count == 2
        (folder / "data.bin").unlink()
        (tmp_path / "elsewhere").write_bytes(data)
        points = folder / "points.csv"
        points.write_text("0.5,0.25\n")
        for place in ("link", "pipe", "nothing"):
            if place == "link":
                (folder / "data.bin").symlink_to(tmp_path / "elsewhere")
            if place == "pipe":
                os.mkfifo(folder / "data.bin")
            with pytest.raises(pm.InputError, match="expected a file in the folder of the model, no link"):
                read(folder / "model.onnx")
            if place == "link":
                words = ["margin", str(folder / "model.onnx"), str(points), "--json"]
                script = "from polymargin.cli import main; main()"
                run = subprocess.run(
                    [sys.executable, "-c", script, *words], capture_output=True, text=True, check=False
                )
                assert (run.returncode, run.stdout) == (2, "")
                assert "no link" in run.stderr
            (folder / "data.bin").unlink(missing_ok=True)


# -- names -----------------------------------------------------------------------------------------


def test_names_inside_files_are_escaped(tmp_path: Path) -> None:
    bad = "a\x1b[2J\nPROVED\u202e\udcff"
    np.savez(tmp_path / "net.npz", **NET.to_arrays(), **{"a\x1b[2J\nPROVED": np.zeros(1)})
    with pytest.raises(pm.InputError) as caught:
        pm.load(tmp_path / "net.npz")
    assert str(caught.value).isprintable()
    assert r"\x1b[2J\nPROVED" in str(caught.value)
    for error in (pm.InputError(bad), TooManyPathsError(bad), pm.PolymarginError(bad)):
        assert str(error) == r"a\x1b[2J\nPROVED\u202e\udcff"
    with pytest.raises(pm.InputError) as caught:
        pm.load(tmp_path / "no\x07such\nfile.npz")
    assert str(caught.value).isprintable()
    assert json.dumps(str(caught.value)).isprintable()
