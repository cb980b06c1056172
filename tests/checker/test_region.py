"""One part of a neighbourhood: what it makes of the norm, what linear functions reach on it, when it is empty. By hand."""

from __future__ import annotations

import math

import pytest
from flint import arb, fmpq

from polymargin_checker.arithmetic import working_precision
from polymargin_checker.enclosures import Balls
from polymargin_checker.neighbourhood import StatedNeighbourhood
from polymargin_checker.refusal import Refused
from polymargin_checker.region import CheckedRegion, down, product, total, up

POINT = (fmpq(1), fmpq(-1), fmpq(1, 2), fmpq(3), fmpq(-2), fmpq(7))
WEIGHTS = (fmpq(2), fmpq(3), fmpq(4), fmpq(5), fmpq(1, 2), fmpq(6))
BOX = (
    (fmpq(2), fmpq(3)),  # above the point
    (fmpq(-3), fmpq(0)),  # around it, two down and one up
    (fmpq(0), fmpq(1, 2)),  # below it, and up to it
    (fmpq(3), fmpq(4)),  # above it, from it on
    (fmpq(-3), fmpq(2)),  # around it, one down and four up
    (fmpq(7), fmpq(7)),  # it does not move
)


def part(norm: str, box: tuple[tuple[fmpq, fmpq], ...] = BOX, weighted: bool = True) -> CheckedRegion:
    size = len(box)
    near = StatedNeighbourhood(norm, WEIGHTS[:size] if weighted else None, None, None, None, None, fmpq(0))
    return CheckedRegion(near, POINT[:size], fmpq(3), box)


def test_what_moves_and_its_middle() -> None:
    assert part("l1").moving == [0, 1, 2, 3, 4]
    assert part("l1").middle() == [fmpq(5, 2), fmpq(-3, 2), fmpq(1, 4), fmpq(7, 2), fmpq(-1, 2), fmpq(7)]


def test_absolute_values_whose_sign_the_box_fixes_are_linear_and_others_lie_above_a_parabola() -> None:
    """|d| ≥ d² / 2 for −2 ≤ d ≤ 1, and d² / 4 for −1 ≤ d ≤ 4, with equality at the far end."""
    squares, linear, bound = part("l1").norm_terms()
    assert squares == [0, fmpq(3, 2), 0, 0, fmpq(1, 8)]
    assert linear == [2, 0, -4, 5, 0]
    assert bound == 3
    assert part("l1", weighted=False).norm_terms() == ([0, fmpq(1, 2), 0, 0, fmpq(1, 4)], [1, 0, -1, 1, 0], 3)


def test_squares_of_l2() -> None:
    assert part("l2").norm_terms() == ([4, 9, 16, 25, fmpq(1, 4)], [0] * 5, 9)


SQUARE = ((fmpq(-2), fmpq(4)), (fmpq(-4), fmpq(2)))  # what the radius 3 allows around (1, −1)
HALF = ((fmpq(2), fmpq(4)), (fmpq(-4), fmpq(2)))


@pytest.mark.parametrize(
    ("norm", "box", "row", "expected"),
    [  # of row · (x − (1, −1))
        ("linf", SQUARE, (1.0, -2.0), (-9, 9)),
        ("linf", HALF, (1.0, -2.0), (-5, 9)),
        ("l2", SQUARE, (3.0, 4.0), (-15, 15)),
        ("l2", HALF, (3.0, 4.0), (-9, 15)),  # by the box from below, by the ball from above
        ("l2", HALF, (-3.0, 4.0), (-15, 9)),
        ("l1", SQUARE, (3.0, -4.0), (-12, 12)),
        ("l1", HALF, (1.0, -0.25), (0.25, 3)),
        ("l1", HALF, (-1.0, 0.25), (-3, -0.25)),
    ],
)
def test_what_a_linear_function_reaches(
    norm: str, box: tuple[tuple[fmpq, fmpq], ...], row: tuple[float, float], expected: tuple[float, float]
) -> None:
    with working_precision(128):
        ((low, high),) = part(norm, box, weighted=False).support(Balls.of(1, 2, list(row)), Balls, POINT[:2])
        assert (low, high) == pytest.approx(expected)
        assert low < expected[0]
        assert high > expected[1]


def test_weights_shorten_the_ball_and_the_centre_may_be_another_point() -> None:
    """Around (1, −1) with 2|d|, 3|d'| within 3: row · d is at most 3 · ‖row / w‖, and the centre is one lower in both."""
    centre = [POINT[0] - 1, POINT[1] - 1]
    row = Balls.of(1, 2, [6.0, 12.0])
    with working_precision(128):
        assert part("l2", SQUARE).support(row, Balls, centre)[0] == pytest.approx((18 - 15, 18 + 15))
        assert part("l1", SQUARE).support(row, Balls, centre)[0] == pytest.approx((18 - 12, 18 + 12))


def test_where_nothing_moves_nothing_is_reached() -> None:
    still = part("l2", ((fmpq(1), fmpq(1)), (fmpq(-1), fmpq(-1))))
    assert still.support(Balls.of(3, 0, []), Balls, POINT[:2]) == [(0.0, 0.0)] * 3


@pytest.mark.parametrize(
    ("norm", "box", "empty"),
    [
        ("l2", ((fmpq(1), fmpq(5)), (fmpq(-4), fmpq(5))), False),
        ("l2", ((fmpq(4), fmpq(5)), (fmpq(-4), fmpq(5))), False),  # it touches the ball
        ("l2", ((fmpq(41, 10), fmpq(5)), (fmpq(-4), fmpq(5))), True),
        ("l2", ((fmpq(-9), fmpq(-3)), (fmpq(-4), fmpq(5))), True),
        ("l2", ((fmpq(3), fmpq(5)), (fmpq(3, 2), fmpq(5))), True),
        ("l1", ((fmpq(3), fmpq(5)), (fmpq(0), fmpq(5))), False),
        ("l1", ((fmpq(3), fmpq(5)), (fmpq(1, 2), fmpq(5))), True),
        ("linf", ((fmpq(3), fmpq(5)), (fmpq(1, 2), fmpq(5))), False),
    ],
)
def test_a_part_is_empty_if_its_nearest_point_is_too_far(
    norm: str, box: tuple[tuple[fmpq, fmpq], ...], empty: bool
) -> None:
    assert part(norm, box, weighted=False).is_empty is empty


def test_ends_are_rounded_outward_from_the_whole_ball() -> None:
    assert 0.49 < down(arb(1, 0.5)) < 0.5
    assert 1.5 < up(arb(1, 0.5)) < 1.51
    for function in (down, up):
        for value in (arb("inf"), arb("nan"), arb("-inf"), arb(2) ** 2000):
            with pytest.raises(Refused, match="a range leaves the numbers"):
                function(value)


def test_intervals() -> None:
    low, high = product((-2.0, 3.0), (-5.0, 4.0))
    assert (low, high) == (math.nextafter(-15, -math.inf), math.nextafter(12, math.inf))
    low, high = total((-2.0, 3.0), (-5.0, 4.0))
    assert (low, high) == (math.nextafter(-7, -math.inf), math.nextafter(7, math.inf))
