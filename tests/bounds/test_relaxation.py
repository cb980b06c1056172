"""The linear maps of the concave program against their definitions, and the optimum against independent minima."""

from __future__ import annotations

import numpy as np
import pytest
from problems import random_network
from scipy.optimize import minimize

from polymargin.bounds.interior_point import least_eigenvalue, maximise, start
from polymargin.bounds.ranges import layer_ranges
from polymargin.bounds.relaxation import GramRelaxation
from polymargin.bounds.view import View
from polymargin.networks import PolynomialNetwork


def program_for(network: PolynomialNetwork, radii: list[float]) -> tuple[View, GramRelaxation]:
    view = View.of(network, np.random.default_rng(3).normal(size=network.dimension))
    first, radius = np.stack([view.root_ranges(r) for r in radii]), np.array(radii)
    deeper = layer_ranges(view, first, radius)
    ranges = [first, *(np.stack([d[k].limits for d in deeper]) for k in range(view.depth - 1))]
    gamma, constant = view.difference(0, 1)
    gammas = np.repeat(gamma[None], len(radii), axis=0)
    return view, GramRelaxation.build(view, ranges, gammas, np.full(len(radii), constant), radius)


@pytest.mark.parametrize(
    ("widths", "degree"), [((3, 4, 2), 3), ((5, 3, 2), 4), ((3, 4, 3, 2), 2), ((2, 3, 2, 3, 2), 2)]
)
def test_adjoint_and_normal_matrix(widths: tuple[int, ...], degree: int) -> None:
    _, program = program_for(random_network(widths, degree, 1), [0.2, 0.5])
    generator = np.random.default_rng(0)
    x, X, _ = start(program)
    assert all(least_eigenvalue(cone).min() > 0 for cone in program.cones(x)), "the start is strictly feasible"
    Y = [a + np.swapaxes(a, -1, -2) for a in (generator.normal(size=cone.shape) for cone in X)]
    S = [a @ np.swapaxes(a, -1, -2) for a in Y]
    direction = generator.normal(size=x.shape)
    moved = program.cones(direction, affine=False)
    inner = sum((a * b).sum(axis=(1, 2, 3)) for a, b in zip(moved, Y, strict=True))
    assert np.allclose(inner, (direction * program.adjoint(Y)).sum(axis=-1))
    product = [0.5 * (a @ m @ s + s @ m @ a) for a, m, s in zip(X, moved, S, strict=True)]
    image = (program.normal_matrix(X, S) @ direction[..., None])[..., 0]
    assert np.allclose(image, program.adjoint(product), rtol=1e-9, atol=1e-9 * np.abs(image).max())


@pytest.mark.parametrize("seed", range(6))
def test_quadratic_networks_are_bounded_exactly(seed: int) -> None:
    """For d = 2 the S-lemma is exact: the optimum is the least value of B on the ball, found here by local searches."""
    view, program = program_for(random_network((3, 5, 2), 2, seed), [0.4])
    optimum = maximise(program)

    def value(direction: np.ndarray) -> float:
        delta = 0.4 * direction / max(1.0, float(np.linalg.norm(direction)))
        return float(view.boundary(0, 1, view.point + delta))

    starts = np.random.default_rng(seed).normal(size=(12, 3))
    least = min(minimize(value, s, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12}).fun for s in starts)
    assert optimum.theta[0] == pytest.approx(least, abs=1e-6)
    assert optimum.theta[0] <= least + 1e-9


@pytest.mark.parametrize(
    ("widths", "degree"), [((3, 5, 2), 3), ((4, 6, 2), 4), ((3, 4, 4, 2), 2), ((2, 3, 3, 3, 2), 2)]
)
def test_never_above_samples(widths: tuple[int, ...], degree: int) -> None:
    for seed in range(5):
        view, program = program_for(random_network(widths, degree, seed), [0.1, 0.6])
        theta = maximise(program).theta
        directions = np.random.default_rng(seed).normal(size=(4000, widths[0]))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        for radius, bound in zip([0.1, 0.6], theta, strict=True):
            assert bound < view.boundary(0, 1, view.point + radius * directions).min()
