"""Networks that people deploy, where POLYMARGIN_ZOO names their folder: the logits of the frameworks they come from."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polymargin as pm

ZOO = Path(os.environ.get("POLYMARGIN_ZOO", "zoo"))
pytestmark = pytest.mark.skipif(not ZOO.is_dir(), reason="POLYMARGIN_ZOO names no folder")
POINTS = np.random.default_rng(0).random((1000, 784))
NAMES = ("cryptonets", "cubic_mlp", "gelu4_mlp", "lola", "orion_lenet", "orion_mlp", "tenseal")


@pytest.mark.parametrize("name", NAMES)
def test_onnx_files_have_the_logits_of_onnx_runtime(name: str) -> None:
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(str(ZOO / f"{name}.onnx"), providers=["CPUExecutionProvider"])
    (entry,) = session.get_inputs()
    shape = [1 if not isinstance(length, int) else length for length in entry.shape]
    network = pm.load(ZOO / f"{name}.onnx")
    points = POINTS[:50].astype(np.float32)
    expected = np.concatenate([session.run(None, {entry.name: row.reshape(shape)})[0].reshape(1, -1) for row in points])
    assert np.abs(network(points) - expected).max() <= 1e-4 * np.abs(expected).max()  # float32 there


def test_a_state_dict_that_was_saved_on_a_gpu() -> None:
    torch = pytest.importorskip("torch")
    network = pm.load(ZOO / "digits_recognizer.pth", activation="square")
    state = torch.load(ZOO / "digits_recognizer.pth", map_location="cpu", weights_only=True)
    W, b, V, c = (state[name].double() for name in ("fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"))
    expected = ((torch.from_numpy(POINTS) @ W.T + b) ** 2 @ V.T + c).numpy()
    assert np.abs(network(POINTS) - expected).max() <= 1e-12 * np.abs(expected).max()


def test_a_published_pi_net_from_its_arrays_and_as_a_module() -> None:
    torch = pytest.importorskip("torch")
    with np.load(ZOO / "vpn_ccp4.npz") as arrays:
        U = [arrays[f"U{k}"].astype(np.float64) for k in range(1, 5)]
        C, c = arrays["C"].astype(np.float64), arrays["C_bias"].astype(np.float64)

    class Published(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.factors = torch.nn.ParameterList(torch.from_numpy(factor) for factor in U)
            self.C, self.c = torch.from_numpy(C), torch.from_numpy(c)

        def forward(self, x: Any) -> Any:
            first, *rest = list(self.factors)
            out = torch.nn.functional.linear(x, first)
            for factor in rest:
                out = torch.nn.functional.linear(x, factor) * out + out
            return torch.nn.functional.linear(out, self.C, self.c)

    module = Published()
    with torch.no_grad():
        expected = module(torch.from_numpy(POINTS)).numpy()
    for network in (pm.pi_net(U, C, c), pm.from_torch(module, (784,))):
        assert (network.degree, network.dimension) == (4, 784)
        assert np.abs(network(POINTS) - expected).max() <= 1e-12 * np.abs(expected).max()
