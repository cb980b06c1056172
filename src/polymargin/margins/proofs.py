"""The parts of a certificate: a proof against each rival, and a counterexample that holds in exact arithmetic.

The checker judges these certificates before an answer is called proved.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

from polymargin.continuation.krawczyk import PRECISION
from polymargin.margins.certificate import Certificate, certificate, hexadecimal, in_base64
from polymargin.margins.judge import Judge, Judgement
from polymargin.networks.network import Network
from polymargin.polynomials.balls import distance_bounds, precision
from polymargin.regions import ThreatModel
from polymargin.relaxation.confirmation import Counterexample

Array = NDArray[np.float64]

# Relative steps beyond a tie until the rival really is ahead in exact arithmetic.
NUDGES = (0.0, 1e-15, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8)


@dataclass(frozen=True)
class RivalProof:
    """No tie with the rival nearer than `lower`; where known, one at most `upper` away.

    nearest   index of the nearest certified real critical point
    """

    rival: int
    lower: float
    proof: dict[str, Any]
    upper: float = np.inf
    nearest: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the proof as certificates have it."""
        return {"rival": self.rival, "lower": hexadecimal(self.lower), "proof": self.proof}


@dataclass(frozen=True)
class UpperProof:
    """A tie or a loss against a rival at most so far away, and what proves it."""

    distance: float
    rival: int
    evidence: dict[str, Any]

    @property
    def of_critical_point(self) -> bool:
        """Return whether it speaks of a solution of the rival's completeness proof."""
        return bool(self.evidence["kind"] == "critical-point")


@dataclass(frozen=True)
class Accepted:
    """Bounds of a margin that the checker accepted, or none: 0 and infinity.

    point      of the counterexample that proves the upper one, where it is one
    refusal    why the checker did not accept all that was found; empty if it did
    in_time    False if time alone was missing: then the bounds are those found, not judged
    rtol       bounds that are this close, relatively, have met
    """

    lower: float
    upper: float
    rival: int | None
    certificate: Certificate | None
    refusal: str = ""
    in_time: bool = True
    rtol: float = 1e-6

    @property
    def closed(self) -> bool:
        """Return whether the bounds have met, and the checker has accepted both."""
        gap = self.upper - self.lower
        met = self.lower == self.upper or (math.isfinite(self.upper) and gap <= self.rtol * self.upper)
        return met and self.certificate is not None


def trivial(rival: int) -> RivalProof:
    """Return the proof of nothing."""
    return RivalProof(rival, 0.0, {"kind": "trivial"})


def counterexample_json(found: Counterexample) -> dict[str, Any]:
    """Return a counterexample as the entry of a certificate."""
    if found.along is not None:
        sums = [[hexadecimal(term) for term in terms] for terms in found.along]
        return {"kind": "counterexample", "rival": found.rival, "along": sums}
    return {"kind": "counterexample", "rival": found.rival, "point": in_base64(found.point)}


def beyond(network: Network, u: Array, label: int, rival: int, tie: Array) -> Counterexample | None:
    """Return the nearest float point just beyond an approximate tie at which the rival is ahead exactly."""
    for nudge in NUDGES:
        x = u + (1 + nudge) * (tie - u)
        logits = network.exact_logits(x)
        if logits[rival] >= logits[label]:
            return Counterexample(x, rival, distance_above(x, u))
    return None


def distance_above(x: Array, u: Array) -> float:
    """Return ‖x − u‖, rounded up."""
    with precision(PRECISION):
        return distance_bounds([flint.arb(value) for value in x.tolist()], u)[1]


@dataclass(frozen=True, eq=False)
class Subject:
    """The subject of certificates: a network at a point of some class, and the perturbations that count."""

    judge: Judge
    u: Array
    label: int
    asked: ThreatModel
    seed: int = 0

    def judged(
        self, claim: dict[str, Any], rivals: Sequence[RivalProof], upper: dict[str, Any] | None, seconds: float
    ) -> tuple[Certificate, Judgement]:
        """Write a certificate, and let the checker judge it in so many seconds."""
        proofs = [proof.to_json() for proof in rivals]
        network = self.judge.network
        document = certificate(network, self.u, self.label, claim, proofs, upper, self.seed, self.asked)
        return document, self.judge.on(document, seconds)

    def judged_margin(
        self, lower: float, upper: float, rivals: Sequence[RivalProof], evidence: dict[str, Any] | None, seconds: float
    ) -> tuple[Certificate, Judgement]:
        """Return the same for a margin between two bounds."""
        claim = {"kind": "margin", "lower": hexadecimal(lower), "upper": hexadecimal(upper)}
        return self.judged(claim, rivals, evidence, seconds)
