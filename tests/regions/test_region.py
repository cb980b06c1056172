"""What a user may say about perturbations, and what one sentence answers to the rest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from problems import asked, region

from polymargin.errors import InputError
from polymargin.regions import Norm, ThreatModel


def test_lengths() -> None:
    step = [3.0, -4.0]
    assert region(2).length(step) == 5.0
    assert region(2, norm="linf").length(step) == 4.0
    assert region(2, norm="l1").length(step) == 7.0
    assert region(2, norm="linf", weights=[2.0, 1.0]).length(step) == 6.0
    assert region(2, norm="l1", weights=[2.0, 0.5]).length(step) == 8.0
    matrix = np.array([[2.0, 1.0], [1.0, 3.0]])
    assert region(2, weights=matrix).length(step) == pytest.approx(np.sqrt(step @ matrix @ step))


def test_the_default_is_everything() -> None:
    assert ThreatModel.of(3).is_plain
    for options in (
        {"norm": "l1"},
        {"domain": (0, 1)},
        {"movable": [0]},
        {"rivals": [1]},
        {"abstain": 0.5},
        {"weights": [1, 1, 2]},
    ):
        assert not ThreatModel.of(3, **asked(**options)).is_plain  # type: ignore[arg-type]


def test_domains_of_numbers_and_vectors() -> None:
    near = region(2, domain=(0, [1.0, 2.0]))
    assert near.admits([1.0, 2.0])
    assert not near.admits([1.0, 2.1])
    assert near.clipped(np.array([-1.0, 1.5])).tolist() == [0.0, 1.5]


def test_movable_coordinates_masks_and_columns() -> None:
    assert region(3, movable=[2, 0]).moving == (0, 2)
    assert region(3, movable=np.array([True, False, True])).moving == (0, 2)
    assert region(3, movable=np.ones((3, 1))).subspace is not None


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"weights": [1.0, 0.0]}, "positive"),
        ({"weights": [1.0]}, "made for 1 inputs"),
        ({"weights": np.zeros((2, 2))}, "positive definite"),
        ({"domain": 3}, "a pair"),
        ({"domain": (1, 0)}, "from 1.0 to 0.0"),
        ({"domain": (float("nan"), 1)}, "nan"),
        ({"domain": (0, [1, 2, 3])}, "made for 3 inputs"),
        ({"movable": [2]}, "from 0 to 1"),
        ({"movable": [0, 0]}, "different"),
        ({"movable": []}, "expected some coordinates"),
        ({"movable": np.ones((2, 2))}, "independent"),
        ({"rivals": [-1]}, "classes"),
        ({"rivals": []}, "classes"),
        ({"abstain": -1.0}, "0 or more"),
        ({"abstain": float("nan")}, "0 or more"),
    ],
)
def test_one_sentence_for_what_cannot_be(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        ThreatModel.of(2, **asked(**options), classes=2)


def test_its_name_says_what_it_is() -> None:
    near = region(4, norm="linf", domain=(0, 1), movable=[0, 1])
    assert repr(near) == "Linf(domain=(0, 1), movable=[0, 1])"
    assert near.norm is Norm.LINF
