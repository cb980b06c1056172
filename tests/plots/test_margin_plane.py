"""Pictures are drawn, and refuse what they cannot draw."""

from __future__ import annotations

from pathlib import Path

import pytest
from problems import random_network

import polymargin as pm
from polymargin.plots import margin_plane


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_a_picture_with_three_classes(tmp_path: Path, suffix: str) -> None:
    pytest.importorskip("matplotlib")
    file = margin_plane(random_network([2, 4, 3], 3, seed=1), [[0.0, 0.1], [1.0, -0.5]], tmp_path / f"plane.{suffix}")
    assert file.stat().st_size > 10_000


def test_a_plane_needs_two_inputs(tmp_path: Path) -> None:
    with pytest.raises(pm.InputError, match="a plane needs 2"):
        margin_plane(random_network([3, 4, 2], 3, seed=1), [[0.0, 0.0, 0.0]], tmp_path / "plane.png")
