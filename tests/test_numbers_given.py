"""Every public function that takes points refuses what NumPy would quietly turn into other points."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from problems import random_network

import polymargin as pm
from polymargin.arguments import positive, real_array
from polymargin.continuation import TrackerSettings
from polymargin.expected import ShallowKernel, expected_for_field
from polymargin.geometry import discriminant_crossings, nearest_tie
from polymargin.quadric import QuadricForm, QuadricSolver

NETWORK = random_network([2, 4, 2], 3, seed=2)
SQUARES = random_network([2, 4, 2], 2, seed=2)
CURVE = pm.Boundary.from_expression("x**3 + y**3 + x*y - 1")
CONIC = pm.Boundary.from_expression("x**2 + 4*y**2 - 4")
RELU = pm.ReLUNetwork([(np.eye(2), [0.1, 0.2]), (np.array([[1.0, 0.0], [0.0, 1.0]]), [0.0, 0.5])])

TAKES_POINTS = {
    "margin": lambda p: pm.margin(NETWORK, p, proof=False),
    "margin of a quadric": lambda p: pm.margin(SQUARES, p, proof=False),
    "margin of a batch": lambda p: pm.margin(NETWORK, [p, p], proof=False),
    "margin of a boundary": lambda p: pm.margin(CURVE, p, proof=False),
    "verify": lambda p: pm.verify(NETWORK, p, 1e-3),
    "certify": lambda p: pm.margin(NETWORK, p),
    "attack": lambda p: pm.attack(NETWORK, p),
    "critical_points": lambda p: pm.critical_points(CURVE, p),
    "nearest_tie": lambda p: nearest_tie(SQUARES, p),
    "piecewise_margin": lambda p: pm.margin(RELU, p, proof=False),
    "piecewise_verify": lambda p: pm.verify(RELU, p, 0.1),
    "expected": lambda p: pm.expected_real_critical_points(2, 2, point=p),
    "expected for a field": lambda p: expected_for_field(ShallowKernel(2, 2), p),
    "logits": lambda p: NETWORK(p),
    "exact logits": lambda p: NETWORK.exact_logits(p),
    "predict": lambda p: NETWORK.predict(p),
    "ReLU logits": lambda p: RELU(p),
    "boundary": lambda p: CURVE(p),
    "gradient": lambda p: CURVE.gradient(p),
    "quadric": lambda p: QuadricSolver(CONIC).nearest(p),
    "crossings": lambda p: discriminant_crossings(CONIC, p, [3.0, 0.001]),
    "weights": lambda p: pm.PolynomialNetwork([([p, p], [0.0, 0.0]), np.eye(2)], degree=2),
    "quadratic form": lambda p: QuadricForm([p, p], [0.0, 0.0], 0.0),
}
NOT_POINTS = {
    "complex": np.array([0.1 + 2j, 0.2]),
    "complex without imaginary part": np.array([0.1 + 0j, 0.2]),
    "dates": np.array(["2020-01-01", "2020-01-02"], dtype="datetime64[D]"),
    "durations": np.array([1, 2], dtype="timedelta64[s]"),
    "masked": np.ma.array([0.1, 0.2], mask=[True, False]),
    "texts": ["0.1", "0.2"],
    "objects": np.array([0.1, 2j], dtype=object),
    "uneven": [[0.1], [0.2, 0.3]],
}


@pytest.mark.parametrize("taken", TAKES_POINTS)
@pytest.mark.parametrize("kind", NOT_POINTS)
def test_other_things_than_real_numbers_are_refused(taken: str, kind: str) -> None:
    with pytest.raises(pm.InputError):
        TAKES_POINTS[taken](NOT_POINTS[kind])


@pytest.mark.parametrize("taken", TAKES_POINTS)
def test_real_numbers_of_every_kind_are_taken(taken: str) -> None:
    TAKES_POINTS[taken](np.array([0.5, 0.25], dtype=np.float32))
    TAKES_POINTS[taken]([Fraction(1, 2), Fraction(1, 4)])


def test_what_is_taken_is_taken_exactly() -> None:
    assert real_array([True, 2, Fraction(1, 2)], "x").tolist() == [1.0, 2.0, 0.5]
    assert real_array([[10**30]], "x").tolist() == [[1e30]]
    array = np.zeros(3)
    assert real_array(array, "x") is array


@pytest.mark.parametrize("value", [-1, 0, -1e-9, math.nan, math.inf, -math.inf, 1j, "1", None, True, [1.0]])
def test_tolerances_are_positive_finite_numbers(value: Any) -> None:
    for call in (
        lambda: positive(value, "tolerance"),
        lambda: pm.verify(NETWORK, [0.1, 0.2], value),
        lambda: pm.verify(RELU, [0.1, 0.2], value),
        lambda: TrackerSettings(accuracy=value),
        lambda: TrackerSettings(infinity=value),
        lambda: TrackerSettings(most_steps=value),
    ):
        with pytest.raises(pm.InputError, match="expected a positive"):
            call()
    if value is not None:
        for dimension in (2, 4):
            with pytest.raises(pm.InputError, match="expected a positive"):
                pm.expected_real_critical_points(dimension, 2, tolerance=value)


def test_steps_are_counted_in_whole_numbers_that_fit() -> None:
    for value in (2.5, 2**31):
        with pytest.raises(pm.InputError, match="most_steps"):
            TrackerSettings(most_steps=value)
