"""Piecewise activations, maxima, padding modes and programs of torch.export, against PyTorch and ONNX Runtime."""

from __future__ import annotations

import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polymargin as pm

torch = pytest.importorskip("torch")
nn = torch.nn


def agrees(network: pm.Network, module: Any, shape: tuple[int, ...], bound: float = 1e-13) -> None:
    points = 2 * torch.randn(300, *shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        expected = module(points).numpy()
    flat = points.reshape(len(points), -1).numpy()
    assert np.abs(network(flat) - expected).max() <= bound * (1 + np.abs(expected).max())
    exact = network.exact_logits(flat[0])
    assert [float(value) for value in exact] == pytest.approx(expected[0], rel=1e-7, abs=1e-7)
    assert exact == list(network.logits(np.array([Fraction(v) for v in flat[0].tolist()], dtype=object)))


def exported(module: Any, shape: tuple[int, ...], path: Path) -> Path:
    pytest.importorskip("onnx")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        example = (torch.zeros(1, *shape, dtype=torch.float64),)
        torch.onnx.export(module, example, str(path), dynamo=False, opset_version=17)
    return path


ACTIVATIONS = {
    "ReLU": nn.ReLU(),
    "ReLU6": nn.ReLU6(),
    "LeakyReLU": nn.LeakyReLU(0.125),
    "PReLU": nn.PReLU(6, 0.25),
    "Hardtanh": nn.Hardtanh(-0.5, 2.0),
    "Hardsigmoid": nn.Hardsigmoid(),
    "Hardswish": nn.Hardswish(),
    "Softshrink": nn.Softshrink(0.25),
    "Threshold": nn.Threshold(0.0, 0.0),
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_are_read(name: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(4, 6), ACTIVATIONS[name], nn.Linear(6, 3)).double().eval()
    network = pm.from_torch(module)
    assert not network.is_polynomial
    agrees(network, module, (4,))
    if name not in ("Softshrink", "Threshold"):
        # ONNX keeps slopes in single precision.
        agrees(pm.load(exported(module, (4,), tmp_path / "model.onnx")), module, (4,), 1e-7)


@pytest.mark.parametrize("mode", ["zeros", "reflect", "replicate", "circular"])
@pytest.mark.parametrize("padding", [1, (2, 1), "same"])
def test_padding_modes_and_maxima(mode: str, padding: Any) -> None:
    torch.manual_seed(1)
    kernel = (3, 5) if padding == "same" else 3
    convolution = nn.Conv2d(2, 3, kernel, padding=padding, padding_mode=mode)
    head = [nn.MaxPool2d(3, 2, padding=1, ceil_mode=True), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(12, 2)]
    module = nn.Sequential(convolution, *head).double().eval()
    agrees(pm.from_torch(module, (2, 5, 6)), module, (2, 5, 6))


class Mixed(nn.Module):  # type: ignore[misc]
    """Maxima, minima, clamps, absolute values and products of them."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.c = nn.Linear(4, 6), nn.Linear(4, 6), nn.Linear(7, 3)

    def forward(self, x: Any) -> Any:
        a, b = self.a(x), self.b(x)
        z = torch.maximum(a, b) * torch.clamp(b, min=-1.0) + torch.abs(a) + torch.minimum(a, b) ** 2
        return self.c(torch.cat([z, torch.amax(a, 1, keepdim=True)], 1))


def test_what_combines_them(tmp_path: Path) -> None:
    torch.manual_seed(2)
    module = Mixed().double().eval()
    agrees(pm.from_torch(module), module, (4,))
    path = exported(module, (4,), tmp_path / "model.onnx")
    agrees(pm.load(path), module, (4,))
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    point = np.array([[0.5, -1.25, 2.0, 0.25]])
    (name,) = (entry.name for entry in session.get_inputs())
    assert pm.load(path)(point) == pytest.approx(session.run(None, {name: point})[0], rel=1e-12)


class Causal(nn.Module):  # type: ignore[misc]
    """Attention without softmax that sees no later token."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(3, 2) for _ in range(3))
        self.o = nn.Linear(8, 2)

    def forward(self, x: Any) -> Any:
        scores = self.q(x) @ self.k(x).transpose(-1, -2)
        kept = scores.masked_fill(torch.triu(torch.ones(4, 4), 1).bool(), 0.0)
        return self.o((kept @ self.v(x)).flatten(1))


CONVOLUTION = nn.Sequential(
    nn.Conv2d(1, 2, 3, padding=1), nn.BatchNorm2d(2), nn.ReLU(), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(8, 2)
)
PROGRAMS = {
    "convolution": (CONVOLUTION, (1, 4, 4)),
    "mixed": (Mixed(), (4,)),
    "causal": (Causal(), (4, 3)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_of_torch_export(name: str, tmp_path: Path) -> None:
    torch.manual_seed(3)
    module, shape = PROGRAMS[name][0].double().eval(), PROGRAMS[name][1]
    program = torch.export.export(module, (torch.zeros(1, *shape, dtype=torch.float64),))
    torch.export.save(program, tmp_path / "model.pt2")
    with pytest.raises(pm.InputError, match="or export the model to ONNX"):
        pm.load(tmp_path / "model.pt2")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch speaks of its own future
        found = pm.load(tmp_path / "model.pt2", trust=True), pm.from_torch(program), pm.from_torch(program.module())
    for network in found:
        agrees(network, module, shape)


def test_a_choice_by_the_input_and_a_jump_are_refused() -> None:
    class Choosing(nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            return torch.where(x > 0, x, -x)

    with pytest.raises(pm.InputError, match="must not depend on the values"):
        pm.from_torch(nn.Sequential(nn.Linear(2, 2), Choosing()))
    with pytest.raises(pm.InputError, match="jumps from 5 to 0"):
        pm.from_torch(nn.Sequential(nn.Linear(2, 2), nn.Threshold(0.0, 5.0)))
    with pytest.raises(pm.InputError, match="puts infinity in"):
        pm.from_torch(nn.Sequential(nn.Linear(2, 2), Masked()), (2,))


class Masked(nn.Module):  # type: ignore[misc]
    def forward(self, x: Any) -> Any:
        return x.masked_fill(torch.tensor([True, False]), float("-inf"))


def test_relu_between_plain_weights(tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    arrays = {"W1": draw.normal(size=(3, 4)), "b1": draw.normal(size=4), "W2": draw.normal(size=(4, 2))}
    network = pm.from_arrays(arrays, "relu")
    assert repr(network).startswith("Network(3-4-2, ReLU")
    x = draw.normal(size=3)
    assert network(x) == pytest.approx(np.maximum(x @ arrays["W1"] + arrays["b1"], 0) @ arrays["W2"])


def test_the_shape_of_whole_modules_in_files(tmp_path: Path) -> None:
    module = nn.Sequential(nn.Conv2d(1, 2, 2), nn.ReLU(), nn.Flatten(), nn.Linear(8, 2))
    torch.save(module, tmp_path / "module.pt")
    assert pm.load(tmp_path / "module.pt", trust=True, input_shape=(1, 3, 3)).dimension == 9
    with pytest.raises(pm.InputError, match="input_shape"):
        pm.load(tmp_path / "module.pt", trust=True)
    pm.PolynomialNetwork([np.eye(2)]).save(tmp_path / "net.npz")
    with pytest.raises(pm.InputError, match="--input-shape"):
        pm.load(tmp_path / "net.npz", input_shape=(2,))
