"""The search for a counterexample: a point where a rival wins or ties in exact arithmetic."""

from __future__ import annotations

from polymargin.certificates.session import Session
from polymargin.deadlines import Deadline
from polymargin.margins.proofs import distance_above
from polymargin.relaxation.confirmation import Counterexample
from polymargin.relaxation.counterexamples import nearest_attack

# Of the time that is left, for a search; and seconds that it gets in any case.
SHARE = 0.3
MOMENT = 0.2


def search(session: Session, rival: int | None = None) -> Counterexample | None:
    """The best that a local search finds, against one rival or all."""
    if not session.network.stages:
        return None
    deadline = session.deadline.part(SHARE)
    if deadline.passed:  # what came before took longer than it should have
        deadline = Deadline.after(MOMENT)
    found = nearest_attack(session.network, session.u, rival, deadline=deadline)
    if found is None:
        return None
    return Counterexample(found.point, found.rival, distance_above(found.point, session.u))
