"""Many rows of one model, judged together: labels, counterexamples, critical points, quadrics.

Doubles with error bounds decide first; balls and rationals decide what is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from polymargin_checker.arithmetic import PRECISION, working_precision
from polymargin_checker.completeness import Completeness, Listed, judge_completeness
from polymargin_checker.discs import Discs, Floats
from polymargin_checker.jets import values_at
from polymargin_checker.quadric import Asked, QuadricJudge
from polymargin_checker.refusal import OutOfTime, Refused
from polymargin_checker.relaxation.arithmetic import Arithmetic
from polymargin_checker.row import Row
from polymargin_checker.stages import Network
from polymargin_checker.upper_proof import Counterexample
from polymargin_checker.work import spend_doubles

Judged = Completeness | Refused | bool


class Together:
    """A model and what is known of it."""

    def __init__(self, stages: Network, exact: bool) -> None:
        self._stages, self._exact = stages, exact

    def leads(self, rows: Sequence[Row]) -> list[bool]:
        """Return for which rows the label is surely ahead of all rivals that are not shown to be behind it by a proof."""
        found = self._logits([row.situation.doubles for row in rows])
        if found is None:
            return [False] * len(rows)
        low, high = found
        leads = []
        for row, least, most in zip(rows, low, high, strict=True):
            leads.append(bool((least[row.situation.label] > most[row.unshown]).all()))
        return leads

    def wins(self, rows: Sequence[Row]) -> list[bool]:
        """Return for which rows the rival is surely ahead at the counterexample by more than counts as a tie."""
        result = [False] * len(rows)
        asked = [(place, row.upper) for place, row in enumerate(rows) if isinstance(row.upper, Counterexample)]
        found = self._logits([upper.doubles for _, upper in asked])
        if found is None:
            return result
        low, high = found
        for (place, upper), least, most in zip(asked, low, high, strict=True):
            situation = rows[place].situation
            result[place] = situation.near.abstain == 0 and bool(least[upper.rival] > most[situation.label])
        return result

    def _logits(self, points: Sequence[Floats | None]) -> tuple[Floats, Floats] | None:
        """Return the bounds of the logits in doubles; None where they are not for this."""
        stages, known = self._stages, [point for point in points if point is not None]
        if self._exact or not stages.is_polynomial or not known or len(known) < len(points):
            return None
        x = np.array(known)
        weights = sum(
            block.shape[0] * block.shape[1]
            for forms in [*(part for stage in stages.stages for part in stage.forms), stages.readout]
            for _, block in forms.blocks
        )
        spend_doubles(8 * len(points) * weights, "the logits")
        values = values_at(stages, Discs.exact(x))
        low, high = values.middle.real - values.radius, values.middle.real + values.radius
        sound = np.isfinite(low) & np.isfinite(high)
        return (
            np.where(sound, np.nextafter(low, -np.inf), -np.inf),
            np.where(sound, np.nextafter(high, np.inf), np.inf),
        )

    def judge(self, proofs: Sequence[Listed | Asked]) -> list[Judged]:
        """Judge completeness and quadric proofs."""
        results: list[Judged] = [False] * len(proofs)
        listed: dict[int, list[tuple[int, Listed]]] = {}
        asked: list[tuple[int, Asked]] = []
        for place, proof in enumerate(proofs):
            if isinstance(proof, Listed):
                listed.setdefault(id(proof.network), []).append((place, proof))
            else:
                asked.append((place, proof))
        for group in listed.values():
            complete = judge_completeness([proof for _, proof in group], exact=self._exact)
            for (place, _), found in zip(group, complete, strict=True):
                results[place] = found
        for (place, _), one in zip(asked, self._quadrics([proof for _, proof in asked]), strict=True):
            results[place] = one
        return results

    def _quadrics(self, asked: Sequence[Asked]) -> list[Judged]:
        if not asked:
            return []
        found = np.zeros(len(asked), dtype=bool)
        try:
            with working_precision(PRECISION):
                if not self._exact:
                    found = self._quadrics_in_doubles.positive(asked)
                left = np.flatnonzero(~found)
                for place in left.tolist():
                    found[place] = self._quadrics_in_balls.positive([asked[place]])[0]
        except OutOfTime:
            raise
        except Refused as refusal:
            return [refusal if not one else True for one in found.tolist()]
        return list(found.tolist())

    @cached_property
    def _quadrics_in_doubles(self) -> QuadricJudge:
        return QuadricJudge(self._stages, Arithmetic(False))

    @cached_property
    def _quadrics_in_balls(self) -> QuadricJudge:
        return QuadricJudge(self._stages, Arithmetic(True))
