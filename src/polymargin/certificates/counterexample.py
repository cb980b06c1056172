"""Counterexamples that hold in exact arithmetic: f_rival(x) ≥ f_label(x), and how far x is from the point at most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

from polymargin.bounds.attack import nearest_attack
from polymargin.certificates.session import Session
from polymargin.continuation.krawczyk import PRECISION
from polymargin.deadlines import Deadline
from polymargin.margins.certificate import hexadecimal
from polymargin.polynomials.balls import distance_bounds, precision

# Of the time that is left, for a search; and seconds that it gets in any case.
SHARE = 0.3
MOMENT = 0.2
# Relative steps beyond a tie until the rival really is ahead in exact arithmetic.
NUDGES = (0.0, 1e-15, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8)


@dataclass(frozen=True, eq=False)
class Counterexample:
    """A point where the rival is at least as large as the label, and an upper bound of its distance.

    along    where a matrix weighs perturbations or a subspace holds them: exact sums, coefficients of its columns
    """

    point: NDArray[np.float64]
    rival: int
    distance: float
    along: tuple[tuple[float, ...], ...] | None = None

    def to_json(self) -> dict[str, Any]:
        if self.along is not None:
            sums = [[hexadecimal(term) for term in terms] for terms in self.along]
            return {"kind": "counterexample", "rival": self.rival, "along": sums}
        coordinates = [hexadecimal(value) for value in self.point.tolist()]
        return {"kind": "counterexample", "rival": self.rival, "point": coordinates}


def beyond(session: Session, tie: NDArray[np.float64], rival: int) -> Counterexample | None:
    """The nearest float point just beyond an approximate tie at which the rival is ahead exactly."""
    for nudge in NUDGES:
        x = session.u + (1 + nudge) * (tie - session.u)
        logits = session.network.exact_logits(x)
        if logits[rival] >= logits[session.label]:
            return Counterexample(x, rival, _distance(x, session))
    return None


def search(session: Session, rival: int | None = None) -> Counterexample | None:
    """The best that a local search finds, against one rival or all."""
    if not session.network.hidden_layers:
        return None
    deadline = session.deadline.part(SHARE)
    if deadline.passed:  # what came before took longer than it should have
        deadline = Deadline.after(MOMENT)
    found = nearest_attack(session.network, session.u, rival, deadline=deadline)
    if found is None:
        return None
    return Counterexample(found.point, found.rival, _distance(found.point, session))


def _distance(x: NDArray[np.float64], session: Session) -> float:
    """‖x − u‖, rounded up."""
    with precision(PRECISION):
        return distance_bounds([flint.arb(value) for value in x.tolist()], session.u)[1]
