"""Degree one: B(x) = B(u) + w·(x − u) is zero at the distance |B(u)| / ‖w‖ and nowhere nearer, all in exact arithmetic."""

from __future__ import annotations

from typing import Any

from flint import fmpq

from polymargin_checker.document import fields
from polymargin_checker.exact import slope
from polymargin_checker.refusal import Refused
from polymargin_checker.stages import Network


def check_hyperplane(
    network: Network, label: int, rival: int, difference: fmpq, lower: fmpq | None, proof: Any
) -> None:
    """Prove lower ≤ |B(u)| / ‖w‖ (infinite for w = 0), or refuse; `difference` is B(u)."""
    fields(proof, "hyperplane proof", ("kind",))
    square = sum((entry * entry for entry in slope(network, label, rival)), fmpq(0))
    if square == 0 or (lower is not None and lower <= 0):
        return
    if lower is None or lower * lower * square > difference * difference:
        raise Refused("the hyperplane is nearer than the stated lower bound")
