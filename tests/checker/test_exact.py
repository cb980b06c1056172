"""Logits and slopes without rounding, and how much memory they may take."""

from __future__ import annotations

import pytest
from checker.stage_files import layers_as_read
from flint import fmpq

from polymargin_checker import exact
from polymargin_checker.exact import exact_logits, slope
from polymargin_checker.refusal import Refused
from polymargin_checker.stages import Network


def network(*activations: tuple[float, ...]) -> Network:
    """W¹ = (1 2; −1 0.5; 0.25 3), W² = (1 0 −2; 0.5 1 0), W³ = (1 1; −1 2; 0 4), as many of them as there are activations."""
    rows = (
        [[1.0, 2.0], [-1.0, 0.5], [0.25, 3.0]],
        [[1.0, 0.0, -2.0], [0.5, 1.0, 0.0]],
        [[1.0, 1.0], [-1.0, 2.0], [0.0, 4.0]],
    )
    last = [[1.0, 1.0, 0.5], [0.0, -1.0, 2.0]] if len(activations) == 1 else rows[2]
    weights = [*rows[: len(activations)], last]
    return layers_as_read(weights, [[0.5 * k for k in range(len(matrix))] for matrix in weights], activations)


def test_the_slope_of_a_network_of_degree_one() -> None:
    """Row 0 − row 2 of W³ is (1, −3); times W² it is (−0.5, −3, −2); times W¹ it is (2, −8.5)."""
    for first, second in (((0.25, 3.0), (1.0, -0.5)), ((0.0, -0.5), (0.0, 3.0))):
        assert slope(network(first, second), 0, 2) == [fmpq(-3, 2) * v for v in (2, fmpq(-17, 2))]
    assert slope(network((1.0, 2.0), (4.0,)), 0, 2) == [0, 0]
    assert slope(network((4.0,), (1.0, 2.0)), 0, 2) == [0, 0]
    x, y = (fmpq(1, 4), fmpq(-2)), (fmpq(5, 4), fmpq(1, 8))
    model = network((0.25, 3.0), (1.0, -0.5))
    found, other = (exact_logits(model, point) for point in (x, y))
    w = slope(model, 0, 2)
    moved = sum((a * (b - c) for a, b, c in zip(w, x, y, strict=True)), fmpq(0))
    assert (found[0] - found[2]) - (other[0] - other[2]) == moved


def test_memory_of_many_numbers_together() -> None:
    exact._afford(1 << 20, 1 << 10)
    for bits, count in (((1 << 20) + 1, 1), (1 << 20, (1 << 10) + 1)):
        with pytest.raises(Refused, match="the exact logits need more memory"):
            exact._afford(bits, count)
