"""Not one path lost or doubled: 500 random networks; ten thousand in benchmarks/reliability.py."""

from __future__ import annotations

import numpy as np
import pytest
from problems import random_network

import polymargin as pm


@pytest.mark.parametrize("block", range(10))
def test_fifty_random_networks_lose_nothing(block: int) -> None:
    for seed in range(50 * block, 50 * block + 50):
        generator = np.random.default_rng([seed, 99])
        n = int(generator.integers(1, 5))
        if generator.random() < 0.25:
            widths, degree = [min(n, 3), *generator.integers(min(n, 3), 6, size=2), 2], 2
        else:
            degree = int(generator.integers(2, 5 if n < 4 else 4))
            widths = [n, int(generator.integers(2, n + 4)), 2]
        boundary = pm.Boundary.from_network(random_network(widths, degree, seed), 0, 1)
        found = pm.critical_points(boundary, generator.normal(size=widths[0]), cache=False)
        assert found.audit.complete, (seed, widths, degree, found)
