"""The JAX recipe of docs/learning.md, run as it is printed, against `exact_margin`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polymargin as pm
from polymargin.learning import exact_margin, shallow_network

jax = pytest.importorskip("jax")
torch = pytest.importorskip("torch")

PAGE = Path(__file__).parents[2] / "docs" / "learning.md"


def recipe(**names: Any) -> Any:
    (printed,) = re.findall(r"```text\n(@jax.custom_vjp\n.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    names |= {"jax": jax, "jnp": jax.numpy, "np": np, "pm": pm}
    exec(printed, names)
    return names["distance"]


def test_recipe_has_the_derivatives_of_exact_margin() -> None:
    module = shallow_network(3, 5, 4, seed=2, dtype=torch.float64)
    points = torch.randn(20, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64, requires_grad=True)
    labels = module(points).argmax(dim=1)
    shares = np.linspace(0.5, 1.5, 20)
    exact = exact_margin(module, points, labels)
    (exact * torch.tensor(shares)).sum().backward()

    def logits(params: Any, x: Any) -> Any:
        (first, bias), (last, constant) = params
        return (x @ first.T + bias) ** 2 @ last.T + constant

    def to_network(params: Any) -> pm.Network:
        return pm.PolynomialNetwork([(np.asarray(w), np.asarray(b)) for w, b in params], degree=2)

    with jax.enable_x64(True):
        params = [(layer.weight.detach().numpy(), layer.bias.detach().numpy()) for layer in (module[0], module[2])]
        params = jax.tree.map(jax.numpy.asarray, params)
        x, y = jax.numpy.asarray(points.detach().numpy()), labels.numpy()
        distance = recipe(logits=logits, to_network=to_network)
        np.testing.assert_allclose(distance(params, x, y), exact.detach().numpy(), rtol=1e-9)
        weights, inputs = jax.grad(lambda p, z: (distance(p, z, y) * shares).sum(), argnums=(0, 1))(params, x)
    for (weight, bias), layer in zip(weights, (module[0], module[2]), strict=True):
        np.testing.assert_allclose(weight, layer.weight.grad.numpy(), rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(bias, layer.bias.grad.numpy(), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(inputs, points.grad.numpy(), rtol=1e-7, atol=1e-9)
