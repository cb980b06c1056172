"""Strata of quadrics and the ED degrees there, against the continuation. No torch needed."""

from __future__ import annotations

import numpy as np
import pytest

import polymargin as pm
from polymargin.learning import stratum
from polymargin.learning.strata import network_stratum

CONICS = {
    "ellipse": ([[1, 0], [0, 4]], [1, -2], -4, 4),
    "hyperbola": ([[1, 0.5], [0.5, -2]], [0, 1], -1, 4),
    "parabola": ([[1, 0], [0, 0]], [0, -1], 0.5, 3),
    "circle": ([[2, 0], [0, 2]], [1, 0], -3, 2),
    "perpendicular lines": ([[0, 0.5], [0.5, 0]], [0, 0], 0, 2),
    "crossing lines": ([[1, 0], [0, -4]], [0, 0], 0, 2),
    "parallel lines": ([[1, 1], [1, 1]], [0, 0], -1, 2),
    "double line": ([[1, 1], [1, 1]], [0, 0], 0, 0),
    "point": ([[1, 0], [0, 2]], [0, 0], 0, 2),
    "line": ([[0, 0], [0, 0]], [1, 2], 3, 1),
    "empty (constant)": ([[0, 0], [0, 0]], [0, 0], 3, 0),
}


@pytest.mark.parametrize("name", CONICS)
@pytest.mark.parametrize("scale", [1.0, -1e-3])
def test_conics(name: str, scale: float) -> None:
    matrix, linear, constant, degree = CONICS[name]
    found = stratum(scale * np.array(matrix), scale * np.array(linear), scale * constant, tolerance=1e-9)
    assert (found.name, found.ed_degree, found.general_ed_degree) == (name, degree, 4)


@pytest.mark.parametrize("name", ["ellipse", "hyperbola", "parabola", "circle"])
def test_ed_degrees_are_those_counted(name: str) -> None:
    (a, b), (_, c) = CONICS[name][0]
    (d, e), f = CONICS[name][1:3]
    boundary = pm.Boundary.from_expression(f"{a}*x**2 + {2 * b}*x*y + {c}*y**2 + {d}*x + {e}*y + {f}", variables="x y")
    found = pm.critical_points(boundary, [0.3, 0.7], cache=False)
    assert len(found.points) == CONICS[name][3]


def test_distances_measure_how_near() -> None:
    near = stratum(np.diag([1.0, 1e-4]), [0.0, 1.0], 0.0)
    assert near.rank_distance == pytest.approx(1e-4)
    assert near.ed_degree == 3
    assert stratum(np.diag([1.0, 1e-4]), [0.0, 1.0], 0.0, tolerance=1e-5).ed_degree == 4
    assert stratum(np.diag([1.0, 1.002]), [0.0, 0.0], -1.0).repeated_distance == pytest.approx(1e-3, rel=1e-2)


def test_higher_dimensions() -> None:
    assert stratum(np.diag([1.0, 1.0, 0.0]), [0, 0, 1], 0).ed_degree == 3  # a paraboloid of revolution
    assert stratum(np.eye(5), np.zeros(5), -1).ed_degree == 2  # a sphere
    assert stratum(np.diag([1.0, 2.0, -3.0]), np.zeros(3), 0).ed_degree == 4  # a cone
    assert "cone" in stratum(np.diag([1.0, 2.0, -3.0]), np.zeros(3), 0).name


def test_networks() -> None:
    ellipse = pm.PolynomialNetwork([np.eye(2), ([[0.0, 0.0], [1.0, 4.0]], [4.0, 0.0])], degree=2)
    assert network_stratum(ellipse).name == "ellipse"
    with pytest.raises(pm.InputError, match="one hidden layer"):
        network_stratum(pm.PolynomialNetwork([np.eye(2), np.eye(2)], degree=3))


def test_nonsense_is_refused() -> None:
    with pytest.raises(pm.InputError, match="zero everywhere"):
        stratum(np.zeros((2, 2)), [0, 0], 0)
    with pytest.raises(pm.InputError, match="expected \\(n, n\\)"):
        stratum(np.eye(2), [0, 0, 0], 0)
    with pytest.raises(pm.InputError, match="finite"):
        stratum(np.eye(2), [0, np.nan], 0)
