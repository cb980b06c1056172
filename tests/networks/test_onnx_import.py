"""ONNX files: the network computes what ONNX Runtime computes, or says which node it cannot read."""

from __future__ import annotations

import contextlib
import logging
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polymargin as pm
from polymargin.networks.readers.onnx_graph import read_onnx

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")
helper, from_array = onnx.helper, onnx.numpy_helper.from_array

GENERATOR = np.random.default_rng(0)


def constant(name: str, *shape: int) -> Any:
    return from_array(GENERATOR.normal(size=shape).astype(np.float32), name)


def integers(name: str, *values: int) -> Any:
    return from_array(np.array(values, dtype=np.int64), name)


def number(name: str, value: float) -> Any:
    return from_array(np.array(value, dtype=np.float32), name)


def write(
    path: Path, nodes: list[Any], constants: list[Any], shape: list[Any], opset: int = 17, output: int = 2
) -> Path:
    graph = helper.make_graph(
        nodes,
        "test",
        [helper.make_tensor_value_info("x", 1, shape)],
        [helper.make_tensor_value_info("y", 1, ["rows", "columns"])],
        constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    path.write_bytes(model.SerializeToString())
    return path


def agrees(path: Path, count: int = 1000) -> pm.Network:
    """Compare with ONNX Runtime on random inputs."""
    model = read_onnx(path)
    options = runtime.SessionOptions()
    options.log_severity_level = 3
    session = runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    points = np.random.default_rng(1).normal(size=(count, *model.input_shape)).astype(np.float32)
    expected = np.array([session.run(None, {model.input_name: point})[0].reshape(-1) for point in points])
    found = model.network(points.reshape(count, -1).astype(np.float64))
    found = found if found.shape == expected.shape else found[:, 1:]  # one output becomes the logits (0, f)
    assert np.abs(found - expected).max() <= 3e-6 * np.abs(expected).max()
    return model.network


node = helper.make_node
# A square and a layer to two logits behind whatever is tested, so that it lies inside a network.
END = [node("Reshape", ["t", "flat"], ["f"]), node("Mul", ["f", "f"], ["s"]), node("MatMul", ["s", "end"], ["y"])]


GRAPHS: dict[str, tuple[list[Any], list[Any], list[Any], int, int]] = {
    # name: nodes up to t, constants, input shape, entries of t, opset
    "gemm": ([node("Gemm", ["x", "w", "b"], ["t"], transA=0, transB=1, alpha=0.5, beta=2.0)],
             [constant("w", 3, 4), constant("b", 3)], [1, 4], 3, 17),
    "gemm without bias": ([node("Gemm", ["x", "w"], ["t"])], [constant("w", 4, 3)], ["n", 4], 3, 13),
    "matrix from the left": ([node("MatMul", ["w", "x"], ["t"])], [constant("w", 3, 4)], [4], 3, 17),
    "bias apart, cubed": ([node("MatMul", ["x", "w"], ["a"]), node("Add", ["b", "a"], ["c"]), node("Pow", ["c", "three"], ["t"])],
                          [constant("w", 4, 3), constant("b", 3), number("three", 3.0)], [1, 4], 3, 17),
    "arithmetic": ([node("Sub", ["x", "b"], ["a"]), node("Div", ["a", "d"], ["c"]), node("Neg", ["c"], ["e"]),
                    node("Sum", ["e", "x", "a"], ["g"]), node("Mean", ["g", "x"], ["t"])],
                   [constant("b", 4), constant("d", 4)], [1, 4], 4, 17),
    "convolution": ([node("Conv", ["x", "w", "b"], ["t"], pads=[1, 0, 2, 1], strides=[2, 1], dilations=[1, 2], group=2)],
                    [constant("w", 4, 1, 3, 2), constant("b", 4)], [1, 2, 5, 6], 4 * 3 * 5, 17),
    "convolution, same upper": ([node("Conv", ["x", "w"], ["t"], auto_pad="SAME_UPPER", strides=[2])],
                                [constant("w", 3, 2, 3)], [1, 2, 6], 9, 17),
    "convolution, same lower": ([node("Conv", ["x", "w"], ["t"], auto_pad="SAME_LOWER", strides=[2])],
                                [constant("w", 3, 2, 3)], [1, 2, 6], 9, 17),
    "average pool": ([node("AveragePool", ["x"], ["t"], kernel_shape=[2, 3], strides=[2, 2], pads=[1, 1, 0, 1])],
                     [], [1, 2, 5, 6], 2 * 3 * 3, 17),
    "average pool, counted padding": (
        [node("AveragePool", ["x"], ["t"], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], count_include_pad=1)],
        [], [1, 2, 5, 5], 18, 19),
    "average pool, ceil": ([node("AveragePool", ["x"], ["t"], kernel_shape=[3], strides=[2], ceil_mode=1)], [], [1, 2, 6], 6, 19),
    "global average": ([node("GlobalAveragePool", ["x"], ["t"])], [], [1, 3, 4, 2], 3, 17),
    "batch normalisation": (
        [node("BatchNormalization", ["x", "a", "b", "m", "v"], ["t"], epsilon=0.01)],
        [constant("a", 3), constant("b", 3), constant("m", 3), from_array(np.array([0.5, 1.0, 2.0], dtype=np.float32), "v")],
        [1, 3, 2], 6, 15),
    "reshape and transpose": ([node("Reshape", ["x", "r"], ["a"]), node("Transpose", ["a"], ["b"], perm=[2, 0, 1]),
                               node("Identity", ["b"], ["t"])],
                              [integers("r", 0, 3, -1)], [1, 6], 6, 17),
    "slices": ([node("Slice", ["x", "i", "e", "a", "p"], ["t"])],
               [integers("i", -1, 1), integers("e", -100, 3), integers("a", 1, 2), integers("p", -2, 1)], [1, 5, 4], 6, 17),
    "old slices": ([node("Slice", ["x"], ["t"], starts=[1, 0], ends=[4, 2], axes=[1, 2])], [], [1, 5, 4], 6, 9),
    "gather": ([node("Gather", ["x", "i"], ["t"], axis=1)], [integers("i", 2, -1, 0, 2)], [1, 3, 2], 8, 17),
    "split and concat": ([node("Split", ["x", "n"], ["a", "b"], axis=1), node("Concat", ["b", "k", "a"], ["t"], axis=1)],
                         [integers("n", 1, 3), constant("k", 1, 2)], [1, 4], 6, 17),
    "old split": ([node("Split", ["x"], ["a", "b"], axis=1, split=[1, 3]), node("Concat", ["b", "a"], ["t"], axis=-1)],
                  [], [1, 4], 4, 11),
    "even split": ([node("Split", ["x"], ["a", "b"], axis=1, num_outputs=2), node("Sub", ["a", "b"], ["t"])], [], [1, 4], 2, 18),
    "squeeze and unsqueeze": ([node("Unsqueeze", ["x", "a"], ["b"]), node("Squeeze", ["b", "c"], ["t"])],
                              [integers("a", 0, 3), integers("c", 0, 1)], [1, 4], 4, 17),
    "old squeeze": ([node("Unsqueeze", ["x"], ["b"], axes=[0, 3]), node("Squeeze", ["b"], ["t"], axes=[0, 1])],
                    [], [1, 4], 4, 11),
    "means and sums": ([node("ReduceMean", ["x"], ["a"], axes=[1], keepdims=1), node("ReduceSum", ["x", "i"], ["b"], keepdims=0),
                        node("Flatten", ["b"], ["c"]), node("Flatten", ["a"], ["d"]), node("Concat", ["c", "d"], ["t"], axis=1)],
                       [integers("i", 2)], [1, 3, 2], 5, 13),
    "shapes computed": (
        [node("Shape", ["x"], ["l"]), node("Gather", ["l", "zero"], ["n"], axis=0), node("Unsqueeze", ["n", "zeros"], ["u"]),
         node("Concat", ["u", "rest"], ["r"], axis=0), node("Cast", ["r"], ["q"], to=7), node("Reshape", ["x", "q"], ["t"])],
        [from_array(np.array(0, dtype=np.int64), "zero"), integers("zeros", 0), integers("rest", 6)], [1, 2, 3], 6, 17),
    "remainders computed": (  # -7 and 4 leave -3, -1 and 8 leave 7: columns 5 and 6
        [node("Mod", ["seven", "four"], ["i"], fmod=1), node("Mod", ["minus", "eight"], ["e"]),
         node("Slice", ["x", "i", "e", "one"], ["t"])],
        [integers("seven", -7), integers("four", 4), integers("minus", -1), integers("eight", 8), integers("one", 1)],
        [1, 8], 2, 17),
    "constants computed": (
        [node("Constant", [], ["two"], value_float=2.0), node("Sqrt", ["v"], ["r"]), node("Reciprocal", ["r"], ["q"]),
         node("ConstantOfShape", ["n"], ["c"], value=from_array(np.array([0.5], dtype=np.float32))),
         node("Expand", ["two", "n"], ["e"]), node("Mul", ["x", "q"], ["a"]), node("Add", ["a", "c"], ["b"]),
         node("Mul", ["b", "e"], ["d"]), node("Dropout", ["d"], ["t"])],
        [from_array(np.array([1, 4, 9], dtype=np.float32), "v"), integers("n", 3)], [1, 3], 3, 13),
    "horner": ([node("Mul", ["x", "p"], ["a"]), node("Add", ["a", "q"], ["b"]), node("Mul", ["b", "x"], ["c"]),
                node("Add", ["c", "p"], ["t"])],
               [number("p", 0.3), number("q", -0.7)], [1, 3], 3, 17),
    "residual": ([node("MatMul", ["x", "w"], ["a"]), node("Pow", ["a", "three"], ["b"]), node("Add", ["b", "x"], ["t"])],
                 [constant("w", 3, 3), number("three", 3.0)], [1, 3], 3, 17),
}  # fmt: skip


@pytest.mark.parametrize("name", GRAPHS)
def test_operators_agree_with_onnx_runtime(name: str, tmp_path: Path) -> None:
    nodes, constants, shape, size, opset = GRAPHS[name]
    constants = [*constants, integers("flat", 1, -1), constant("end", size, 2)]
    agrees(write(tmp_path / "model.onnx", [*nodes, *END], constants, shape, opset))


def test_the_shape_of_an_exponent_counts(tmp_path: Path) -> None:
    """x of shape (1, 3) to the power of a (2, 1) tensor of twos has two rows."""
    nodes = [
        helper.make_node("Pow", ["x", "two"], ["squares"]),
        helper.make_node("ReduceSum", ["squares", "axis"], ["y"]),
    ]
    twos = from_array(np.full((2, 1), 2.0, dtype=np.float32), "two")
    agrees(write(tmp_path / "pow.onnx", nodes, [twos, integers("axis", 0)], [1, 3]))


def test_no_axes_are_all_axes(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("ReduceSum", ["x", "axes"], ["sum"], keepdims=1),
        helper.make_node("Concat", ["x", "sum"], ["y"], axis=1),
    ]
    agrees(write(tmp_path / "sum.onnx", nodes, [integers("axes")], [1, 3]))


def test_old_batch_normalisation_with_several_outputs_is_training(tmp_path: Path) -> None:
    names = ["scale", "shift", "mean", "variance"]
    node = helper.make_node("BatchNormalization", ["x", *names], ["y", "m", "v", "sm", "sv"])
    ones = [from_array(np.ones(3, dtype=np.float32), name) for name in names]
    refused(write(tmp_path / "norm.onnx", [node], ones, [1, 3], opset=9), "training mode")


def test_a_constant_cast_to_bool_is_one(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Cast", ["c"], ["truth"], to=9),
        helper.make_node("Cast", ["truth"], ["one"], to=1),
        helper.make_node("Mul", ["x", "one"], ["y"]),
    ]
    agrees(write(tmp_path / "cast.onnx", nodes, [number("c", 2.0)], [1, 3]))


def test_real_files_of_the_old_and_the_new_exporter(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("onnxscript")
    torch.manual_seed(0)
    nn = torch.nn

    class Model(nn.Module):  # Horner with coefficients, square, power, batch norm, convolution, residual sum, view
        def __init__(self) -> None:
            super().__init__()
            self.conv, self.norm = nn.Conv2d(1, 3, 3, padding=1), nn.BatchNorm2d(3)
            self.coefficients = nn.Parameter(torch.tensor([0.1, -0.5, 0.25]))
            self.pool, self.inner, self.outer, self.head = (
                nn.AvgPool2d(2),
                nn.Linear(12, 5),
                nn.Linear(5, 12),
                nn.Linear(12, 3),
            )

        def forward(self, x: Any) -> Any:
            x = self.norm(self.conv(x))
            y = torch.zeros_like(x) + self.coefficients[-1]
            for c in reversed(self.coefficients[:-1].unbind(0)):
                y = y * x + c
            y = self.pool(y).view(x.size(0), -1)
            y = y + self.outer(torch.square(self.inner(y)))
            return self.head(y**3)

    model = Model().eval()
    with torch.no_grad():
        model.norm.running_mean.uniform_(-1, 1)
        model.norm.running_var.uniform_(0.5, 2)
    example = torch.randn(1, 1, 4, 4)
    networks = []
    for kind, options in (("old", {"dynamo": False}), ("new", {"dynamo": True, "verbose": False})):
        with quiet():
            torch.onnx.export(model, (example,), str(tmp_path / f"{kind}.onnx"), **options)
        networks.append(agrees(tmp_path / f"{kind}.onnx"))
    assert (tmp_path / "new.onnx.data").is_file()  # the new exporter keeps the weights beside the model
    assert networks[0].widths == networks[1].widths


def test_a_convolution_behind_an_unflatten(tmp_path: Path) -> None:
    """The old exporter computes where to cut the shape with Mod, of numbers without axes."""
    torch = pytest.importorskip("torch")
    nn = torch.nn
    model = nn.Sequential(nn.Unflatten(1, (1, 2, 2)), nn.Conv2d(1, 3, 2), nn.Flatten(), nn.Linear(3, 3)).eval()
    with quiet():
        torch.onnx.export(model, (torch.rand(1, 4),), str(tmp_path / "model.onnx"), dynamo=False)
    assert "Mod" in {node.op_type for node in onnx.load(tmp_path / "model.onnx").graph.node}
    agrees(tmp_path / "model.onnx")


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Exporters warn about themselves."""
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(logging.NOTSET)


def refused(path: Path, message: str) -> None:
    with pytest.raises(pm.InputError, match=message) as caught:
        pm.load(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([node("Tanh", ["x"], ["y"], name="act")], r"operator Tanh \(node 'act'\) is neither polynomial"),
        ([node("Sigmoid", ["x"], ["y"])], r"operator Sigmoid \(node 'y'\)"),
        ([node("Softmax", ["x"], ["y"])], r"operator Softmax .*give the model without it"),
        ([node("Sqrt", ["x"], ["y"])], "operator Sqrt .*not polynomial"),
        ([node("Div", ["w", "x"], ["y"])], "operator Div .*division by something"),
        ([node("Mod", ["x", "w"], ["y"], fmod=1)], "operator Mod .*not polynomial; only remainders of whole numbers"),
        ([node("Mod", ["bad", "zero"], ["a"]), node("Reshape", ["x", "a"], ["y"])], "operator Mod .*division by zero"),
        ([node("Pow", ["x", "half"], ["y"])], "operator Pow .*power 0.5"),
        ([node("Pow", ["half", "x"], ["y"])], "operator Pow .*exponent that depends"),
        ([node("Cast", ["x"], ["a"], to=7), node("Cast", ["a"], ["y"], to=1)], "whole numbers is not polynomial"),
        ([node("Reshape", ["x", "bad"], ["y"])], "operator Reshape .*cannot rearrange"),
        ([node("Identity", ["w"], ["y"])], "does not depend on the input"),
    ],
)
def test_what_is_not_polynomial_is_named_with_its_node(tmp_path: Path, nodes: list[Any], message: str) -> None:
    constants = [constant("w", 1, 4), number("half", 0.5), integers("bad", 3, 3), integers("zero", 0)]
    refused(write(tmp_path / "model.onnx", nodes, constants, [1, 4]), message)


def edited(path: Path, change: Any) -> Path:
    model = onnx.ModelProto.FromString(path.read_bytes())
    change(model)
    path.write_bytes(model.SerializeToString())
    return path


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    nodes = [node("MatMul", ["x", "w"], ["a"]), node("Mul", ["a", "a"], ["y"])]
    return write(tmp_path / "plain.onnx", nodes, [constant("w", 4, 3)], [1, 4])


def test_damaged_files_are_refused_in_one_sentence(plain: Path) -> None:
    content = plain.read_bytes()
    for damaged in (b"", b"garbage" * 10, content[: len(content) // 2], b"\x08" * 100):
        plain.write_bytes(damaged)
        refused(plain, "plain.onnx: ")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m.graph.initializer[0].dims.__setitem__(0, 10**9), "at most"),
        (lambda m: m.graph.initializer[0].dims.__setitem__(0, -1), "at most"),
        (lambda m: m.graph.initializer[0].dims.__setitem__(0, 7), "cannot be read"),
        (lambda m: setattr(m.graph.initializer[0], "data_type", 8), "cannot be read|expected numbers"),
        (lambda m: setattr(m.opset_import[0], "version", 5), "opset version"),
        (lambda m: m.graph.node[0].input.__setitem__(0, "z"), "takes 'z', which nothing"),
        (lambda m: m.graph.node[1].output.__setitem__(0, "a"), "'a' is given twice"),
        (lambda m: setattr(m.graph.node[0], "domain", "com.example"), "domain 'com.example'"),
        (lambda m: m.graph.input.extend([helper.make_tensor_value_info("u", 1, [1])]), "2 inputs"),
        (lambda m: m.graph.input[0].type.tensor_type.ClearField("shape"), "has no shape"),
        (lambda m: setattr(m.graph.input[0].type.tensor_type.shape.dim[1], "dim_param", "n"), "only the first length"),
        (lambda m: setattr(m.graph.input[0].type.tensor_type.shape.dim[1], "dim_value", 10**12), "at most"),
        (lambda m: m.functions.add(), "functions of its own"),
        (lambda m: setattr(m.graph.output[0], "name", "q"), "computed by no node"),
    ],
)
def test_hostile_files_are_refused_in_one_sentence(plain: Path, change: Any, message: str) -> None:
    refused(edited(plain, change), message)


@pytest.mark.parametrize("location", ["../weights.bin", "/etc/passwd", "folder/weights.bin", "", "."])
def test_weights_outside_the_folder_are_refused(plain: Path, location: str) -> None:
    def outside(model: Any) -> None:
        tensor = model.graph.initializer[0]
        tensor.data_location = 1
        tensor.external_data.add(key="location", value=location)

    (plain.parent / "folder").mkdir()
    (plain.parent / "folder" / "weights.bin").write_bytes(bytes(48))
    refused(edited(plain, outside), "expected a file in the folder of the model")


def test_names_that_are_no_text(plain: Path) -> None:
    """protobuf hands out strings that are not valid UTF-8 as bytes; names may hold newlines."""
    content = plain.read_bytes()
    for old, new in ((b"MatMul", b"Mat\nul"), (b"MatMul", b"M\xffat\xfel"), (b"\x01a", b"\x01\xff")):
        assert old in content
        plain.write_bytes(content.replace(old, new))
        if old == b"MatMul":
            refused(plain, "operator")
        else:
            assert pm.load(plain).dimension == 4


def test_weights_in_a_file_beside_the_model(plain: Path) -> None:
    before = pm.load(plain)
    onnx.save_model(
        onnx.load(str(plain)), str(plain), save_as_external_data=True, location="weights.bin", size_threshold=0
    )
    assert pm.load(plain).fingerprint == before.fingerprint
    (plain.parent / "weights.bin").write_bytes(bytes(8))
    refused(plain, "expected 48 bytes there")


def test_work_is_bounded(tmp_path: Path) -> None:
    """A few hundred bytes that ask for a matrix with 2^40 entries."""
    nodes = [node("Expand", ["x", "n"], ["a"]), node("MatMul", ["a", "w"], ["y"])]
    refused(
        write(tmp_path / "wide.onnx", nodes, [integers("n", 1 << 19, 4), constant("w", 4, 3)], [1, 4]),
        "at most|more than",
    )
    chain = [node("Mul", [f"a{i}", f"a{i}"], [f"a{i + 1}"]) for i in range(40)]
    ends = [node("Identity", ["x"], ["a0"]), node("Identity", ["a40"], ["y"])]
    refused(write(tmp_path / "deep.onnx", [ends[0], *chain, ends[1]], [], [1, 4]), "degree")
    # Many small nodes on a large tensor, and many sums of large constants: each one cheap, all together not.
    slices = [node("Slice", ["x", "from", "to", "along"], [f"s{i}"]) for i in range(500)]
    cut = [integers("from", 0), integers("to", 1), integers("along", 1)]
    refused(write(tmp_path / "slices.onnx", slices, cut, [1, 1 << 20]), "more than .* numbers")
    sums = [node("Add", ["c" if i == 0 else f"c{i - 1}", "c"], [f"c{i}"]) for i in range(500)]
    refused(
        write(tmp_path / "sums.onnx", sums, [from_array(np.zeros(1 << 18, dtype=np.float32), "c")], [1, 4]), "more than"
    )
