"""`solve` for arbitrary square systems."""

from __future__ import annotations

import numpy as np
import pytest

import polymargin as pm
from polymargin.continuation import PathEnd, solve


def test_cyclic_roots_of_three_variables() -> None:
    found = solve(["x + y + z", "x*y + y*z + z*x", "x*y*z - 1"])
    assert len(found) == found.path_count == 6
    assert np.allclose(found.points**3, 1)
    assert len(found.real) == 0


def test_katsura() -> None:
    """Katsura-3: eight solutions, all finite."""
    system = [
        "x**2 + 2*y**2 + 2*z**2 + 2*w**2 - x",
        "2*x*y + 2*y*z + 2*z*w - y",
        "y**2 + 2*x*z + 2*y*w - z",
        "x + 2*y + 2*z + 2*w - 1",
    ]
    found = solve(system, variables="x y z w")
    assert len(found) == 8
    assert (found.multiplicities == 1).all()
    x, y, z, w = found.points.T
    assert np.abs(x**2 + 2 * y**2 + 2 * z**2 + 2 * w**2 - x).max() < 1e-12


def test_paths_to_infinity_are_reported_not_dropped() -> None:
    found = solve(["x*y - 1", "x*y + x - 3"])
    assert len(found) == 1
    assert np.allclose(found.points, [[2, 0.5]])
    assert sum(found.ends.values()) == found.path_count == 4
    assert found.ends == {PathEnd.CONVERGED: 1, PathEnd.AT_INFINITY: 3}
    assert "at_infinity" in repr(found)


def test_multiple_solutions_have_their_multiplicity() -> None:
    found = solve(["(x - 1)**2*(x + 2)", "y - x**2"])
    order = np.argsort(found.points[:, 0].real)
    assert np.allclose(found.points[order], [[-2, 4], [1, 1]], atol=1e-8)
    assert found.multiplicities[order].tolist() == [1, 2]
    assert found.ends[PathEnd.MULTIPLE] == 2
    assert found.ends.get(PathEnd.UNDECIDED) is None


def test_seeds_give_the_same_solutions() -> None:
    system = ["x**3 - 2*x*y + 1", "y**2 + x - 3"]
    sets = [solve(system, seed=seed).points for seed in (0, 1, 2)]
    keys = [sorted(zip(points.real.round(8).ravel(), points.imag.round(8).ravel(), strict=True)) for points in sets]
    assert keys[0] == keys[1] == keys[2]


@pytest.mark.parametrize(
    ("system", "options", "message"),
    [
        (["x + y"], {}, "1 equations in 2 variables"),
        (["x", "3"], {"variables": "x y"}, "is constant"),
        (["x**50 + y", "y**50 + z", "z**100 + x"], {}, "total degree 250,000"),
    ],
)
def test_bad_systems(system: list[str], options: dict, message: str) -> None:
    with pytest.raises(pm.PolymarginError, match=message):
        solve(system, **options)
