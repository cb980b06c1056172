"""Einstein sums and padding on tensors: what NumPy computes, from PyTorch and from ONNX."""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polymargin as pm
from polymargin.networks.tape.einsum import einsum
from polymargin.networks.tape.fold import fold
from polymargin.networks.tape.operations import OperationTape
from polymargin.networks.tape.padding import padded
from polymargin.networks.tape.windows import rearranged

RNG = np.random.default_rng(3)
C = RNG.normal(size=(3, 4))


@pytest.mark.parametrize(
    ("equation", "others", "shape"),
    [
        ("ij,jk->ik", [C.T.copy()[:, :2]], (2, 4)),
        ("...j,kj->...k", [C], (2, 4)),
        ("ij,ij->j", [RNG.normal(size=(2, 4))], (2, 4)),
        ("ii->i", [], (3, 3)),
        ("ij,jk", [RNG.normal(size=(4, 2))], (2, 4)),
        ("ij->j", [], (2, 4)),
        ("ij,i,j->", [RNG.normal(size=2), RNG.normal(size=4)], (2, 4)),
    ],
)
def test_sums_with_constants(equation: str, others: list[Any], shape: tuple[int, ...]) -> None:
    points = RNG.normal(size=(20, int(np.prod(shape))))
    tensor = einsum(equation, [OperationTape().input(shape), *others])
    network = fold(rearranged(tensor, lambda a: np.atleast_1d(a).reshape(-1)))
    expected = np.array([np.einsum(equation, p.reshape(shape), *others).reshape(-1) for p in points])
    found = network(points) if expected.shape[1] > 1 else network(points)[:, 1:]
    assert np.allclose(found, expected, rtol=1e-13, atol=1e-13)


def test_sums_of_two_tensors_are_products() -> None:
    x = OperationTape().input((2, 3))
    network = fold(rearranged(einsum("ik,jk->ij", [x, x]), lambda a: a.reshape(-1)))
    points = RNG.normal(size=(20, 6))
    grams = np.array([(p.reshape(2, 3) @ p.reshape(2, 3).T).reshape(-1) for p in points])
    assert isinstance(network, pm.Network)
    assert np.allclose(network(points), grams, rtol=1e-13)


@pytest.mark.parametrize("equation", ["ij->ijk", "i j,", "ij,jk", "i..j->i", "ij->ii", "abc->a", "é->é"])
def test_equations_that_do_not_fit_are_refused(equation: str) -> None:
    with pytest.raises(pm.InputError, match="equation"):
        einsum(equation, [OperationTape().input((2, 3))])


@pytest.mark.parametrize("mode", ["constant", "reflect", "edge", "wrap"])
def test_padding_is_that_of_numpy(mode: str) -> None:
    points = RNG.normal(size=(10, 12))
    options = {"constant_values": 0.5} if mode == "constant" else {}
    pads = [(1, 2), (0, 2)]
    network = fold(rearranged(padded(OperationTape().input((3, 4)), pads, mode, 0.5), lambda a: a.reshape(-1)))
    expected = np.array([np.pad(p.reshape(3, 4), pads, mode=mode, **options).reshape(-1) for p in points])
    assert np.array_equal(network(points), expected)


def test_negative_padding_cuts_off() -> None:
    network = fold(rearranged(padded(OperationTape().input((3, 4)), [(0, -1), (-1, 0)]), lambda a: a.reshape(-1)))
    points = RNG.normal(size=(5, 12))
    assert np.array_equal(network(points), points.reshape(5, 3, 4)[:, :2, 1:].reshape(5, -1))
    with pytest.raises(pm.InputError, match="padding mode 'mirror'"):
        padded(OperationTape().input((3, 4)), [(1, 1), (0, 0)], "mirror")


def test_modules_that_pad_sum_and_are_bilinear(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("onnx")
    nn = torch.nn

    class Model(nn.Module):
        def __init__(self, bilinear: bool) -> None:
            super().__init__()
            self.bilinear = bilinear
            self.pad, self.conv = nn.ReflectionPad2d(1), nn.Conv2d(1, 2, 3)
            self.left, self.right = nn.Linear(18, 3), nn.Linear(18, 3)
            self.both = nn.Bilinear(3, 3, 2)

        def forward(self, x: Any) -> Any:
            z = self.conv(self.pad(x))
            z = nn.functional.pad(z, (0, 1), value=0.25)[..., :-1].flatten(1)
            mixed = self.both(self.left(z), self.right(z)) if self.bilinear else self.left(z)[:, :2]
            return mixed + torch.einsum("bi,bi->b", z, z).unsqueeze(1)

    torch.manual_seed(0)
    points = RNG.normal(size=(1000, 1, 3, 3))
    module, exported = (
        Model(bilinear=True).double().eval(),
        Model(bilinear=False).double().eval(),
    )  # ONNX has no Bilinear
    content = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        example = torch.zeros(1, 1, 3, 3, dtype=torch.float64)
        torch.onnx.export(exported, (example,), content, dynamo=False, opset_version=17)
    (tmp_path / "model.onnx").write_bytes(content.getvalue())
    for source, network in ((module, pm.from_torch(module, (1, 3, 3))), (exported, pm.load(tmp_path / "model.onnx"))):
        with torch.no_grad():
            expected = source(torch.from_numpy(points)).numpy()
        assert np.abs(network(points.reshape(1000, -1)) - expected).max() <= 1e-12 * np.abs(expected).max()
