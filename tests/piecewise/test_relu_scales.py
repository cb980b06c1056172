"""Weights whose squares leave the range of doubles: right, or refused, never wrong."""

from __future__ import annotations

import numpy as np
import pytest

import polymargin as pm
from polymargin.errors import InputError
from polymargin.networks import ReLUNetwork
from polymargin.piecewise.projection import project_origin


def test_tiny_rows_keep_their_distance() -> None:
    found = project_origin(np.array([[-1e-170, 0.0]]), np.array([-1e-170]))
    assert found.lower == pytest.approx(1.0)


@pytest.mark.parametrize("s", [1e-170, 1e200])
def test_networks_of_extreme_scale_are_refused(s: float) -> None:
    network = ReLUNetwork([([[1.0, 0.0], [-1.0, 0.0]], [0, 0]), ([[s, s], [0, 0]], [0.0, s])])
    with pytest.raises(InputError, match="rescale"):
        pm.margin(network, [0.25, 0.0], proof=False)


def test_small_scales_are_answered() -> None:
    s = 1e-60
    network = ReLUNetwork([([[s, 0.0], [-s, 0.0]], [0, 0]), ([[s, s], [0, 0]], [0.0, s * s])])
    assert pm.margin(network, [0.25, 0.0], proof=False).radius == pytest.approx(0.75)


def test_numbers_beyond_doubles_are_refused() -> None:
    with pytest.raises(InputError, match="rescale"):
        project_origin(np.array([[np.inf, 0.0]]), np.array([-1.0]))
