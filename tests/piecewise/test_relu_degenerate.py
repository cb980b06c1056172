"""Networks in special position, whose margins are known by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from piecewise.standings import expected_standing

import polymargin as pm
from polymargin.networks import ReLUNetwork

ABSOLUTE = ([[1.0], [-1.0]], [0.0, 0.0])

KNOWN = {
    "neurons at zero at the point": ([ABSOLUTE, ([[1.0, 1.0], [0.0, 0.0]], [0.0, 1.0])], [0.0], 1.0),
    "classes that touch and do not cross": ([ABSOLUTE, ([[1.0, 1.0], [0.0, 0.0]], [0.0, 0.0])], [1.0], 1.0),
    "a tie on a whole half-line": (
        [([[1.0], [1.0]], [0.0, -1.0]), ([[-1.0, 1.0], [0.0, 0.0]], [1.0, 0.0])],
        [-1.0],
        2.0,
    ),
    "dead neurons": (
        [([[1.0], [0.0], [1.0]], [0.0, -1.0, -1.0]), ([[1.0, 5.0, 1.0], [0.0, 3.0, 0.0]], [0.0, 1.0])],
        [3.0],
        2.0,
    ),
    "a neuron without input": ([([[1.0], [0.0]], [0.0, 2.0]), ([[1.0, 0.0], [0.0, 1.0]], None)], [3.0], 1.0),
    "equal neurons that cancel": (
        [([[1.0], [1.0], [1.0]], [0.0, 0.0, 0.0]), ([[1.0, 1.0, -2.0], [1.0, 0.0, 0.0]], [2.0, 0.0])],
        [0.0],
        2.0,
    ),
    "the same hyperplane in other units": (
        [
            ([[1.0, 1.0], [3.0, 3.0], [-2.0, -2.0]], [-1.0, -3.0, 2.0]),
            ([[1.0, 1.0, 0.0], [0.0, 0.0, 0.0]], [-4.0, 0.0]),
        ],
        [3.0, 3.0],
        4.0 / math.sqrt(2),
    ),
    "a cone seen from below its tip": (
        [([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]], None), ([[100.0, 100.0, -1.0], [0.0, 0.0, 0.0]], [1.0, 0.0])],
        [0.0, 0.0],
        1.0,
    ),
    "no hidden layer": ([([[1.0, 2.0], [0.0, 0.0]], [0.0, 1.0])], [0.0, 0.0], 1 / math.sqrt(5)),
    "no tie at all": ([ABSOLUTE, ([[1.0, 1.0], [0.0, 0.0]], [2.0, 0.0])], [0.3], math.inf),
    "logits that differ by a constant": (
        [([[1.0], [1.0]], [0.0, 0.0]), ([[1.0, -1.0], [0.0, 0.0]], [2.0, 0.0])],
        [0.0],
        math.inf,
    ),
    "a layer that is dead everywhere": (
        [
            ([[1.0, 2.0], [3.0, 1.0]], None),
            ([[-1.0, -1.0], [-1.0, -2.0]], [-1.0, -1.0]),
            ([[1.0, 2.0], [3.0, 4.0]], [1.0, 0.0]),
        ],
        [1.0, 1.0],
        math.inf,
    ),
    "a corner where two pieces meet": (
        # f₀ − f₁ = 1 − ρ(x) − ρ(y) + ρ(x + y − 1): along the ray y = 0 the tie starts at x = 1.
        [
            ([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [0.0, 0.0, -1.0]),
            ([[-1.0, -1.0, 1.0], [0.0, 0.0, 0.0]], [1.0, 0.0]),
        ],
        [0.0, 0.0],
        1 / math.sqrt(2),
    ),
}


@pytest.mark.parametrize("name", KNOWN)
def test_known_margins(name: str) -> None:
    layers, u, expected = KNOWN[name]
    found = pm.margin(ReLUNetwork([tuple(layer) for layer in layers]), u, proof=False)
    assert found.standing is expected_standing(found), found.notes
    assert found.radius == pytest.approx(expected, rel=1e-12)
    assert (found.point is None) == math.isinf(expected)


def test_an_exact_tie_at_the_point() -> None:
    network = ReLUNetwork([([[1.0], [2.0]], [0.0, -1.0]), np.eye(2)])
    found = pm.margin(network, [1.0], proof=False)
    assert (found.radius, found.method, found.label, found.rival) == (0.0, "tie", 0, 1)
    verdict = pm.verify(network, [1.0], 0.1)
    assert verdict.answer is pm.Answer.VULNERABLE
    assert verdict.upper == 0.0


def test_touching_at_a_point_that_is_no_double() -> None:
    """|3x − 1| against 0 ties at x = 1/3 only. No double is a tie, so there is no counterexample, and no proof either."""
    network = ReLUNetwork([([[3.0], [-3.0]], [-1.0, 1.0]), ([[1.0, 1.0], [0.0, 0.0]], None)])
    found = pm.margin(network, [1.0], proof=False)
    assert found.standing is pm.Standing.BRACKETED
    assert 0.9 * 2 / 3 < found.lower < 2 / 3 * (1 + 1e-12)
    assert math.isinf(found.upper)
    assert "exact arithmetic confirms none" in found.notes[0]
    assert pm.verify(network, [1.0], 0.7, timeout=5).answer is pm.Answer.UNKNOWN
    assert pm.verify(network, [1.0], 0.6).answer is pm.Answer.ROBUST


def test_a_tip_that_the_ray_from_the_point_misses() -> None:
    """The region of the rival is a thin cone, and the ray through its tip leaves it at once."""
    slope = 1e-4
    # f₀ − f₁ = ρ(v) + ρ(−v) − slope·ρ(w), v = y − 0.9 (x − 1), w = x − 1: a cone with tip (1, 0) around y = 0.9 (x − 1).
    first = ([[-0.9, 1.0], [0.9, -1.0], [1.0, 0.0]], [0.9, -0.9, -1.0])
    network = ReLUNetwork([first, ([[1.0, 1.0, -slope], [0.0, 0.0, 0.0]], [1e-9, 0.0])])
    u = np.array([0.0, 0.0])
    found = pm.margin(network, u, proof=False)
    # The tip with the offset 1e-9 lies at w = 1e-9 / slope, v = 0.
    w = 1e-9 / slope
    assert found.standing is pm.Standing.NUMERICAL
    assert found.radius == pytest.approx(math.hypot(1 + w, 0.9 * w), rel=1e-9)


def test_logits_that_cancel_are_doubted() -> None:
    """A difference of 1e-17 on top of logits of size 1 is invisible in doubles."""
    network = ReLUNetwork([([[1.0], [1.0]], [0.0, 0.0]), ([[1.0, 2.0**-54], [1.0, 0.0]], [1.0, 1.0])])
    found = pm.margin(network, [1.0], proof=False)
    assert found.label == 0
    assert found.standing is pm.Standing.BRACKETED
    assert "rounding hides" in found.notes[0]
    assert found.lower <= 1.0  # f₀ − f₁ = 2⁻⁵⁴ ρ(x) vanishes for x ≤ 0
    assert pm.verify(network, [1.0], 1.01).answer is pm.Answer.VULNERABLE
