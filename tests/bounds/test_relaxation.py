"""The linear maps of the concave program against their definitions, and the optimum against independent minima."""

from __future__ import annotations

import numpy as np
import pytest
from problems import random_network
from scipy import sparse
from scipy.optimize import minimize

from polymargin.bounds.interior_point import least_eigenvalue, maximise, start
from polymargin.bounds.ranges import layer_ranges
from polymargin.bounds.relaxation import GramRelaxation
from polymargin.bounds.view import View
from polymargin.networks.attention import random_attention
from polymargin.networks.network import Network


def program_for(network: Network, radii: list[float]) -> tuple[View, GramRelaxation]:
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


def by_clarabel(program: GramRelaxation) -> float:
    """The optimum of the first problem of a batch, by a general solver: all cones are affine in the unknowns."""
    clarabel = pytest.importorskip("clarabel")
    count = program.parts_jacobian.shape[-1]
    constant = _triangles(program.cones(np.zeros((1, count))))
    columns = [_triangles(program.cones(unit[None], affine=False)) for unit in np.eye(count)]
    cones = [
        clarabel.PSDTriangleConeT(cone.shape[-1])
        for cone in program.cones(np.zeros((1, count)))
        for _ in range(cone.shape[1])
    ]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    objective = np.zeros(count)
    objective[-2] = -1.0  # θ is the last unknown but one
    matrix, nothing = sparse.csc_matrix(-np.stack(columns, axis=1)), sparse.csc_matrix((count, count))
    found = clarabel.DefaultSolver(nothing, objective, matrix, constant, cones, settings).solve()
    assert str(found.status) in ("Solved", "AlmostSolved")
    return -float(found.obj_val)


def _triangles(cones: list[np.ndarray]) -> np.ndarray:
    """Upper triangles column by column, with √2 beside the diagonal."""
    result = []
    for matrix in (matrix for cone in cones for matrix in cone[0]):
        rows, columns = np.tril_indices(len(matrix))
        result.append(matrix[rows, columns] * np.where(rows == columns, 1.0, np.sqrt(2)))
    return np.concatenate(result)


@pytest.mark.parametrize(
    "network",
    [
        random_attention(2, 2, 1, 1, seed=1),
        random_attention(2, 2, 2, 2, seed=0),
        random_attention(3, 2, 2, 1, seed=2),
        random_network((3, 5, 2), 3, 0),
        random_network((3, 4, 3, 2), 3, 1),
    ],
    ids=["attention 2211", "attention 2222", "attention 3221", "cubes", "two layers of cubes"],
)
def test_the_optimum_is_that_of_a_general_solver(network: Network) -> None:
    view, program = program_for(network, [0.3])
    theta = maximise(program, tolerance=1e-9).theta[0]
    size = abs(float(view.boundary(0, 1, view.point)))
    assert theta == pytest.approx(by_clarabel(program), abs=1e-6 * max(size, abs(theta)))
