"""Activations in Chebyshev polynomials, as compilers for encrypted inference use them: kept in their basis at any degree."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.polynomial import chebyshev as series

import polymargin as pm
from polymargin.networks.stages import Polynomial
from polymargin_checker.stages import read_network

torch = pytest.importorskip("torch")
nn = torch.nn

from polymargin.networks.readers.torch_layers import Chebyshev  # noqa: E402


def silu(degree: int, reach: float) -> list[float]:
    """Chebyshev coefficients of SiLU on [−reach, reach]."""
    return series.chebinterpolate(lambda z: reach * z / (1 + np.exp(-reach * z)), degree).tolist()


def odd_sign(degree: int, sharpness: float) -> list[float]:
    found = series.chebinterpolate(lambda z: np.tanh(sharpness * z), degree)
    found[::2] = 0.0
    return found.tolist()


class ComposedReLU(nn.Module):
    """x (1 + sign(x)) / 2, sign as a composition of polynomials of degrees 15, 15 and 27."""

    def __init__(self) -> None:
        super().__init__()
        self.parts = nn.Sequential(*(Chebyshev(odd_sign(d, 3.0)) for d in (15, 15, 27)))

    def forward(self, x: Any) -> Any:
        return x * (0.5 + 0.5 * self.parts(x))


def agrees(network: Any, module: Any, points: Any) -> None:
    with torch.no_grad():
        expected = module(torch.from_numpy(points)).numpy()
    assert np.abs(network(points) - expected).max() <= 1e-12 * np.abs(expected).max()


def test_silu_of_degree_127_and_a_composed_relu() -> None:
    torch.manual_seed(0)
    points = np.random.default_rng(0).uniform(-1, 1, size=(1000, 3))
    module = nn.Sequential(nn.Linear(3, 5), Chebyshev(silu(127, 8.0), (-8.0, 8.0)), nn.Linear(5, 2)).double()
    network = pm.from_torch(module)
    assert [type(stage) for stage in network.stages] == [Polynomial]
    assert (network.stages[0].basis, network.degree) == ("chebyshev", 127)
    agrees(network, module, points)
    inner = nn.Linear(3, 4)
    inner.weight.data /= 4
    module = nn.Sequential(inner, ComposedReLU(), nn.Linear(4, 2)).double()
    network = pm.from_torch(module)
    assert [getattr(stage, "degree", 2) for stage in network.stages] == [15, 15, 27, 2]
    agrees(network, module, points)


def test_a_clenshaw_scheme_in_a_module_is_not_multiplied_out() -> None:
    class Written(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner, self.head = nn.Linear(3, 2), nn.Linear(2, 2)
            self.inner.weight.data /= 2

        def forward(self, x: Any) -> Any:
            z = self.inner(x)
            later, last = 0.0 * z, 0.0 * z
            for c in silu(60, 6.0)[:0:-1]:
                later, last = last, 2.0 * z * last - later + c
            return self.head(z * last - later + silu(60, 6.0)[0])

    torch.manual_seed(1)
    module = Written().double()
    network = pm.from_torch(module)
    points = np.random.default_rng(0).uniform(-0.5, 0.5, size=(1000, 3))
    agrees(network, module, points)


def test_errors_of_the_logits_are_bounded_and_the_bound_is_of_use() -> None:
    torch.manual_seed(0)
    network = pm.from_torch(
        nn.Sequential(nn.Linear(3, 5), Chebyshev(silu(127, 8.0), (-8.0, 8.0)), nn.Linear(5, 2)).double()
    )
    for point in np.random.default_rng(2).uniform(-1, 1, size=(5, 3)):
        exact = network.exact_logits(point)
        errors = network.rounding_errors(point)
        found = [abs(Fraction(float(a)) - b) for a, b in zip(network(point), exact, strict=True)]
        assert all(error <= bound for error, bound in zip(found, errors.tolist(), strict=True))
        assert errors.max() < 1e-6


def test_small_ones_are_exact_and_the_checker_knows_the_basis(tmp_path: Path) -> None:
    torch.manual_seed(2)
    module = nn.Sequential(nn.Linear(2, 2), Chebyshev(silu(6, 4.0), (-4.0, 4.0)), nn.Linear(2, 2)).double()
    network = pm.from_torch(module)
    u = np.array([0.2, -0.1])
    margin = pm.margin(network, u, proof=False)
    assert margin.standing.name in ("NUMERICAL", "CERTIFIED")
    nearest = pm.attack(network, u)
    assert nearest is None or nearest.distance >= margin.radius * (1 - 1e-9)
    network.save(tmp_path / "model.npz")
    assert read_network(tmp_path / "model.npz").fingerprint == network.fingerprint
