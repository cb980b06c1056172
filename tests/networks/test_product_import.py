"""Models that multiply different expressions: the logits of the framework, from PyTorch and from its ONNX exports."""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from product_modules import AttentionBlock, StackedAttention, examples

import polymargin as pm

torch = pytest.importorskip("torch")


def agrees(network: Any, module: Any, shape: tuple[int, ...]) -> None:
    points = np.random.default_rng(1).normal(size=(1000, *shape))
    with torch.no_grad():
        expected = module(torch.from_numpy(points)).numpy()
    assert np.abs(network(points.reshape(1000, -1)) - expected).max() <= 1e-12 * np.abs(expected).max()


@pytest.mark.parametrize("name", examples())
def test_the_module_is_read(name: str) -> None:
    module, shape = examples()[name]
    network = pm.from_torch(module, shape)
    assert network.chain is None
    agrees(network, module, shape)


@pytest.mark.parametrize("name", examples())
def test_its_onnx_export_is_read(name: str, tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    module, shape = examples()[name]
    content = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module.eval(), (torch.zeros(1, *shape, dtype=torch.float64),), content, dynamo=False, opset_version=17
        )
    file = tmp_path / "model.onnx"
    file.write_bytes(content.getvalue())
    network = pm.load(file)
    assert network.chain is None
    agrees(network, module, shape)


def test_a_product_that_is_a_polynomial_of_one_form_stays_layers() -> None:
    class Disguised(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner, self.head = torch.nn.Linear(3, 4), torch.nn.Linear(4, 2)

        def forward(self, x: Any) -> Any:
            z = self.inner(x)
            return self.head(z * (2.0 * z + 1.0))

    network = pm.from_torch(Disguised())
    assert network.chain is not None
    assert network.widths == (3, 4, 2)


def test_the_number_of_tokens_is_seen_where_a_layer_tells_it() -> None:
    torch.manual_seed(3)
    module = StackedAttention(2, t=3, d=4)
    assert pm.from_torch(module).dimension == 12

    class Pooled(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.block, self.head = AttentionBlock(4), torch.nn.Linear(4, 2)

        def forward(self, x: Any) -> Any:
            return self.head(self.block(x).mean(1))

    with pytest.raises(pm.InputError, match=r"input_shape=\(tokens, numbers per token\)"):
        pm.from_torch(Pooled())
    assert pm.from_torch(Pooled(), (5, 4)).dimension == 20
