"""What a stated neighbourhood allows: lengths, domains and movable coordinates, decided in rationals."""

from __future__ import annotations

from typing import Any

import pytest
from flint import fmpq

from polymargin_checker.conditions import conditions, distance
from polymargin_checker.neighbourhood import PLAIN, StatedNeighbourhood, read_neighbourhood
from polymargin_checker.refusal import Refused

U = (fmpq(0), fmpq(0))


def near(norm: str = "l2", **changes: Any) -> StatedNeighbourhood:
    fields = {"weights": None, "low": None, "high": None, "movable": None, "rivals": None, "abstain": fmpq(0)}
    return StatedNeighbourhood(norm, **{**fields, **changes})


WEIGHTS = (fmpq(2), fmpq(1))
DOMAIN = {"low": (fmpq(-1), None), "high": (None, fmpq(1))}


@pytest.mark.parametrize(
    ("stated", "ball", "plain"),
    [
        (PLAIN, True, True),
        (near("l1"), False, False),
        (near("linf"), False, False),
        (near(weights=WEIGHTS), False, False),
        (near(abstain=fmpq(1, 8)), False, False),
        (near("l1", weights=WEIGHTS, abstain=fmpq(1)), False, False),
        (near(**DOMAIN), True, False),
        (near(movable=frozenset({0})), True, False),
        (near(rivals=frozenset({1})), True, True),
    ],
)
def test_proofs_on_balls_count_for_what_lies_in_balls(stated: StatedNeighbourhood, ball: bool, plain: bool) -> None:
    assert (stated.is_ball, stated.is_plain) == (ball, plain)


@pytest.mark.parametrize(
    ("stated", "x", "radius", "inside"),
    [
        (near("l2"), (3, 4), 5, True),
        (near("l2"), (3, 4), fmpq(499, 100), False),
        (near("l2"), (0, 0), 0, True),
        (near("l2"), (0, 0), -1, False),
        (near("l2"), (3, 4), -5, False),
        (near("l1"), (3, -4), 7, True),
        (near("l1"), (3, -4), fmpq(699, 100), False),
        (near("linf"), (3, -4), 4, True),
        (near("linf"), (3, -4), fmpq(399, 100), False),
        (near("linf"), (0, 0), 0, True),
        (near("linf"), (0, 0), -1, False),
        (near("linf", weights=WEIGHTS), (3, 4), 6, True),
        (near("linf", weights=WEIGHTS), (3, 4), 5, False),
        (near("l1", weights=WEIGHTS), (3, 4), 10, True),
        (near("l1", weights=WEIGHTS), (3, 4), 9, False),
        (near("l2", weights=WEIGHTS), (2, 3), 5, True),
        (near("l2", weights=WEIGHTS), (3, 4), 7, False),
        (near(**DOMAIN), (5, 1), 10, True),
        (near(**DOMAIN), (-1, -5), 10, True),
        (near(**DOMAIN), (-2, 0), 10, False),
        (near(**DOMAIN), (0, 2), 10, False),
        (near(movable=frozenset({1})), (0, 3), 5, True),
        (near(movable=frozenset({1})), (1, 3), 5, False),
        (near(movable=frozenset({1})), (fmpq(1, 2), 0), 5, False),
        (near(), (10**9, 0), None, True),
        (near(**DOMAIN), (0, 2), None, False),
    ],
)
def test_what_is_within(stated: StatedNeighbourhood, x: tuple[Any, ...], radius: Any, inside: bool) -> None:
    place = [fmpq(v) if isinstance(v, int) else v for v in x]
    bound = None if radius is None else fmpq(radius) if isinstance(radius, int) else radius
    assert stated.within(U, place, bound) is inside


def test_boxes() -> None:
    assert near("linf").box(U, fmpq(2)) == ((-2, 2), (-2, 2))
    assert near("l1", weights=WEIGHTS).box(U, fmpq(2)) == ((-1, 1), (-2, 2))
    assert near(**DOMAIN).box(U, fmpq(2)) == ((-1, 2), (-2, 1))
    assert near(**DOMAIN).box(U, fmpq(1, 2)) == ((fmpq(-1, 2), fmpq(1, 2)),) * 2
    assert near(movable=frozenset({1})).box(U, fmpq(2)) == ((0, 0), (-2, 2))
    assert near(movable=frozenset({0})).box(U, fmpq(2)) == ((-2, 2), (0, 0))


def test_words() -> None:
    assert distance(near("linf")) == "an L∞ distance"
    assert distance(near(weights=WEIGHTS)) == "a weighted L2 distance"
    assert conditions(near(), 2, 0, 4) == "no weights, no domain, 2 of 2 coordinates movable, 3 of 3 rivals"
    everything = near(
        "l1", weights=WEIGHTS, movable=frozenset({0}), rivals=frozenset({2, 1}), abstain=fmpq(1, 2), **DOMAIN
    )
    assert conditions(everything, 2, 0, 4) == (
        f"weights from {float(min(WEIGHTS))} to {float(max(WEIGHTS))}, "
        "a domain with low ends from -1.0 to -1.0 in 1 of 2 coordinates and high ends from 1.0 to 1.0 in 1 of 2 coordinates, "
        "1 of 2 coordinates movable, 2 of 3 rivals: 1 2, a lead of at most 0.5 counts as a tie"
    )
    here = near(low=(fmpq(0), None), high=(fmpq(0), None))
    assert conditions(here, 2, 1, 2) == (
        "no weights, a domain with low ends from 0.0 to 0.0 in 1 of 2 coordinates and high ends from 0.0 to 0.0 in 1 of 2 "
        "coordinates, 1 of 2 coordinates movable, 1 of 1 rivals"
    )
    assert "low ends nowhere" in conditions(near(low=(None, None), high=(None, None)), 2, 0, 2)


@pytest.mark.parametrize("half", [{"low": (fmpq(-1), fmpq(-1))}, {"high": (fmpq(1), fmpq(1))}, {}])
def test_half_a_domain_is_none(half: dict[str, Any]) -> None:
    assert near(**half).ends(0) == (None, None)


STATED = {
    "norm": "l1",
    "weights": ["0x1p+1", "0x1p-1"],
    "low": ["-0x1p+0", None],
    "high": [None, "0x1p+2"],
    "movable": [0, 1],
    "rivals": [0, 2],
    "abstain": "0x1p-3",
}


def test_what_is_read() -> None:
    assert read_neighbourhood(STATED, U, 3) == StatedNeighbourhood(
        "l1",
        (fmpq(2), fmpq(1, 2)),
        (fmpq(-1), None),
        (None, fmpq(4)),
        frozenset({0, 1}),
        frozenset({0, 2}),
        fmpq(1, 8),
    )
    nothing = {"weights": None, "low": None, "high": None, "movable": None, "rivals": None, "abstain": "0x0p+0"}
    assert read_neighbourhood({"norm": "l2", **nothing}, U, 3) == PLAIN


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"norm": "L1"}, "norm: 'L1'; expected one of l2, linf, l1"),
        ({"norm": ["l1"]}, "norm: "),
        ({"norm": None}, "norm: None; expected"),
        ({"weights": ["0x1p+0", None]}, "weights: expected positive numbers"),
        ({"weights": ["0x1p+0", "0x0p+0"]}, "weights: expected positive numbers"),
        ({"weights": ["-0x1p-9", "0x1p+0"]}, "weights: expected positive numbers"),
        ({"weights": ["0x1p+0"]}, "weights"),
        ({"low": None}, "a domain needs both low and high"),
        ({"high": None}, "a domain needs both low and high"),
        ({"low": ["0x1p-9", None]}, "the point lies outside the domain"),
        ({"high": [None, "-0x1p-9"]}, "the point lies outside the domain"),
        ({"abstain": "-0x1p-60"}, "a lead is not negative"),
        ({"movable": []}, "movable: expected different numbers, at least one"),
        ({"movable": [1, 1]}, "movable: expected different numbers, at least one"),
        ({"movable": [2]}, "movable"),
        ({"movable": [-1]}, "movable"),
        ({"rivals": []}, "rivals: expected different numbers, at least one"),
        ({"rivals": [0, 0]}, "rivals: expected different numbers, at least one"),
        ({"rivals": [3]}, "rivals"),
    ],
)
def test_what_is_refused(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(Refused) as refusal:
        read_neighbourhood({**STATED, **changes}, U, 3)
    assert reason in str(refusal.value)
