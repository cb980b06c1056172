"""All critical points, against counts that are theorems and roots that are exact."""

from __future__ import annotations

import sys
from fractions import Fraction

import flint
import numpy as np
import pytest
from problems import PROBLEMS, Problem, random_network

import polymargin as pm
from polymargin.continuation import PathEnd, Tracker, TrackerSettings
from polymargin.enumeration.audit import Audit
from polymargin.enumeration.base_solutions import base_solutions
from polymargin.enumeration.cache import Cache


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
def test_counts(problem: Problem) -> None:
    boundary = pm.Boundary.from_network(problem.network(), 0, 1)
    u = problem.point()
    found = pm.critical_points(boundary, u, cache=False)
    assert len(found) == problem.critical_points
    assert found.audit.complete
    assert (len(found) - found.real.sum()) % 2 == 0, "nonreal points come in conjugate pairs"


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
def test_lagrange_equations_in_the_original_variables(problem: Problem) -> None:
    network = problem.network()
    boundary = pm.Boundary.from_network(network, 0, 1)
    u = problem.point()
    found = pm.critical_points(boundary, u, cache=False)
    for x, multiplier in zip(found.points[found.real].real, found.multipliers[found.real].real, strict=True):
        slope = boundary.gradient(x)
        size = 1 + np.abs(x - u).max()
        assert np.abs(x - u + multiplier * slope).max() < 1e-8 * size
        assert abs(boundary(x)) < 1e-8 * (1 + np.linalg.norm(slope) * size)


@pytest.mark.parametrize("seed", range(4))
def test_one_input_gives_the_exact_roots(seed: int) -> None:
    """In one dimension the critical points are the roots of B; python-flint isolates them rigorously."""
    network = random_network([1, 4, 2], 5, seed)
    first, last = network.chain.layers
    difference = [Fraction(a) - Fraction(b) for a, b in zip(*last.weights.tolist(), strict=True)]
    polynomial = flint.fmpq_poly([_rational(Fraction(last.bias[0]) - Fraction(last.bias[1]))])
    for weight, bias, factor in zip(first.weights[:, 0].tolist(), first.bias.tolist(), difference, strict=True):
        line = flint.fmpq_poly([_rational(Fraction(bias)), _rational(Fraction(weight))])
        polynomial += _rational(factor) * line**5
    exact = sorted((complex(root) for root, _ in polynomial.numer().complex_roots()), key=_key)
    found = pm.critical_points(pm.Boundary.from_network(network, 0, 1), [0.3], cache=False)
    ours = sorted(found.points[:, 0].tolist(), key=_key)
    assert np.allclose(ours, exact, rtol=1e-10, atol=1e-10)
    reals = [root.real for root in exact if abs(root.imag) < 1e-30]
    assert int(found.real.sum()) == len(reals)
    assert found.distances[0] == pytest.approx(min(abs(root - 0.3) for root in reals), rel=1e-11)


@pytest.mark.parametrize(
    "text",
    [
        "x**3 + 2*y**3 - 3*x*y + x - 1",
        "x**4 + y**4 + x*y - 2*x + y - 3",
        "(x - 2*y)**3 + (x + y + 1)**3 - 4*(3*x - y)**2 - 1",
        "x**2 + 3*y**2 + x*y - 2",
    ],
)
def test_plane_curves_against_exact_elimination(text: str) -> None:
    """Eliminate y from B = 0 and (x − u)B_y − (y − v)B_x = 0 with exact arithmetic."""
    sympy = pytest.importorskip("sympy")
    x, y = sympy.symbols("x y")
    u, v = sympy.Rational(3, 10), sympy.Rational(-1, 5)
    B = sympy.sympify(text)
    normal = (x - u) * sympy.diff(B, y) - (y - v) * sympy.diff(B, x)
    resultant = sympy.Poly(sympy.resultant(B, normal, y), x).clear_denoms()[1]
    coefficients = [int(c) for c in reversed(resultant.all_coeffs())]
    exact = [complex(root) for root, count in flint.fmpz_poly(coefficients).complex_roots() for _ in range(count)]
    found = pm.critical_points(pm.Boundary.from_expression(text), [0.3, -0.2], cache=False)
    assert len(found) == len(exact)
    ours = found.points[:, 0].tolist()
    assert np.allclose(sorted(ours, key=_key), sorted(exact, key=_key), rtol=1e-8, atol=1e-8)


def test_a_shortfall_is_said() -> None:
    """A tracker that may take only one step loses paths: nothing may call the rest complete."""
    lame = TrackerSettings(most_steps=1)
    found = pm.critical_points(
        pm.Boundary.from_expression("x**3 + 2*y**3 - 3*x*y + x - 1"), [0.5, 0.1], cache=False, settings=lame
    )
    assert not found.audit.complete
    assert "9 of 9 base paths have no known endpoint" in repr(found)


def test_findings_are_sentences_about_paths() -> None:
    ends = {PathEnd.UNDECIDED: 45, PathEnd.TOO_MANY_STEPS: 1, PathEnd.CONVERGED: 3}
    assert Audit(49, 49, 3, 1, ends).findings == (
        "45 paths reached an undecided endpoint: regular, multiple, singular or at infinity",
        "1 path stopped after the largest number of steps",
    )


@pytest.mark.parametrize("point", [[1.0], [1.0, float("nan")], [[1.0, 2.0]]])
def test_bad_points(point: list) -> None:
    with pytest.raises(pm.InputError, match="expected 2 finite numbers"):
        pm.critical_points(pm.Boundary.from_expression("x**2 + 2*y**2 - 4"), point)
    with pytest.raises(pm.InputError, match="constant"):
        pm.critical_points(pm.Boundary.from_expression("3", variables="x"), [1.0])


def _rational(value: Fraction) -> flint.fmpq:
    return flint.fmpq(value.numerator, value.denominator)


def _key(root: complex) -> tuple[float, float]:
    return round(root.real, 6), round(root.imag, 6)


def test_a_boundary_remembers_its_base_solutions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another point of the same boundary needs no stage 1; another seed, other settings or another boundary do."""
    boundary = pm.Boundary.from_network(random_network([2, 3, 2], 3, seed=3), 0, 1)
    first = pm.critical_points(boundary, [0.3, 0.1], cache=False)
    monkeypatch.setattr(sys.modules["polymargin.enumeration.critical_points"], "base_solutions", None)
    again = pm.critical_points(boundary, [0.3, 0.1], cache=False)
    assert np.array_equal(again.points, first.points)
    others = ({"seed": 1}, {"settings": TrackerSettings(contraction=0.02)})
    for options in others:
        with pytest.raises(TypeError):
            pm.critical_points(boundary, [0.3, 0.1], cache=False, **options)
    with pytest.raises(TypeError):
        pm.critical_points(pm.Boundary(boundary.source), [0.3, 0.1], cache=False)


@pytest.mark.parametrize("seed", range(4))
def test_solutions_far_out_along_a_weak_direction_are_found(seed: int) -> None:
    """A first layer with singular values 1, 0.05, 5e-5: the first steps of most paths are shorter than 1e-12 of the whole way."""
    generator = np.random.default_rng([12, seed])
    left, right = (np.linalg.qr(generator.normal(size=(3, 3)))[0] for _ in range(2))
    first = 3 * left @ np.diag([1.0, 0.05, 5e-5]) @ right
    layers = [(first, generator.normal(size=3)), (generator.normal(size=(2, 3)), generator.normal(size=2))]
    boundary = pm.Boundary.from_network(pm.PolynomialNetwork(layers, degree=3), 0, 1)
    found = base_solutions(boundary, Tracker(threads=1), seed=0, cache=Cache(None))
    assert (len(found.solutions), found.unjudged) == (21, 0)
