"""PyTorch modules: the network computes what the module computes, or says which operation it cannot read."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from problems import random_network

import polymargin as pm
from polymargin.networks.readers.from_torch import from_torch
from polymargin.networks.writers.to_torch import to_torch

torch = pytest.importorskip("torch")
nn = torch.nn
functional = torch.nn.functional


class Square(nn.Module):
    def forward(self, x: Any) -> Any:
        return x**2


class Written(nn.Module):
    """An activation written in one of the ways people write them."""

    def __init__(self, formula: Callable[[Any], Any]) -> None:
        super().__init__()
        self.formula = formula

    def forward(self, x: Any) -> Any:
        return self.formula(x)


class Coefficients(nn.Module):
    """Σ c_k x^k with trained coefficients, looped over in Python."""

    def __init__(self, values: list[float]) -> None:
        super().__init__()
        self.c = nn.Parameter(torch.tensor(values))

    def forward(self, x: Any) -> Any:
        return sum(c * x**k for k, c in enumerate(self.c))


class Horner(nn.Module):
    """As the authors of the paper write their activation."""

    def __init__(self, values: list[float]) -> None:
        super().__init__()
        self.coeffs = nn.Parameter(torch.tensor(values))

    def forward(self, x: Any) -> Any:
        y = torch.zeros_like(x) + self.coeffs[-1]
        for c in reversed(self.coeffs[:-1].unbind(0)):
            y = y * x + c
        return y


class PerChannel(nn.Module):
    """A trained quadratic for every channel, as in networks made for homomorphic encryption."""

    def __init__(self, *shape: int) -> None:
        super().__init__()
        self.a, self.b, self.c = (nn.Parameter(torch.randn(shape)) for _ in range(3))

    def forward(self, x: Any) -> Any:
        return self.a * x * x + self.b * x + self.c


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner, self.outer, self.head = nn.Linear(6, 8), nn.Linear(8, 6), nn.Linear(6, 3)

    def forward(self, x: Any) -> Any:
        x = x + self.outer(torch.square(self.inner(x)))
        x = x + self.outer(self.inner(x).pow(2))
        return self.head(x)


class Functional(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.randn(4, 6)), nn.Parameter(torch.randn(4))
        self.head = nn.Linear(8, 2)

    def forward(self, x: Any) -> Any:
        z = functional.linear(x, self.weight, self.bias)
        both = torch.cat([z * z * z, functional.dropout(z, training=self.training)], dim=1)
        return self.head(both.view(both.size(0), -1)) / 3.0


class Slices(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(4, 3)

    def forward(self, x: Any) -> Any:
        first, second = x.reshape(-1, 2, 4).unbind(1)
        mixed = (first - 2.0 * second).transpose(0, 1).t() + x[:, :4] + x.mean(dim=1, keepdim=True)
        return self.head(mixed**3) + x.chunk(2, dim=1)[1].sum(1, keepdim=True)


def trained(norm: Any) -> Any:
    """A batch normalisation that has seen data."""
    with torch.no_grad():
        norm.running_mean.uniform_(-1, 1)
        norm.running_var.uniform_(0.5, 2)
        norm.weight.normal_()
        norm.bias.normal_()
    return norm


def image_network() -> Any:
    return nn.Sequential(
        nn.Conv2d(2, 4, 3, padding=1, stride=2),
        trained(nn.BatchNorm2d(4)),
        PerChannel(4, 1, 1),
        nn.AvgPool2d(2, ceil_mode=True, padding=1, count_include_pad=False),
        nn.Conv2d(4, 4, 2, groups=2, dilation=2),
        Square(),
        nn.Dropout(0.3),
        nn.AdaptiveAvgPool2d((2, 1)),
        nn.Flatten(),
        nn.Linear(8, 3),
    )


MODULES: dict[str, tuple[Callable[[], Any], tuple[int, ...], bool]] = {
    "squares": (lambda: nn.Sequential(nn.Linear(4, 5), Square(), nn.Linear(5, 3)), (4,), True),
    "flattened": (
        lambda: nn.Sequential(nn.Flatten(), nn.Linear(4, 5), Coefficients([0.1, 0.2, 0.3, 0.4]), nn.Linear(5, 5),
                              Horner([0.5, -1.0, 0.25]), nn.Dropout(), nn.Linear(5, 3)),
        (4,), True,
    ),
    "normalised": (
        lambda: nn.Sequential(nn.Linear(4, 5), trained(nn.BatchNorm1d(5)), Horner([0.1, 0.2, 0.3, 0.4]), nn.Linear(5, 3)),
        (4,), True,
    ),
    "residual": (Residual, (6,), True),
    "functional": (Functional, (6,), True),
    "slices": (Slices, (8,), False),
    "images": (image_network, (2, 11, 11), False),
    "signals": (
        lambda: nn.Sequential(nn.Conv1d(2, 4, 3, padding="same"), Square(), nn.AvgPool1d(3, 2, ceil_mode=True), nn.Flatten(),
                              nn.Linear(20, 3)),
        (2, 10), False,
    ),
    "volumes": (
        lambda: nn.Sequential(nn.Conv3d(1, 2, 2), Square(), nn.AvgPool3d(2, divisor_override=3), nn.Flatten(), nn.Linear(2, 2)),
        (1, 3, 3, 3), False,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MODULES)
def test_outputs_are_those_of_pytorch(name: str) -> None:
    torch.manual_seed(0)
    make, shape, shape_is_seen = MODULES[name]
    module = make().eval()
    net = from_torch(module, None if shape_is_seen else shape)
    points = torch.randn(1000, *shape, dtype=torch.float64)
    with torch.no_grad():
        in_float32 = module(points.float()).numpy()
        in_float64 = module.double()(points).numpy()
    found = net(points.reshape(1000, -1).numpy())
    size = np.abs(in_float64).max()
    assert np.abs(found - in_float64).max() <= 1e-13 * size
    assert np.abs(found - in_float32).max() <= 1e-5 * size


@pytest.mark.parametrize(
    ("formula", "degree"),
    [
        (lambda x: x**3, 3),
        (lambda x: torch.pow(x, 3), 3),
        (lambda x: x.pow(2) * x, 3),
        (lambda x: torch.square(x), 2),
        (lambda x: x * x, 2),
        (lambda x: torch.mul(x, x), 2),
        (lambda x: (x * x) * (x * x), 4),
    ],
)
def test_ways_to_write_a_power_give_the_same_network(formula: Callable[[Any], Any], degree: int) -> None:
    torch.manual_seed(1)
    first, second = nn.Linear(3, 4), nn.Linear(4, 2)
    net = from_torch(nn.Sequential(first, Written(formula), second))
    layers = [(linear.weight.detach().numpy(), linear.bias.detach().numpy()) for linear in (first, second)]
    assert net.fingerprint == pm.PolynomialNetwork(layers, degree=degree).fingerprint


def test_float32_weights_are_exact_and_the_module_is_left_alone() -> None:
    module = nn.Sequential(nn.Linear(2, 3), Square(), nn.Linear(3, 2))
    before = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    net = from_torch(module)
    assert np.array_equal(net.chain.layers[0].weights, before["0.weight"].double().numpy())
    assert module.training
    assert all(torch.equal(tensor, before[name]) for name, tensor in module.state_dict().items())


def refused(module: Any, message: str, shape: Any = None) -> None:
    with pytest.raises(pm.InputError, match=message):
        from_torch(module, shape)


def test_what_is_not_polynomial_is_named_with_its_layer() -> None:
    refused(nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 2)), r"Tanh '1': the operation tanh")
    refused(nn.Sequential(nn.Linear(2, 3), Written(torch.sigmoid)), r"Written '1': the operation sigmoid")
    refused(nn.Sequential(nn.Linear(2, 3), Written(lambda x: x**0.5)), "power 0.5 is not polynomial")
    refused(nn.Sequential(nn.Linear(2, 3), Written(lambda x: 1 / x)), "division by something that depends")
    refused(nn.Sequential(nn.Linear(2, 3), Written(lambda x: x * x.sort(1)[0])), "operation sort")
    refused(nn.Sequential(nn.Linear(2, 3), nn.LPPool1d(2, 2)), "LPPool1d '1': the operation lp_pool1d")
    refused(nn.Sequential(nn.Linear(2, 3), nn.Softmax(1)), "Softmax '1': .*give the model without it")


def test_training_mode_and_choices_by_values_are_refused() -> None:
    norm = nn.BatchNorm1d(2)
    refused(nn.Sequential(nn.Linear(2, 2), norm), r"BatchNorm1d '1': .*call module\.eval\(\)")
    assert not norm.num_batches_tracked, "the module is left alone"
    refused(nn.Sequential(nn.Linear(2, 2), nn.Dropout()), r"Dropout '1': .*call module\.eval\(\)")
    for choice in (lambda x: x if x.sum() > 0 else -x, lambda x: x if x.sum() else -x, lambda x: x * float(x[0, 0])):
        refused(nn.Sequential(nn.Linear(2, 2), Written(choice)), "must not depend on the values of tensors")


def test_choices_by_shapes_and_loops_are_those_of_the_module() -> None:
    def formula(x: Any) -> Any:
        batch, width = x.shape
        for part in x.flip(1).unbind(1):
            x = x + part[:, None] if width > 2 and len(x) == batch else x
        return x.roll(1, dims=1) / np.sqrt(x.size(-1)) * x

    module = nn.Sequential(nn.Linear(2, 3), Written(formula), nn.Linear(3, 2)).double()
    points = np.random.default_rng(0).normal(size=(20, 2))
    expected = module(torch.tensor(points)).detach().numpy()
    np.testing.assert_allclose(from_torch(module)(points), expected, rtol=1e-12)


def test_shapes_that_cannot_be_seen_must_be_given() -> None:
    module = nn.Sequential(nn.Conv2d(1, 2, 2), Square(), nn.Flatten(), nn.Linear(8, 2))
    refused(module, r"pm.from_torch\(model, input_shape=\(channels, height, width\)\)")
    assert from_torch(module, (1, 3, 3)).dimension == 9
    refused(module, r"Linear '3'", (1, 4, 4))
    refused(nn.Linear(3, 2).weight, "takes a torch.nn.Module")
    refused(nn.Sequential(nn.Conv2d(1, 3, 2)), "expected one vector of logits", (1, 3, 3))


def test_attention_is_found_in_every_order_of_its_products() -> None:
    class Attention(nn.Module):
        def __init__(self, order: int) -> None:
            super().__init__()
            self.a, self.b, self.c = (nn.Linear(3, 2, bias=False) for _ in range(3))
            self.head, self.order = nn.Linear(8, 3), order

        def forward(self, x: Any) -> Any:
            v, k, q = self.a(x), self.b(x), self.c(x)
            z = (
                (q @ k.transpose(-1, -2) / 2.0) @ v
                if self.order == 0
                else q @ (k.transpose(-1, -2) @ v)
                if self.order == 1
                else torch.bmm(v.transpose(1, 2), torch.bmm(k, q.transpose(1, 2)))
            )
            return self.head(z.flatten(1))

    torch.manual_seed(0)
    points = torch.randn(1000, 4, 3, dtype=torch.float64)
    for order in range(3):
        module = Attention(order)
        net = from_torch(module, (4, 3))
        assert repr(net.structure) == "Attention(t=4, d=3, d_prime=2, a=2)"
        with torch.no_grad():
            expected = module.double()(points).numpy()
        assert np.abs(net(points.reshape(1000, -1).numpy()) - expected).max() <= 1e-13 * np.abs(expected).max()


def test_products_of_matrices_that_are_not_attention_are_read_entry_by_entry() -> None:
    class TwoProducts(nn.Module):
        def __init__(self, bias: bool, square: bool) -> None:
            super().__init__()
            self.a, self.b, self.c = (nn.Linear(3, 2, bias=bias) for _ in range(3))
            self.head, self.square = nn.Linear(8, 3), square

        def forward(self, x: Any) -> Any:
            z = (self.a(x) @ self.b(x).transpose(-1, -2)) @ self.c(x)
            return self.head((z**2 if self.square else z).flatten(1))

    torch.manual_seed(0)
    points = torch.randn(1000, 4, 3, dtype=torch.float64)
    for module in (TwoProducts(bias=True, square=False), TwoProducts(bias=False, square=True)):
        net = from_torch(module.double(), (4, 3))
        assert net.structure is None
        with torch.no_grad():
            expected = module(points).numpy()
        assert np.abs(net(points.reshape(1000, -1).numpy()) - expected).max() <= 1e-12 * np.abs(expected).max()


@pytest.mark.parametrize(
    "activation", [[0.0, 0.0, 0.0, 1.0], [0.5, -1.0, 0.25], [0.0, 2.0], [1.0, 0.0, 0.0, 0.0, -0.5]]
)
def test_to_torch_and_back(activation: list[float]) -> None:
    source = random_network([3, 5, 4, 3], 2, seed=3)
    net = pm.PolynomialNetwork(
        [(layer.weights, layer.bias) for layer in source.chain.layers], activations=[activation, [0.0, 0.0, 1.0]]
    )
    module = to_torch(net)
    points = np.random.default_rng(0).normal(size=(1000, 3))
    with torch.no_grad():
        found = module(torch.tensor(points)).numpy()
    assert np.abs(found - net(points)).max() <= 1e-13 * np.abs(found).max()
    again = from_torch(pickle.loads(pickle.dumps(module)))
    if len(activation) > 2:  # an identity layer is multiplied out
        assert again.fingerprint == net.fingerprint


def test_state_dicts_with_coefficients_are_files_of_data(tmp_path: Path) -> None:
    net = random_network([3, 5, 2], 3, seed=4)
    torch.save(to_torch(net).state_dict(), tmp_path / "model.pt")
    assert pm.load(tmp_path / "model.pt").fingerprint == net.fingerprint


class InPlace(nn.Module):
    """Changes its hidden values in place."""

    def __init__(self, change: Callable[[Any], Any]) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(3, 3), nn.Linear(3, 2)
        self.change = change

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = self.first(x)
        self.change(hidden)
        return self.last(hidden * hidden)


def added(x: Any) -> None:
    other = x
    other += 1.0


@pytest.mark.parametrize("change", [lambda x: x.pow_(2), added, nn.ReLU(inplace=True), lambda x: x.mul_(2).add_(x)])
def test_operations_in_place_are_read(change: Callable[[Any], Any]) -> None:
    module = InPlace(change).double()
    points = torch.randn((20, 3), dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        expected = module(points).numpy()
        np.testing.assert_allclose(pm.from_torch(module, (3,))(points.numpy()), expected, rtol=1e-12)


def set_entry(x: Any) -> None:
    x[:, 0] = 1.0


@pytest.mark.parametrize("change", [lambda x: x.view(-1).mul_(2.0), set_entry])
def test_operations_in_place_on_parts_are_refused(change: Callable[[Any], Any]) -> None:
    with torch.no_grad(), pytest.raises(pm.InputError, match="in place"):
        pm.from_torch(InPlace(change), (3,))


def test_pools_with_padding_beyond_the_edge() -> None:
    """ceil_mode, padding and count_include_pad together, in two dimensions: the corner counts as beyond, not as padding."""
    pool = nn.Sequential(nn.AvgPool2d(3, 2, 1, ceil_mode=True, count_include_pad=True), nn.Flatten(), nn.Linear(32, 3))
    network = pm.from_torch(pool.double().eval(), (2, 6, 7))
    inputs = torch.randn((5, 2, 6, 7), dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    expected = pool(inputs).detach().numpy()
    assert np.allclose(network(inputs.reshape(5, -1).numpy()), expected, atol=1e-12)
