"""Endpoints of paths: counts against elimination over the rationals, and points in the user's units."""

from __future__ import annotations

from typing import Any

import flint
import numpy as np
import pytest
from curve_families import Curve, curve
from eliminants import RING, ed_degree_in_plane, nearest_in_plane, real_critical_count

import polymargin as pm
from polymargin import Standing
from polymargin.continuation import Tracker
from polymargin.enumeration import base_solutions, regular_ends
from polymargin.enumeration.cache import Cache
from polymargin.geometry import boundary_count
from polymargin.geometry.ed_degrees import exact_check

# True numbers by Macaulay2 and PHCpack; doubles see most of these points as singular.
COUNTS = {
    "y**7-x**10": 13,
    "y**3-x**4": 5,
    "y**4-x**5": 6,
    "y**2-x**3-x**2/1000": 5,
    "x**2+2*y**2+x**3/10**4-1": 7,
    "x**2+2*y**2+3*z**2+x**3/10**4-1": 11,
    "x**4-y**2*z+x*y*z": 13,
    "y-x**2+x*y**3/10**15-1": 12,
}


@pytest.mark.parametrize(("text", "count"), COUNTS.items(), ids=str)
def test_ill_conditioned_critical_points_are_counted(text: str, count: int) -> None:
    found = pm.ed_degree(pm.Boundary.from_expression(text), method="numeric", cache=False, threads=1)
    assert (found.value, found.standing) == (count, Standing.NUMERICAL)


FAMILIES = [
    ("powers", 4),
    ("sparse_through_the_origin", 25),
    ("conic_and_a_little", 40),
    ("smooth_cubic", 40),
    ("near_circle", 40),
]


@pytest.mark.parametrize(("family", "members"), FAMILIES, ids=[family for family, _ in FAMILIES])
def test_counts_of_plane_curves_against_elimination(family: str, members: int) -> None:
    for number in range(members):
        chosen = curve(family, number)
        found = pm.ed_degree(chosen.boundary(), method="numeric", cache=False, threads=1)
        assert found.value == ed_degree_in_plane(chosen.polynomial), chosen.text
        assert found.standing is not Standing.BRACKETED, chosen.text


def test_paths_of_unknown_endpoint_make_the_count_a_lower_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regular_ends, "MOST_FOLLOWED", 3)
    cusp = pm.Boundary.from_expression("y**3 - x**4")
    count = boundary_count(cusp, Tracker(threads=1), cache=False)
    assert (count.value, count.undecided, count.complete) == (5, 5, False)  # 13 paths, of which eight end at the cusp
    confirmed = pm.ed_degree(cusp, method="numeric", cache=False, threads=1)
    assert (confirmed.standing, confirmed.value) == (Standing.NUMERICAL, 5)
    assert confirmed.notes[0].startswith("confirmed by algebra: ")
    monkeypatch.setattr(exact_check, "LARGEST_BOUND", 15)
    found = pm.ed_degree(cusp, method="numeric", cache=False, threads=1)
    assert (found.standing, found.lower, found.upper) == (Standing.BRACKETED, 5, 16)
    assert found.notes == (
        "at least 5: paths of unknown endpoint could lead to 5 others",
        "not counted again by algebra: there may be more than 15",
    )


def test_a_solution_with_two_paths_is_regular_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if a path had jumped to its neighbour's endpoint: the other solution stays unknown."""
    boundary = pm.Boundary.from_expression("x**3 + 2*y**3 - x*y + 1")
    tracker = Tracker(threads=1)
    base = base_solutions(boundary, tracker, seed=0, cache=Cache.from_option(False))
    target = np.array([0.3, 0.2, 0.0], dtype=np.complex128)
    honest = regular_ends.regular_ends(base, target, tracker)
    assert honest.regular.all()
    jumped = np.concatenate([base.solutions[:1], base.solutions[:-1]])
    twice = type(base)(boundary, base.program, base.parameters, jumped, 0)
    found = regular_ends.regular_ends(twice, target, tracker)
    assert found.regular.sum() == len(jumped) - 1


X, Y = RING.gens()
TENTH = flint.fmpq(1, 10)
# Curves whose unit in reduced coordinates is up to 10¹⁰ of the user's, and points.
UNITS = [
    (X + Y**2 + X**3 * TENTH**10, (2.0, 0.5)),
    (X + Y**2 + X**3 * TENTH**10, (-1.25, 0.5)),
    (X + Y**2 + X**3 * TENTH**10, (0.3, 0.7)),
    (8 * X**2 - X * Y + 9 * Y**2 - 7 * X + 4 * Y - 2 + (Y**3 + X**2 * Y) * TENTH**9, (-2.218, -2.831)),
    (Y**2 - X**2 * (X + 1) - TENTH**22, (0.3, 0.2)),  # smooth, with the look of a node
    (Y**2 - X**2 * (X + 1) - TENTH**22, (0.03, 0.02)),
]


@pytest.mark.parametrize(("polynomial", "point"), UNITS, ids=[f"{curve} from {point}" for curve, point in UNITS])
def test_points_are_told_apart_in_the_units_of_the_user(polynomial: Any, point: tuple[float, float]) -> None:
    boundary = Curve(polynomial).boundary()
    found = pm.critical_points(boundary, point, cache=False, threads=1)
    assert found.audit.complete
    assert found.audit.remarks == () or "nearly merge" in found.audit.remarks[0]
    assert len(found) == ed_degree_in_plane(polynomial)
    assert found.real.sum() == real_critical_count(polynomial, point)
    truth = nearest_in_plane(polynomial, point)
    assert found.distances[0] == pytest.approx(truth, rel=1e-9)
    assert found.errors[0] < 1e-9
    assert pm.margin(boundary, point, proof=False, workers=1).radius == pytest.approx(truth, rel=1e-9)
