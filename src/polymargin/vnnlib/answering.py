"""Answers to queries: sat with a witness, unsat with proofs, or honestly neither.

Every case of the query is taken by itself. Each linear condition on the outputs is given to `verify` on the region: a box is
asked as a box, a ball as a ball, within bounds of single inputs where there are any. If one condition can hold nowhere in it,
the case is impossible. A witness is a float point for which the case holds in exact arithmetic. Cases that differ only in the
rival class are asked together. For an L2 ball the answer is exact up to a sliver of relative width 1e-16 around the margin.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.errors import InputError, PolymarginError
from polymargin.margins import Answer, Certificate, Verdict, verify
from polymargin.networks import Network
from polymargin.standing import Standing
from polymargin.vnnlib.conditions import (
    against_classes,
    compares_classes,
    linear_condition,
    output_conditions,
)
from polymargin.vnnlib.expressions import Case
from polymargin.vnnlib.query import Query
from polymargin.vnnlib.regions import Asked, QueryRegion, region_of
from polymargin.vnnlib.witnesses import around, ascended, first_witness


class Result(Enum):
    """The words of the standard; the value is what is printed."""

    SAT = "sat"
    UNSAT = "unsat"
    UNKNOWN = "unknown"
    TIMED_OUT = "timed-out"


@dataclass(frozen=True, eq=False)
class QueryAnswer:
    """The answer to a query.

    result         SAT, UNSAT, UNKNOWN or TIMED_OUT
    witness        for SAT: the input, in row-major order; its outputs satisfy the query in exact arithmetic
    outputs        for SAT: the network's outputs there, rounded to float64
    certificates   for UNSAT: the proofs that `verify` made, each for a network that compares the outputs in question
    networks       the networks they speak of, in the same order
    standing       CERTIFIED for SAT and UNSAT, BRACKETED otherwise
    reason         one sentence
    """

    result: Result
    witness: NDArray[np.float64] | None
    outputs: NDArray[np.float64] | None
    certificates: tuple[Certificate, ...]
    networks: tuple[Network, ...]
    standing: Standing
    reason: str
    seconds: float

    def __repr__(self) -> str:
        return f"QueryAnswer({self.result.value}, {self.standing.name}: {self.reason})"


def answer_query(
    query: Query, network: Network, *, timeout: float | None = 60.0, seed: int = 0, threads: int | None = None
) -> QueryAnswer:
    """Decide whether some input of the query's region has outputs that satisfy its condition."""
    if query.input.size != network.dimension or query.output.size != network.class_count:
        raise InputError(
            f"the query speaks of {query.input.size} inputs and {query.output.size} outputs, the network has "
            f"{network.dimension} and {network.class_count}"
        )
    return _QuerySearch(query, network, timeout, seed, threads).run()


@dataclass(frozen=True, eq=False)
class _Group:
    """Cases with the same region. They are impossible if class 0 wins everywhere in it for one of the comparators."""

    region: QueryRegion
    cases: tuple[Case, ...]
    comparators: tuple[Network, ...]


class _QuerySearch:
    def __init__(self, query: Query, network: Network, timeout: float | None, seed: int, threads: int | None) -> None:
        self.query, self.network, self.seed, self.threads = query, network, seed, threads
        self.started = perf_counter()
        self.end = float("inf") if timeout is None else self.started + timeout
        self.certificates: list[Certificate] = []
        self.networks: list[Network] = []

    def run(self) -> QueryAnswer:
        reasons: list[str] = []
        for group in _grouped(self.query, self.network):
            witness, reason = self._decide(group)
            if witness is not None:
                return self._answer(Result.SAT, "a point that satisfies the query in exact arithmetic", witness)
            if reason:
                reasons.append(reason)
        if not reasons:
            count = len(self.certificates)
            return self._answer(Result.UNSAT, f"every case is impossible ({count} proof{'' if count == 1 else 's'})")
        timed_out = perf_counter() >= self.end
        return self._answer(Result.TIMED_OUT if timed_out else Result.UNKNOWN, "; ".join(dict.fromkeys(reasons)))

    def _decide(self, group: _Group) -> tuple[NDArray[np.float64] | None, str]:
        """Return a witness of one of the cases, or a reason why they are not refuted, or neither if they are impossible."""
        region = group.region
        if region.empty:
            return None, ""
        if not region.balls:
            return None, "the inputs are enclosed by no ball and no box"
        witness = self._witness(group, [region.balls[0].float_centre])
        if witness is not None:
            return witness, ""
        reason = "no condition of a case is linear in the outputs" if not group.comparators else ""
        for comparator in group.comparators:
            reasons: list[str] = []
            for asked in region.asked:
                verdict, failure = self._verify(comparator, asked.radius, asked)
                if verdict is not None and verdict.answer is Answer.ROBUST and verdict.label == 0:
                    assert verdict.certificate is not None
                    self.certificates.append(verdict.certificate)
                    self.networks.append(comparator)
                    return None, ""
                witness = self._search(group, comparator, verdict, asked)
                if witness is not None:
                    return witness, ""
                reasons.append(failure or self._undecided(verdict))
            reason = reasons[0]
        return None, reason

    def _search(
        self, group: _Group, comparator: Network, verdict: Verdict | None, asked: Asked
    ) -> NDArray[np.float64] | None:
        region = group.region
        hints = [] if verdict is None or verdict.counterexample is None else [verdict.counterexample]
        witness = self._witness(group, [point for hint in hints for point in around(region, hint)])
        if witness is not None or perf_counter() >= self.end:
            return witness
        inner = region.balls[0].inner_radius if asked.domain is None and region.box is None else 0.0
        if inner > 0.0 and verdict is not None and verdict.answer is Answer.VULNERABLE:
            smaller, _ = self._verify(comparator, inner, asked)
            if smaller is not None and smaller.counterexample is not None:
                witness = self._witness(group, list(around(region, smaller.counterexample)))
        if witness is None:
            with np.errstate(all="ignore"):
                witness = self._witness(group, ascended(comparator, region, self.seed))
        return witness

    def _witness(self, group: _Group, candidates: Sequence[NDArray[np.float64]]) -> NDArray[np.float64] | None:
        return first_witness(self.network, group.cases, candidates)

    def _verify(self, comparator: Network, radius: float, asked: Asked) -> tuple[Verdict | None, str]:
        left = self.end - perf_counter()
        if left <= 0:
            return None, "the time is up"
        options: dict[str, Any] = {"seed": self.seed, "workers": self.threads, "within": asked.within}
        options["timeout"] = left
        try:
            return verify(comparator, asked.centre, radius, **options), ""
        except PolymarginError as error:
            return None, str(error)

    def _undecided(self, verdict: Verdict | None) -> str:
        if verdict is None:
            return "no verdict"
        if verdict.answer is Answer.UNKNOWN:
            return verdict.reason
        return f"a tie at distance {verdict.upper:.17g} is too close to the edge of the region, or only ties and nowhere wins"

    def _answer(self, result: Result, reason: str, witness: NDArray[np.float64] | None = None) -> QueryAnswer:
        decided = result in (Result.SAT, Result.UNSAT)
        return QueryAnswer(
            result=result,
            witness=witness,
            outputs=None
            if witness is None
            else np.array([float(value) for value in self.network.exact_logits(witness)]),
            certificates=tuple(self.certificates) if result is Result.UNSAT else (),
            networks=tuple(self.networks) if result is Result.UNSAT else (),
            standing=Standing.CERTIFIED if decided else Standing.BRACKETED,
            reason=reason,
            seconds=perf_counter() - self.started,
        )


def _grouped(query: Query, network: Network) -> list[_Group]:
    """Group cases in which one class beats another by region and label; keep all others separate."""
    together: dict[tuple[QueryRegion, int], dict[int, list[Case]]] = {}
    groups: list[_Group] = []
    for case in query.cases:
        region, conditions = region_of(case, query.input.size), output_conditions(case)
        pair = compares_classes(conditions[0]) if len(conditions) == 1 else None
        if pair is not None:
            together.setdefault((region, pair[0]), {}).setdefault(pair[1], []).append(case)
            continue
        found = [linear_condition(network, condition) for condition in conditions]
        comparators = tuple(comparator for comparator in found if comparator is not None)
        groups.append(_Group(region, (case,), comparators))
    for (region, label), rivals in together.items():
        cases = tuple(case for listed in rivals.values() for case in listed)
        groups.append(_Group(region, cases, (against_classes(network, label, sorted(rivals)),)))
    return groups
