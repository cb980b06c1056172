"""Modules as people write them: masks, lists and NumPy numbers in `forward`, and shapes that do not fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polymargin as pm
from polymargin.errors import InputError

torch = pytest.importorskip("torch")
nn = torch.nn


class Formula(nn.Module):
    """A module with layers and constants of all kinds whose forward pass is the given function."""

    def __init__(self, formula: Callable[[Any, Any], Any]) -> None:
        super().__init__()
        torch.manual_seed(5)
        self.first, self.last, self.direct = nn.Linear(3, 4), nn.Linear(2, 2), nn.Linear(3, 2)
        self.register_buffer("chosen", torch.tensor([0, 2]))
        self.register_buffer("kept", torch.tensor([True, False, True, False]))
        self.places = [0, 2]
        self.formula = formula

    def forward(self, x: Any) -> Any:
        return self.formula(self, x)


class Causal(nn.Module):
    """Causal attention without softmax: ((x xᵀ) ∘ L) x with a lower triangular mask L."""

    def __init__(self, scores: Callable[[Any, Any], Any]) -> None:
        super().__init__()
        torch.manual_seed(6)
        self.register_buffer("tril", torch.tril(torch.ones(3, 3)))
        self.out = nn.Linear(6, 2)
        self.scores = scores

    def forward(self, x: Any) -> Any:
        return self.out((self.scores(self, x) @ x).flatten(1))


def assert_same(module: Any, shape: tuple[int, ...], **options: Any) -> None:
    module = module.double().eval()
    network = pm.from_torch(module, **options)
    x = torch.randn((20, *shape), generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    with torch.no_grad():
        expected = torch.stack([module(row[None]).reshape(-1) for row in x]).numpy()
    np.testing.assert_allclose(network(x.reshape(20, -1).numpy()), expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    "scores",
    [
        lambda module, x: (x @ x.mT) * module.tril,
        lambda module, x: module.tril * (x @ x.transpose(-1, -2)),
        lambda module, x: (x @ x.mT) * module.tril * 0.5,
        lambda module, x: (x @ x.mT) * (1 - module.tril),
    ],
)
def test_masks_of_causal_attention(scores: Callable[[Any, Any], Any]) -> None:
    assert_same(Causal(scores), (3, 2), input_shape=(3, 2))


@pytest.mark.parametrize(
    "formula",
    [
        lambda module, x: module.last(module.first(x)[:, [0, 2]] ** 2),
        lambda module, x: module.last((module.first(x) ** 2)[:, module.places]),
        lambda module, x: module.last((module.first(x) ** 2)[:, module.chosen]),
        lambda module, x: module.last((module.first(x) ** 2)[:, module.kept]),
        lambda module, x: module.last((module.first(x) ** 2)[:, np.array([0, 2])]),
        lambda module, x: module.last((module.first(x) ** 2)[[0, 0], [0, 2]]),
        lambda module, x: module.last(module.first(x)[0][[0, 2]] ** 2),
        lambda module, x: module.direct(x[[0]] ** 2),
    ],
)
def test_lists_and_tensors_as_indices(formula: Callable[[Any, Any], Any]) -> None:
    assert_same(Formula(formula), (3,), input_shape=(3,))


@pytest.mark.parametrize("number", [np.float64(0.5), np.float32(0.5), np.int64(2), np.array(0.5)])
def test_numbers_of_numpy_are_constants(number: Any) -> None:
    # torch itself takes a NumPy scalar on either side of *.
    left = Formula(lambda module, x: module.direct((number.item() * x + number.item()) ** 2))
    right = Formula(lambda module, x: module.direct((np.float64(number) * x + np.float64(number)) ** np.int64(2)))
    point = np.array([[0.3, -0.2, 0.7]])
    np.testing.assert_array_equal(pm.from_torch(right)(point), pm.from_torch(left)(point))


@pytest.mark.parametrize("shape", [None, (3,)])
def test_where_shapes_do_not_fit_the_remedy_is_named(shape: tuple[int, ...] | None) -> None:
    for formula in (
        lambda module, x: module.direct(module.first(x).view(-1, 3, 5).sum(1)),
        lambda module, x: module.last(module.first(x)),
        lambda module, x: module.direct(x[:, [0, 1, 7]]),
    ):
        with pytest.raises(InputError, match="input_shape="):
            pm.from_torch(Formula(formula), input_shape=shape)


@pytest.mark.parametrize(
    "formula",
    [
        lambda module, x: module.direct(x + x.new_ones(1, 3) * x.requires_grad_(False)),
        lambda module, x: module.direct(torch.stack([x, x**2], 0).mean(0) / np.sqrt(x.shape[-1])),
        lambda module, x: module.direct(torch.einsum("bi,bj->bij", x, x).sum(2).sub_(x, alpha=0.5)),
    ],
)
def test_values_behave_as_tensors(formula: Callable[[Any, Any], Any]) -> None:
    assert_same(Formula(formula), (3,), input_shape=(3,))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of torch.compile's own imports
def test_wrapped_modules_are_read() -> None:
    plain = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    expected = pm.from_torch(plain)
    for wrapped in (torch.compile(plain), nn.DataParallel(plain), torch.fx.symbolic_trace(plain)):
        assert pm.from_torch(wrapped).fingerprint == expected.fingerprint


def test_parametrised_weights_are_read() -> None:
    torch.manual_seed(7)
    normed = torch.nn.utils.parametrizations.weight_norm(nn.Linear(3, 4).double())
    assert_same(nn.Sequential(normed, nn.ReLU(), nn.Linear(4, 2)), (3,))


@pytest.mark.parametrize("formula", [lambda module, x: x * x[0, 0].item(), lambda module, x: torch.tensor(x.numpy())])
def test_values_are_not_looked_at(formula: Callable[[Any, Any], Any]) -> None:
    with pytest.raises(InputError, match="must not depend on the values"):
        pm.from_torch(Formula(formula), (3,))


def test_a_module_that_fails_on_its_own_inputs_is_an_input_error() -> None:
    mixed = Formula(
        lambda module, x: module.direct(x * torch.ones(3, dtype=torch.float64))
    )  # float64 into float32 weights
    with pytest.raises(InputError, match="cannot be evaluated"):
        pm.from_torch(mixed)


def test_a_vanishing_factor_leaves_no_product() -> None:
    assert pm.pi_net([[[0, 0]], [[-1, 0]], [[0, 1]]], [[1], [2]]).degree == 0
    network = pm.pi_net([[[0, 0], [1, 1]], [[-1, 0], [1, 0]], [[0, 1], [0, 1]]], [[1, 1], [2, 3]])
    x, y = 0.25, -3.0
    second = x + y + x * (x + y)
    value = second + y * second
    np.testing.assert_allclose(network([x, y]), [value, 3 * value], rtol=1e-15)
