"""Lightning attention from PyTorch: modules that are it, modules that only look like it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from polymargin import InputError, from_torch
from polymargin.networks import Network

torch = pytest.importorskip("torch")


class Layers(torch.nn.Module):
    """values, keys and queries as linear layers."""

    def __init__(self, t: int, d: int, d_prime: int, a: int, classes: int, **options: Any) -> None:
        super().__init__()
        self.value = torch.nn.Linear(d, d_prime, bias=options.get("value_bias", False))
        self.key = torch.nn.Linear(d, a, bias=False)
        self.query = torch.nn.Linear(d, a, bias=False)
        self.head = torch.nn.Linear(t * d_prime, classes, bias=options.get("head_bias", True))
        self.scale, self.swapped, self.softmax = (options.get(name) for name in ("scale", "swapped", "softmax"))

    def forward(self, x: Any) -> Any:
        keys, queries = self.key(x), self.query(x)
        if self.swapped:
            keys, queries = queries, keys
        scores = queries @ keys.transpose(-1, -2) * (self.scale or 1.0)
        if self.softmax:
            scores = torch.softmax(scores, dim=-1)
        return self.head((scores @ self.value(x)).flatten(-2))


class Matrices(torch.nn.Module):
    """The letters of the paper, X as (d, t) inside; K and Q may be stored the other way round."""

    def __init__(self, t: int, d: int, d_prime: int, a: int, classes: int, turned: bool) -> None:
        super().__init__()
        shape = (a, d) if turned else (d, a)
        self.V = torch.nn.Parameter(torch.randn(d_prime, d))
        self.K = torch.nn.Parameter(torch.randn(shape))
        self.Q = torch.nn.Parameter(torch.randn(shape))
        self.readout = torch.nn.Linear(t * d_prime, classes)
        self.turned = turned

    def forward(self, x: Any) -> Any:
        X = x.transpose(-1, -2)
        K, Q = (self.K.T, self.Q.T) if self.turned else (self.K, self.Q)
        phi = self.V @ X @ (X.transpose(-1, -2) @ K @ Q.T @ X)
        return self.readout(phi.transpose(-1, -2).flatten(-2))


def same(module: Any, network: Network | None) -> bool:
    assert network is not None
    points = torch.randn(6, network.structure.t, network.structure.d, dtype=torch.float64)
    with torch.no_grad():
        expected = module.double()(points).numpy()
    return bool(np.allclose(network(points.flatten(1).numpy()), expected, rtol=1e-11, atol=1e-11))


@pytest.fixture(autouse=True)
def _seeded() -> None:
    torch.manual_seed(0)


@pytest.mark.parametrize("sizes", [(2, 2, 1, 1, 2), (3, 4, 2, 3, 5), (4, 2, 2, 2, 3)])
def test_linear_layers(sizes: tuple[int, ...]) -> None:
    module = Layers(*sizes)
    weights = module.value.weight.detach().numpy().copy()
    network = from_torch(module)
    found = network.structure
    assert (found.t, found.d, found.d_prime, found.a, network.class_count) == sizes
    assert np.array_equal(found.V, weights), "float32 weights fit exactly"
    assert module.value.weight.dtype == torch.float32, "the user's module stays as it was"
    assert same(module, network)
    bare = Layers(*sizes, head_bias=False)
    assert same(bare, from_torch(bare))


@pytest.mark.parametrize("sizes", [(2, 3, 3, 3, 2), (2, 3, 2, 1, 2), (3, 2, 2, 2, 2)])
@pytest.mark.parametrize("turned", [False, True])
def test_matrices_either_way_round(sizes: tuple[int, ...], turned: bool) -> None:
    module = Matrices(*sizes, turned=turned)
    assert same(module, from_torch(module))


def test_keys_that_act_as_queries() -> None:
    module = Layers(3, 2, 2, 2, 2, swapped=True)
    network = from_torch(module)
    assert same(module, network)
    assert np.array_equal(network.structure.K, module.query.weight.detach().double().numpy().T)


def test_scaled_scores() -> None:
    for scale in (1 / np.sqrt(3), 1 / 4, 1 / (4 * np.sqrt(3))):
        module = Layers(4, 2, 2, 3, 2, scale=float(scale))
        assert same(module, from_torch(module))


def test_modules_beside_attention() -> None:
    with pytest.raises(InputError, match="give the model without it"):
        from_torch(Layers(2, 3, 2, 2, 2, softmax=True))
    scaled = Layers(2, 3, 2, 2, 2, scale=0.4)
    assert same(scaled, from_torch(scaled))
    module = Layers(2, 3, 2, 2, 2, value_bias=True)
    assert from_torch(module).structure is None
    assert from_torch(torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Linear(3, 2))).structure is None
    one_class = from_torch(Layers(2, 2, 1, 1, 1), (2, 2))
    assert one_class.class_count == 2
    assert not one_class(np.ones(4))[0]
