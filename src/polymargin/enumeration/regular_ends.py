"""Endpoints of the paths from the base solutions to one target: the distinct regular solutions.

Doubles decide where nothing is near: the path converged, the equations are well conditioned there and no other path ends within
`SAME`. Anything else is decided by a proof. The path is followed in double-doubles, Newton's method goes on with many digits, and
Krawczyk's test in a box scaled to each coordinate proves one regular solution in it (`continuation.precise_paths`). A condition
number says nothing here: a solution far out, or one in a large unit, is ill-conditioned and regular.

Where all endpoints are to be known (`settled_ends`), paths without a proof are followed with many digits to their limit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polymargin.continuation import End, Paths, PreciseEnd, Tracker, landings, precise_ends, same
from polymargin.continuation.same_points import real_points, sizes
from polymargin.continuation.survey import LARGEST_CONDITION
from polymargin.deadlines import NEVER, Deadline
from polymargin.enumeration.base_solutions import BaseSolutions

ComplexArray = NDArray[np.complex128]

# Relative error of a regular endpoint in doubles, in the unit of the reduced coordinates.
REGULAR_ERROR = 1e-12
# Endpoints nearer to the target than this are proved, for their digits: the error must be small beside the distance.
NEAR = 1e-3
# Fraction of the way that is left when paths are followed with many digits.
REMAINING = 0.05
# Paths that are followed with many digits, a tenth of a second each.
MOST_FOLLOWED = 400


@dataclass(frozen=True, eq=False)
class Endpoints:
    """Endpoints of M paths in reduced coordinates.

    paths      what the tracker says; proved points stand in the place of its own
    regular    (M,) which paths end at a regular solution of their own
    proofs     by the number of the path, regular solutions that Krawczyk's test has proved
    irregular  number of the other paths whose limit is known: at infinity, or where λ is infinite or solutions merge
    """

    paths: Paths
    regular: NDArray[np.bool_]
    proofs: dict[int, PreciseEnd]
    irregular: int = 0

    @property
    def undecided(self) -> int:
        """Return the paths whose endpoint is not known."""
        return int((~self.regular).sum()) - self.irregular

    @property
    def solutions(self) -> ComplexArray:
        """Return the regular solutions (K, m + 1)."""
        return np.asarray(self.paths.points[0][self.regular])

    @property
    def real(self) -> NDArray[np.bool_]:
        """Return which of the regular solutions (K,) are real."""
        real = real_points(self.paths.points[0])
        for number, proof in self.proofs.items():
            real[number] = proof.real
        return np.asarray(real[self.regular])

    @property
    def errors(self) -> NDArray[np.float64]:
        """Return error bounds for the unknowns of each regular solution (K,)."""
        errors = REGULAR_ERROR * sizes(self.paths.points[0][:, :-1])
        for number, proof in self.proofs.items():
            errors[number] = proof.error
        return np.asarray(errors[self.regular])


def regular_ends(base: BaseSolutions, target: ComplexArray, tracker: Tracker) -> Endpoints:
    """Follow all paths to one target (m + 1,) and decide which of them end at regular solutions of their own."""
    paths, met = tracker.follow_and_tell(base.program, base.solutions, base.parameters, target)
    regular = (paths.converged & (paths.condition < LARGEST_CONDITION) & ~met)[0]
    if not regular.all():
        left = np.flatnonzero(~regular)
        careful = tracker.tightened().far_sighted()
        again = careful.track(base.program, base.solutions[left], base.parameters, target, double_double=True)
        better = again.converged[0]
        paths.put(left[better], again.only(better))
    y = paths.points[0][:, :-1]
    near = np.linalg.norm(y - target[:-1], axis=1) < NEAR * sizes(y)
    ledger = _Ledger(base, target, paths, regular, deadline=tracker.deadline)
    ledger.land(np.flatnonzero(paths.converged[0] & (~regular | near)))
    return Endpoints(paths, ledger.regular, ledger.proofs)


def settled_ends(base: BaseSolutions, target: ComplexArray, tracker: Tracker) -> Endpoints:
    """Return the endpoints of all paths, those that are not regular followed with many digits to their limits."""
    found = regular_ends(base, target, tracker)
    left = np.flatnonzero(~found.regular)
    if not len(left):
        return found
    ledger = _Ledger(base, target, found.paths, found.regular, found.proofs, tracker.deadline)
    direction = base.parameters - target
    near = target + REMAINING * direction
    careful = tracker.tightened().far_sighted()
    approach = careful.track(base.program, base.solutions[left], base.parameters, near, double_double=True)
    arrived = np.flatnonzero(approach.converged[0])[:MOST_FOLLOWED]
    limits = precise_ends(base.program, approach.points[0][arrived], target, direction, REMAINING, tracker.deadline)
    irregular = 0
    for number, limit in zip(left[arrived].tolist(), limits, strict=True):
        if limit.kind is End.REGULAR:
            ledger.enter(number, limit)
        elif limit.kind is not End.UNDECIDED:
            irregular += 1
    return Endpoints(found.paths, ledger.regular, ledger.proofs, irregular)


class _Ledger:
    """Regular endpoints, entered one by one: a solution that has a path already is not entered again."""

    def __init__(
        self,
        base: BaseSolutions,
        target: ComplexArray,
        paths: Paths,
        regular: NDArray[np.bool_],
        proofs: dict[int, PreciseEnd] | None = None,
        deadline: Deadline = NEVER,
    ) -> None:
        self._deadline = deadline
        self._program, self._target, self._paths = base.program, target, paths
        self.regular, self.proofs = regular, {} if proofs is None else proofs

    def land(self, numbers: NDArray[np.intp]) -> None:
        """Prove that the endpoints with these numbers are regular solutions of their own; they are not regular otherwise."""
        self.regular[numbers] = False
        found = landings(self._program, self._paths.points[0][numbers], self._target, self._deadline)
        for number, proof in zip(numbers.tolist(), found, strict=True):
            if proof is not None:
                self.enter(number, proof)

    def enter(self, number: int, proof: PreciseEnd) -> None:
        """Enter a proved solution as the endpoint of a path, unless it is that of another one."""
        points = self._paths.points[0]
        if any(proof.meets(other) for other in self.proofs.values() if same(proof.point, other.point)):
            return
        self.regular[number], self.proofs[number], points[number] = True, proof, proof.point
        # What doubles cannot tell from a proved solution needs a proof, too.
        close = self.regular & same(points, proof.point)
        self.land(np.array([each for each in np.flatnonzero(close).tolist() if each not in self.proofs], dtype=np.intp))
