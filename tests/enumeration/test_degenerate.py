"""Boundaries with fewer critical points than their degree allows, singular boundaries, special points."""

from __future__ import annotations

import math

import numpy as np
import pytest
from problems import random_network

import polymargin as pm
from polymargin import Standing
from polymargin.continuation import PathEnd
from polymargin.enumeration import regular_ends


@pytest.mark.parametrize(
    ("widths", "degree", "count"),
    [
        ([3, 3, 2, 2], 2, 36),
        ([4, 4, 2, 2], 2, 64),
        ([4, 4, 3, 2], 2, 128),
        ([3, 2, 3, 2], 3, 81),
        ([2, 2, 1, 1, 2], 2, 16),
    ],
)
@pytest.mark.parametrize("seed", [0, 1])
def test_intermediate_widths_have_the_printed_number(widths: list[int], degree: int, count: int, seed: int) -> None:
    network = random_network(widths, degree, seed)
    boundary = pm.Boundary.from_network(network, 0, 1)
    found = pm.critical_points(boundary, np.random.default_rng(seed).normal(size=widths[0]), cache=False)
    regular = found.audit.ends[PathEnd.CONVERGED]
    assert regular == count
    assert found.audit.complete


CASES = [
    # boundary, point, distance, what the remarks must speak of
    ("y**2 - x**3", [-1.0, 0.0], 1.0, "singular"),  # the cusp itself
    ("y**2 - x**3", [-0.5, 0.3], math.hypot(0.5, 0.3), "singular"),
    ("y**2 - x**2*(x + 1)", [0.0, 0.25], None, "singular"),  # a node, the nearest point is on a branch
    ("x*y", [1.0, 2.0], 1.0, "singular"),  # crossing lines
    ("x*y", [1.0, 1.0], 1.0, "singular"),
    ("(x + 2*y - 3)**2", [1.0, 1.0], 0.0, None),  # on a double line
    ("(x + 2*y - 3)**2", [0.0, 0.0], 3 / math.sqrt(5), "singular"),  # a double line
    ("(x - 1)*(x - 3)", [0.25, 7.0], 0.75, None),  # parallel lines
    ("x**2 + y**2", [3.0, 4.0], 5.0, "singular"),  # one real point
    ("x**2 + y**2 - 1", [0.5, 0.0], 0.5, None),
    ("x**2 + y**2 - 1", [0.0, 0.0], 1.0, "family"),  # the centre: every point of the circle is nearest
    ("x**2 + y**2 + z**2 - 4", [0.0, 0.0, 0.0], 2.0, "family"),
    ("y - x**2", [0.0, 0.5], 0.5, "merge"),  # on the evolute: three critical points meet
    ("y - x**2", [0.0, 2.0], math.sqrt(1.75), None),
    ("x**2*(x - 1) - y**2", [0.3, 0.0], 0.3, "singular"),  # an isolated real point beside a curve
    ("(x**2 + y**2 - 1)*(x - 3)", [2.5, 0.0], 0.5, "singular"),
    ("(x**2 + y**2 - 1)*(x**2 + y**2 - 4)", [0.0, 0.0], 1.0, "family"),
    ("x*y*z", [1.0, 2.0, 0.5], 0.5, "singular"),  # singular along three lines
]


@pytest.mark.parametrize(("text", "point", "distance", "remark"), CASES, ids=[f"{c[0]} from {c[1]}" for c in CASES])
def test_special_boundaries_and_points(
    text: str, point: list[float], distance: float | None, remark: str | None
) -> None:
    boundary = pm.Boundary.from_expression(text, variables=["x", "y", "z"][: len(point)])
    found = pm.margin(boundary, point, proof=False)
    if distance is None:
        angles = np.linspace(0, 2 * np.pi, 200_001)  # y² = x²(x + 1), parametrised by the slope t: x = t² − 1
        t = np.tan(angles / 2)[np.abs(np.tan(angles / 2)) < 10]
        x, y = t**2 - 1, t * (t**2 - 1)
        distance = float(np.hypot(x - point[0], y - point[1]).min())
        assert found.radius == pytest.approx(distance, rel=1e-6)
    assert found.standing in (Standing.NUMERICAL, Standing.CERTIFIED), found.notes
    assert found.radius == pytest.approx(distance, rel=1e-7, abs=1e-7)
    if found.point is not None:
        assert abs(boundary(found.point)) < 1e-6
    if remark:  # quadrics have a method of their own; their critical points can be asked for all the same
        notes = found.notes + pm.critical_points(boundary, point, cache=False).audit.remarks
        assert any(remark in note for note in notes), notes


@pytest.mark.parametrize(
    ("text", "distance"), [("(x**2 + y**2 - 1)*(x**2 + y**2 - 4)", 1.0), ("(x**2 + y**2 + z**2 - 4)*(x - 5)", 2.0)]
)
def test_members_of_a_family_that_look_regular(text: str, distance: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever rounding makes of the condition of a singular matrix: generic members have no conjugates among the others."""
    monkeypatch.setattr(regular_ends, "LARGEST_CONDITION", math.inf)
    boundary = pm.Boundary.from_expression(text)
    found = pm.margin(boundary, [0.0] * boundary.dimension, proof=False)
    assert found.standing in (Standing.NUMERICAL, Standing.CERTIFIED), found.notes
    assert found.radius == pytest.approx(distance, rel=1e-7)


def test_multiplicities_at_a_cusp_of_the_evolute() -> None:
    """(0, 1/2) is the focal point of y = x²: all three critical points meet in the vertex."""
    found = pm.critical_points(pm.Boundary.from_expression("y - x**2"), [0.0, 0.5], cache=False)
    assert found.multiplicities.tolist() == [3]
    assert np.allclose(found.points, 0, atol=1e-8)


def test_a_cusp_of_the_evolute_of_an_ellipse() -> None:
    """The evolute of x²/4 + y² = 1 has a cusp at (3/2, 0): three critical points meet in the vertex (2, 0)."""
    text = "x**2 + 4*y**2 - 4"
    found = pm.critical_points(pm.Boundary.from_expression(text), [1.5, 0.0], cache=False)
    assert sorted(found.multiplicities.tolist()) == [1, 3]
    assert found.distances[0] == pytest.approx(0.5, abs=1e-8)


@pytest.mark.parametrize("offset", [1e-3, 1e-6, 1e-9])
def test_near_the_discriminant_the_distance_is_right(offset: float) -> None:
    """Just beside the focal point of a parabola three critical points nearly merge."""
    found = pm.margin(pm.Boundary.from_expression("y - x**2"), [0.0, 0.5 + offset], proof=False)
    # For h > 1/2 the nearest points are x² = h − 1/2, at squared distance h − 1/4.
    assert found.radius == pytest.approx(math.sqrt(0.25 + offset), rel=1e-9)
