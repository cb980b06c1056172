"""What the package says of a member of a family, held against the truth: a check returns a word, and fails if an answer is wrong.

"right" and "bracketed" are answers, "refused" is a sentence in place of one. Shared by the suite and the long run.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from adversarial.families import case
from certificates import planted_ties
from curve_families import CURVES, curve, planted_tie, surface_text
from eliminants import ed_degree_in_plane, nearest_in_plane, real_critical_count, real_critical_points_in_plane
from geometry.algebra.minors import minors_count
from problems import asked

import polymargin as pm
from polymargin.continuation import Tracker
from polymargin.errors import PolymarginError
from polymargin.geometry import Plane, boundary_count, chambers, discriminant_crossings
from polymargin.standing import Standing

WINDOW = (-2.03, 1.98, -1.97, 2.06)
START, END = (Fraction(-65, 32), Fraction(-39, 32)), (Fraction(67, 32), Fraction(55, 32))
# What a margin that claims to be one may be off by, relative.
ACCURACY = 1e-6
# Shares of the distance to a planted tie at which `verify` is asked, and how many ties there are of different kinds.
FACTORS = (0.5, 0.9, 0.999, 1 - 1e-7, 1.0, 1 + 1e-9, 1.001, 1.3, 3.0)
PLANTED = len(planted_ties.FAMILIES) * len(planted_ties.NORMS)


def count(family: str, number: int) -> str:
    """`ed_degree` with its defaults: no member may stay undecided, or be wrong."""
    one = curve(family, number)
    found = pm.ed_degree(one.boundary(), threads=1, cache=False)
    assert (int(found), found.standing is not Standing.BRACKETED) == (ed_degree_in_plane(one.polynomial), True), (
        one.text
    )
    return "right"


def count_of_paths(family: str, number: int) -> str:
    """Paths alone, without algebra: all of them, or at least so many."""
    one = curve(family, number)
    return _counted(
        one.text, boundary_count(one.boundary(), Tracker(threads=1), cache=False), ed_degree_in_plane(one.polynomial)
    )


def surface_count(number: int) -> str:
    """Surfaces: paths alone, and `ed_degree`; the truth is Singular's, by the other ideal."""
    text = surface_text(number)
    boundary = pm.Boundary.from_expression(text)
    truth = minors_count(boundary, seed=1)
    assert int(pm.ed_degree(boundary, threads=1, cache=False)) == truth, text
    return _counted(text, boundary_count(boundary, Tracker(threads=1), cache=False), truth)


def _counted(text: str, found: Any, truth: int) -> str:
    if found.complete:
        assert found.value == truth, (text, found, truth)
        return "right"
    assert found.value <= truth, (text, found, truth)
    return "bracketed"


def chamber_counts(family: str, number: int, samples: int = 30) -> str:
    """Every sample of `chambers` against Sturm's theorem."""
    one = curve(family, number)
    try:
        found = chambers(one.boundary(), Plane.of_two_inputs(WINDOW), samples, threads=1, cache=False)
    except PolymarginError:
        return "refused"
    words = Counter()
    for place, said in zip(found.places.tolist(), found.counts.tolist(), strict=True):
        truth = real_critical_count(one.polynomial, tuple(place))
        assert said < 0 or truth is None or said == truth, (one.text, place, said, truth)
        words["bracketed" if said < 0 else "right"] += 1
    return "right" if words["bracketed"] <= 0.02 * words.total() else "bracketed"


def crossings(family: str, number: int, samples: int = 20) -> str:
    """The numbers on both sides of each crossing, and between them, against Sturm's theorem."""
    one = curve(family, number)
    ends = [np.array([float(c) for c in place]) for place in (START, END)]
    try:
        found = discriminant_crossings(one.boundary(), *ends, samples=samples, threads=1, cache=False)
    except PolymarginError:
        return "refused"

    def truth(position: float) -> int | None:
        share = Fraction(position).limit_denominator(10**12)
        return real_critical_count(one.polynomial, tuple(a + share * (b - a) for a, b in zip(START, END, strict=True)))

    for crossing in found:
        for said, side in ((crossing.before, -2), (crossing.after, 2)):
            true = truth(crossing.position + side * crossing.error)
            assert true is None or true == said, (one.text, crossing, side, true)
    for position in np.setdiff1d(np.linspace(0, 1, samples + 1), found.undecided):
        passed = [crossing for crossing in found if crossing.position < position]
        said = passed[-1].after if passed else found[0].before if found else truth(0.0)
        true = truth(float(position))
        assert true is None or true == said, (one.text, position, said, true)
    return "bracketed" if found.undecided else "right"


def margin(family: str, number: int) -> str:
    """`margin` at a point of a grid, against the real roots of an eliminant."""
    one = curve(family, number)
    point = np.random.default_rng([number, 9]).integers(-20, 21, size=2) / 8 + 1 / 64
    return _margin(one.boundary(), point, nearest_in_plane(one.polynomial, tuple(point.tolist())))


def planted_margin(number: int) -> str:
    """`margin` where the nearest tie is planted."""
    tie = planted_tie(number)
    return _margin(tie.boundary(), np.array([float(c) for c in tie.point]), tie.distance)


def network_margin(number: int) -> str:
    """`margin` of a network of `adversarial.families`, ordinary and hostile ones in turn."""
    one = case(number, seed=2)
    return _margin(one.network, one.point, one.truth)


def planted_verdict(number: int) -> str:
    """`verify` at a share of the distance to a planted tie, in three norms, with and without a box."""
    planted = planted_ties.planted_tie(number)
    answer, wrong = planted_ties.wrong_words(planted, FACTORS[number // PLANTED % len(FACTORS)], timeout=2.0)
    assert not wrong, wrong
    return answer.lower()


def planted_proof(number: int) -> str:
    """`margin` beside a planted tie: both of its bounds. Short of CERTIFIED the upper one is a number in doubles."""
    planted = planted_ties.planted_tie(number)
    found = pm.margin(planted.network, planted.point, timeout=2.0, workers=1, **asked(**planted.options))
    assert planted.allows(found.lower), (number, found, planted)
    upper = found.upper * (1 if found.standing is pm.Standing.CERTIFIED else 1 + 1e-9)
    assert math.isinf(upper) or planted.reached_by(upper), (number, found, planted)
    return found.standing.name.lower()


def _margin(model: Any, point: np.ndarray, truth: float) -> str:
    found = pm.margin(model, point, proof=False, workers=1)
    assert found.lower <= truth * (1 + 1e-9), (model, point, found, truth)
    assert truth <= found.upper * (1 + 1e-9), (model, point, found, truth)
    if found.standing is Standing.BRACKETED:
        return "bracketed"
    same = found.radius == truth or math.isclose(found.radius, truth, rel_tol=ACCURACY)
    assert same, (model, point, found, truth)
    return found.standing.name.lower()


def real_critical_points(family: str, number: int) -> str:
    """The real ones of a list that says it is complete: elimination finds the same points, within their stated errors."""
    one = curve(family, number)
    point = np.random.default_rng([number, 9]).integers(-20, 21, size=2) / 8 + 1 / 64
    found = pm.critical_points(one.boundary(), point, threads=1, cache=False)
    if not found.audit.complete or real_critical_count(one.polynomial, tuple(point.tolist())) is None:
        return "bracketed"
    truth = real_critical_points_in_plane(one.polynomial, tuple(point.tolist()))
    said = found.points[found.real].real
    apart = np.abs(said[:, None] - truth[None]).max(axis=2) if truth.size else np.full((len(said), 0), np.inf)
    within = apart <= found.errors[found.real][:, None] + 1e-13 * (1 + np.abs(said).max(axis=1, initial=0.0)[:, None])
    assert within.any(axis=1).all(), (one.text, point, found, said, truth)
    assert within.any(axis=0).all(), (one.text, point, found, said, truth)
    return "right" if len(said) == len(truth) else "within errors"


CHECKS: dict[str, Callable[[int], str]] = {
    f"{check.__name__} of {family}": lambda number, check=check, family=family: check(family, number)
    for check in (count, count_of_paths, chamber_counts, crossings, margin, real_critical_points)
    for family in CURVES
} | {
    "count of surfaces": surface_count,
    "margin of planted ties": planted_margin,
    "margin of networks": network_margin,
    "verdict at planted ties": planted_verdict,
    "proof at planted ties": planted_proof,
}
