"""Expected counts given hidden weights, against simulation, closed forms, and their own error bars."""

from __future__ import annotations

import numpy as np
import pytest

import polymargin as pm
from polymargin.expected import (
    AttentionFamily,
    DeepFamily,
    expected_for_family,
    expected_real_critical_points,
    simulate_real_counts,
)

FAMILIES = [
    (DeepFamily((1, 3), 3), [0.4]),
    (DeepFamily((2, 5), 2), [1.0, 0.5]),
    (DeepFamily((2, 3, 4), 2), [0.3, 0.0]),
    (AttentionFamily(1, 2, 2, 1), [1.0, 0.5]),
    (AttentionFamily(2, 1, 1, 1), [1.0, 0.5]),
]


@pytest.mark.parametrize(("family", "point"), FAMILIES, ids=str)
def test_agrees_with_simulation(family: DeepFamily | AttentionFamily, point: list[float]) -> None:
    expected = expected_for_family(family, point, samples=1 << 14)
    simulation = simulate_real_counts(family, 500, point, threads=1)
    assert simulation.doubtful == 0
    assert abs(simulation.mean - expected.value) < expected.error + 4 * simulation.standard_error
    assert expected.error < 0.25 * expected.value


def test_wide_shallow_networks_tend_to_the_gaussian_field() -> None:
    limit = expected_real_critical_points(2, 2, [1.0, 0.5]).value
    found = expected_for_family(DeepFamily((2, 60), 2), [1.0, 0.5], samples=1 << 13)
    assert abs(found.value - limit) < 0.1 * limit


def test_error_bars_cover() -> None:
    """Three standard errors from 16 scramblings: at least 9 of 10 independent runs lie within them."""
    family, point = DeepFamily((2, 8), 2), [0.5, -0.2]
    truth = expected_for_family(family, point, samples=1 << 17, seed=1000)
    runs = [expected_for_family(family, point, samples=1 << 10, seed=seed) for seed in range(20)]
    inside = [abs(run.value - truth.value) <= run.error + truth.error for run in runs]
    assert np.mean(inside) >= 0.9
    spread = np.std([run.value for run in runs])
    assert 0.3 < np.median([run.error for run in runs]) / (3 * spread) < 3  # and are not much too wide


@pytest.mark.parametrize("distance", [200.0, 1000.0])
def test_points_far_away(distance: float) -> None:
    family = DeepFamily((2, 10), 2)
    far = expected_for_family(family, [distance, 0.0], samples=1 << 13)
    near = expected_for_family(family, [20.0, 0.0], samples=1 << 13)
    assert abs(far.value - near.value) < far.error + near.error + 0.1 * near.value


@pytest.mark.parametrize(
    "family", [DeepFamily((3, 4, 2), 2), AttentionFamily(2, 2, 2, 1), AttentionFamily(2, 2, 1, 1)], ids=str
)
def test_narrow_families_are_refused(family: DeepFamily | AttentionFamily) -> None:
    with pytest.raises(pm.InputError, match="no density"):
        expected_for_family(family)
