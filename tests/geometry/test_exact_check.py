"""Counts of paths against counts modulo primes: what disagrees is said, and the exact number is returned."""

from __future__ import annotations

import pytest
from problems import random_network

import polymargin as pm
import polymargin.geometry.ed_degrees.ed_degree as under_test
from polymargin.geometry import BoundaryCount
from polymargin.geometry.ed_degrees.exact_check import exact_check
from polymargin.standing import Standing

# True numbers by Macaulay2 and PHCpack.
TEXTS = {
    "y**7-x**10": 13,
    "y**3-x**4": 5,
    "y**4-x**5": 6,
    "y**2-x**3-x**2/1000": 5,
    "x**2+2*y**2+x**3/10**4-1": 7,
    "x**2+2*y**2+3*z**2+x**3/10**4-1": 11,
    "x**4-y**2*z+x*y*z": 13,
    "y-x**2+x*y**3/10**15-1": 12,
    "x**3+1073741789*y**3-x*y-1": 9,
}


@pytest.mark.parametrize(("text", "expected"), TEXTS.items(), ids=str)
def test_auto_returns_the_true_number(text: str, expected: int) -> None:
    found = pm.ed_degree(pm.Boundary.from_expression(text), cache=False, threads=1)
    assert (int(found), found.lower, found.upper, found.standing) == (expected, expected, expected, Standing.NUMERICAL)
    assert found.method == ("numeric" if found.notes[0].startswith("confirmed by algebra") else "symbolic")
    assert found.components in (None, (expected,))


def test_a_wrong_number_of_paths_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = BoundaryCount(6, (4, 2), 0)
    monkeypatch.setattr(under_test, "boundary_count", lambda *arguments, **options: wrong)
    found = pm.ed_degree(pm.Boundary.from_expression("(x**2 + 2*y**2 - 1)*(x*y - 2)"))
    assert (int(found), found.method, found.components) == (8, "symbolic", (4, 4))
    assert found.notes[0].startswith("paths found 6, which is wrong: modulo ")
    numeric = pm.ed_degree(pm.Boundary.from_expression("(x**2 + 2*y**2 - 1)*(x*y - 2)"), method="numeric")
    assert (int(numeric), numeric.lower, numeric.upper, numeric.standing) == (6, 8, 16, Standing.BRACKETED)


def test_paths_that_are_not_known_to_be_all_are_confirmed(monkeypatch: pytest.MonkeyPatch) -> None:
    short = BoundaryCount(9, (9,), 3)
    monkeypatch.setattr(under_test, "boundary_count", lambda *arguments, **options: short)
    found = pm.ed_degree(pm.Boundary.from_expression("x**3 + 2*y**3 - x*y + 1"))
    assert (int(found), found.method, found.standing) == (9, "numeric", Standing.NUMERICAL)


def test_where_algebra_does_not_count_the_notes_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    large = exact_check(pm.Boundary.from_expression("x**15 + y**15 - x*y - 1"))
    assert large == (None, "not counted again by algebra: there may be more than 200")
    monkeypatch.setattr(under_test, "exact_check", lambda *arguments, **options: large)
    found = pm.ed_degree(pm.Boundary.from_expression("x**3 + 2*y**3 - x*y + 1"), cache=False, threads=1)
    assert (int(found), found.notes) == (9, (large[1],))


def test_without_an_engine_linear_algebra_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polymargin.geometry.algebra.counting.find_engine", lambda name: None)
    value, note = exact_check(pm.Boundary.from_expression("x**2+2*y**2+3*z**2+x**3/10**4-1"))
    assert value == 11
    assert "linear algebra" in note
    large = exact_check(pm.Boundary.from_network(random_network([6, 7, 2], 3, 0), 0, 1))
    assert large[0] is None
    assert "polymargin[symbolic]" in large[1]


def test_a_quadric_in_many_inputs_is_no_theorem_about_doubles() -> None:
    wide = pm.ed_degree(pm.Boundary.from_network(random_network([40, 50, 2], 2, 0), 0, 1))
    assert (int(wide), wide.standing) == (80, Standing.NUMERICAL)
