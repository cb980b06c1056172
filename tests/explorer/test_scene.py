"""Planes through points, windows that hold them, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from problems import random_network

import polymargin as pm
from polymargin.explorer import Scene
from polymargin.explorer.scene import located


def test_two_inputs_are_the_plane() -> None:
    points = np.array([[0.0, 0.0], [1.0, 3.0]])
    scene = Scene.of(random_network([2, 3, 2], 2, seed=0), points)
    assert np.allclose(scene.places[:, :2], points)
    left, right, low, high = scene.plane.window
    assert left < 0 < 1 < right
    assert low < 0 < 3 < high
    assert right - left == pytest.approx(high - low)
    assert scene.start == (0.0, 0.0)


def test_a_plane_through_three_points() -> None:
    points = np.random.default_rng(0).normal(size=(6, 5))
    points[1] = points[0]  # the first three would lie on a line
    scene = Scene.of(random_network([5, 3, 2], 2, seed=0), points)
    places = located(scene.plane, points)
    assert (places[:4, 2] < 1e-9).sum() == 4
    assert np.allclose(scene.plane.points(places[:4, :2]), points[:4])
    lengths = np.linalg.norm(points[[0, 2, 3]][:, None] - points[[0, 2, 3]], axis=2)
    drawn = np.linalg.norm(places[[0, 2, 3], None, :2] - places[[0, 2, 3], :2], axis=2)
    assert np.allclose(lengths, drawn)
    other = Scene.of(random_network([5, 3, 2], 2, seed=0), points, rows=(3, 4, 5))
    assert (located(other.plane, points)[3:, 2] < 1e-9).all()


def test_few_points_get_a_plane_by_chance() -> None:
    net = random_network([4, 3, 2], 2, seed=0)
    assert Scene.of(net, None, seed=1).plane.origin.shape == (4,)
    point = np.arange(4.0)
    assert located(Scene.of(net, point).plane, point[None])[0, 2] < 1e-12


@pytest.mark.parametrize(
    ("points", "options", "words"),
    [
        ([[0.0, 0.0, 0.0]], {}, "3 inputs for a network with 4"),
        ([[0.0, 0.0, 0.0, np.nan]], {}, "point 0 is not finite"),
        (np.eye(4), {"rows": (0, 1, 9)}, "rows between 0 and 3"),
        (np.eye(4), {"rows": (0, 1, 1)}, "three different rows"),
        (np.outer(np.arange(4.0), np.ones(4)), {}, "lie on a line"),
        (np.eye(4), {"labels": [0]}, "one class per point"),
    ],
)
def test_what_is_refused(points: object, options: dict[str, object], words: str) -> None:
    with pytest.raises(pm.InputError, match=words):
        Scene.of(random_network([4, 3, 2], 2, seed=0), points, **options)
    with pytest.raises(pm.InputError, match="at least 2"):
        Scene.of(random_network([1, 3, 2], 2, seed=0), None)
