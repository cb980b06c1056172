"""The reciprocal trace test: constant for all branches (against closed forms), and never for a part of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import polymargin as pm
from polymargin.boundary import NetworkArchitecture, architecture_family, boundary_family
from polymargin.continuation import Tracker
from polymargin.enumeration.base_solutions import base_solutions
from polymargin.enumeration.cache import Cache
from polymargin.enumeration.completion import complete
from polymargin.enumeration.trace import trace_test

# Generic, singular, reducible, not reduced, with a critical value at infinity, deficient in degree.
CURVES = [
    "x**3 + 2*y**3 - x*y + 0.5*x - 1",
    "y**2 - x**3",
    "(x**2 + y**2 - 1)*(x - 3*y + 1)",
    "(x - y)**2*(x + 2)",
    "x*(x*y - 1)",
    "x**4 + y**4 - 1",
    "(x**2 + y**2 - 1)**2 - x**3",
    "x**3 + y**3 + z**3 - 3*x*y*z - 1",
    "x*y*z + x - 2",
]


ONE_THREAD = Tracker(threads=1)


def solved(text: str):
    boundary = pm.Boundary.from_expression(text)
    return base_solutions(boundary, ONE_THREAD, seed=0, cache=Cache.from_option(False))


@pytest.mark.parametrize("text", CURVES)
def test_all_branches_pass_and_any_missing_one_is_noticed(text: str) -> None:
    base = solved(text)
    generator = np.random.default_rng(1)
    assert base.unjudged == 0
    whole = trace_test(base.program, base.parameters, base.solutions, generator, ONE_THREAD)
    assert whole.passed, whole
    for missing in range(0, len(base.solutions), max(1, len(base.solutions) // 4)):
        part = np.delete(base.solutions, missing, axis=0)
        assert not trace_test(base.program, base.parameters, part, generator, ONE_THREAD).passed


@pytest.mark.parametrize("hair", [5, 7, 9])
def test_branches_far_out_are_missed(hair: int) -> None:
    """Two of the four branches are 10^hair away and change the sum by 10^(4 − 3 hair) of itself."""
    base = solved(f"x**2 + y**2 + x*y/10**{hair} + x - 1")
    generator = np.random.default_rng(1)
    near = base.solutions[np.abs(base.solutions[:, 0]) < 100]
    assert (len(base.solutions), len(near)) == (4, 2)
    found = trace_test(base.program, base.parameters, near, generator, ONE_THREAD)
    assert not found.passed
    assert found.defect < 10.0 ** (6 - 3 * hair)


@pytest.mark.parametrize("hair", [12, 16, 20])
def test_branches_that_no_trace_sees_are_found(hair: int) -> None:
    for seed in range(3):
        boundary = pm.Boundary.from_expression(f"x**2 + y**2 + x*y/10**{hair} + x - 1")
        base = base_solutions(boundary, ONE_THREAD, seed=seed, cache=Cache.from_option(False))
        assert (len(base.solutions), base.unjudged) == (4, 0)


def test_a_circle_in_closed_form() -> None:
    """B = x² + y² at u: 1/λ = 2ρ/(ρ ∓ r) − 2… with ρ = ‖u‖, r² = ε: the sum of both minus the pole is −2·2."""
    u, level = np.array([3.0, 4.0]), 2.25
    distance, radius = 5.0, 1.5
    # x = ± r u/ρ and x − u + 2λx = 0, so 1/λ = −2 s/(s − 1) with s = ± r/ρ.
    reciprocals = [-2 * s / (s - 1) for s in (radius / distance, -radius / distance)]
    pole = (2 * distance) ** 2 / (distance**2 - level)
    assert sum(reciprocals) - pole == pytest.approx(-4.0)
    base = boundary_family(pm.Boundary.from_expression("x**2 + y**2"))
    scale = (
        base.program
    )  # the same numbers through the program: reduced coordinates may be scaled, the test must not care
    points = np.array([[*(s * u), 1 / r] for s, r in zip((0.3, -0.3), reciprocals, strict=True)], dtype=complex)
    parameters = np.array([*u, level], dtype=complex)
    assert trace_test(scale, parameters, points, np.random.default_rng(0), ONE_THREAD).passed


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(-3, 3), min_size=10, max_size=10), st.integers(0, 100))
def test_random_cubics(coefficients: list[int], seed: int) -> None:
    """Any cubic, degenerate or not: what stage 1 finds passes, and a random half of it does not."""
    monomials = ["x**3", "x**2*y", "x*y**2", "y**3", "x**2", "x*y", "y**2", "x", "y", "1"]
    text = " + ".join(f"({c})*{m}" for c, m in zip(coefficients, monomials, strict=True))
    if not any(coefficients[:4]):
        return
    boundary = pm.Boundary.from_expression(text, variables="x y")
    if boundary.degree < 3:
        return
    base = base_solutions(boundary, ONE_THREAD, seed=seed, cache=Cache.from_option(False))
    generator = np.random.default_rng(seed)
    assert base.unjudged == 0
    assert trace_test(base.program, base.parameters, base.solutions, generator, ONE_THREAD).passed
    half = base.solutions[: len(base.solutions) // 2]
    if len(half):
        assert not trace_test(base.program, base.parameters, half, generator, ONE_THREAD).passed


def test_completion_finds_what_is_missing() -> None:
    """From one solution of an architecture to all, whose number is a theorem."""
    family = architecture_family(NetworkArchitecture((2, 2, 2), 3))
    generator = np.random.default_rng(0)
    solution, parameters = family.seed(generator)
    found = complete(
        family.program,
        solution[None, :],
        parameters,
        lambda: family.generic(generator),
        generator,
        tracker=ONE_THREAD,
        bound=10**6,
    )
    assert found.trace is not None
    assert found.trace.passed
    assert len(found.solutions) == 9


def test_completion_says_when_it_failed() -> None:
    """Parameters that never move bring no other solution: the test must not pass, whatever is tried."""
    family = architecture_family(NetworkArchitecture((2, 2, 2), 3))
    generator = np.random.default_rng(0)
    solution, parameters = family.seed(generator)
    found = complete(
        family.program,
        solution[None, :],
        parameters,
        lambda: parameters,
        generator,
        tracker=ONE_THREAD,
        bound=family.bound,
        most_places=3,
    )
    assert not found.complete
    assert len(found.solutions) == 1
