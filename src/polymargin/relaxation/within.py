"""A counterexample within a radius, and where each rival is nearest to winning there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from polymargin.deadlines import NEVER, Deadline
from polymargin.networks.network import Network
from polymargin.regions import Region
from polymargin.relaxation.confirmation import Confirmation, Counterexample
from polymargin.relaxation.descent import FEW, FEW_STARTS, MANY_STARTS, descend, random_starts

Array = NDArray[np.float64]


@np.errstate(all="ignore")  # numbers far out may overflow; what is found there is compared in exact arithmetic
def counterexample_within(
    network: Network,
    point: Array,
    label: int,
    rivals: Sequence[int],
    region: Region,
    radius: float,
    *,
    starts: int | None = None,
    seed: int = 0,
    abstain: float = 0.0,
    deadline: Deadline = NEVER,
) -> tuple[Counterexample | None, Array]:
    """Return a counterexample within the radius, if one is found, and for each rival the step (R, d) to its lowest point.

    Steps are in the coordinates of `Coordinates.of(region, point)`.
    """
    confirmation = Confirmation.of(network, point, label, rivals, region, abstain)
    leads, coordinates = confirmation.leads, confirmation.coordinates
    count, ball = len(leads), coordinates.ball
    starts = starts or (MANY_STARTS if ball.dimension <= FEW else FEW_STARTS)
    first = random_starts(ball, radius, count, starts, np.random.default_rng(seed))
    rows = np.tile(np.arange(count), starts)
    values, steps = descend(leads, rows, ball, np.full(len(rows), radius), first, deadline=deadline)
    best = values.reshape(starts, count).argmin(axis=0)
    lowest = steps.reshape(starts, count, -1)[best, np.arange(count)]
    values = values.reshape(starts, count)[best, np.arange(count)]
    nearest: Counterexample | None = None
    for row in np.flatnonzero(values <= 0).tolist():
        found = confirmation.nearest(lowest[row], row)
        if found is not None and found.distance <= radius and (nearest is None or found.distance < nearest.distance):
            nearest = found
    return nearest, lowest
