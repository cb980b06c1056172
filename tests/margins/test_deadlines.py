"""A timeout limits the paths of a point as well as its bounds, by a clock that counts how often it is read."""

from __future__ import annotations

import numpy as np
import pytest
from problems import random_network

import polymargin as pm
from polymargin.continuation import Job, Tracker, tracker
from polymargin.deadlines import Deadline, TimeUpError
from polymargin.enumeration.base_solutions import base_solutions
from polymargin.enumeration.cache import Cache
from polymargin.enumeration.ordinary_points import paths_to
from polymargin.errors import TooManyPathsError
from polymargin.margins.pairs import Enumeration
from polymargin.margins.prepared import margins_of
from polymargin.standing import Standing

NETWORK = random_network([4, 6, 2], 3, seed=1)
POINT = np.array([0.3, -0.2, 0.5, 0.1])


class Clock:
    """Every reading takes one second."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> float:
        self.now += 1
        return float(self.now)


def search(timeout: float | None = None) -> Enumeration:
    return Enumeration(Tracker(threads=1), 0, 10**6, Cache(None), timeout)


def paths() -> Job:
    base = base_solutions(pm.Boundary.from_network(NETWORK, 0, 1), Tracker(threads=1), seed=0, cache=Cache(None))
    return paths_to(base, np.stack([POINT, -POINT, 2 * POINT]))


def test_paths_in_parts_have_the_same_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    job, plain = paths(), Tracker(threads=1)
    monkeypatch.setattr(tracker, "SHORT_WORK", 0)
    monkeypatch.setattr(tracker, "FIRST_PART", 7)
    whole, parts = plain.run([job])[0], plain.until(Deadline.after(1e9)).run([job])[0]
    for name in whole.__dataclass_fields__:
        np.testing.assert_array_equal(getattr(parts, name), getattr(whole, name))


def test_no_part_begins_after_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    job, clock = paths(), Clock()
    monkeypatch.setattr(tracker, "SHORT_WORK", 0)
    with pytest.raises(TimeUpError):
        Tracker(threads=1).until(Deadline.after(1, clock)).run([job])
    assert clock.now <= 4


@pytest.mark.parametrize("seconds", [1, 5, 40])
def test_a_network_has_bounds_when_the_time_is_up(seconds: int) -> None:
    exact = margins_of(NETWORK, search()).margin_at(POINT, Tracker(threads=1))
    clock = Clock()
    timed = Tracker(threads=1).until(Deadline.after(seconds, clock))
    found = margins_of(NETWORK, search()).margin_at(POINT, timed)
    assert clock.now <= seconds + 40
    assert found.lower <= exact.radius * (1 + 1e-9)
    assert exact.radius <= found.upper * (1 + 1e-9)
    if seconds == 1:
        assert found.standing is Standing.BRACKETED
        assert any("give it more with timeout=" in note for note in found.notes)


def test_nothing_exact_is_begun_when_the_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polymargin.margins.pairs.base_solutions", None)
    network = random_network([4, 6, 2], 3, seed=7)
    found = margins_of(network, search()).margin_at(POINT, Tracker(threads=1).until(Deadline.after(0.0)))
    assert found.standing is Standing.BRACKETED


def test_a_boundary_alone_says_that_the_time_is_up() -> None:
    curve = pm.Boundary.from_expression("x**5 + y**7 - x*y - 3")
    with pytest.raises(TooManyPathsError, match="timeout="):
        margins_of(curve, search()).margin_at(
            np.array([0.5, 0.25]), Tracker(threads=1).until(Deadline.after(1, Clock()))
        )


def test_faces_are_counted_before_anything_exact_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    wide = random_network([40, 30, 2], 3, seed=2)
    monkeypatch.setattr(pm.Boundary, "from_network", None)
    for region in (pm.Linf(), pm.Linf(domain=(-1, 1)), pm.L1(domain=(-1, 1)), pm.L2(domain=(-1, 1)), pm.L1()):
        found = pm.margin(wide, np.full(40, 0.1), proof=False, within=region, timeout=1, workers=1)
        assert found.method == "bounds"
        assert 0 < found.lower <= found.upper
