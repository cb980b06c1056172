"""`certify`: the margin itself, enclosed and proved.

Where all critical points can be certified, the enclosure is as narrow as doubles allow. Elsewhere exclusion from below and a
counterexample from above bracket the margin; a relative gap of 1e-6 counts as CERTIFIED, a wider one as BRACKETED. The checker
judges every certificate before the answer is given.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymargin.arguments import DEFAULT_LIMIT, checked
from polymargin.blas import few_blas_threads
from polymargin.bounds import pair_lower_bound
from polymargin.certificates.acceptance import UpperProof, accepted_margin
from polymargin.certificates.block import BlockProofs
from polymargin.certificates.certified_margin import CertifiedMargin, CertifiedMargins
from polymargin.certificates.counterexample import search
from polymargin.certificates.region_search import RegionSearch
from polymargin.certificates.rivals import (
    nearest_on_quadric,
    prove_by_branching,
    prove_by_enumeration,
    prove_flat,
)
from polymargin.certificates.session import Options, ProofOptions, Session
from polymargin.certificates.verify import DEFAULT_TIMEOUT
from polymargin.class_names import named
from polymargin.continuation import TrackerSettings
from polymargin.deadlines import Deadline, TimeUpError
from polymargin.enumeration.cache import Cache
from polymargin.errors import InputError, PolymarginError
from polymargin.margins.checkpoint import Checkpoint
from polymargin.margins.judge import Judge
from polymargin.margins.network_margins import NetworkMargins
from polymargin.margins.pairs import Enumeration
from polymargin.margins.proofs import RivalProof, counterexample_json, trivial
from polymargin.margins.result import failed
from polymargin.networks.network import Network
from polymargin.networks.readers.models import reads_model
from polymargin.regions import Region, ThreatModel
from polymargin.relaxation.confirmation import Counterexample
from polymargin.rows import ManyPoints, OnePoint, OnRow, answers, one_or_many
from polymargin.work import Workers

# Fractions of the upper bound that branch and bound tries to prove, the easiest first.
FRACTIONS = (0.9, 0.99, 0.999, 1 - 5e-7)
# For quadrics the S-lemma is exact, up to rounding.
QUADRIC_FRACTIONS = (1 - 5e-7, 1 - 1e-8)


@dataclass(frozen=True, eq=False)
class _ProofQuestion:
    """What `certify` asks about every point."""

    judge: Judge
    method: str
    options: Options
    timeout: float | None
    asked: ThreatModel
    ready: dict[bytes, CertifiedMargin]

    @property
    def network(self) -> Network:
        return self.judge.network

    def at(self, point: NDArray[np.float64]) -> CertifiedMargin:
        if (known := self.ready.get(point.tobytes())) is not None:
            return known
        session = Session(self.judge, point, self.options, self.timeout, self.asked)
        return _certified(session, self.method) if self.asked.is_ball else RegionSearch(session).margin()

    def failed(self, error: str, seconds: float) -> CertifiedMargin:
        return CertifiedMargin(failed(error, seconds), None)


class CertifyOptions(ProofOptions, total=False):
    """The keywords of `certify`, for type checkers."""

    method: str


@overload
def certify(network: Any, points: OnePoint, **options: Unpack[CertifyOptions]) -> CertifiedMargin: ...
@overload
def certify(network: Any, points: ManyPoints, **options: Unpack[CertifyOptions]) -> CertifiedMargins: ...
@overload
def certify(network: Any, points: ArrayLike, **options: Unpack[CertifyOptions]) -> Any: ...
@reads_model()
@checked(Network)
@few_blas_threads
def certify(
    network: Network,
    points: ArrayLike,
    *,
    method: str = "auto",
    timeout: float | None = DEFAULT_TIMEOUT,
    seed: int = 0,
    threads: int | None = None,
    limit: int = DEFAULT_LIMIT,
    cache: bool | str | Path = True,
    settings: TrackerSettings | None = None,
    checkpoint: str | Path | None = None,
    on_row: OnRow | None = None,
    executor: Workers | None = None,
    within: Region | None = None,
    rivals: Sequence[int] | None = None,
    abstain: float = 0.0,
) -> Any:
    """Proved bounds of the margin; `method` may ask for 'completeness' or 'exclusion' alone.

    One point (n,) gives a `CertifiedMargin`, a batch (m, n) gives `CertifiedMargins`; the options are those of `verify`.

    >>> from polymargin import PolynomialNetwork
    >>> net = PolynomialNetwork([([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0]), ([[1.0, 4.0], [0.0, 0.0]], [0.0, 4.0])],
    ...                         degree=2)
    >>> certify(net, [0.0, 0.25], cache=False)
    CertifiedMargin(0.75 <= margin <= 0.75, CERTIFIED by completeness)
    >>> certify(net, [[0.0, 0.25], [0.0, 0.5]], cache=False).upper
    array([0.75, 0.5 ])
    """
    if method not in ("auto", "completeness", "exclusion"):
        raise InputError(f"method {method!r}: expected 'auto', 'completeness' or 'exclusion'")
    options = Options(seed, threads if executor is None else 1, limit, cache, settings or TrackerSettings())
    asked = ThreatModel.of(network.dimension, within, rivals, abstain, network.class_count)
    asked.region.check_bounded()
    if method == "completeness" and not asked.is_ball:
        raise InputError("method 'completeness': all critical points are certified for L2 balls; expected 'auto'")
    judge = Judge(network)
    array = one_or_many(points, network.dimension)
    ready: dict[bytes, CertifiedMargin] = {}
    if method == "auto" and asked.is_plain and executor is None:
        ready = _proved_together(judge, np.atleast_2d(array), options, timeout)
    question = _ProofQuestion(judge, method, options, timeout, asked, ready)
    if array.ndim == 1:
        return named(question.at(array), network)
    about = {"answers": "certified margins", "method": method, "timeout": timeout, **options.of_the_answer}
    about |= {} if asked.is_plain else {"within": asked.to_dict()}
    store = (
        None if checkpoint is None else Checkpoint.open(checkpoint, network.fingerprint, array, about, CertifiedMargin)
    )
    return CertifiedMargins(answers(question, array, store=store, executor=executor, on_row=on_row))


def _proved_together(
    judge: Judge, points: NDArray[np.float64], options: Options, timeout: float | None
) -> dict[bytes, CertifiedMargin]:
    """The rows that are proved at the first try, in blocks; a block has half of the time of its rows."""
    found: dict[bytes, CertifiedMargin] = {}
    search = Enumeration(options.tracker, options.seed, options.limit, Cache.from_option(options.cache), timeout)
    try:
        margins = NetworkMargins(judge.network, search)
        if margins.is_scaled:
            return found
        block = BlockProofs(judge, margins, options)
        size = block.size()
        for start in range(0, len(points), size):
            part = points[start : start + size]
            if np.isfinite(part).all():
                deadline = Deadline.after(None if timeout is None else timeout * len(part) / 2)
                found |= {part[row].tobytes(): answer for row, answer in block.prove(part, deadline).items()}
    except (PolymarginError, TimeUpError, ArithmeticError, np.linalg.LinAlgError):
        return found  # one of the rows broke it; alone, each tells
    return found


def _certified(session: Session, method: str) -> CertifiedMargin:
    if session.tied is not None:
        raise InputError(
            f"classes {session.name_of(session.label)} and {session.name_of(session.tied)} tie at the point: the margin is 0, "
            "nothing to certify"
        )
    proofs: dict[int, RivalProof] = {}
    ends: list[UpperProof] = []
    notes: list[str] = []
    for rival in session.rivals:
        proof, end, reason = _settle(session, rival, method)
        if proof is not None:
            proofs[rival] = proof
        if end is not None:
            ends.append(end)
        if reason:
            notes.append(reason)
    nearest = min(ends, key=lambda end: end.distance, default=None)
    for rival in session.rivals:
        if rival not in proofs:  # beyond the nearest tie of all, nothing needs a proof
            proofs[rival] = _exclusion(session, rival, None if nearest is None else nearest.distance)
    return accepted_margin(session, [proofs[rival] for rival in session.rivals], nearest, notes)


def _settle(session: Session, rival: int, method: str) -> tuple[RivalProof | None, UpperProof | None, str]:
    """A proof of the exact distance to this rival if there is one, a proved upper end, and a reason if there is no proof."""
    reason, nearest = "", None
    flat = prove_flat(session, rival)
    if flat is not None:
        if math.isinf(flat.lower):  # the two logits differ by a constant
            return flat, None, ""
        foot = session.critical_points(session.boundary(rival)).points[0].real
        return flat, _end(session.beyond(foot, rival)), ""
    if method != "exclusion":
        proof, nearest, reason = prove_by_enumeration(session, rival)
        if proof is not None:
            if proof.nearest is None:
                return proof, None, ""
            evidence = {"kind": "critical-point", "rival": rival, "index": proof.nearest}
            return proof, UpperProof(proof.upper, rival, evidence), ""
        if method == "completeness":
            raise InputError(f"no completeness certificate: {reason}")
    if nearest is None:
        nearest = nearest_on_quadric(session, rival)
    # The nearest point that enumeration saw need not be a tie where doubles were misled; the attack may know a nearer one.
    ends = [search(session, rival), None if nearest is None else session.beyond(nearest, rival)]
    upper = min((end for end in ends if end is not None), key=lambda end: end.distance, default=None)
    return None, _end(upper), reason


def _exclusion(session: Session, rival: int, reach: float | None) -> RivalProof:
    """The best lower bound below `reach` that branch and bound proves in the time there is."""
    limit = {} if reach is None else {"limit": reach}
    limit["timeout"] = session.time_left / 2
    single = pair_lower_bound(session.network, session.u, session.label, rival, tolerance=1e-3, **limit)
    best = trivial(rival)
    if single.proved:
        best = RivalProof(rival, single.radius, single.to_proof()).instead_of(best)
    if reach is None:
        return best
    for fraction in QUADRIC_FRACTIONS if session.network.degree == 2 else FRACTIONS:
        if fraction * reach <= best.lower:
            continue
        better = prove_by_branching(session, rival, fraction * reach, timeout=session.time_left / 2)
        if better is None:
            break
        best = better.instead_of(best)
    return best


def _end(found: Counterexample | None) -> UpperProof | None:
    return None if found is None else UpperProof(found.distance, found.rival, counterexample_json(found))
