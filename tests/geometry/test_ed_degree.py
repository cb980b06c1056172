"""`ed_degree`: ways that share no code must agree."""

from __future__ import annotations

import numpy as np
import pytest
from geometry.algebra.engines_here import needs_msolve

import polymargin as pm
from polymargin.boundary import AttentionArchitecture
from polymargin.errors import InputError, TooManyPathsError
from polymargin.geometry import EDDegree
from polymargin.networks.attention import random_attention
from polymargin.standing import Standing


@pytest.mark.parametrize(
    ("text", "components"),
    [
        ("x**3 + 2*y**3 - x*y + 1", (9,)),
        ("y**2 - x**3", (4,)),  # the cuspidal cubic
        ("y**2 - x**3 - x**2", (5,)),  # the nodal one
        ("(x**2 + 2*y**2 - 1)*(x*y - 2)", (4, 4)),
        ("(x**2 + y**2 - 1)*(x - 3*y + 1)", (2, 1)),
        ("(x - y)**2*(x + 2)", (1, 1)),
        ("x*y*z - 1", None),
        ("x**4 + y**4 - 1", (16,)),
    ],
)
@needs_msolve
def test_numeric_and_symbolic_agree_on_boundaries(text: str, components: tuple[int, ...] | None) -> None:
    boundary = pm.Boundary.from_expression(text)
    numeric = pm.ed_degree(boundary, method="numeric", threads=1)
    symbolic = pm.ed_degree(boundary, method="symbolic")
    assert int(numeric) == int(symbolic)
    assert numeric.standing is Standing.NUMERICAL
    if components is not None:
        assert numeric.components == components


@pytest.mark.parametrize(
    "architecture",
    [
        pm.NetworkArchitecture((3, 3, 2, 2), 2),
        pm.NetworkArchitecture((4, 4, 2, 2), 2),
        pm.NetworkArchitecture((2, 3, 2), 4),
        pm.NetworkArchitecture((2, 2, 1, 1, 2), 2),
        AttentionArchitecture(2, 2, 1, 1),
        AttentionArchitecture(2, 2, 2, 2),
        AttentionArchitecture(3, 2, 1, 2),
        AttentionArchitecture(1, 6, 1, 1),
    ],
    ids=str,
)
@needs_msolve
def test_two_ways_agree_on_architectures(architecture: pm.NetworkArchitecture | AttentionArchitecture) -> None:
    ways = {way: pm.ed_degree(architecture, method=way, threads=1) for way in ("numeric", "symbolic")}
    assert len({int(found) for found in ways.values()}) == 1, ways
    assert ways["numeric"].standing is Standing.NUMERICAL


@pytest.mark.slow
def test_a_printed_value_that_two_methods_contradict() -> None:
    """Table 2 prints 738 for (t, d, d', a) = (3, 3, 3, 2). Monodromy with the trace test and a Gröbner basis both say 743."""
    module = AttentionArchitecture(3, 3, 3, 2)
    assert int(pm.ed_degree(module, method="symbolic", seed=1)) == 743
    assert int(pm.ed_degree(module, method="numeric", seed=2)) == 743


def test_auto_takes_a_theorem_where_there_is_one() -> None:
    assert pm.ed_degree(pm.NetworkArchitecture((8, 6, 2), 3)).standing is Standing.CERTIFIED
    assert pm.ed_degree(pm.NetworkArchitecture((3, 3, 2, 2), 2)).method == "numeric"
    assert pm.ed_degree(pm.Boundary.from_expression("x**2 - y")).notes == ("theorem: quadrics",)
    assert int(pm.ed_degree(pm.Boundary.from_expression("x + 2*y - 1"))) == 1


def test_a_network_has_the_degree_of_its_boundary() -> None:
    module = random_attention(2, 2, 1, 1, seed=1)
    assert int(pm.ed_degree(module, cache=False, threads=1)) == 17


def test_a_network_with_a_repeated_factor_is_refused_rather_than_counted_as_nothing() -> None:
    """(x² + 2y² − 1)²: as a network it is not factored, and no critical point on it is regular."""
    layers = [np.eye(2), ([[1.0, 2.0]], [-1.0]), [[1.0], [0.0]]]
    network = pm.PolynomialNetwork(layers, degree=2)
    with pytest.raises(InputError, match="repeated factor"):
        pm.ed_degree(network, cache=False)
    assert int(pm.ed_degree(network, method="symbolic")) == 4


def test_bad_questions() -> None:
    with pytest.raises(InputError, match="expected one of auto"):
        pm.ed_degree(pm.NetworkArchitecture((2, 2, 2), 2), method="guess")
    with pytest.raises(InputError, match="degrees one and two only"):
        pm.ed_degree(pm.Boundary.from_expression("x**3 - y"), method="formula")
    with pytest.raises(InputError, match="constant"):
        pm.ed_degree(pm.Boundary.from_expression("x - x + 3"))


def test_more_critical_points_than_the_limit_are_refused() -> None:
    cubic = pm.Boundary.from_expression("x**3 + 2*y**3 - x*y + 1")
    with pytest.raises(TooManyPathsError, match="more than the limit of 8"):
        pm.ed_degree(cubic, limit=8)
    assert int(pm.ed_degree(cubic, limit=9)) == 9


def test_a_count_without_loops_says_so() -> None:
    found = pm.ed_degree(pm.NetworkArchitecture((2, 2, 2), 2), method="numeric")
    assert found.notes == ("found from solutions in closed form; no monodromy loops were needed",)


def test_answers_print_in_one_short_line() -> None:
    assert repr(pm.ed_degree(pm.Boundary.from_expression("x**2 + 4*y**2 - 4"))) == "EDDegree(4, CERTIFIED by formula)"
    open_count = EDDegree(30, "numeric", Standing.BRACKETED, 30, 45, 0.0)
    assert repr(open_count) == "EDDegree(30..45, BRACKETED by numeric)"
