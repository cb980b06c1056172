"""Pictures of boundaries are drawn, and refuse what they cannot draw."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from problems import random_network

import polymargin as pm
from polymargin.plots.boundaries import Panel, boundary_panels


def test_panels(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    panels = [Panel(random_network([2, 4, classes], 2, seed=1), "title", "note") for classes in (2, 3)]
    points = np.random.default_rng(0).normal(size=(10, 2))
    assert boundary_panels(panels, points, np.arange(10) % 2, tmp_path / "a.png").stat().st_size > 10_000
    boundary_panels(panels[:1], points[:1], [0], tmp_path / "b.svg")
    with pytest.raises(pm.InputError, match="a plane needs 2"):
        boundary_panels([Panel(random_network([3, 4, 2], 2, seed=1))], points, np.zeros(10), tmp_path / "c.png")
    with pytest.raises(pm.InputError, match="expected \\(m, 2\\)"):
        boundary_panels(panels, points, np.zeros(3), tmp_path / "c.png")
    with pytest.raises(pm.InputError, match="no panels"):
        boundary_panels([], points, np.zeros(10), tmp_path / "c.png")
