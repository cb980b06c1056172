"""Round coordinates: as long as perturbations, in the directions that may change; lengths without rounding."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from problems import region

from polymargin.errors import InputError
from polymargin.regions.lengths import length_above, root_above

MATRIX = np.array([[2.0, 0.5, 0.1], [0.5, 1.0, -0.3], [0.1, -0.3, 0.6]])
PLANE = np.array([[1.0, 0.1], [0.3, 1.7], [-1.0, 2.0]])


@pytest.mark.parametrize(
    "options",
    [
        {"weights": MATRIX},
        {"weights": MATRIX, "movable": [0, 2]},
        {"movable": PLANE},
        {"movable": PLANE, "weights": [1.0, 2.0, 3.0]},
        {"movable": PLANE, "weights": MATRIX},
    ],
)
def test_coordinates_are_as_long_as_perturbations(options: dict[str, Any]) -> None:
    near = region(3, **options)
    frame = near.frame
    assert frame is not None
    for z in np.random.default_rng(0).normal(size=(20, len(frame.turn))):
        delta = frame.directions @ z
        length = near.length(delta)
        assert np.linalg.norm(z) <= length <= (1 + 1e-9) * np.linalg.norm(z)
        assert np.allclose(np.delete(delta, near.moving), 0)
        above = length_above(near, [Fraction(v) for v in delta.tolist()])
        assert length * (1 - 1e-12) <= above <= length * (1 + 1e-12)
        exact = frame.moved(np.array([1.0, 2.0, 3.0]), frame.turn @ z)
        assert np.allclose([float(v) for v in exact], np.array([1.0, 2.0, 3.0]) + delta)


def test_most_regions_need_none() -> None:
    for options in ({}, {"norm": "linf"}, {"weights": [1.0, 2.0, 3.0]}, {"movable": [0]}, {"domain": (0, 1)}):
        assert region(3, **options).frame is None  # type: ignore[arg-type]


def test_one_sentence_for_what_has_none() -> None:
    with pytest.raises(InputError, match="leave out the domain"):
        region(3, weights=MATRIX, domain=(0, 1)).check_bounded()
    with pytest.raises(InputError, match="differ too much"):
        _ = region(3, movable=np.array([[1.0, 1.0], [1.0, 1.0 + 1e-14], [1.0, 1.0]])).frame


@pytest.mark.parametrize(
    ("norm", "weights", "expected"),
    [("l2", None, 5), ("l2", [2.0, 0.5], 40**0.5), ("l1", None, 7), ("linf", [1.0, 2.0], 8), ("l1", [1 / 3, 0.1], 1.4)],
)
def test_lengths_are_rounded_up(norm: str, weights: list[float] | None, expected: float) -> None:
    near = region(2, norm=norm, weights=weights)
    found = length_above(near, [Fraction(3), Fraction(-4)])
    assert expected * (1 - 1e-15) <= found <= expected * (1 + 1e-15)
    assert length_above(near, [Fraction(0), Fraction(0)]) == 0


def test_roots_are_rounded_up() -> None:
    for numerator in range(1, 200):
        square = Fraction(numerator, 7)
        root = root_above(square)
        assert Fraction(root) ** 2 >= square
        assert root <= float(square) ** 0.5 * (1 + 1e-15)
    assert root_above(Fraction(25)) == 5.0
