"""Completeness proofs: what is accepted, and what every tampering is refused for."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checker.certificate_makers import base64_of, certificate, completeness, from_base64, hexes, write
from checker.stage_files import layers_as_read
from flint import fmpq
from problems import PROBLEMS, random_network

import polymargin as pm
from polymargin_checker import check
from polymargin_checker.completeness import Completeness, most_critical_points
from polymargin_checker.refusal import Refused
from polymargin_checker.stages import Network


class Case:
    """A network, a point, and a margin certificate for it."""

    def __init__(self, folder: Path, net: pm.Network, u: Any, **how: Any) -> None:
        self.folder, self.net, self.u = folder, net, u
        self.label = int(net.predict(u))
        self.rival = 1 - self.label
        proof, distances = completeness(folder, net, u, self.label, self.rival, **how)
        self.margin = min(distances)
        real = bool(np.isfinite(self.margin))
        lower = (self.margin * (1 - 1e-11)).hex() if real else "inf"
        claim = {"kind": "margin", "lower": lower, "upper": (self.margin * (1 + 1e-11)).hex() if real else "inf"}
        rivals = [{"rival": self.rival, "lower": lower, "proof": proof}]
        upper = {"kind": "critical-point", "rival": self.rival, "index": 0} if real else None
        self.document = certificate(net, u, self.label, claim, rivals, upper)

    def verdict(self, document: Any, exact: bool = False) -> Any:
        return check(*write(self.folder, self.net, document), exact)


NETWORK, POINT = random_network([3, 5, 2], 3, 0), np.array([0.3, -0.2, 0.5])


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Case:
    return Case(tmp_path_factory.mktemp("completeness"), NETWORK, POINT)


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("problem", [p for p in PROBLEMS if p.critical_points < 100], ids=lambda p: p.name)
def test_margins_of_named_problems_are_proved(tmp_path: Path, problem: Any, exact: bool) -> None:
    item = Case(tmp_path, problem.network(), problem.point())
    verdict = item.verdict(item.document, exact)
    assert verdict.accepted, verdict.reason
    for factor, side in ((1 + 1e-6, "lower"), (1 - 1e-6, "upper")):
        worse = copy.deepcopy(item.document)
        if not np.isfinite(item.margin):
            continue
        worse["claim"][side] = (item.margin * factor).hex()
        if side == "lower":
            worse["claim"]["upper"] = worse["rivals"][0]["lower"] = worse["claim"][side]
        else:
            worse["claim"]["lower"] = "0x0p0"
        refused = item.verdict(worse, exact)
        assert not refused.accepted
        assert "may be real is nearer" in refused.reason or "not shown to be as near" in refused.reason


def test_boxes_that_are_too_small_for_doubles_are_proved_in_balls(tmp_path: Path) -> None:
    """Midpoints are sums of two doubles; without the second ones the boxes do not hold their critical points."""
    item = Case(tmp_path, NETWORK, POINT, exponent=-80, corrected=True)
    verdict = item.verdict(item.document)
    assert verdict.accepted, verdict.reason
    del item.document["rivals"][0]["proof"]["corrections"]
    assert "does not pass Krawczyk's test" in item.verdict(item.document).reason


def test_the_distance_of_a_wide_box_in_balls_is_taken_at_its_near_and_far_end(tmp_path: Path) -> None:
    """Boxes of 2⁻¹²: the test encloses critical points to about 1e-6, and closer claims are refused on both sides."""
    item = Case(tmp_path, NETWORK, POINT, exponent=-12)
    for side in ("lower", "upper"):
        document = copy.deepcopy(item.document)
        if side == "upper":
            document["claim"]["lower"] = "0x0p0"
            document["rivals"][0]["lower"] = "0x0p0"
        else:
            document["claim"] = {"kind": "robust", "radius": document["claim"]["lower"]}
            document["upper"] = None
        refused = item.verdict(document, exact=True)
        assert "may be real is nearer" in refused.reason or "not shown to be as near" in refused.reason
        wide = (item.margin * (1 + 1e-3 * (1 if side == "upper" else -1))).hex()
        document["claim"]["upper" if side == "upper" else "radius"] = wide
        if side == "lower":
            document["rivals"][0]["lower"] = wide
        verdict = item.verdict(document, exact=True)
        assert verdict.accepted, verdict.reason


def test_an_empty_boundary_is_infinitely_far(tmp_path: Path) -> None:
    layers = [(np.eye(2), [0.1, 0.2]), ([[1.0, 2.0], [0.0, 0.0]], [1.0, 0.0])]
    item = Case(tmp_path, pm.PolynomialNetwork(layers, degree=2), np.array([0.3, 0.4]))
    assert item.document["claim"]["lower"] == "inf"
    assert item.verdict(item.document).accepted
    item.document["claim"] = {"kind": "robust", "radius": "inf"}
    assert item.verdict(item.document).accepted


# -- tampering -----------------------------------------------------------------------------------

REALS = 7
"""Of the 21 critical points of the case; then come 7 pairs."""


def points(change: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
    """A change of the arrays of real midpoints (reals, n) and of others (pairs, n, 2)."""

    def tamper(document: Any, proof: Any) -> None:
        values = from_base64(proof["points"])
        reals = proof["reals"]
        change(values[: 3 * reals].reshape(reals, 3), values[3 * reals :].reshape(-1, 3, 2))
        proof["points"] = base64_of(values)

    return tamper


def radii(change: Callable[[Any], None]) -> Callable[[Any, Any], None]:
    def tamper(document: Any, proof: Any) -> None:
        values = from_base64(proof["radii"], "<i2")
        change(values.reshape(-1, 2))
        proof["radii"] = base64_of(values, "<i2")

    return tamper


def entry(key: str, value: Any) -> Callable[[Any, Any], None]:
    return lambda document, proof: proof.__setitem__(key, value(proof[key]) if callable(value) else value)


def set_part(place: Any, value: Any) -> Callable[[Any], None]:
    return lambda array: array.__setitem__(place, value)


def move(reals: Any, others: Any) -> None:
    others[3, 1, 0] += 1e-6


def duplicate(reals: Any, others: Any) -> None:
    others[4] = others[3]


def nearly_duplicate(reals: Any, others: Any) -> None:
    others[4] = others[3]
    others[4, 0, 0] += 1e-14


def conjugate(reals: Any, others: Any) -> None:
    """The conjugate of one in the place of another one: it is there already, so one pair is missing."""
    others[4] = others[3] * [1, -1]


def forget_the_nearest(reals: Any, others: Any) -> None:
    """The real part of a nonreal one in the place of the nearest real one."""
    reals[0] = others[0, :, 0]


def on_the_axis(reals: Any, others: Any) -> None:
    """The real critical point as one of a pair: both would be the same."""
    others[2, :, 0], others[2, :, 1] = reals[0], 0


def to_document(document: Any, key: str, value: Any) -> None:
    document["upper"][key] = value


@pytest.mark.parametrize(
    ("tamper", "reason"),
    [
        (points(move), "does not pass Krawczyk"),
        (points(duplicate), "two boxes are not shown to be disjoint"),
        (points(nearly_duplicate), "two boxes are not shown to be disjoint"),
        (points(conjugate), "two boxes are not shown to be disjoint"),
        (points(on_the_axis), "two boxes are not shown to be disjoint"),
        (points(forget_the_nearest), "does not pass Krawczyk"),
        (points(lambda reals, others: set_part((2, 1, 1), np.nan)(others)), "a number that is not finite"),
        (points(lambda reals, others: set_part((0, 1), np.inf)(reals)), "a number that is not finite"),
        (points(lambda reals, others: set_part((2, 1, 1), 1e308)(others)), "does not pass Krawczyk"),
        (radii(set_part((3, 0), 1)), "does not pass Krawczyk|two boxes"),
        (radii(set_part((3, 0), 40)), "two boxes are not shown to be disjoint"),
        (radii(set_part((3, 1), 60)), "does not pass Krawczyk"),
        (radii(set_part((3, 0), -300)), "does not pass Krawczyk"),
        (radii(set_part((3, 1), -300)), "does not pass Krawczyk"),
        (radii(set_part((3, 0), -1001)), "an exponent that is not from -1000 to 1000"),
        (radii(set_part((3, 0), 1001)), "an exponent that is not from -1000 to 1000"),
        (entry("reals", 2), "leave no pairs"),
        (entry("reals", 3), "expected"),
        (entry("reals", 23), "leave no pairs|expected"),
        (entry("reals", -1), "reals: expected an integer"),
        (entry("reals", True), "reals: expected an integer"),
        (entry("points", lambda text: text[:-4]), "points: expected 504 bytes in base64"),
        (entry("points", lambda text: text + "AAAA"), "points: expected 504 bytes in base64"),
        (entry("points", lambda text: "!" + text[1:]), "is not base64"),
        (entry("points", []), "points: expected 504 bytes in base64"),
        (entry("radii", lambda text: text[4:]), "radii: expected 56 bytes in base64"),
        (entry("corrections", "AAAA"), "corrections: expected 504 bytes"),
        (lambda document, proof: proof.__setitem__("note", "margin: 9"), "unknown key 'note'"),
        (lambda document, proof: proof.pop("radii"), "the key 'radii' is missing"),
        (lambda document, proof: to_document(document, "index", 7), "is not certified real"),
        (lambda document, proof: to_document(document, "index", -1), "upper, index: expected an integer"),
        (
            lambda document, proof: document.__setitem__("point", hexes([POINT[0] + 1e-6, *POINT[1:]])),
            "does not pass Krawczyk",
        ),
        (lambda document, proof: document["rivals"][0].__setitem__("lower", "inf"), "may be real is nearer"),
    ],
)
@pytest.mark.parametrize("exact", [False, True])
def test_tampering_is_refused_with_its_cause(case: Case, tamper: Any, reason: str, exact: bool) -> None:
    document = copy.deepcopy(case.document)
    proof = document["rivals"][0]["proof"]
    assert proof["reals"] == REALS
    if reason.startswith("corrections"):
        proof["corrections"] = None
    tamper(document, proof)
    verdict = case.verdict(document, exact)
    assert not verdict.accepted
    assert verdict.usable
    assert any(part in verdict.reason for part in reason.split("|")), verdict.reason


def test_no_other_critical_point_stands_for_the_nearest(case: Case) -> None:
    """Each of the others, moved to the axis, in the place of the real one; the claim is that nothing is real."""
    proof = case.document["rivals"][0]["proof"]
    count = (from_base64(proof["points"]).size // 3 - REALS) // 2
    for other in range(count):
        document = copy.deepcopy(case.document)
        points(lambda reals, others, other=other: reals.__setitem__(0, others[other, :, 0]))(
            document, document["rivals"][0]["proof"]
        )
        document["claim"] = {"kind": "robust", "radius": (1.5 * case.margin).hex()}
        document["rivals"][0]["lower"] = document["claim"]["radius"]
        assert not case.verdict(document).accepted


# -- counts --------------------------------------------------------------------------------------


def shape(inputs: int, hidden: int, degree: int) -> Network:
    return with_rows(np.random.default_rng(0).normal(size=(hidden, inputs)), degree)


def with_rows(rows: Any, degree: int) -> Network:
    hidden = len(rows)
    weights = [rows, np.ones((2, hidden))]
    return layers_as_read(weights, [np.zeros(hidden), np.zeros(2)], [np.ones(degree + 1)])


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
@pytest.mark.parametrize(("inputs", "hidden"), [(1, 1), (1, 3), (3, 1), (2, 3), (3, 3), (4, 2)])
def test_the_generic_number_is_asked_for(inputs: int, hidden: int, degree: int) -> None:
    network = shape(inputs, hidden, degree)
    assert most_critical_points(network) == degree * sum((degree - 1) ** i for i in range(min(inputs, hidden)))


def test_counts_beyond_all_lists_are_refused_at_once() -> None:
    network = shape(200, 200, 64)
    with pytest.raises(Refused, match="more critical points than can be listed"):
        most_critical_points(network)


def test_a_constant_network_has_no_complete_list() -> None:
    network = shape(2, 2, 0)
    with pytest.raises(Refused, match="the network is constant"):
        most_critical_points(network)


def test_equal_and_empty_rows_are_one_form_and_none() -> None:
    row = np.random.default_rng(0).normal(size=3)
    for rows, forms in (([row, row, row], 1), ([row, np.zeros(3), row[::-1]], 2)):
        assert most_critical_points(with_rows(rows, 3)) == 3 * sum(2**i for i in range(forms))


# -- bounds --------------------------------------------------------------------------------------


def test_distances_are_compared_without_rounding() -> None:
    proof = Completeness(np.array([2.0]), np.array([2.0]))
    little = fmpq(1, 1 << 80)
    assert proof.proves_lower(fmpq(2))
    assert not proof.proves_lower(2 + little)
    assert not proof.proves_lower(None)
    assert proof.proves_lower(fmpq(-9))
    assert proof.proves_upper(0, fmpq(2))
    assert not proof.proves_upper(0, 2 - little)
    assert Completeness(np.zeros(0), np.zeros(0)).proves_lower(None)
    assert not Completeness(np.array([np.nan]), np.array([np.nan])).proves_upper(0, fmpq(10**9))
    assert not Completeness(np.array([1.0]), np.array([np.inf])).proves_upper(0, fmpq(10**9))


@pytest.mark.parametrize("hidden", [0, 1])
@pytest.mark.parametrize("exact", [False, True])
def test_one_solution_is_complete_in_degree_one(tmp_path: Path, hidden: int, exact: bool) -> None:
    """3x + 4y + 5 = 0 is at distance 1 from the origin."""
    layers = [(np.eye(2), np.zeros(2))] * hidden + [([[3.0, 4.0], [0.0, 0.0]], [5.0, 0.0])]
    net = pm.PolynomialNetwork(layers, degree=1)
    proof = {
        "kind": "completeness",
        "reals": 1,
        "points": base64_of([-0.6, -0.8]),
        "radii": base64_of([-40, -40], "<i2"),
    }
    for lower, expected in ((1 - 1e-13, True), (1 + 1e-15, False)):
        rivals = [{"rival": 1, "lower": lower.hex(), "proof": proof}]
        document = certificate(net, [0.0, 0.0], 0, {"kind": "robust", "radius": lower.hex()}, rivals, None)
        verdict = check(*write(tmp_path, net, document), exact)
        assert verdict.accepted is expected, verdict.reason


def test_a_point_that_no_doubles_hold_is_refused(tmp_path: Path) -> None:
    net = pm.PolynomialNetwork([([[1.0], [0.0]], [1.0, 0.0])])
    proof = {"kind": "completeness", "reals": 1, "points": base64_of([-1.0]), "radii": base64_of([-9, -9], "<i2")}
    rivals = [{"rival": 1, "lower": "0x1p1", "proof": proof}]
    document = certificate(net, [1.0], 0, {"kind": "robust", "radius": "0x1p0"}, rivals, None)
    document["rivals"][0]["lower"] = "0x1p0"
    assert check(*write(tmp_path, net, document)).accepted
    document["point"] = [["0x1p0", "-0x1p-60"]]
    assert "coordinates are doubles" in check(*write(tmp_path, net, document)).reason


@pytest.mark.parametrize("near", [{"low": ["0x0p0"], "high": [None]}, {"movable": [0]}])
def test_critical_points_are_those_of_the_plain_distance(near: dict[str, Any], tmp_path: Path) -> None:
    """With x ≥ 0 there is no tie at all."""
    net = pm.PolynomialNetwork([([[1.0], [0.0]], [1.0, 0.0])])
    proof = {"kind": "completeness", "reals": 1, "points": base64_of([-1.0]), "radii": base64_of([-9, -9], "<i2")}
    rivals = [{"rival": 1, "lower": "0x0p0", "proof": proof}]
    claim = {"kind": "margin", "lower": "0x0p0", "upper": "0x1.01p1"}
    upper = {"kind": "critical-point", "rival": 1, "index": 0}
    document = certificate(net, [1.0], 0, claim, rivals, upper)
    assert check(*write(tmp_path, net, document)).accepted
    plain = dict.fromkeys(("weights", "low", "high", "movable", "rivals"))
    document["neighbourhood"] = {"norm": "l2", "abstain": "0x0p0", **plain, **near}
    found = check(*write(tmp_path, net, document))
    assert "a critical point of the L2 distance says nothing about other neighbourhoods" in found.reason


@pytest.mark.slow
def test_hundreds_of_solutions(tmp_path: Path) -> None:
    problem = next(p for p in PROBLEMS if p.critical_points == 765)
    item = Case(tmp_path, problem.network(), problem.point())
    verdict = item.verdict(item.document)
    assert verdict.accepted, verdict.reason
