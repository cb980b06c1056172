"""Proved margins of many points at once: critical points and nearest points, as the search found them, proved on whole arrays.

A row is answered here if every rival has a proof at the first try and the checker accepts all of them together. Other rows are
left to `proving`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.boundary import Boundary
from polymargin.deadlines import Deadline
from polymargin.margins.certificate import Certificate, certificate, hexadecimal, in_base64
from polymargin.margins.completeness import CompletenessProof, CriticalPointProofs
from polymargin.margins.judge import Judge
from polymargin.margins.pair_work import Enumerated, Found
from polymargin.margins.proofs import Accepted, RivalProof, UpperProof
from polymargin.margins.quadric import ROOMS, beyond_ties, quadric_proof
from polymargin.quadric import NearestBatches, NearestKind

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

    def __init__(self, judge: Judge, paths_per_point: int, seed: int) -> None:
        self._judge, self._network, self._seed = judge, judge.network, seed
        self._provers: dict[Boundary, CriticalPointProofs] = {}
        numbers = paths_per_point * (self._network.dimension + 1)
        self.size = max(1, min(256, MOST_NUMBERS // max(1, numbers)))
        """How many points are best proved at a time."""

    def prove(self, points: Array, chosen: Rows, found: Found, deadline: Deadline) -> dict[int, Accepted]:
        """Return the proved bounds of those chosen rows of points (p, n) that are proved at the first try."""
        rows = {row: _Row() for row in chosen.tolist()}
        for each in found.enumerated:
            self._add_complete(points, chosen, each, rows)
        accepted: dict[int, Accepted] = {}
        for room in ROOMS:
            if found.nearest is not None:
                self._add_quadrics(points, chosen, *found.nearest, rows, room)
            accepted = self._accepted(points, found.table.labels, rows, deadline)
            if len(accepted) == len(rows) or found.nearest is None:
                break
        return accepted

    def _add_complete(self, u: Array, chosen: Rows, each: Enumerated, rows: dict[int, _Row]) -> None:
        """Add proofs that all critical points were found."""
        boundary = each.pair.base.boundary
        mine = np.flatnonzero(np.isin(each.rows, chosen))
        whole = mine[each.paths.converged[mine].all(axis=1)]
        points, multipliers = _critical_points(boundary, u[each.rows[whole]], each.paths.points[whole])
        if boundary not in self._provers:
            self._provers[boundary] = CriticalPointProofs(self._network, boundary)
        proofs = self._provers[boundary].prove(u[each.rows[whole]], points, multipliers)
        for place, proof in zip(whole.tolist(), proofs, strict=True):
            if proof is not None:
                _add_proof(rows[int(each.rows[place])], int(each.rivals[place]), proof)

    def _add_quadrics(
        self, u: Array, chosen: Rows, nearest: NearestBatches, rivals: Rows, rows: dict[int, _Row], room: float
    ) -> None:
        """Add the nearest points of quadrics; the nearest of all is an upper bound."""
        closest: dict[int, tuple[float, int]] = {}
        known = np.isin(nearest.kinds, (NearestKind.REGULAR, NearestKind.SPHERE, NearestKind.EMPTY))
        for place in np.flatnonzero(known & np.isin(nearest.rows, chosen)).tolist():
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
        near, places = np.array(list(closest)), np.array([place for _, place in closest.values()])
        labels = self._network.predict(u[near])
        x, distances = beyond_ties(self._network, u[near], nearest.points_at(places), labels, rivals[places])
        for row, place, point, above in zip(near.tolist(), places.tolist(), x, distances.tolist(), strict=True):
            if math.isnan(above):
                rows[row].proofs.clear()
                continue
            evidence = {"kind": "counterexample", "rival": int(rivals[place]), "point": in_base64(point)}
            rows[row].upper = UpperProof(above, int(rivals[place]), evidence)

    def _accepted(self, u: Array, labels: Rows, rows: dict[int, _Row], deadline: Deadline) -> dict[int, Accepted]:
        """Return the bounds of the rows with a proof against every rival, as far as the checker accepts them."""
        made = {
            place: self._certificate(u[place], int(labels[place]), row)
            for place, row in rows.items()
            if len(row.proofs) == self._network.class_count - 1
        }
        judged = self._judge.on_many(list(made.values()), deadline.left)
        accepted = [place for place, found in zip(made, judged, strict=True) if found.accepted]
        return {place: _bounds(rows[place], made[place]) for place in accepted}

    def _certificate(self, u: Array, label: int, row: _Row) -> Certificate:
        upper = row.upper
        claim = {
            "kind": "margin",
            "lower": hexadecimal(_lower(row)),
            "upper": hexadecimal(math.inf if upper is None else upper.distance),
        }
        proofs = [row.proofs[rival].to_json() for rival in sorted(row.proofs)]
        evidence = None if upper is None else upper.evidence
        return certificate(self._network, u, label, claim, proofs, evidence, self._seed)


def _bounds(row: _Row, proof: Certificate) -> Accepted:
    upper = row.upper
    return Accepted(
        _lower(row), math.inf if upper is None else upper.distance, None if upper is None else upper.rival, proof
    )


def _critical_points(boundary: Boundary, u: Array, ends: ComplexArray) -> tuple[ComplexArray, ComplexArray]:
    """Return critical points (q, N, n) and multipliers (q, N) in the original variables, from endpoints (q, N, m + 1)."""
    reduction = boundary.reduction
    points = reduction.lift(ends[..., :-1], u[:, None, :])
    return np.asarray(points, dtype=np.complex128), ends[..., -1] * (reduction.scale**2 / reduction.factor)


def _add_proof(row: _Row, rival: int, proof: CompletenessProof) -> None:
    upper = None
    if proof.nearest is not None:
        evidence: dict[str, Any] = {"kind": "critical-point", "rival": rival, "index": proof.nearest}
        upper = UpperProof(proof.upper, rival, evidence)
    row.add(RivalProof(rival, proof.lower, proof.to_json(), proof.upper, proof.nearest), upper)


def _lower(row: _Row) -> float:
    return min(proof.lower for proof in row.proofs.values())
