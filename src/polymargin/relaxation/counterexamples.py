"""Upper bounds: the nearest counterexample of a threat model, as near as a local search finds it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polymargin.arguments import checked_point
from polymargin.deadlines import NEVER, Deadline
from polymargin.errors import InputError
from polymargin.networks.network import Network
from polymargin.regions import ThreatModel
from polymargin.relaxation.attack import nearest_counterexample
from polymargin.relaxation.confirmation import Counterexample
from polymargin.relaxation.label import label_at


def nearest_attack(
    network: Network,
    point: NDArray[np.float64],
    rival: int | None = None,
    starts: int | None = None,
    seed: int = 0,
    deadline: Deadline = NEVER,
    asked: ThreatModel | None = None,
) -> Counterexample | None:
    """Return the nearest counterexample that is found; at the deadline the best so far."""
    asked = asked or ThreatModel.of(network.dimension)
    u = checked_point(point, network.dimension)
    label = label_at(network, u)
    others = asked.against(label, network.class_count)
    if rival is not None and rival not in others:
        raise InputError(f"rival {rival}: expected one of the classes {others}")
    chosen = others if rival is None else [rival]
    return nearest_counterexample(
        network, u, label, chosen, asked.region, starts=starts, seed=seed, deadline=deadline, abstain=asked.abstain
    )
