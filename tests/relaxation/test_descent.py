"""Lowest points against exact minima: trust regions by eigenvalues, corners of boxes and diamonds, grids for kinks."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from problems import random_network
from random_stages import random_stages
from scipy.optimize import brentq

import polymargin.regions as regions
from polymargin.networks.forms import Forms
from polymargin.networks.network import Network
from polymargin.networks.stages import RELU, Piecewise, Polynomial
from polymargin.relaxation.descent import lowest_of, lowest_points
from polymargin.relaxation.gradients import Functionals


def quadratic(draw: np.random.Generator, size: int) -> tuple[Network, np.ndarray, np.ndarray]:
    """A network with f₀ − f₁ = δᵀAδ + b·δ, with A and b."""
    rows, weights, slope = draw.normal(size=(size + 2, size)), draw.normal(size=size + 2), draw.normal(size=size)
    stage = Polynomial(Forms.of(rows), (0.0, 0.0, 1.0))
    readout = Forms(
        (size, size + 2), ((0, np.array([slope, 0 * slope])), (1, np.array([weights, 0 * weights]))), [0, 0]
    )
    return Network([stage], readout), rows.T @ (weights[:, None] * rows), slope


def test_trust_regions() -> None:
    """min δᵀAδ + b·δ on |δ| ≤ r is known from the eigenvalues of A."""
    draw = np.random.default_rng(0)
    for _ in range(12):
        network, matrix, slope = quadratic(draw, 8)
        own, axes = np.linalg.eigh(matrix)
        along, radius = axes.T @ slope, 0.7

        def length(shift: float, own: np.ndarray = own, along: np.ndarray = along) -> float:
            return float(np.linalg.norm(along / (2 * (own + shift))))

        shift = brentq(lambda s, radius=radius: length(s) - radius, -own[0] + 1e-12, -own[0] + 1e6)
        step = -along / (2 * (own + max(shift, 0.0))) if own[0] < 0 or length(0.0) > radius else -along / (2 * own)
        exact = float(own @ step**2 + along @ step)
        ball = regions.L2().in_dimension(8).at(np.zeros(8), radius)
        values, steps = lowest_points(network, np.zeros(8), ball, 0, [1])
        assert values[0] == pytest.approx(exact, rel=1e-6)
        assert np.linalg.norm(steps[0]) <= radius * (1 + 1e-12)


@pytest.mark.parametrize("norm", ["Linf", "L1"])
def test_concave_functions_are_lowest_at_corners(norm: str) -> None:
    draw = np.random.default_rng(3)
    signs = np.array(list(product([-1.0, 1.0], repeat=6)))
    met = 0
    for _ in range(10):
        rows, weights = draw.normal(size=(7, 6)), -draw.uniform(0.1, 1.0, 7)
        slope, scale = draw.normal(size=6), draw.uniform(0.5, 2.0, 6)
        stage = Polynomial(Forms.of(rows), (0.0, 0.0, 1.0))
        ends = (0, np.array([slope, 0 * slope])), (1, np.array([weights, 0 * weights]))
        network = Network([stage], Forms((6, 7), ends, [0, 0]))
        region = getattr(regions, norm)(weights=scale).in_dimension(6)
        corners = signs / scale if norm == "Linf" else np.concatenate([np.eye(6), -np.eye(6)]) / scale
        logits = network(0.4 * corners)
        values, _ = lowest_points(network, np.zeros(6), region.at(np.zeros(6), 0.4), 0, [1])
        leads = logits[:, 0] - logits[:, 1]
        assert np.abs(leads - values[0]).min() < 1e-9  # it ends at a corner, mostly at the lowest one
        met += values[0] < leads.min() + 1e-9
    assert met >= 8


def test_kinks_and_domains_against_a_grid() -> None:
    draw = np.random.default_rng(1)
    hidden = Piecewise(Forms.of(draw.normal(size=(8, 2)), draw.normal(size=8)), *RELU)
    network = Network([hidden], Forms((2, 8), ((1, draw.normal(size=(3, 8))),), [0.0, 0.0, 0.0]))
    point = np.array([0.4, 0.7])
    for region in (regions.L2(domain=(0, 1)), regions.L1(domain=(0, 1)), regions.Linf(domain=(0, 1), weights=[1, 2])):
        allowed = region.in_dimension(2).at(point, 0.5)
        values, steps = lowest_points(network, point, allowed, 0, [1, 2])
        axes = [np.linspace(low, high, 101) for low, high in zip(allowed.low, allowed.high, strict=True)]
        grid = np.stack([axis.ravel() for axis in np.meshgrid(*axes)], axis=1)
        whole = region.in_dimension(2)
        inside = np.array([whole.length(step) <= 0.5 for step in grid])
        logits = network(point + grid[inside])
        for rival, value, step in zip([1, 2], values, steps, strict=True):
            exact = (logits[:, 0] - logits[:, rival]).min()
            assert value <= exact + 1e-9
            moved = allowed.inputs(point, step)
            assert network(moved)[0] - network(moved)[rival] == pytest.approx(value)
            assert ((moved >= 0) & (moved <= 1)).all()
            assert whole.length(step) <= 0.5 * (1 + 1e-12)


@pytest.mark.parametrize(
    "region",
    [
        regions.L2(movable=[0, 2]),
        regions.L2(ellipsoid=[[2.0, 0.5, 0.0], [0.5, 1.0, 0.1], [0.0, 0.1, 3.0]]),
        regions.L2(subspace=[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]),
        regions.Linf(movable=[1], weights=[1.0, 2.0, 3.0]),
    ],
    ids=str,
)
def test_coordinates_of_regions(region: regions.Region) -> None:
    """Values are those at the inputs of the steps, and no step of a random sample is lower."""
    network = random_network((3, 5, 3), 3, 4)
    point, draw = np.array([0.1, -0.2, 0.3]), np.random.default_rng(0)
    region = region.in_dimension(3)
    allowed = region.at(point, 0.5)
    values, steps = lowest_points(network, point, allowed, 0, [1, 2])
    logits = network(allowed.inputs(point, steps))
    np.testing.assert_allclose(values, logits[:, 0] - logits[[0, 1], [1, 2]])
    for moved in allowed.inputs(point, steps):
        assert region.length(moved - point) <= 0.5 * (1 + 1e-9)
    sample = draw.normal(size=(4000, allowed.dimension)) * (allowed.high - allowed.low) / 2
    others = [allowed.inputs(point, step) for step in sample]
    inside = np.array([other for other in others if region.length(other - point) <= 0.5])
    assert len(inside) > 100
    logits = network(inside)
    assert (logits[:, 0] - logits[:, 1]).min() >= values[0]
    assert (logits[:, 0] - logits[:, 2]).min() >= values[1]


def test_cut_boxes_starts_and_forms_of_a_stage() -> None:
    network = random_stages(5, piecewise=False)
    point = np.full(network.dimension, 0.25)
    allowed = regions.L2().in_dimension(network.dimension).at(point, 0.5).cut(0, 0.1, 0.3)
    (stage, *_), row = network.stages, Forms.of(np.eye(1, network.dimension))
    values, steps = lowest_of(Functionals.of((), row), point, allowed)
    assert values[0] == pytest.approx(0.35)
    first = Functionals.of((), stage.forms[0])
    values, steps = lowest_of(first, point, allowed)
    low, _ = allowed.support(
        first.input_rows[0] if isinstance(first.input_rows[0], np.ndarray) else first.input_rows[0].toarray()
    )
    assert (values >= first.around(point).forms[-1][0].bias + low - 1e-12).all()
    again, _ = lowest_of(first, point, allowed, starts=steps)
    assert (again <= values + 1e-12).all()
