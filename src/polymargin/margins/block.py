"""Proved margins of many points at once: critical points and nearest points as they are found, proved on whole arrays.

A row is answered here if every rival has a proof at the first try and the checker accepts all of them together. Other rows are
left to `proving`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.boundary import Boundary
from polymargin.continuation import Tracker, available_threads
from polymargin.continuation.paths import Paths
from polymargin.deadlines import Deadline
from polymargin.margins.accepted import Accepted, UpperProof
from polymargin.margins.certificate import Certificate, certificate, hexadecimal, in_base64
from polymargin.margins.completeness import CompletenessProof, CriticalPointProofs
from polymargin.margins.judge import Judge
from polymargin.margins.network_margins import NetworkMargins
from polymargin.margins.pair_work import PairWork
from polymargin.margins.pairs import EnumeratedPair, Enumeration, QuadricPair
from polymargin.margins.proofs import RivalProof
from polymargin.margins.quadric import ROOMS, beyond_ties, quadric_proof
from polymargin.quadric import NearestKind, nearest_of

Array = NDArray[np.float64]
ComplexArray = NDArray[np.complex128]
Rows = NDArray[np.intp]

# Complex numbers of all critical points that are held at a time.
MOST_NUMBERS = 1 << 22


@dataclass
class _Row:
    """Proofs against the rivals of a point, and the nearest tie."""

    proofs: dict[int, RivalProof] = field(default_factory=dict)
    upper: UpperProof | None = None

    def add(self, proof: RivalProof, upper: UpperProof | None) -> None:
        self.proofs[proof.rival] = proof
        if upper is not None and (self.upper is None or upper.distance < self.upper.distance):
            self.upper = upper


class BlockProofs:
    """A network whose boundaries are prepared once."""

    def __init__(self, judge: Judge, margins: NetworkMargins, search: Enumeration) -> None:
        self._judge, self._margins, self._search = judge, margins, search
        self._network = judge.network
        self._provers: dict[Boundary, CriticalPointProofs] = {}

    def size(self) -> int:
        """Return how many points are best answered at a time."""
        numbers = self._margins.paths_per_point * (self._network.dimension + 1)
        return max(1, min(256, MOST_NUMBERS // max(1, numbers)))

    def prove(self, points: Array, deadline: Deadline) -> dict[int, Accepted]:
        """Return the proved bounds of those rows of points (p, n) that are proved at the first try."""
        tracker = self._search.tracker.until(deadline)
        labels, work = self._margins.work_at(points, tracker)
        rows = [_Row() for _ in points]
        enumerated = [each for each in work if _is_listed(each)]
        quadrics = [each for each in work if isinstance(each.pair, QuadricPair)]
        self._add_complete(points, enumerated, rows, tracker)
        for room in ROOMS:
            self._add_quadrics(points, quadrics, rows, room, tracker)
            answers = self._accepted(points, labels, rows, deadline)
            if len(answers) == len(points) or not quadrics:
                break
        return {row: _bounds(rows[row], proof) for row, proof in answers.items()}

    def _add_complete(self, u: Array, work: Sequence[PairWork], rows: list[_Row], tracker: Tracker) -> None:
        """Add all critical points, and a proof of completeness."""
        asked = []
        for each in work:
            assert isinstance(each.pair, EnumeratedPair)
            chosen = np.concatenate([some for some, _ in each.pieces])
            rivals = np.repeat([rival for _, rival in each.pieces], [len(some) for some, _ in each.pieces])
            if (job := each.pair.job(u, chosen)) is not None:
                asked.append((each.pair, chosen, rivals, job))
        for (pair, chosen, rivals, _), paths in zip(asked, tracker.run([job for *_, job in asked]), strict=True):
            boundary = pair.base.boundary
            points, multipliers, whole = _critical_points(boundary, u[chosen], paths)
            if boundary not in self._provers:
                self._provers[boundary] = CriticalPointProofs(self._network, boundary)
            kept = np.flatnonzero(whole)
            found = self._provers[boundary].prove(u[chosen[kept]], points[kept], multipliers[kept])
            for place, proof in zip(kept.tolist(), found, strict=True):
                if proof is not None:
                    _add_proof(rows[chosen[place]], int(rivals[place]), proof)

    def _add_quadrics(
        self, u: Array, work: Sequence[PairWork], rows: list[_Row], room: float, tracker: Tracker
    ) -> None:
        """Add the nearest points of quadrics; the nearest of all is an upper bound."""
        if not work:
            return
        asked = [
            (each.pair.solver, some) for each in work if isinstance(each.pair, QuadricPair) for some, _ in each.pieces
        ]
        nearest = nearest_of(u, asked, tracker.threads or available_threads())
        rivals = np.repeat([rival for each in work for _, rival in each.pieces], nearest.counts)
        closest: dict[int, tuple[float, int]] = {}
        known = np.isin(nearest.kinds, (NearestKind.REGULAR, NearestKind.SPHERE, NearestKind.EMPTY))
        for place in np.flatnonzero(known).tolist():
            row, distance = int(nearest.rows[place]), float(nearest.distances[place])
            if nearest.kinds[place] == NearestKind.EMPTY:
                distance = math.inf
            elif not (0 < distance < math.inf and 0 < abs(nearest.multipliers[place]) < math.inf):
                continue
            proof = quadric_proof(int(rivals[place]), distance, float(nearest.multipliers[place]), room)
            rows[row].add(proof, None)
            if distance < closest.get(row, (math.inf, 0))[0]:
                closest[row] = distance, place
        if not closest:
            return
        chosen, places = np.array(list(closest)), np.array([place for _, place in closest.values()])
        labels = self._network.predict(u[chosen])
        x, distances = beyond_ties(self._network, u[chosen], nearest.points_at(places), labels, rivals[places])
        for row, place, point, above in zip(chosen.tolist(), places.tolist(), x, distances.tolist(), strict=True):
            if math.isnan(above):
                rows[row].proofs.clear()
                continue
            evidence = {"kind": "counterexample", "rival": int(rivals[place]), "point": in_base64(point)}
            rows[row].upper = UpperProof(above, int(rivals[place]), evidence)

    def _accepted(self, u: Array, labels: Rows, rows: Sequence[_Row], deadline: Deadline) -> dict[int, Certificate]:
        """Return the certificates of the rows with a proof against every rival, as far as the checker accepts them."""
        made = {
            place: self._certificate(u[place], int(labels[place]), row)
            for place, row in enumerate(rows)
            if len(row.proofs) == self._network.class_count - 1
        }
        judged = self._judge.on_many(list(made.values()), deadline.left)
        return {place: one for (place, one), found in zip(made.items(), judged, strict=True) if found.accepted}

    def _certificate(self, u: Array, label: int, row: _Row) -> Certificate:
        upper = row.upper
        claim = {
            "kind": "margin",
            "lower": hexadecimal(_lower(row)),
            "upper": hexadecimal(math.inf if upper is None else upper.distance),
        }
        proofs = [row.proofs[rival].to_json() for rival in sorted(row.proofs)]
        evidence = None if upper is None else upper.evidence
        return certificate(self._network, u, label, claim, proofs, evidence, self._search.seed)


def _bounds(row: _Row, proof: Certificate) -> Accepted:
    upper = row.upper
    return Accepted(
        _lower(row), math.inf if upper is None else upper.distance, None if upper is None else upper.rival, proof
    )


def _is_listed(work: PairWork) -> bool:
    """Return whether all critical points of the boundary are found, and few enough to be written down."""
    pair = work.pair
    return isinstance(pair, EnumeratedPair) and pair.base.solutions.size <= MOST_NUMBERS


def _critical_points(
    boundary: Boundary, u: Array, paths: Paths
) -> tuple[ComplexArray, ComplexArray, NDArray[np.bool_]]:
    """Return critical points (q, N, n), multipliers (q, N) in the original variables, and which points are complete."""
    reduction = boundary.reduction
    y = paths.points[..., :-1]
    points = reduction.lift(y, u[:, None, :])
    multipliers = paths.points[..., -1] * (reduction.scale**2 / reduction.factor)
    return np.asarray(points, dtype=np.complex128), multipliers, np.asarray(paths.converged.all(axis=1))


def _add_proof(row: _Row, rival: int, proof: CompletenessProof) -> None:
    upper = None
    if proof.nearest is not None:
        evidence: dict[str, Any] = {"kind": "critical-point", "rival": rival, "index": proof.nearest}
        upper = UpperProof(proof.upper, rival, evidence)
    row.add(RivalProof(rival, proof.lower, proof.to_json(), proof.upper, proof.nearest), upper)


def _lower(row: _Row) -> float:
    return min(proof.lower for proof in row.proofs.values())
