"""The checker as the judge of every proof, in memory and within the time of the call.

The solver says CERTIFIED or ROBUST only of a certificate that the checker has accepted. This module is the only place of the
solver that calls it. The two share no code: the judge hands over what would be in the two files, the model and the
certificate, as bytes.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from polymargin.margins.certificate import Certificate, lines_of
from polymargin.networks.network import Network
from polymargin.polynomials.balls import FLINT
from polymargin_checker import CheckResult, check_rows


@dataclass(frozen=True)
class Judgement:
    """The answer of the checker to a certificate.

    reason     why it did not accept; empty if it did
    in_time    False if time alone was missing
    """

    reason: str = ""
    in_time: bool = True

    @property
    def accepted(self) -> bool:
        """Return whether the checker accepted."""
        return not self.reason


@dataclass(frozen=True, eq=False)
class Judge:
    """A network as the checker reads it, written once for all its certificates."""

    network: Network

    @cached_property
    def _model(self) -> bytes:
        file = io.BytesIO()
        self.network.save(file)
        return file.getvalue()

    def on(self, certificate: Certificate, seconds: float = math.inf) -> Judgement:
        """Check a certificate in so many seconds."""
        return self.on_many([certificate], seconds)[0]

    def on_ranges(self, certificate: Certificate, seconds: float = math.inf) -> Judgement:
        """Check a certificate about ranges, which has no rows, in so many seconds."""
        limit = seconds if math.isfinite(seconds) else None
        return _judgement(check_rows(self._model, certificate.to_bytes(), seconds=limit)[0])

    def on_many(self, certificates: Sequence[Certificate], seconds: float = math.inf) -> list[Judgement]:
        """Check certificates that share model and neighbourhood, all of them in so many seconds; each is judged for itself."""
        if not certificates:
            return []
        if seconds <= 0:
            return [Judgement("no time was left to check the proof", in_time=False)] * len(certificates)
        limit = seconds if math.isfinite(seconds) else None
        with FLINT:  # the checker sets the precision of the process, too
            found = check_rows(self._model, lines_of(certificates), seconds=limit)
        if len(found) != len(certificates):  # what all share is refused
            found = found[:1] * len(certificates)
        return [_judgement(result) for result in found]


def _judgement(result: CheckResult) -> Judgement:
    if result.accepted:
        return Judgement()
    if not result.in_time:
        return Judgement(f"the time was too short to check the proof ({result.reason})", in_time=False)
    return Judgement(f"the checker does not accept the proof ({result.reason})")
