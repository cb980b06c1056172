"""The lifted relaxation against a general solver, against samples, and against itself with cuts."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

import polymargin as pm
from polymargin.bounds.lifted.expansion import LiftedExpansion
from polymargin.bounds.lifted.first_multipliers import first_multipliers
from polymargin.bounds.lifted.question import Question
from polymargin.bounds.lifted.ranges import rest_ranges
from polymargin.bounds.lifted.relaxation import LiftedRelaxation
from polymargin.bounds.lifted.top import top_terms
from polymargin.bounds.view import View
from polymargin.relaxation.interior_point import maximise
from polymargin.relaxation.program import SemidefiniteProgram

clarabel = pytest.importorskip("clarabel")


def random_network(widths: list[int], seed: int, activations: list[list[float]] | None = None) -> pm.Network:
    generator = np.random.default_rng(seed)
    layers = [(generator.normal(size=(b, a)) / np.sqrt(a), 0.5 * generator.normal(size=b)) for a, b in pairwise(widths)]
    if activations is None:
        return pm.PolynomialNetwork(layers, degree=2)
    return pm.PolynomialNetwork(layers, activations=activations)


def relax(network: pm.Network, radius: float, cuts: np.ndarray | None = None, seed: int = 0) -> LiftedRelaxation:
    u = np.random.default_rng(seed).normal(size=network.dimension)
    label, rival = (int(c) for c in np.argsort(-network(u))[:2])
    view = View.of(network, u)
    expansion = LiftedExpansion.of(view)
    ranges = rest_ranges(expansion, radius)
    question = Question(expansion, label, rival, radius)
    top = top_terms(expansion, *question.output, radius, ranges[-1], question.worst_last)
    chosen = np.zeros((0, len(ranges[0]))) if cuts is None else cuts
    return LiftedRelaxation(expansion, top, question.size, radius, tuple(ranges), chosen)


def optimum(relaxation: LiftedRelaxation, tolerance: float = 1e-6) -> float:
    found = maximise(relaxation.program, first_multipliers(relaxation)[0], abs(relaxation.size), tolerance=tolerance)
    assert found is not None
    return found.value


def by_clarabel(program: SemidefiniteProgram) -> float:
    """The optimum of the same program from a solver that knows nothing of its structure."""
    side, count = program.side, program.unknowns

    def packed(matrix: np.ndarray) -> np.ndarray:
        upper = [(i, j) for j in range(side) for i in range(j + 1)]
        return np.array([matrix[i, j] * (1.0 if i == j else np.sqrt(2.0)) for i, j in upper])

    units = [program.change(unit) for unit in np.eye(count)]
    matrix = np.column_stack([-packed(unit) for unit in units])
    signs = np.zeros((len(program.signed), count))
    signs[np.arange(len(program.signed)), program.signed] = -1.0
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-9
    objective = np.zeros(count)
    objective[0] = -1.0
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix((count, count)),
        objective,
        sparse.csc_matrix(np.vstack([matrix, signs])),
        np.concatenate([packed(program.base), np.zeros(len(signs))]),
        [clarabel.PSDTriangleConeT(side), clarabel.NonnegativeConeT(len(signs))],
        settings,
    )
    return -solver.solve().obj_val


@pytest.mark.parametrize(
    ("widths", "radius", "activations"),
    [
        ([3, 4, 3, 2], 0.3, None),
        ([6, 4, 5, 3], 0.5, None),
        ([4, 6, 5, 3], 0.2, [[0.1, 0.5, 0.3], [0.0, -1.0, 0.7]]),
        ([4, 5, 4, 3, 2], 0.2, None),
        ([5, 4, 3, 3, 2], 0.3, [[0.0, 1.0, 0.2], [0.0, 0.0, 1.0], [0.3, 1.0, -0.4]]),
    ],
)
@pytest.mark.parametrize("seed", [1, 2])
def test_the_value_is_that_of_a_general_solver(widths, radius, activations, seed):
    relaxation = relax(random_network(widths, seed, activations), radius, seed=seed)
    scale = abs(relaxation.size)
    found = maximise(relaxation.program, first_multipliers(relaxation)[0], scale, tolerance=1e-8)
    reference = by_clarabel(relaxation.program)
    assert found is not None
    assert found.iterations <= 30
    assert found.value == pytest.approx(reference, abs=1e-6 * max(scale, abs(reference)))


def test_with_cuts_too():
    generator = np.random.default_rng(5)
    network = random_network([6, 7, 4, 2], 3)
    cuts = np.vstack([np.eye(4), np.abs(generator.normal(size=(2, 4)))])
    plain, cut = relax(network, 0.8), relax(network, 0.8, cuts)
    scale = abs(plain.size)
    without, value = (optimum(r, tolerance=1e-8) for r in (plain, cut))
    assert value == pytest.approx(by_clarabel(cut.program), abs=1e-6 * max(scale, abs(value)))
    assert value >= without - 1e-6 * scale


@pytest.mark.parametrize("widths", [[5, 6, 4, 2], [4, 5, 4, 3, 2]])
def test_every_start_and_optimum_is_a_lower_bound(widths):
    network, radius = random_network(widths, 8), 0.4
    relaxation = relax(network, radius, np.eye(4)[:2])
    view = relaxation.expansion.view
    start, proved = first_multipliers(relaxation)
    found = optimum(relaxation)
    generator = np.random.default_rng(0)
    directions = generator.normal(size=(20_000, network.dimension))
    directions *= radius / np.linalg.norm(directions, axis=1, keepdims=True)
    logits = network(view.point + directions) @ np.eye(network.class_count)
    label, rival = (int(c) for c in np.argsort(-network(view.point))[:2])
    least = (logits[:, label] - logits[:, rival]).min()
    assert start[0] < proved <= found + 1e-6 <= least + 1e-6


def test_the_form_of_the_multipliers_is_the_lagrangian():
    """Z at (1, δ/r, scaled w) is B − γ minus the constraints times their multipliers, for the true w of a point."""
    network, radius = random_network([4, 5, 4, 3, 2], 4), 0.3
    relaxation = relax(network, radius, np.abs(np.random.default_rng(1).normal(size=(2, 4))))
    generator = np.random.default_rng(2)
    y = np.abs(generator.normal(size=relaxation.program.unknowns))
    expansion, natural = relaxation.expansion, relaxation.natural(y)
    view = expansion.view
    place = generator.normal(size=expansion.dimension)
    place *= 0.7 * radius / np.linalg.norm(place)
    x = view.point + view.basis @ place
    values = view.preactivations(view.factor @ place)[1:]
    rests = [z - layer.value - layer.slopes @ place for z, layer in zip(values, expansion.lifted, strict=True)]
    scaled = [(w - m) / h for w, m, h in zip(rests, relaxation.middles, relaxation.halves, strict=True)]
    vector = np.concatenate([[1.0], place / radius, *scaled])
    label, rival = (int(c) for c in np.argsort(-network(view.point))[:2])
    expected = view.boundary(label, rival, x) - y[0] - natural.ball * (radius**2 - place @ place)
    for w, kappa, limits in zip(rests, natural.intervals, relaxation.ranges, strict=True):
        assert ((limits[:, 0] <= w) & (w <= limits[:, 1])).all()
        expected -= kappa @ ((w - limits[:, 0]) * (limits[:, 1] - w))
    first, second = expansion.layers[0], expansion.layers[1]
    for theta, row, w in zip(natural.cuts, second.weights, rests[0], strict=True):
        Q = first.weights.T @ np.diag(row) @ first.weights
        cut = radius**2 * np.square(Q @ place).sum() - w**2
        assert cut >= 0
        expected -= theta * cut
    assert vector @ relaxation.program.matrix(y) @ vector == pytest.approx(float(expected), rel=1e-9)


def test_parabolas_below_the_last_layer():
    """They lie below γσ on the ranges, and touch it at the worst input."""
    network = random_network([4, 5, 4, 3], 6, [[0.0, 0.0, 1.0], [0.1, 0.5, 0.3, -0.2, 0.05]])
    relaxation = relax(network, 0.3)
    view, layer = relaxation.expansion.view, relaxation.expansion.layers[-1]
    label, rival = (int(c) for c in np.argsort(-network(view.point))[:2])
    gamma, _ = view.difference(label, rival)
    question = Question(relaxation.expansion, label, rival, 0.3)
    reach = 0.3 * np.linalg.norm(layer.slopes, axis=1)
    t = np.linspace(relaxation.ranges[0][:, 0] - reach, relaxation.ranges[0][:, 1] + reach, 2001)
    sigma = np.polynomial.polynomial.polyval(layer.value + t, view.activation(2))
    a, b, c = relaxation.top.minorants.T
    gap = gamma * sigma - (a * t**2 + b * t + c)
    assert (gap > 0).all()
    t = question.worst_last
    there = gamma * np.polynomial.polynomial.polyval(layer.value + t, view.activation(2)) - (a * t**2 + b * t + c)
    assert (there < 1e-6 * np.abs(gamma)).all()
