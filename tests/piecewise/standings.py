"""What a finished search may claim."""

from __future__ import annotations

import math

import polymargin as pm


def expected_standing(found: pm.Margin) -> pm.Standing:
    """Return the standing of a margin without a proof; that there is no tie at all is a bound far out, proved or not."""
    if math.isinf(found.radius):
        assert found.lower > 0
        return pm.Standing.BRACKETED
    return pm.Standing.NUMERICAL
