"""The stages of a network against their definitions, on floats and on exact numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from polymargin import InputError
from polymargin.networks.forms import Forms
from polymargin.networks.stages import RELU, Piecewise
from polymargin.polynomials import Graph

ONE = Forms.of([[1.0]])
FUNCTIONS = {
    "relu": (RELU, lambda z: max(z, 0)),
    "leaky": (((0.0,), ((0.0, 0.125), (0.0, 1.0))), lambda z: z if z > 0 else z / 8),
    "absolute": (((0.0,), ((0.0, -1.0), (0.0, 1.0))), abs),
    "relu6": (((0.0, 6.0), ((0.0,), (0.0, 1.0), (6.0,))), lambda z: min(max(z, 0), 6)),
    "hardtanh": (((-1.0, 1.0), ((-1.0,), (0.0, 1.0), (1.0,))), lambda z: min(max(z, -1), 1)),
    "squared relu": (((0.0,), ((0.0,), (0.0, 0.0, 1.0))), lambda z: max(z, 0) ** 2),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_piecewise_stage_is_its_function_on_floats_and_on_fractions(name: str) -> None:
    (breakpoints, pieces), function = FUNCTIONS[name]
    stage = Piecewise(ONE, breakpoints, pieces)
    points = np.arange(-64, 65) / 8
    assert stage([points[:, None]])[:, 0].tolist() == [function(z) for z in points.tolist()]
    for z in points.tolist():
        assert stage([np.array([Fraction(z)], dtype=object)]).tolist() == [function(Fraction(z))]


def test_slopes_of_a_piecewise_stage_are_difference_quotients_within_pieces() -> None:
    stage = Piecewise(ONE, (-1.0, 1.0), ((-1.0, 0.0, 1.0), (0.0,), (2.0, -3.0, 0.0, 1.0)))
    z = np.array([-2.0, -1.5, -0.3, 0.7, 1.2, 2.0])
    step = 1e-6
    quotients = (stage.activate(z + step) - stage.activate(z - step)) / (2 * step)
    np.testing.assert_allclose(stage.slopes(z), quotients, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("breakpoints", "pieces", "message"),
    [
        ((), ((0.0,),), "breakpoints"),
        ((1.0, 0.0), ((0.0,), (0.0,), (0.0,)), "increasing"),
        ((0.0,), ((0.0,),), "one more piece"),
        ((0.0,), ((0.0,), (1.0,)), "jumps from 0 to 1"),
        ((0.0,), ((0.0,), (0.0, float("inf"))), "finite"),
    ],
)
def test_what_is_no_continuous_function_is_refused(breakpoints, pieces, message) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError, match=message):
        Piecewise(ONE, breakpoints, pieces)


def test_a_piecewise_stage_has_no_polynomial() -> None:
    with pytest.raises(InputError, match="not one polynomial"):
        Piecewise(ONE, *RELU)([np.array(Graph().inputs(1), dtype=object)])
