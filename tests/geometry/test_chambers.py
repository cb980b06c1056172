"""Chambers, crossings and nearness to the discriminant, against evolutes in closed form."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from eliminants import RING, real_critical_count
from hypothesis import given, settings
from hypothesis import strategies as st

import polymargin as pm
from polymargin.continuation import Tracker
from polymargin.errors import InputError
from polymargin.geometry import Plane, chambers, discriminant_crossings
from polymargin.geometry.discriminants import real_counts
from polymargin.geometry.discriminants.real_counts import RealCounter

ELLIPSE = pm.Boundary.from_expression("x**2 + 4*y**2 - 4")
WINDOW = (-3.0, 3.0, -4.0, 4.0)


def inside_evolute(u: np.ndarray) -> np.ndarray:
    """Of the ellipse x²/4 + y² = 1: (2x)^{2/3} + y^{2/3} < 3^{2/3}; four normals pass through each point inside, two outside."""
    return np.cbrt(2 * u[..., 0]) ** 2 + np.cbrt(u[..., 1]) ** 2 - np.cbrt(3.0) ** 2


def test_counts_over_the_ellipse_are_those_of_its_evolute() -> None:
    found = chambers(ELLIPSE, Plane.of_two_inputs(WINDOW), 3_000, cache=False, threads=1)
    known = found.counts >= 0
    expected = np.where(inside_evolute(found.places) < 0, 4, 2)
    assert known.mean() > 0.99
    assert (found.counts[known] == expected[known]).all()
    # 3π/8 times the product of the half-axes 3/2 and 3 of the astroid.
    area = 3 * np.pi / 8 * 1.5 * 3 / 48
    assert found.shares()[4] == pytest.approx(area, abs=4 * found.spacing[1] / 6)


def test_samples_gather_along_the_interface() -> None:
    found = chambers(ELLIPSE, Plane.of_two_inputs(WINDOW), 3_000, cache=False, threads=1)
    near = np.abs(inside_evolute(found.places)) < 0.2
    assert near.mean() > 3 * (np.abs(inside_evolute(np.random.default_rng(0).uniform(-3, 3, (2000, 2)))) < 0.2).mean()
    assert found.spacing[1] <= found.spacing[0] / 4


@settings(max_examples=25, deadline=None)
@given(st.floats(-2.5, 2.5), st.floats(-3.5, 3.5))
def test_one_point_at_a_time(x: float, y: float) -> None:
    counter = RealCounter.of(ELLIPSE, Tracker(threads=1))
    distance = float(inside_evolute(np.array([x, y])))
    counts, doubtful = counter.at(np.array([[x, y]]), Tracker(threads=1))
    if abs(distance) > 1e-3 and not doubtful[0]:
        assert counts[0] == (4 if distance < 0 else 2)


def test_a_process_pool_gives_the_same_chambers() -> None:
    plane = Plane.of_two_inputs(WINDOW)
    alone = chambers(ELLIPSE, plane, 400, cache=False, threads=1)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
        together = chambers(ELLIPSE, plane, 400, cache=False, executor=executor)
    assert (alone.counts == together.counts).all()
    assert (alone.raster == together.raster).all()


def test_crossings_are_located_on_the_evolute() -> None:
    for start, end in [([-3.0, 0.3], [3.0, 0.7]), ([0.1, -4.0], [0.2, 4.0])]:
        found = discriminant_crossings(ELLIPSE, start, end, cache=False, threads=1)
        assert [(c.before, c.after) for c in found] == [(2, 4), (4, 2)]
        for crossing in found:
            place = np.array(start) + crossing.position * (np.array(end) - np.array(start))
            slope = 1e-7 * (np.array(end) - np.array(start))
            assert crossing.error <= 1e-8
            # The exact crossing lies within the stated error (the evolute's equation changes sign across it).
            assert inside_evolute(place - slope) * inside_evolute(place + slope) < 0


def test_points_near_the_discriminant_say_so() -> None:
    cubic = pm.Boundary.from_expression("x**3 + 2*y**3 - x*y + 0.5*x - 1")
    start, end = np.array([-2.0, -1.0]), np.array([2.0, 1.5])
    (crossing,) = discriminant_crossings(cubic, start, end, cache=False, threads=1)
    for step in (3e-4, -3e-4):
        place = start + crossing.position * (end - start) + step * (end - start) / np.linalg.norm(end - start)
        (note,) = pm.margin(cubic, place, proof=False, workers=1).notes
        estimate = float(note.split("about ")[1].split(" ")[0])
        assert "nearly merge" in note
        assert 0.2 * abs(step) < estimate <= 1.05 * abs(step)  # never further than the way along the line
    assert pm.margin(cubic, start, proof=False, workers=1).notes == ()


def test_singular_and_reducible_boundaries_have_chambers_too() -> None:
    cusp = pm.Boundary.from_expression("y**2 - x**3")
    found = chambers(cusp, Plane.of_two_inputs((-2.0, 2.0, -2.0, 2.0)), 400, cache=False, threads=1)
    assert found.total == 4
    assert set(found.shares()) <= {0, 2, 4}
    lines = pm.Boundary.from_expression("x*y*(x - 1)")
    found = chambers(lines, Plane.of_two_inputs((-2.0, 2.0, -2.0, 2.0)), 100, cache=False, threads=1)
    assert found.shares() == {3: 1.0}


@pytest.mark.parametrize("text", ["y**3 - x**4", "x**2 + 2*y**2 + x**3/10**4 - 1"])
def test_counts_that_once_missed_critical_points(text: str) -> None:
    """22 of 23 samples of the first were wrong, and the second had one real critical point where three are."""
    curve = pm.Boundary.from_expression(text)
    x, y = RING.gens()
    polynomial = {"y**3 - x**4": y**3 - x**4}.get(text, x**2 + 2 * y**2 + x**3 / 10**4 - 1)
    found = chambers(curve, Plane.of_two_inputs((-2.03, 1.98, -1.97, 2.06)), 40, cache=False, threads=1)
    assert (found.counts >= 0).all()
    for place, count in zip(found.places.tolist(), found.counts.tolist(), strict=True):
        assert real_critical_count(polynomial, tuple(place)) in (None, count)


def test_a_number_that_algebra_contradicts_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    cubic = pm.Boundary.from_expression("x**3 + 2*y**3 - x*y + 1")
    monkeypatch.setattr(real_counts, "exact_check", lambda *arguments, **options: (10, ""))
    with pytest.raises(pm.PolymarginError, match=r"9 of 10 critical points .* were found"):
        chambers(cubic, Plane.of_two_inputs(WINDOW), 20, cache=False, threads=1)
    monkeypatch.setattr(real_counts, "exact_check", lambda *arguments, **options: (None, ""))
    assert chambers(cubic, Plane.of_two_inputs(WINDOW), 20, cache=False, threads=1).total == 9


def test_a_middle_that_cannot_be_told_does_not_send_the_search_astray(monkeypatch: pytest.MonkeyPatch) -> None:
    """Positions in the left half are made doubtful: the crossing there is bracketed, not moved to the right."""
    at = RealCounter.at

    def clouded(self: RealCounter, points: np.ndarray, *options: object) -> tuple[np.ndarray, np.ndarray]:
        counts, doubtful = at(self, points, *options)
        return counts, doubtful | ((points[:, 0] > 0.2) & (points[:, 0] < 1.55))

    straight = discriminant_crossings(ELLIPSE, [0.0, 0.001], [3.0, 0.001], cache=False, threads=1)
    monkeypatch.setattr(RealCounter, "at", clouded)
    (crossing,) = discriminant_crossings(ELLIPSE, [0.0, 0.001], [3.0, 0.001], samples=3, cache=False, threads=1)
    assert (crossing.before, crossing.after) == (4, 2)
    assert abs(crossing.position - straight[0].position) <= crossing.error


def test_impossible_planes_are_refused() -> None:
    with pytest.raises(InputError, match="orthonormal"):
        Plane(np.zeros(3), np.array([1.0, 0, 0]), np.array([1.0, 1.0, 0]), WINDOW)
    with pytest.raises(InputError, match="increasing"):
        Plane.of_two_inputs((1.0, 0.0, 0.0, 1.0))
    with pytest.raises(InputError, match="at least two"):
        Plane.random(1, WINDOW, 0)
    with pytest.raises(InputError, match="dimensions"):
        chambers(ELLIPSE, Plane.random(3, WINDOW, 0), 100)
    with pytest.raises(InputError, match="at least 9"):
        chambers(ELLIPSE, Plane.of_two_inputs(WINDOW), 4)
    with pytest.raises(InputError, match="two different points"):
        discriminant_crossings(ELLIPSE, [0.0, 0.0], [0.0, 0.0])
