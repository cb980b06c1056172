"""Stage 1 by either blend: the same solutions at the same generic point and level."""

from __future__ import annotations

import numpy as np
import pytest
from problems import random_network

import polymargin as pm
from polymargin.boundary import critical_system
from polymargin.continuation import Tracker, contains, duplicates
from polymargin.enumeration.base_solutions import base_solutions
from polymargin.enumeration.blend import blend_to
from polymargin.enumeration.cache import Cache
from polymargin.networks.attention import random_attention

BOUNDARIES = {
    "shallow": lambda: pm.Boundary.from_network(random_network([4, 6, 2], 3, 0), 0, 1),
    "quartic": lambda: pm.Boundary.from_network(random_network([3, 4, 2], 4, 0), 0, 1),
    "deep": lambda: pm.Boundary.from_network(random_network([3, 4, 4, 2], 2, 0), 0, 1),
    "attention": lambda: pm.Boundary.from_network(random_attention(2, 2, 2, 2, seed=1), 0, 1),
    "symmetric": lambda: pm.Boundary.from_expression("x*y*z + x**2 + y - 1"),
    "quadric": lambda: pm.Boundary.from_expression("x**2 + 3*x*y - y**2 + x*z + 5*z**2 - y + 1"),
}


@pytest.mark.parametrize("name", BOUNDARIES)
def test_rotated_axes_lead_to_the_same_solutions(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for paths in (0, 1 << 60):
        monkeypatch.setattr("polymargin.enumeration.blend.WORTH_A_ROTATION", paths)
        boundary = BOUNDARIES[name]()
        found.append(base_solutions(boundary, Tracker(), seed=3, cache=Cache.from_option(False)))
    rotated, plain = found
    assert rotated.unjudged == plain.unjudged == 0
    at_plain = Tracker().follow(rotated.program, rotated.solutions, rotated.parameters, plain.parameters)
    assert at_plain.converged.all()
    assert len(rotated.solutions) == len(plain.solutions)
    assert not duplicates(rotated.solutions).any()
    assert contains(plain.solutions, at_plain.points[0]).all()


@pytest.mark.parametrize("own_axes", [False, True])
def test_start_points_solve_the_start_of_the_blend(own_axes: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polymargin.enumeration.blend.WORTH_A_ROTATION", 0)
    boundary, generator = BOUNDARIES["quartic"](), np.random.default_rng(1)
    generic = generator.normal(size=4) + 1j * generator.normal(size=4)
    blend = blend_to(generic, boundary, critical_system(boundary), generator, own_axes=own_axes, threads=1)
    assert (blend.rows is not None) == own_axes
    assert len(blend.starts) == boundary.critical_bound
    stayed = Tracker().track(blend.program, blend.starts, blend.begin, blend.begin)
    assert stayed.converged.all()
    assert np.abs(stayed.points[0] - blend.starts).max() < 1e-12
    # What the end of the blend is called in the coordinates of the reduction are the generic point and level.
    back = blend.rotate_back(blend.end[None, :4].copy())[0]
    assert np.allclose(back, generic, atol=1e-14)
