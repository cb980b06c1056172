"""Audit of a list of critical points: checks of completeness without a proof.

The base solutions give the generic number M of critical points for all points and levels of a boundary. If M distinct regular
ones
are found at (u, 0), the list is complete: a further critical point, regular or not, would be the limit of one more of the
M solutions nearby (docs/theorems). If fewer are regular, the endgame finds the endpoint of each of the M paths. The
polynomial and the point are real, so conjugation permutes the list: a lost or wrong point shows as one without partner.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from polymargin.continuation import PathEnd


@dataclass(frozen=True)
class Audit:
    """Counts and findings for one list of critical points.

    bound              number that the degree allows
    generic            number M for generic points and levels of this boundary
    found, real        distinct points in the list, and how many of them are real
    ends               what became of the M paths
    without_conjugate  nonreal points that lack their partner
    unjudged           base paths whose endpoint is unknown: M may be too small
    remarks            multiple points, singular points of the boundary, families
    """

    bound: int
    generic: int
    found: int
    real: int
    ends: dict[PathEnd, int]
    without_conjugate: int = 0
    unjudged: int = 0
    remarks: tuple[str, ...] = field(default=())

    @property
    def complete(self) -> bool:
        """Return whether every path has a judged end and the list is closed under conjugation."""
        judged = sum(self.ends.get(end, 0) for end in PathEnd if end.judged)
        return not self.unjudged and judged == self.generic and not self.without_conjugate

    @property
    def findings(self) -> tuple[str, ...]:
        """Return one sentence for each reason why the list is not complete."""
        sentences = [f"{n} path{'' if n == 1 else 's'} {end.message}" for end, n in self.ends.items() if not end.judged]
        if self.unjudged:
            sentences.append(f"{self.unjudged} of {self.bound} base paths have no known endpoint")
        if self.without_conjugate:
            sentences.append(f"{self.without_conjugate} points lack their complex conjugate")
        return tuple(sentences)
