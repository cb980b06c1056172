"""Networks travel to other processes and can be copied, whatever was computed with them before."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from problems import random_network

import polymargin as pm


def normal(seed: int, *shapes: tuple[int, int]) -> list[Any]:
    generator = np.random.default_rng(seed)
    return [generator.normal(size=shape) for shape in shapes]


NETWORKS = {
    "layers": random_network([2, 3, 2], 3, seed=1),
    "attention": pm.LightningAttention(*normal(0, (1, 1), (1, 1), (1, 1), (2, 2)), bias=[0.0, 0.3]),
    "products": pm.pi_net(normal(1, (2, 3), (2, 3)), *normal(2, (2, 2)), bias=[0.0, 0.4]),
}


@pytest.mark.parametrize("network", NETWORKS.values(), ids=list(NETWORKS))
def test_a_network_that_was_used_is_pickled_and_copied(network: Any) -> None:
    point = np.full(network.dimension, 0.25)
    pm.margin(network, point, proof=False, workers=1)
    pm.attack(network, point)
    pm.attack(network, point, within=pm.Linf())
    pm.verify(network, point, 1e-3)
    for other in (pickle.loads(pickle.dumps(network)), copy.deepcopy(network)):
        assert other.fingerprint == network.fingerprint
        assert other.exact_logits(point) == network.exact_logits(point)
