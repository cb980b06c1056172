"""Ties in the span of the first layer: what `margin` says in all inputs, also for points of the wrong class."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from polymargin import margin  # noqa: E402
from polymargin.errors import InputError  # noqa: E402
from polymargin.learning import exact_margin, shallow_network  # noqa: E402
from polymargin.networks import from_torch  # noqa: E402
from polymargin.quadric import MOST_VARIABLES  # noqa: E402

INPUTS, CLASSES = MOST_VARIABLES + 8, 4


def test_many_inputs_get_the_signed_distances_of_margin() -> None:
    module = shallow_network(INPUTS, 6, CLASSES, seed=3, dtype=torch.float64)
    points = torch.randn((40, INPUTS), generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    labels = torch.arange(40) % CLASSES
    found = margin(from_torch(module), points.numpy(), proof=False, workers=1)
    lost = 0
    for value, row, label in zip(exact_margin(module, points, labels).tolist(), found, labels.tolist(), strict=True):
        lost += row.label != label
        if row.label == label:
            assert value == pytest.approx(row.radius, rel=1e-9)
        else:
            pair = next(pair for pair in row.pairs if pair.rival == label)
            assert value == pytest.approx(-pair.radius, rel=1e-9)
    assert 10 < lost < 40
    assert exact_margin(module, points).tolist() == pytest.approx([row.radius for row in found], rel=1e-9)


def test_gradients_of_many_inputs_are_those_of_differences() -> None:
    module = shallow_network(INPUTS, 6, CLASSES, seed=4, dtype=torch.float64)
    points = torch.randn((3, INPUTS), generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    points.requires_grad_()
    exact_margin(module, points).sum().backward()
    with torch.no_grad():
        for parameter, place in ((module[0].weight, (2, 5)), (module[2].bias, (1,)), (points, (0, 7))):
            values = []
            for step in (1e-5, -2e-5):
                parameter[place] += step
                values.append(float(exact_margin(module, points).sum()))
            parameter[place] += 1e-5
            assert float(parameter.grad[place]) == pytest.approx((values[0] - values[1]) / 2e-5, rel=1e-6, abs=1e-8)


def test_points_that_are_no_numbers_are_named() -> None:
    module = shallow_network(INPUTS, 6, CLASSES, seed=3, dtype=torch.float64)
    points = np.zeros((2, INPUTS))
    points[1, 3] = np.nan
    with pytest.raises(InputError, match="1 of 2 points have no margin"):
        exact_margin(module, torch.as_tensor(points))
