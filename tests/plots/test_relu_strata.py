"""The strata of the plane: distances agree with the search, and the kinds of strata with simple geometry."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from piecewise.networks import random_relu

import polymargin as pm
from polymargin.networks import ReLUNetwork
from polymargin.plots.relu_strata import boundary_strata, relu_strata

WINDOW = (-2.0, 2.0, -2.0, 2.0)


@pytest.mark.parametrize(("widths", "seed"), [([2, 8, 3], 5), ([2, 8, 2], 1), ([2, 5, 4, 3], 2)])
def test_distances_are_margins(widths: list[int], seed: int) -> None:
    """Nearest points on the listed segments against the search, which lists nothing."""
    network = random_relu(widths, seed)
    points = np.random.default_rng(0).uniform(-2, 2, size=(25, 2))
    _, nearest = boundary_strata(network, WINDOW).nearest(points)
    radii = [found.radius for found in pm.margin(network, points, proof=False)]
    assert np.allclose(np.linalg.norm(points - nearest, axis=1), radii, atol=1e-9)


def test_a_square() -> None:
    """Class 1 inside |x| + |y| < 1: four edges, four vertices; outside, the corners own wedges, inside, the edges triangles."""
    neurons = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    network = ReLUNetwork([neurons, ([[1.0] * 4, [0.0] * 4], [0.0, 1.0])])
    strata = boundary_strata(network, WINDOW)
    assert len(strata.segments) == 4
    assert strata.vertex_count == 4
    stratum, foot = strata.nearest(np.array([[1.5, 0.1], [1.0, 1.0], [0.3, 0.2], [-0.2, 0.1], [0.0, -1.9]]))
    assert np.allclose(foot[:2], [[1.0, 0.0], [0.5, 0.5]])
    assert (stratum < 0).tolist() == [True, False, False, False, True]
    assert np.allclose(np.linalg.norm(strata.segments[:, 0] - strata.segments[:, 1], axis=1), np.sqrt(2))


def test_a_line_through_several_regions_has_no_corner() -> None:
    """The tie x = 1/2 crosses the wall y = 0, where the network is not affine but the tie does not bend."""
    network = ReLUNetwork([([[1.0, 0.0], [0.0, 1.0]], None), ([[1.0, 1.0], [0.0, 1.0]], [0.0, 0.5])])
    strata = boundary_strata(network, WINDOW)
    assert len(strata.segments) == 2
    assert np.allclose(strata.segments[:, :, 0], 0.5)
    stratum, foot = strata.nearest(np.array([[1.0, 0.7], [1.0, -0.7]]))
    assert np.allclose(foot, [[0.5, 0.7], [0.5, -0.7]])
    assert stratum[0] != stratum[1]


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_the_picture(tmp_path: Path, suffix: str) -> None:
    pytest.importorskip("matplotlib")
    file = relu_strata(random_relu([2, 5, 3], 5), tmp_path / f"strata.{suffix}", points=[[0.5, 0.1]])
    assert file.stat().st_size > 30_000


def test_what_cannot_be_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    with pytest.raises(pm.InputError, match="a plane needs 2"):
        relu_strata(random_relu([3, 5, 3], 0), tmp_path / "strata.png")
    with pytest.raises(pm.InputError, match="left < right"):
        relu_strata(random_relu([2, 5, 3], 0), tmp_path / "strata.png", window=(1.0, 0.0, 0.0, 1.0))
    with pytest.raises(pm.InputError, match="no decision boundary"):
        relu_strata(ReLUNetwork([np.eye(2), ([[0.0, 0.0], [0.0, 0.0]], [1.0, 0.0])]), tmp_path / "strata.png")
