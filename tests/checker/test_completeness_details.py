"""Counts, roundings and keys of completeness proofs: the places where a proof could be one solution or one bit short."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
from checker.certificate_makers import certificate, write
from flint import arb, fmpq

import polymargin as pm
from polymargin_checker import check
from polymargin_checker.completeness import Completeness, Nature, Solution, _check_count
from polymargin_checker.model import Matrix, Model
from polymargin_checker.refusal import Refused

LINE = pm.PolynomialNetwork([([[1.0], [0.0]], [1.0, 0.0])])
"""B = x + 1."""


def shape(inputs: int, hidden: int, degree: int) -> Model:
    weights = Matrix(hidden, inputs, [0.0] * (hidden * inputs)), Matrix(2, hidden, [0.0] * (2 * hidden))
    return Model(weights, ([0.0] * hidden, [0.0] * 2), ((1.0,) * (degree + 1),))


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
@pytest.mark.parametrize(("inputs", "hidden"), [(1, 1), (1, 3), (3, 1), (2, 3), (3, 3), (4, 2)])
def test_one_count_alone_is_complete(inputs: int, hidden: int, degree: int) -> None:
    model = shape(inputs, hidden, degree)
    needed = degree * sum((degree - 1) ** i for i in range(min(inputs, hidden)))
    for count in range(needed + 3):
        if count == needed:
            _check_count(model, count)
        else:
            whole = "more" if count < needed else str(needed)
            with pytest.raises(Refused, match=f"{count} solutions are listed, .* needs {whole}$"):
                _check_count(model, count)


def test_a_count_beyond_all_numbers_is_refused_at_once() -> None:
    with pytest.raises(Refused, match="needs more"):
        _check_count(shape(200, 200, 64), 10**6)


@pytest.mark.parametrize("count", [0, 1])
def test_a_constant_network_has_no_complete_list(count: int) -> None:
    with pytest.raises(Refused, match="the network is constant"):
        _check_count(shape(2, 2, 0), count)


def line(**changes: Any) -> Any:
    """A proof at u = 1, where the distance is 2 and the multiplier too."""
    solution = {"x": [["-0x1p0", "0x0p0"]], "multiplier": ["0x1p1", "0x0p0"], "radius": "0x1p-10"}
    proof = {"kind": "completeness", "precision": 32, "solutions": [solution]}
    rivals = [{"rival": 1, "lower": "0x1p1", "proof": proof}]
    made = certificate(LINE, [1.0], 0, {"kind": "robust", "radius": "0x1p1"}, rivals, None)
    return made | changes


def test_a_point_of_many_bits_is_not_rounded(tmp_path: Path) -> None:
    """32 bits do not hold 1 − 2⁻⁴⁰; the boundary is 2⁻⁴⁰ nearer than from 1."""
    assert check(*write(tmp_path, LINE, line())).accepted
    near = line(point=[["0x1p0", "-0x1p-40"]])
    refused = check(*write(tmp_path, LINE, near))
    assert "a critical point that may be real is nearer" in refused.reason
    less = copy.deepcopy(near)
    less["claim"]["radius"] = less["rivals"][0]["lower"] = ["0x1p1", "-0x1p-20"]
    assert check(*write(tmp_path, LINE, less)).accepted


def test_bounds_of_many_bits_are_not_rounded() -> None:
    proof = Completeness(32, [Solution(Nature.REAL, arb(4), arb(4))])
    little = fmpq(1, 1 << 40)
    assert proof.proves_lower(fmpq(2))
    assert not proof.proves_lower(2 + little)
    assert proof.proves_upper(0, fmpq(2))
    assert not proof.proves_upper(0, 2 - little)
    assert proof.proves_lower(fmpq(0))
    assert Completeness(32, [Solution(Nature.REAL, arb(0), arb(0))]).proves_lower(fmpq(0))


@pytest.mark.parametrize("where", ["proof", "solution"])
def test_nothing_is_said_that_is_not_read(tmp_path: Path, where: str) -> None:
    document = line()
    proof = document["rivals"][0]["proof"]
    {"proof": proof, "solution": proof["solutions"][0]}[where]["note"] = "margin: 9"
    assert "unknown key 'note'" in check(*write(tmp_path, LINE, document)).reason
    del {"proof": proof, "solution": proof["solutions"][0]}[where]["note"]
    assert check(*write(tmp_path, LINE, document)).accepted
    for key in ("precision", "solutions") if where == "proof" else ("x", "multiplier", "radius"):
        broken = line()
        proof = broken["rivals"][0]["proof"]
        del {"proof": proof, "solution": proof["solutions"][0]}[where][key]
        assert f"the key {key!r} is missing" in check(*write(tmp_path, LINE, broken)).reason


def test_precision_has_both_ends(tmp_path: Path) -> None:
    for precision, expected in ((31, False), (32, True), (4096, True), (4097, False)):
        document = line()
        document["rivals"][0]["proof"]["precision"] = precision
        assert check(*write(tmp_path, LINE, document)).accepted is expected


def as_margin(point: Any, **near: Any) -> Any:
    """The distance from the point to −1 is claimed to be 2 at most, by the only critical point."""
    made = line(point=[point], claim={"kind": "margin", "lower": "0x0p0", "upper": "0x1p1"})
    made["rivals"][0]["lower"] = "0x0p0"
    made["upper"] = {"kind": "critical-point", "rival": 1, "index": 0}
    if near:
        plain = dict.fromkeys(("weights", "low", "high", "movable", "rivals"))
        made["neighbourhood"] = {"norm": "l2", "abstain": "0x0p0", **plain, **near}
    return made


def test_a_point_that_does_not_fit_the_precision_is_not_a_nearer_one(tmp_path: Path) -> None:
    """At 32 bits 1 + 2⁻⁴⁰ is 1."""
    accepted = check(*write(tmp_path, LINE, as_margin("0x1p0")))
    assert accepted.accepted, accepted.reason
    found = check(*write(tmp_path, LINE, as_margin(["0x1p0", "0x1p-40"])))
    assert not found.accepted
    assert "is not shown to be as near as claimed" in found.reason


@pytest.mark.parametrize("near", [{"low": ["0x0p0"], "high": [None]}, {"movable": [0]}])
def test_critical_points_are_those_of_the_plain_distance(near: dict[str, Any], tmp_path: Path) -> None:
    """With x ≥ 0 there is no tie at all."""
    found = check(*write(tmp_path, LINE, as_margin("0x1p0", **near)))
    assert not found.accepted
    assert "a critical point of the L2 distance says nothing about other neighbourhoods" in found.reason
