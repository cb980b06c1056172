"""Boxes and balls against the checker's, which is written by itself: the same doubles, however the region is made."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import fmpq

from polymargin.regions import L1, L2, Linf, Norm, Region
from polymargin.regions.outward import difference_down, difference_up, quotients_up, square_down, square_up
from polymargin_checker.neighbourhood import read_neighbourhood
from polymargin_checker.relaxation.arithmetic import Arithmetic, down, rational, up
from polymargin_checker.relaxation.region import region_of

CENTRE = np.array([0.1, 0.7, 1.0, 0.3])
WEIGHTS = [0.3, 1.0, 7.0, 1 / 3]
MATRIX = np.array([[2.0, 0.5, 0.1], [0.5, 1.0, -0.3], [0.1, -0.3, 0.6]])


def hexadecimal(array: Any) -> Any:
    if array is None:
        return None
    if np.ndim(array) == 2:
        return [hexadecimal(row) for row in array]
    return [None if math.isinf(v) else float(v).hex() for v in array]


def entry(region: Region) -> dict[str, Any]:
    frame = {} if region.frame is None else {"frame": hexadecimal(region.frame.turn)}
    space = {} if region.subspace is None else {"subspace": hexadecimal(region.subspace)}
    return {
        "norm": region.norm.value,
        "weights": hexadecimal(region.weights if region.ellipsoid is None else region.ellipsoid),
        "low": hexadecimal(region.low),
        "high": hexadecimal(region.high),
        "movable": None if region.movable is None else list(region.movable),
        "rivals": None,
        "abstain": "0x0p0",
        **frame,
        **space,
    }


@pytest.mark.parametrize("make", [L2, Linf, L1])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"domain": (0, 1)},
        {"domain": ([0.1, -np.inf, 0, 0.3], [np.inf, 0.9, 1, 0.3])},
        {"weights": WEIGHTS},
        {"weights": WEIGHTS, "domain": (0, 1), "movable": [3, 1]},
    ],
)
@pytest.mark.parametrize("radius", [0.0, 0.1, 1 / 3, 3.0])
def test_boxes_and_balls_are_the_checkers(make: Any, options: dict[str, Any], radius: float) -> None:
    region = make(**options).in_dimension(4)
    point = [rational(v) for v in CENTRE.tolist()]
    near = read_neighbourhood(entry(region), point, 3)
    expected, found = region_of(near, point, rational(radius), Arithmetic(False)), region.at(CENTRE, radius)
    assert found.norm == expected.norm
    assert found.radius == expected.radius
    assert found.columns is None
    assert found.moving is not None
    assert expected.moving is not None
    for name in ("moving", "low", "high", "weights", "squared_weights", "inverse_weights"):
        assert getattr(found, name).tolist() == getattr(expected, name).tolist(), name
    assert found.square == expected.square
    rows = np.random.default_rng(0).normal(size=(3, 4))
    ends, bounds = expected.support(expected.seen(rows)), found.support(found.seen(rows))
    assert np.allclose(ends, bounds, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "options", [{"ellipsoid": MATRIX}, {"subspace": MATRIX[:, :2]}, {"subspace": MATRIX[:, :1], "weights": WEIGHTS[:3]}]
)
def test_skew_regions_are_the_checkers(options: dict[str, Any]) -> None:
    region, u = L2(**options).in_dimension(3), CENTRE[:3]
    point = [rational(v) for v in u.tolist()]
    near = read_neighbourhood(entry(region), point, 3)
    expected, found = region_of(near, point, fmpq(1, 3), Arithmetic(False)), region.at(u, 1 / 3)
    assert found.moving is None
    assert expected.moving is None
    assert found.columns is not None
    assert expected.columns is not None
    assert np.all(
        (expected.columns.lower() <= found.columns + 1e-15) & (found.columns - 1e-15 <= expected.columns.upper())
    )
    assert np.allclose(found.low, expected.low, rtol=1e-15, atol=0)
    assert found.weights.tolist() == expected.weights.tolist() == [1.0] * found.dimension
    z = np.random.default_rng(1).normal(size=found.dimension)
    assert found.norm is Norm.L2
    assert np.linalg.norm(z) <= region.length(found.inputs(u, z) - u) * (1 + 1e-12)


def test_doubles_are_rounded_as_rationals_are() -> None:
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=200) * 10.0 ** rng.integers(-20, 20, 200), rng.normal(size=200)
    pairs = list(zip(a.tolist(), b.tolist(), strict=True))
    assert difference_down(a, b).tolist() == [down(rational(x) - rational(y)) for x, y in pairs]
    assert difference_up(a, b).tolist() == [up(rational(x) - rational(y)) for x, y in pairs]
    assert quotients_up(0.3, np.abs(b)).tolist() == [up(rational(0.3) / rational(abs(y))) for y in b.tolist()]
    assert square_down(b).tolist() == [down(rational(y) ** 2) for y in b.tolist()]
    assert all(Fraction(square_up(y)) >= Fraction(y) ** 2 for y in b.tolist())
    assert difference_down(np.array([-np.inf]), np.array([1.0])).tolist() == [-np.inf]


def test_steps_move_what_moves() -> None:
    region = L2(movable=[2, 0], domain=(0, 1)).in_dimension(4)
    found = region.at(CENTRE, 0.2)
    x = found.inputs(CENTRE, np.array([[0.01, -0.02]]))
    assert np.allclose(x, [CENTRE + np.array([0.01, 0, -0.02, 0])])
    assert found.cut(0, 0.0, 0.05).low.tolist() == [0.0, found.low[1]]
    assert np.array_equal(found.seen(np.eye(4)), np.eye(4)[:, [0, 2]])
