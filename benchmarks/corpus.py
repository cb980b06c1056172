"""Random models: what is read must compute what PyTorch and ONNX Runtime compute; what is refused is counted by operator.

Convolutions in one to three dimensions with every padding mode, stride, dilation and group, against PyTorch; and graphs of one
ONNX operator on an input of random shape, against ONNX Runtime, in doubles where it has the operator for them.

Run: python benchmarks/corpus.py --convolutions 300 --graphs 600 --output results/reading
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import common
import numpy as np

import polymargin as pm

AGREEMENT = {"float64": 1e-9, "float32": 1e-4}
POINTS = 4


def agrees(found: Any, expected: Any, kind: str = "float64") -> bool:
    """Whether logits are the same; one output f is the logits (0, f)."""
    if expected.shape[1] == 1:
        found = found[:, 1:] - found[:, :1]
    return bool(np.abs(found - expected).max() <= AGREEMENT[kind] * (1 + np.abs(expected).max()))


# -- convolutions ----------------------------------------------------------------------------------


def convolution(draw: np.random.Generator) -> tuple[str, Any, tuple[int, ...]] | None:
    """Return a padding mode, a module and the shape of its input; None where PyTorch itself refuses the sizes."""
    import torch

    space, groups = int(draw.integers(1, 4)), int(draw.choice([1, 1, 2]))
    channels, lengths = groups * int(draw.integers(1, 3)), tuple(map(int, draw.integers(3, 7, space)))
    mode = str(draw.choice(["zeros", "reflect", "replicate", "circular"]))
    padding: Any = str(draw.choice(["same", "valid"])) if draw.random() < 0.3 else int(draw.integers(0, 3))
    sizes = {name: int(draw.integers(1, 3)) for name in ("stride", "dilation")}
    transposed = mode == "zeros" and bool(draw.integers(2))
    kind = getattr(torch.nn, f"Conv{'Transpose' if transposed else ''}{space}d")
    torch.manual_seed(int(draw.integers(1 << 30)))
    try:
        made = kind(
            channels, groups * int(draw.integers(1, 3)), int(draw.integers(1, 4)), padding=padding, padding_mode=mode,
            groups=groups, bias=bool(draw.integers(2)), **sizes,
        )  # fmt: skip
        module = torch.nn.Sequential(made, torch.nn.Flatten()).double()
        module(torch.zeros(1, channels, *lengths, dtype=torch.float64))
    except (RuntimeError, ValueError, TypeError):
        return None
    name = f"{'transposed, ' if transposed else ''}{mode}, {padding if isinstance(padding, str) else 'numbers'}"
    return name, module, (channels, *lengths)


def compared_convolution(case: tuple[str, Any, tuple[int, ...]], draw: np.random.Generator) -> str:
    """Return "read", "wrong", or why it is refused."""
    import torch

    _, module, shape = case
    points = draw.normal(size=(POINTS, *shape))
    try:
        network = pm.from_torch(module, shape)
    except pm.InputError as error:
        return str(error)
    with torch.no_grad():
        expected = module(torch.tensor(points)).numpy()
    return "read" if agrees(network(points.reshape(POINTS, -1)), expected) else "wrong"


# -- graphs ----------------------------------------------------------------------------------------

Made = tuple[list[str], dict[str, Any]]
"""Inputs after the first, by name or as constants, and attributes."""


def plain(*inputs: Any, **attributes: Any) -> Callable[..., Any]:
    return lambda draw, shape: (list(inputs), attributes)


def _windows(draw: np.random.Generator, shape: Any) -> dict[str, Any]:
    space = len(shape) - 2
    kernel = [int(k) for k in draw.integers(1, 4, space)]
    found: dict[str, Any] = {"kernel_shape": kernel, "strides": [int(s) for s in draw.integers(1, 3, space)]}
    if draw.random() < 0.3:
        return found | {"auto_pad": str(draw.choice(["SAME_UPPER", "SAME_LOWER", "VALID"]))}
    return found | {"pads": [int(draw.integers(0, k)) for k in kernel] * 2}


def _conv(draw: np.random.Generator, shape: Any) -> Any:
    found = _windows(draw, shape)
    weights = draw.normal(size=(2, shape[1], *found["kernel_shape"]))
    return [weights, draw.normal(size=2)], found


def _conv_transposed(draw: np.random.Generator, shape: Any) -> Any:
    found = _windows(draw, shape)
    found.pop("auto_pad", None)
    return [draw.normal(size=(shape[1], 2, *found["kernel_shape"]))], found


def _pool(draw: np.random.Generator, shape: Any) -> Any:
    return [], _windows(draw, shape)


def _counted_pool(draw: np.random.Generator, shape: Any) -> Any:
    return [], _windows(draw, shape) | {"count_include_pad": int(draw.integers(2)), "ceil_mode": int(draw.integers(2))}


def _weights(draw: np.random.Generator, shape: Any) -> Any:
    return [draw.normal(size=(shape[-1], 3))], {}


def _per_channel(draw: np.random.Generator, shape: Any) -> Any:
    return [*draw.normal(size=(3, shape[1])), draw.uniform(0.5, 2, shape[1])], {}


def _same_shape(draw: np.random.Generator, shape: Any) -> Any:
    return [draw.normal(size=shape[1:])], {}


def _padded(draw: np.random.Generator, shape: Any) -> Any:
    pads = np.concatenate([[0, 0], draw.integers(0, 2, len(shape) - 2)] * 2).astype(np.int64)
    return [pads], {"mode": str(draw.choice(["constant", "reflect", "edge", "wrap"]))}


def _axis(draw: np.random.Generator, shape: Any) -> Any:
    return [], {"axis": int(draw.integers(1, len(shape)))}


def _reduced(draw: np.random.Generator, shape: Any) -> Any:
    return [], {"axes": [int(draw.integers(1, len(shape)))], "keepdims": int(draw.integers(2))}


def _reduced_13(draw: np.random.Generator, shape: Any) -> Any:
    return [np.array([draw.integers(1, len(shape))])], {"keepdims": int(draw.integers(2))}


OPERATORS: dict[str, Callable[..., Any]] = {
    **{name: plain() for name in ("Abs", "Neg", "Relu", "HardSwish", "HardSigmoid", "LeakyRelu", "Identity", "Flatten")},
    **{name: plain() for name in ("Sigmoid", "Tanh", "Exp", "Softplus", "Elu", "Selu", "Softsign", "Erf", "Sign", "Floor")},
    **{name: plain() for name in ("ThresholdedRelu", "Softmax", "LogSoftmax", "Reciprocal", "Sqrt", "Transpose", "Shrink")},
    **{name: plain("x") for name in ("Add", "Sub", "Mul", "Div", "Max", "Min", "Sum", "Mean")},
    **{f"{name}/constant": _same_shape for name in ("Add", "Sub", "Mul", "Div", "Max", "Min", "PRelu")},
    "Pow": lambda draw, shape: ([np.array(float(draw.integers(0, 5)))], {}),
    "Clip": plain(np.array(-0.5), np.array(0.75)),
    "MatMul": _weights, "Conv": _conv, "ConvTranspose": _conv_transposed, "MaxPool": _pool, "AveragePool": _counted_pool,
    "LpPool": _pool, "GlobalAveragePool": plain(), "GlobalMaxPool": plain(), "BatchNormalization": _per_channel,
    "InstanceNormalization": lambda draw, shape: ([np.ones(shape[1]), np.zeros(shape[1])], {}),
    "LayerNormalization": lambda draw, shape: ([np.ones(shape[-1])], {}), "Pad": _padded,
    "Concat": lambda draw, shape: (["x"], {"axis": int(draw.integers(1, len(shape)))}),
    "Slice": lambda draw, shape: ([np.array([0]), np.array([-1]), np.array([2])], {}),
    "Gather": lambda draw, shape: ([np.array([0, 0])], {"axis": int(draw.integers(1, len(shape)))}),
    "GatherElements": lambda draw, shape: ([draw.integers(0, shape[1], shape)], {"axis": 1}),
    "Tile": lambda draw, shape: ([np.array([1, 2] + [1] * (len(shape) - 2))], {}),
    "Expand": lambda draw, shape: ([np.array([1, *shape[1:]])], {}), "Trilu": plain(),
    "CumSum": lambda draw, shape: ([np.array(int(draw.integers(1, len(shape))))], {}),
    "DepthToSpace": plain(blocksize=2), "SpaceToDepth": plain(blocksize=2),
    "Resize": lambda draw, shape: (["", "", np.array([1, 1, 2, 2], dtype=np.float32)], {"mode": "nearest"}),
    "Reshape": lambda draw, shape: ([np.array([0, -1])], {}), "Unsqueeze": plain(np.array([1])),
    "Squeeze": plain(np.array([0])), "ReduceSum": _reduced_13,
    **dict.fromkeys(("ReduceMean", "ReduceMax", "ReduceMin", "ReduceSumSquare", "ReduceL1", "ReduceL2", "ReduceProd"), _reduced),
    "Einsum": lambda draw, shape: (["x"], {"equation": "abcd,abce->acde"}), "LRN": plain(size=3), "Dropout": plain(),
}  # fmt: skip


def graph(name: str, draw: np.random.Generator, file: Path) -> tuple[tuple[int, ...], str] | None:
    """Write a graph of one operator; return shape and element type of its input, None where ONNX Runtime does not run it."""
    shape = (1, 4, 4, 4) if name in ("DepthToSpace", "SpaceToDepth") else (1, *map(int, draw.integers(3, 6, 3)))
    given, attributes = OPERATORS[name](draw, shape)
    for kind in AGREEMENT:
        _write(file, name.partition("/")[0], given, attributes, shape, kind)
        try:
            _session(file).run(None, {"x": np.zeros(shape, dtype=kind)})
        except Exception:  # whatever ONNX Runtime says to operators in double precision or sizes that do not fit
            continue
        return shape, kind
    return None


def _write(file: Path, operator: str, given: list[Any], attributes: dict[str, Any], shape: Any, kind: str) -> None:
    import onnx

    constants: list[Any] = []

    def named(value: Any) -> str:
        if isinstance(value, str):
            return value
        array = np.asarray(value)
        array = array.astype(kind) if array.dtype == np.float64 else array
        constants.append(onnx.numpy_helper.from_array(array, f"c{len(constants)}"))
        return str(constants[-1].name)

    nodes = [
        onnx.helper.make_node(operator, ["x", *map(named, given)], ["v"], **attributes),
        onnx.helper.make_node("Reshape", ["v", named(np.array([1, -1]))], ["y"]),
    ]
    element = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(kind))
    ends = [onnx.helper.make_tensor_value_info(*end) for end in (("x", element, shape), ("y", element, None))]
    made = onnx.helper.make_model(
        onnx.helper.make_graph(nodes, "one", ends[:1], ends[1:], constants),
        opset_imports=[onnx.helper.make_opsetid("", 17)],
        ir_version=8,
    )
    file.write_bytes(made.SerializeToString())


def _session(file: Path) -> Any:
    import onnxruntime

    quiet = onnxruntime.SessionOptions()
    quiet.log_severity_level = 4
    return onnxruntime.InferenceSession(str(file), quiet, providers=["CPUExecutionProvider"])


def compared_graph(file: Path, shape: tuple[int, ...], kind: str, draw: np.random.Generator) -> str:
    """Return "read", "wrong", or why it is refused."""
    try:
        network = pm.load(file)
    except pm.InputError as error:
        return str(error)
    session, points = _session(file), draw.normal(size=(POINTS, *shape)).astype(kind)
    expected = np.stack([session.run(None, {"x": point})[0].reshape(-1) for point in points])
    return "read" if agrees(network(points.reshape(POINTS, -1)), expected, kind) else "wrong"


# -- all of them -----------------------------------------------------------------------------------


def counted(outcomes: list[tuple[str, str]]) -> dict[str, dict[str, Any]]:
    """How many were read, refused and wrong, by name, with the reason of the first refusal."""
    found: dict[str, dict[str, Any]] = {}
    for name in sorted({name for name, _ in outcomes}):
        answers = Counter(
            answer if answer in ("read", "wrong") else "refused" for own, answer in outcomes if own == name
        )
        reasons = [answer for own, answer in outcomes if own == name and answer not in ("read", "wrong")]
        found[name] = {**answers, **({"reason": reasons[0].rpartition(": ")[2][:120]} if reasons else {})}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--convolutions", type=int, default=300)
    parser.add_argument("--graphs", type=int, default=600)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    draw = np.random.default_rng(options.seed)
    convolutions = [
        (case[0], compared_convolution(case, draw))
        for case in (convolution(draw) for _ in range(options.convolutions))
        if case is not None
    ]
    graphs = []
    with TemporaryDirectory() as folder:
        file = Path(folder) / "model.onnx"
        for number in range(options.graphs):
            name = sorted(OPERATORS)[number % len(OPERATORS)]
            if (made := graph(name, draw, file)) is not None:
                graphs.append((name, compared_graph(file, *made, draw)))
    for title, outcomes in (("convolutions", convolutions), ("graphs", graphs)):
        table = counted(outcomes)
        rows = [
            [n, *(str(row.get(key, 0)) for key in ("read", "refused", "wrong")), row.get("reason", "")]
            for n, row in table.items()
        ]
        print(f"{title}: {len(outcomes)} models, {sum(answer == 'read' for _, answer in outcomes)} read")
        common.print_table(["case", "read", "refused", "wrong", "reason"], rows)
        if options.output is not None:
            options.output.mkdir(parents=True, exist_ok=True)
            text = json.dumps(
                {"seed": options.seed, "models": len(outcomes), "cases": table}, indent=1, ensure_ascii=False
            )
            (options.output / f"{title}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
