"""VNN-LIB files: read exactly, refused in one sentence, written so that reading gives back the same region."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import polymargin as pm
from polymargin.vnnlib import Query, read_query, write_robustness_query
from polymargin.vnnlib.regions import Ball, region_of, root_above

pytest.importorskip("vnnlib._core")

HEAD = "(vnnlib-version <2.0>)\n(declare-network f (declare-input X real [1,2]) (declare-output Y real [1,3]))\n"
SECOND = "(declare-network g (declare-input U real [1,2]) (declare-output V real [1,3]))\n"
OLD_HEAD = "\n".join(f"(declare-const {name} Real)" for name in ("X_0", "X_1", "Y_0", "Y_1", "Y_2")) + "\n"


def query(tmp_path: Path, text: str) -> Query:
    file = tmp_path / "query.vnnlib"
    file.write_text(text)
    return read_query(file)


# -- reading ---------------------------------------------------------------------------------------

BALL = (Fraction(1, 10), Fraction(-1, 4))


@pytest.mark.parametrize(
    "condition",
    [
        "(<= (+ (* (- X[0,0] 0.1) (- X[0,0] 0.1)) (* (+ X[0,1] 0.25) (+ X[0,1] 0.25))) 0.04)",
        "(>= 0.04 (+ (* (- 0.1 X[0,0]) (- 0.1 X[0,0])) (* (- X[0,1] -0.25) (- X[0,1] -0.25))))",
        "(<= (+ (* X[0,0] X[0,0]) (* X[0,1] X[0,1]) (* -0.2 X[0,0]) (* 0.5 X[0,1])) -0.0325)",
        "(<= (* 3.0 (+ (* (- X[0,0] 0.1) (- X[0,0] 0.1)) (* (+ X[0,1] 0.25) (+ X[0,1] 0.25)))) 0.12)",
        "(< (- (* (- X[0,0] 0.1) (- X[0,0] 0.1)) (- (* (+ X[0,1] 0.25) (+ X[0,1] 0.25))) 0.04) 0.0)",
    ],
)
def test_a_ball_is_recognised_in_any_spelling(tmp_path: Path, condition: str) -> None:
    found = query(tmp_path, f"{HEAD}(assert {condition})\n(assert (>= Y[0,1] Y[0,0]))\n")
    region = region_of(found.cases[0], 2)
    assert region.balls == (Ball(BALL, Fraction(1, 25)),)
    assert region.box is None


@pytest.mark.parametrize(
    "condition",
    [
        "(<= (+ (* X[0,0] X[0,0]) (* 2.0 X[0,1] X[0,1])) 1.0)",  # an ellipse
        "(<= (* X[0,0] X[0,0]) 1.0)",  # a strip
        "(<= (+ (* X[0,0] X[0,0]) (* X[0,1] X[0,1]) (* X[0,0] X[0,1])) 1.0)",
        "(>= (+ (* X[0,0] X[0,0]) (* X[0,1] X[0,1])) 1.0)",  # the outside of a ball
    ],
)
def test_what_is_no_ball_is_not_taken_for_one(tmp_path: Path, condition: str) -> None:
    region = region_of(query(tmp_path, f"{HEAD}(assert {condition})").cases[0], 2)
    assert region.balls == ()


def test_decimals_are_exact_rationals(tmp_path: Path) -> None:
    digits = "0.1000000000000000000000000000000000000001"
    found = query(tmp_path, f"{HEAD}(assert (<= X[0,0] {digits}))(assert (> Y[0,2] -3.0))")
    (bound, condition), *others = found.cases
    assert not others
    assert bound.polynomial.coefficient() == Fraction(digits)
    assert condition.strict


def test_boxes_and_contradictions(tmp_path: Path) -> None:
    bounds = "(assert (and (<= X_0 0.5) (>= X_0 -5e-1)))(assert (<= X_1 2))(assert (>= X_1 1.5))"
    found = query(tmp_path, f"; a comment (\n{OLD_HEAD}{bounds}(assert (or (and (>= Y_1 Y_0)) (and (>= Y_2 Y_0))))")
    assert (found.version, len(found.cases)) == ("1.0", 2)
    region = region_of(found.cases[0], 2)
    assert region.box is not None
    assert region.box.enclosing == Ball((Fraction(0), Fraction(7, 4)), Fraction(1, 4) + Fraction(1, 16))
    assert region.box.enclosed == Ball((Fraction(0), Fraction(7, 4)), Fraction(1, 16))
    empty = query(tmp_path, f"{OLD_HEAD}{bounds}(assert (>= X_0 0.6))(assert (>= Y_1 Y_0))")
    assert region_of(empty.cases[0], 2).empty


def test_cases_of_both_versions_agree(tmp_path: Path) -> None:
    new = query(
        tmp_path, f"{HEAD}(assert (or (and (<= X[0,0] 1.0) (> Y[0,0] 2.5)) (== (+ Y[0,1] (* 2.0 Y[0,2])) X[0,1])))"
    )
    old = query(tmp_path, f"{OLD_HEAD}(assert (or (and (<= X_0 1) (> Y_0 2.5)) (= (+ Y_1 (* 2 Y_2)) X_1)))")
    assert new.cases == old.cases


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "declared are 0 variables"),
        ("(vnnlib-version <2.0>)", "not a valid VNN-LIB 2.0 query"),
        (HEAD + "(assert (<= X[0,5] 1.0))", "out of bounds"),
        (HEAD + "(assert (<= X[0,0] 1e-3))", "syntax error"),
        (HEAD + "(assert (<= X[0,0] 1.0)", "syntax error"),
        (HEAD + "(assert (>= (* Y[0,0] Y[0,0] Y[0,0] Y[0,0] Y[0,0]) 0.0))", "degree above 4"),
        (HEAD.replace("[1,2]", "[99999999999999999999]") + "(assert (<= Y[0,0] 1.0))", "not a valid"),
        (HEAD.replace("[1,2]", "[1000,100000]") + "(assert (<= Y[0,0] 1.0))", "at most 1000000 entries"),
        (HEAD + SECOND + "(assert (<= Y[0,0] 1.0))", "2 networks"),
        (HEAD + "(assert (<= Y[0,0] 1))", "Type mismatch"),
        (HEAD + "(assert (<= Y[0,0] " + "9" * 100 + ".0))", "not a decimal number"),
        (OLD_HEAD, "no assertion"),
        (OLD_HEAD + "(assert (<= X_7 1))", "X_7 is not declared"),
        (OLD_HEAD + "(assert (<= X_0 1e999))", "not a decimal number"),
        (OLD_HEAD + "(assert (<= X_0 one))", "not a decimal number"),
        (OLD_HEAD + "(assert (<= X_0 1)", "cut off"),
        (OLD_HEAD + "(assert (<= X_0 1)))", "too many"),
        (OLD_HEAD + "(check-sat)", "expected .declare-const"),
        (OLD_HEAD + "(assert (not (<= X_0 1)))", "not a condition"),
        (OLD_HEAD + "(declare-const X_0 Real)", "each once"),
        ("(declare-const X_1 Real)(declare-const Y_0 Real)(assert (<= X_1 1))", "without gaps"),
        ("(declare-const X_0 Int)", "of type Real"),
        ("(" * 5000, "levels of parentheses"),
        ("\0", "not a text file"),
        (OLD_HEAD + "(assert (and " + "(or (<= X_0 1) (<= X_0 2)) " * 30 + "))", "more than 200000 comparisons"),
    ],
)  # fmt: skip
def test_bad_queries_are_refused_in_one_sentence(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(pm.InputError, match=message) as caught:
        query(tmp_path, text)
    assert "\n" not in str(caught.value)
    assert "query.vnnlib: " in str(caught.value)


def test_products_are_bounded(tmp_path: Path) -> None:
    """A sum of n variables times another: n² terms for n characters."""
    names = [f"X_{i}" for i in range(30)]
    head = "".join(f"(declare-const {name} Real)" for name in [*names, "Y_0"])
    with pytest.raises(pm.InputError, match="more than 400 products"):
        query(tmp_path, f"{head}(assert (<= (* (+ {' '.join(names)}) (+ {' '.join(names)})) 1))")


def test_files_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "query.vnnlib").write_bytes(b"\xff\xfe\x80")
    with pytest.raises(pm.InputError, match="not a text file"):
        read_query(tmp_path / "query.vnnlib")
    with pytest.raises(pm.InputError, match="no such file"):
        read_query(tmp_path / "none.vnnlib")


# -- balls in floating point -----------------------------------------------------------------------

rationals = st.fractions(min_value=-1000, max_value=1000, max_denominator=10**12)


@settings(max_examples=300, deadline=None)
@given(st.fractions(min_value=0, max_value=10**12, max_denominator=10**20))
def test_roots_are_rounded_upwards_and_tightly(value: Fraction) -> None:
    root = Fraction(root_above(value))
    assert root**2 >= value
    assert root**2 <= value * (1 + Fraction(1, 2**50)) + Fraction(1, 10**300)


@settings(max_examples=200, deadline=None)
@given(centre=st.lists(rationals, min_size=1, max_size=4), radius=st.fractions(0, 100, max_denominator=10**9))
def test_float_balls_enclose_and_are_enclosed(centre: list[Fraction], radius: Fraction) -> None:
    """‖u − c‖ + r < outer and inner + ‖u − c‖ ≤ r, compared as rationals through squares."""
    ball = Ball(tuple(centre), radius**2)
    gap = sum(((Fraction(u) - c) ** 2 for u, c in zip(ball.float_centre.tolist(), centre, strict=True)), Fraction(0))
    assert Fraction(ball.outer_radius) > radius
    assert (Fraction(ball.outer_radius) - radius) ** 2 > gap
    assert Fraction(ball.inner_radius) < radius
    assert (radius - Fraction(ball.inner_radius)) ** 2 >= gap
    assert ball.outer_radius - ball.inner_radius <= 1e-9 + 1e-12 * float(radius)


# -- writing ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [None, (1, 1, 2, 2), (4,)])
def test_written_balls_are_read_back_exactly(tmp_path: Path, shape: tuple[int, ...] | None) -> None:
    point, radius = [0.1, -1e-7, 3.0, 2.0**-60], 0.3
    file = write_robustness_query(tmp_path / "q.vnnlib", point, radius, label=1, classes=3, shape=shape)
    found = read_query(file)
    assert found.input.shape == (shape or (1, 4))
    regions = {region_of(case, 4).balls for case in found.cases}
    assert regions == {(Ball(tuple(map(Fraction, point)), Fraction(radius) ** 2),)}
    assert len(found.cases) == 2


@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_written_boxes_are_read_back_exactly(tmp_path: Path, version: str) -> None:
    point, radius = [0.1, -3.0], 0.7
    file = write_robustness_query(
        tmp_path / "q.vnnlib", point, radius, label=0, classes=2, norm=np.inf, version=version
    )
    found = read_query(file)
    box = region_of(found.cases[0], 2).box
    assert found.version == version
    assert box is not None
    assert box.lower == tuple(Fraction(value) - Fraction(radius) for value in point)
    assert box.upper == tuple(Fraction(value) + Fraction(radius) for value in point)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"label": 3}, "label 3: expected a class from 0 to 2"),
        ({"norm": 1}, "norm 1"),
        ({"version": "1.0"}, "norm 2 in version 1.0"),
        ({"shape": (3, 3)}, "shape"),
        ({"radius": -1.0}, "radius of at least zero"),
        ({"point": [np.nan, 0.0]}, "finite point"),
    ],
)
def test_bad_requests_to_write(tmp_path: Path, options: dict, message: str) -> None:
    arguments = {"point": [0.0, 0.0], "radius": 0.1, "label": 0, "classes": 3} | options
    with pytest.raises(pm.InputError, match=message):
        write_robustness_query(tmp_path / "q.vnnlib", arguments.pop("point"), arguments.pop("radius"), **arguments)
