"""Pictures are drawn, and refuse what they cannot draw."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from problems import random_network

import polymargin as pm
from polymargin.plots import margin_plane
from polymargin.plots.class_regions import draw_class_regions
from polymargin.plots.figure_file import new_figure


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_a_picture_with_three_classes(tmp_path: Path, suffix: str) -> None:
    pytest.importorskip("matplotlib")
    file = margin_plane(random_network([2, 4, 3], 3, seed=1), [[0.0, 0.1], [1.0, -0.5]], tmp_path / f"plane.{suffix}")
    assert file.stat().st_size > 10_000


def test_lines_are_where_the_two_largest_logits_tie() -> None:
    """Classes that tie below a third one have no boundary there."""
    pytest.importorskip("matplotlib")
    network = random_network([2, 5, 3], 3, seed=2)
    axes = new_figure().add_subplot()
    draw_class_regions(axes, network, (-2.0, 2.0, -2.0, 2.0))
    lines = [path for drawn in axes.collections[1:] for path in drawn.get_paths()]
    places = np.concatenate([path.vertices for path in lines if len(path.vertices)])
    logits = network(places)
    first, second = np.sort(logits, axis=1)[:, -1], np.sort(logits, axis=1)[:, -2]
    assert len(places) > 100
    assert (first - second).max() < 0.02 * np.ptp(logits)
    assert len({tuple(row) for row in np.argsort(logits, axis=1)[:, -2:].tolist()}) > 2  # more than one pair of classes


def test_a_plane_needs_two_inputs(tmp_path: Path) -> None:
    with pytest.raises(pm.InputError, match="a plane needs 2"):
        margin_plane(random_network([3, 4, 2], 3, seed=1), [[0.0, 0.0, 0.0]], tmp_path / "plane.png")
