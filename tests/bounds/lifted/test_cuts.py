"""Cuts that the moments of the worst inputs break: none at a true input, the right neuron elsewhere, and better bounds."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import polymargin as pm
from polymargin.bounds.lifted import parts
from polymargin.bounds.lifted.cuts import violated_cut
from polymargin.bounds.lifted.expansion import expansion_at
from polymargin.bounds.lifted.question import Question
from polymargin.bounds.lifted.ranges import rest_ranges
from polymargin.bounds.lifted.relaxation import LiftedRelaxation
from polymargin.bounds.lifted.top import top_terms
from polymargin.bounds.views import view_of

RADIUS = 0.5


def question(seed: int, radius: float = RADIUS) -> Question:
    generator = np.random.default_rng(seed)
    layers = [
        (generator.normal(size=shape) / math.sqrt(shape[1]), generator.normal(size=shape[0]))
        for shape in ((7, 5), (6, 7), (3, 6))
    ]
    network, u = pm.PolynomialNetwork(layers, degree=2), generator.normal(size=5)
    label, rival = np.argsort(network(u))[::-1][:2].tolist()
    view: Any = view_of(network, u, label, rival)
    return Question(expansion_at(view), label, rival, radius)


def relaxation(asked: Question) -> LiftedRelaxation:
    ranges = tuple(rest_ranges(asked.expansion, asked.radius))
    top = top_terms(asked.expansion, *asked.output, asked.radius, ranges[-1], asked.worst_last)
    return LiftedRelaxation(asked.expansion, top, asked.size, asked.radius, ranges, np.zeros((0, len(ranges[0]))))


def moments(found: LiftedRelaxation, delta: Any, rests: Any) -> Any:
    """X of one input, in the scaled variables of the program."""
    x = np.concatenate([[1.0], delta / found.radius, (rests - found.middles[0]) / found.halves[0]])
    return np.outer(x, x)


@pytest.mark.parametrize("seed", range(4))
def test_what_moments_break(seed: int) -> None:
    found, generator = relaxation(question(seed)), np.random.default_rng(seed)
    for _ in range(5):
        delta = generator.normal(size=found.expansion.dimension)
        delta *= RADIUS / np.linalg.norm(delta)
        rests = found.expansion.rests(delta)[-1][1]
        assert violated_cut(found, 3 * moments(found, delta, rests)) is None  # a true input, at any scale
        curvatures = [
            found.expansion.layers[0].bend
            * found.expansion.layers[0].slopes.T
            @ (row[:, None] * found.expansion.layers[0].slopes)
            for row in found.expansion.layers[1].weights
        ]
        wrong = rests.copy()
        wrong[2] = 1.1 * RADIUS * np.linalg.norm(curvatures[2] @ delta)  # more than Cauchy and Schwarz allow
        weights = violated_cut(found, moments(found, delta, wrong))
        assert weights is not None
        np.testing.assert_allclose(weights / weights.max(), np.eye(len(wrong))[2], atol=1e-12)


def test_networks_without_lifted_layers_have_none() -> None:
    asked = question(0)
    found = replace(relaxation(asked), ranges=())
    assert violated_cut(found, np.eye(6)) is None


def test_bounds_with_cuts_are_better_and_true(monkeypatch: pytest.MonkeyPatch) -> None:
    better = 0
    for seed in range(12):
        asked = question(seed, 1.0)
        values = {}
        for cuts in (0, 3):
            monkeypatch.setattr(parts, "CUTS", cuts)
            monkeypatch.setattr(parts, "NEARLY", 100.0)
            outcome, _ = asked.attempt(decide=False)
            values[cuts] = outcome.value
        assert values[3] >= values[0] - 1e-6 * abs(asked.size)
        better += values[3] > values[0] + 1e-3 * abs(asked.size)
        view = asked.expansion.view
        places = np.random.default_rng(seed).normal(size=(2000, asked.expansion.dimension))
        places /= np.linalg.norm(places, axis=1, keepdims=True)
        least = min(float(view.boundary(asked.label, asked.rival, view.point + view.basis @ place)) for place in places)
        assert values[3] <= least + 1e-9 * abs(asked.size)
    assert better >= 1
