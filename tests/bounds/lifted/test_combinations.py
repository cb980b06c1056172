"""Combinations of the last layer's rests: what is said of them, the program with them, and what they are good for."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from bounds.lifted.test_spectra import convolutional

import polymargin as pm
from polymargin.bounds.gradients import evaluate
from polymargin.bounds.lifted import question as questions
from polymargin.bounds.lifted.combinations import Combinations
from polymargin.bounds.lifted.cuts import cut_weights
from polymargin.bounds.lifted.expansion import LiftedExpansion
from polymargin.bounds.lifted.first_multipliers import first_multipliers
from polymargin.bounds.lifted.parts import Part, bound_part
from polymargin.bounds.lifted.question import Question
from polymargin.bounds.lifted.ranges import rest_ranges
from polymargin.bounds.lifted.relaxation import LiftedRelaxation
from polymargin.bounds.lifted.top import top_terms
from polymargin.bounds.view import View
from polymargin.deadlines import NEVER


def dense(widths: tuple[int, ...], seed: int) -> pm.Network:
    generator = np.random.default_rng(seed)
    layers = [(generator.normal(size=(b, a)) / np.sqrt(a), 0.3 * generator.normal(size=b)) for a, b in pairwise(widths)]
    return pm.PolynomialNetwork(layers, activations=[np.array([0.1, 1.0, 0.4])] * (len(widths) - 2))


NETWORKS = {
    "three layers": (lambda: dense((5, 8, 7, 6, 3), 1), 0.3),
    "four layers": (lambda: dense((5, 6, 6, 6, 6, 3), 2), 0.2),
    "convolutions": (lambda: convolutional(0), 0.3),
}
networks = pytest.mark.parametrize("name", NETWORKS)


def combined(name: str) -> Question:
    make, radius = NETWORKS[name]
    network = make()
    u = 0.3 * np.random.default_rng(5).normal(size=network.dimension)
    label, rival = (int(c) for c in np.argsort(-network(u))[:2])
    question = Question(LiftedExpansion.of(View.of(network, u, label, rival)), label, rival, radius).combined(NEVER)
    assert question.expansion.combinations is not None
    return question


def relax(question: Question) -> LiftedRelaxation:
    expansion, radius = question.expansion, question.radius
    ranges = tuple(rest_ranges(expansion, radius))
    top = top_terms(expansion, *question.output, radius, ranges[-1], question.worst_last)
    cuts = cut_weights(expansion, top, ranges)
    return LiftedRelaxation(expansion, top, question.size, radius, ranges, cuts, {1: (-0.1, 0.2)}, question.worst)


def on_the_sphere(question: Question, count: int) -> np.ndarray:
    deltas = np.random.default_rng(9).normal(size=(count, question.expansion.dimension))
    return np.asarray(question.radius * deltas / np.linalg.norm(deltas, axis=1, keepdims=True))


@networks
def test_they_stay_in_their_ranges(name: str) -> None:
    question = combined(name)
    expansion, ranges = question.expansion, rest_ranges(question.expansion, question.radius)
    found = expansion.combinations
    assert found is not None
    count = found.weights.shape[1]
    for delta in on_the_sphere(question, 300):
        rests = [rest for _, rest in expansion.rests(delta)[1:]]
        np.testing.assert_allclose(rests[-1][count:], found.weights @ rests[-1][:count], atol=1e-12)
        for rest, limits in zip(rests, ranges, strict=True):
            assert (limits[:, 0] <= rest).all()
            assert (rest <= limits[:, 1]).all()


@networks
def test_they_are_narrower_than_their_parts(name: str) -> None:
    question = combined(name)
    found, last = question.expansion.combinations, rest_ranges(question.expansion, question.radius)[-1]
    assert found is not None
    halves, count = (last[:, 1] - last[:, 0]) / 2, found.weights.shape[1]
    parts_together = np.abs(found.weights) @ halves[:count]
    # A single part is as wide as itself, but for what intervals know beyond curvatures.
    assert (halves[count:] < 1.5 * parts_together).all()
    assert np.median(halves[count:] / parts_together) < 0.8


@networks
def test_products_are_only_written_differently(name: str) -> None:
    relaxation = relax(combined(name))
    found = relaxation.expansion.combinations
    assert found is not None
    generator, count = np.random.default_rng(1), found.weights.shape[1]
    y = generator.normal(size=relaxation.unknown_count)
    rows, slopes = relaxation.products(y), relaxation.expansion.layers[-1].slopes
    for _ in range(5):
        delta, rest = generator.normal(size=slopes.shape[1]), generator.normal(size=count)
        expected = (relaxation.top.square[:count] * (slopes[:count] @ delta)) @ rest
        known = (rows @ delta) @ np.concatenate([rest, found.weights @ rest])
        assert known == pytest.approx(expected, abs=1e-9 * np.abs(rows).max())


@networks
def test_rests_are_minimised_out(name: str) -> None:
    """The form in (1, δ) is the Schur complement of the whole matrix, whatever the shares."""
    relaxation = relax(combined(name))
    y, _ = first_multipliers(relaxation)
    y[relaxation.exchange_place] *= np.random.default_rng(2).normal(size=len(relaxation.exchange_scales))
    Z, side = relaxation.program.matrix(y), 1 + relaxation.expansion.dimension
    complement = Z[:side, :side] - Z[:side, side:] @ np.linalg.solve(Z[side:, side:], Z[side:, :side])
    np.testing.assert_allclose(relaxation.reduced(y), complement, atol=1e-9 * np.abs(Z).max())


@networks
def test_a_better_bound_and_a_true_one(name: str) -> None:
    question = combined(name)
    view, label, rival = question.expansion.view, question.label, question.rival
    plain = Question(question.expansion.plain, label, rival, question.radius)
    values = [
        bound_part(asked, Part(tuple(rest_ranges(asked.expansion, asked.radius))), decide=False, whole=False).value
        for asked in (plain, question)
    ]
    assert values[1] >= values[0] - 1e-6 * abs(question.size)
    found, _ = evaluate(view, on_the_sphere(question, 300), label, np.array([rival]))
    assert values[1] <= found.min()


def test_without_curvature_there_is_none() -> None:
    assert Combinations.of(np.ones((3, 2)), np.zeros(3), np.ones(3), 4) is None
    found = Combinations.of(np.ones((3, 2)), np.ones(3), np.ones(3), 4)
    assert found is not None
    assert len(found.weights) == 1  # all slopes are the same


def test_few_directions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(questions, "DIRECTIONS", 2)
    found = combined("three layers").expansion.combinations
    assert found is not None
    assert found.weights.shape == (4, 6)
