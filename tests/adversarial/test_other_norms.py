"""Networks that mislead floating point, in other norms: the L2 truth bounds every norm from both sides."""

from __future__ import annotations

import math

import pytest
from adversarial.families import case
from problems import asked

import polymargin as pm

# Indices for which the faces alone were once wrong come first: clusters on a line, a tie at 2e10.
CASES = (1, 58, 91, *range(0, 45, 3))


@pytest.mark.parametrize("norm", ["linf", "l1"])
@pytest.mark.parametrize("index", CASES)
def test_no_length_contradicts_the_l2_margin(index: int, norm: str) -> None:
    one = case(index, seed=7)
    if len(one.point) > 3:
        return
    found = pm.margin(one.network, one.point, proof=False, **asked(norm=norm), workers=1)
    root = math.sqrt(len(one.point))
    least, most = (one.truth / root, one.truth) if norm == "linf" else (one.truth, one.truth * root)
    assert found.lower <= most * (1 + 1e-6)
    assert found.upper >= least * (1 - 1e-6)
