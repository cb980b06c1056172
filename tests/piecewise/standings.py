"""What a finished search may claim."""

from __future__ import annotations

import math

import polymargin as pm


def expected_standing(found: pm.Margin) -> pm.Standing:
    """A margin that is finite is known; that there is no tie at all is a bound: none within a distance beyond everything."""
    if math.isinf(found.radius):
        assert found.lower >= 1e6
        return pm.Standing.BRACKETED
    return pm.Standing.NUMERICAL
