"""Margins against independent methods, and everything that is special about a point or a boundary."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import flint
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import PROBLEMS, Problem, random_network
from scipy.optimize import minimize

import polymargin as pm
from polymargin import Standing
from polymargin.continuation import TrackerSettings
from polymargin.errors import TooManyPathsError

SMALL_NETWORKS = [(2, (4,), 3, 3), (3, (5,), 2, 3), (3, (4,), 3, 2), (2, (3, 3), 2, 3), (4, (5,), 3, 2)]


def multistart(boundary: pm.Boundary, u: np.ndarray, starts: int = 30) -> float:
    """The least distance that local optimisation finds: an upper bound of the true one."""
    generator = np.random.default_rng(0)
    best = math.inf
    for _ in range(starts):
        x0 = u + generator.normal(size=u.size) * generator.uniform(0.1, 3)
        result = minimize(
            lambda x: ((x - u) ** 2).sum(),
            x0,
            jac=lambda x: 2 * (x - u),
            constraints={"type": "eq", "fun": boundary, "jac": boundary.gradient},
            method="SLSQP",
            options={"maxiter": 200, "ftol": 1e-14},
        )
        if abs(boundary(result.x)) < 1e-9:
            best = min(best, float(np.linalg.norm(result.x - u)))
    return best


@pytest.mark.parametrize(("n", "hidden", "degree", "classes"), SMALL_NETWORKS)
def test_local_optimisation_never_beats_the_margin_and_meets_it(
    n: int, hidden: tuple, degree: int, classes: int
) -> None:
    network = random_network([n, *hidden, classes], degree, seed=n)
    u = np.random.default_rng(n).normal(size=n)
    found = pm.margin(network, u, proof=False)
    assert found.standing is Standing.NUMERICAL
    bounds = [
        multistart(pm.Boundary.from_network(network, found.label, rival), u)
        for rival in range(classes)
        if rival != found.label
    ]
    assert min(bounds) >= found.radius - 1e-7
    assert min(bounds) == pytest.approx(found.radius, rel=1e-5)


def first_zero(
    boundary: pm.Boundary, network: pm.Network, pair: tuple[int, int], u: np.ndarray, v: np.ndarray
) -> float:
    """The first zero t ≥ 0 of B(u + t v), from rigorously isolated roots of the exact slice."""
    line = [flint.fmpq_poly([_rational(a), _rational(b)]) for a, b in zip(u.tolist(), v.tolist(), strict=True)]
    values = line
    for layer, coefficients in zip(network.chain.layers[:-1], network.chain.activations, strict=True):
        values = [
            _affine(row, bias, values) for row, bias in zip(layer.weights.tolist(), layer.bias.tolist(), strict=True)
        ]
        values = [sum((_rational(c) * z**k for k, c in enumerate(coefficients)), flint.fmpq_poly([0])) for z in values]
    last = network.chain.layers[-1]
    logits = [_affine(row, bias, values) for row, bias in zip(last.weights.tolist(), last.bias.tolist(), strict=True)]
    slice_ = logits[pair[0]] - logits[pair[1]]
    roots = [root.real for root, _ in slice_.numer().complex_roots() if root.imag == 0]
    return min((float(root.mid()) for root in roots if root >= 0), default=math.inf)


def _rational(value: float) -> flint.fmpq:
    fraction = Fraction(value)
    return flint.fmpq(fraction.numerator, fraction.denominator)


def _affine(row: list[float], bias: float, values: list) -> flint.fmpq_poly:
    return sum((_rational(w) * z for w, z in zip(row, values, strict=True)), flint.fmpq_poly([_rational(bias)]))


@pytest.mark.parametrize(("n", "hidden", "degree", "classes"), SMALL_NETWORKS)
def test_exact_slices_never_beat_the_margin_and_the_nearest_direction_meets_it(
    n: int, hidden: tuple, degree: int, classes: int
) -> None:
    network = random_network([n, *hidden, classes], degree, seed=10 + n)
    generator = np.random.default_rng(20 + n)
    u = generator.normal(size=n)
    found = pm.margin(network, u, proof=False)
    pair = (found.label, found.rival)
    boundary = pm.Boundary.from_network(network, *pair)
    for _ in range(25):
        v = generator.normal(size=n)
        assert first_zero(boundary, network, pair, u, v / np.linalg.norm(v)) >= found.radius * (1 - 1e-12)
    if found.point is None:  # no real boundary, and no slice has met one
        assert hidden == (3, 3)
        return
    towards = (found.point - u) / np.linalg.norm(found.point - u)
    assert first_zero(boundary, network, pair, u, towards) == pytest.approx(found.radius, rel=1e-6)


@pytest.mark.parametrize("problem", PROBLEMS[:5], ids=lambda p: p.name)
def test_the_nearest_point_ties_and_lies_at_the_margin(problem: Problem) -> None:
    network = problem.network(classes=3)
    u = problem.point()
    found = pm.margin(network, u, proof=False)
    logits = network(found.point)
    assert logits[found.label] == pytest.approx(logits[found.rival], abs=1e-9 * np.abs(logits).max() + 1e-12)
    assert np.linalg.norm(found.point - u) == pytest.approx(found.radius, rel=1e-10)
    assert found.lower <= found.radius <= found.upper


def test_batches_equal_single_points_and_threads_do_not_matter() -> None:
    network = random_network([3, 5, 3], 3, seed=5)
    points = np.random.default_rng(5).normal(size=(6, 3))
    batch = pm.margin(network, points, proof=False, workers=2)
    for row, u in zip(batch, points, strict=True):
        single = pm.margin(network, u, proof=False, workers=1)
        assert (single.radius, single.label, single.rival) == (row.radius, row.label, row.rival)


def test_seeds_agree() -> None:
    network = random_network([4, 6, 2], 3, seed=6)
    u = np.random.default_rng(6).normal(size=4)
    radii = [pm.margin(network, u, proof=False, seed=seed).radius for seed in range(4)]
    assert np.allclose(radii, radii[0], rtol=1e-11)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000))
def test_rotations_translations_and_permutations_leave_the_margin_alone(seed: int) -> None:
    generator = np.random.default_rng(seed)
    network = random_network([3, 4, 2], 3, seed)
    u = generator.normal(size=3)
    rotation = np.linalg.qr(generator.normal(size=(3, 3)))[0]
    shift = generator.normal(size=3)
    moved = network.precompose(rotation, shift)
    order = generator.permutation(4)
    first, last = network.chain.layers
    shuffled = pm.PolynomialNetwork(
        [(first.weights[order], first.bias[order]), (last.weights[::-1][:, order], last.bias[::-1])], degree=3
    )
    margin = pm.margin(network, u, proof=False)
    assert pm.margin(moved, rotation.T @ (u - shift), proof=False).radius == pytest.approx(margin.radius, rel=1e-8)
    swapped = pm.margin(shuffled, u, proof=False)
    assert swapped.radius == pytest.approx(margin.radius, rel=1e-10)
    assert (swapped.label, swapped.rival) == (margin.rival, margin.label)


# -- special boundaries and points -----------------------------------------------------------------


def test_hyperplanes_are_answered_directly() -> None:
    network = pm.PolynomialNetwork([([[3.0, 4.0], [0.0, 0.0]], [0.0, 5.0])])
    found = pm.margin(network, [3.0, 4.0], proof=False)
    assert found.radius == pytest.approx(4.0)
    assert found.method == "hyperplane"
    assert np.allclose(found.point, [0.6, 0.8])
    assert (found.complex_count, found.real_count) == (1, 1)


def test_a_tie_is_a_margin_of_zero() -> None:
    network = pm.PolynomialNetwork([np.eye(2), np.eye(2)], degree=2)
    found = pm.margin(network, [0.1, -0.1], proof=False)
    assert (found.radius, found.method) == (0.0, "tie")
    assert "tie exactly" in found.notes[0]
    nearly = pm.margin(network, [0.1, np.nextafter(0.1, 1)], proof=False)
    assert nearly.label == 1, "exact arithmetic tells the larger logit"
    assert nearly.method != "tie"


def test_a_constant_boundary_is_infinitely_far() -> None:
    network = pm.PolynomialNetwork([np.eye(2), ([[1, 1], [1, 1]], [0, 3])], degree=2)
    found = pm.margin(network, [1.0, 2.0], proof=False)
    assert (found.radius, found.point) == (math.inf, None)
    assert "empty" in found.notes[0]
    cubic = pm.PolynomialNetwork([np.eye(2), ([[1, 1], [1, 1]], [0, 3])], degree=3)
    found = pm.margin(cubic, [1.0, 2.0], proof=False)
    assert (found.radius, found.method, found.point) == (math.inf, "constant", None)
    assert "no point ties" in found.notes[0]


def test_an_empty_real_boundary_is_infinitely_far() -> None:
    found = pm.margin(pm.Boundary.from_expression("x**2 + 3*y**2 + x*y + 1"), [0.3, 0.4], proof=False)
    assert found.radius == math.inf
    assert "empty over the reals" in found.notes[0]


def test_missing_critical_points_are_never_called_exact() -> None:
    lame = TrackerSettings(most_steps=1)
    found = pm.Verifier(
        pm.Boundary.from_expression("x**3 + 2*y**3 - 3*x*y + x - 1"), settings=pm.Settings(tracker=lame)
    ).margin([0.5, 0.1], proof=False)
    assert found.standing is Standing.BRACKETED
    assert found.lower == 0.0
    assert any("no known end" in note for note in found.notes)


def test_a_bad_row_fails_alone() -> None:
    network = random_network([2, 3, 2], 3, seed=1)
    rows = pm.margin(network, [[0.1, 0.2], [math.nan, 0.0], [0.3, math.inf], [0.5, 0.5]], proof=False)
    assert [row.standing for row in rows] == [
        Standing.NUMERICAL,
        Standing.FAILED,
        Standing.FAILED,
        Standing.NUMERICAL,
    ]
    assert "nan" in rows[1].error
    assert math.isnan(rows[1].radius)


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([1.0, 2.0, 3.0], "of 3 numbers: expected 2 finite numbers"),
        ([math.nan, 1.0], "contains nan"),
        ([], "expected one vector"),
        (
            [[[1.0, 2.0, 3.0]]],
            r"shape \(1, 1, 3\): expected one vector of 2 numbers, or an array \(m, …\) with 2 numbers",
        ),
        ([[], []], "expected one vector"),
        (1.0, "expected one vector"),
        ([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], r"points of shape \(2, 3\): expected one vector of 2 numbers"),
        ([[1.0], [2.0]], "for one point give points.ravel"),
        (["a", "b"], "not an array of real numbers"),
        ([1e200, 1e200], "rescale"),
    ],
)
def test_bad_points_are_refused(points: list, message: str) -> None:
    with pytest.raises(pm.InputError, match=message):
        pm.margin(random_network([2, 3, 2], 3, seed=1), points, proof=False)


@pytest.mark.parametrize("shape", [(3, 2, 2), (3, 1, 2, 2), (3, 1, 1, 4, 1)])
def test_images_are_points_row_by_row(shape: tuple[int, ...]) -> None:
    network = random_network([4, 3, 2], 2, seed=1)
    points = np.random.default_rng(0).normal(size=(3, 4))
    functions = {
        "margin": lambda u: [row.radius for row in pm.margin(network, u, proof=False)],
        "verify": lambda u: [row.answer for row in pm.verify(network, u, 0.1)],
        "proved": lambda u: [row.radius for row in pm.margin(network, u)],
        "attack": lambda u: [row.distance for row in pm.attack(network, u)],
    }
    for name, answers in functions.items():
        assert answers(points.reshape(shape)) == answers(points), name
        with pytest.raises(pm.InputError, match="expected one vector of 4 numbers"):
            answers(points[:, :3])


def test_beyond_the_limit_there_are_bounds_with_the_count_and_the_time_of_enumeration() -> None:
    found = pm.margin(random_network([20, 22, 2], 3, seed=1), np.zeros(20), proof=False, timeout=600)
    assert found.standing is Standing.CERTIFIED
    assert found.method == "bounds"
    assert (1 - 1e-6) * found.upper <= found.lower <= found.upper
    note = found.notes[0]
    assert "3,145,725" in note
    assert "limit of 200,000" in note
    assert any(unit in note for unit in ("seconds", "minutes", "hours"))


def test_bounds_contain_what_enumeration_finds() -> None:
    network = random_network([2, 4, 3], 3, seed=1)
    points = np.random.default_rng(1).normal(size=(4, 2))
    for bounded, exact in zip(
        pm.Verifier(network, settings=pm.Settings(limit=5)).margin(points, proof=False),
        pm.margin(network, points, proof=False),
        strict=True,
    ):
        assert bounded.method == "bounds"
        assert bounded.label == exact.label
        assert bounded.lower <= exact.radius * (1 + 1e-9)
        assert exact.radius <= bounded.upper * (1 + 1e-9)


def test_a_boundary_alone_is_refused_beyond_the_limit() -> None:
    boundary = pm.Boundary.from_network(random_network([2, 4, 2], 3, seed=1), 0, 1)
    with pytest.raises(TooManyPathsError, match="limit of 5"):
        pm.Verifier(boundary, settings=pm.Settings(limit=5)).margin(np.zeros(2), proof=False)


def test_images_beyond_any_enumeration_have_a_bracket() -> None:
    network = random_network([40, 30, 12, 3], 2, seed=2, scale=0.3)
    found = pm.margin(network, np.zeros(40), proof=False, timeout=3)
    assert 0 < found.lower < found.upper
    assert found.standing in (Standing.BRACKETED, Standing.CERTIFIED)
    assert found.point is not None


# -- results as data ----------------------------------------------------------------------------


def test_results_survive_json() -> None:
    network = random_network([2, 4, 3], 3, seed=4)
    margin = pm.margin(network, [0.2, 0.1], proof=False)
    empty = pm.margin(pm.Boundary.from_expression("x**2 + 3*y**2 + 1"), [0.3, 0.4], proof=False)
    for result in (margin, empty):
        again = pm.Margin.from_dict(json.loads(json.dumps(result.to_dict(), allow_nan=False)))
        assert repr(again) == repr(result)
        assert again.to_dict() == result.to_dict()


def test_bounds_that_meet_within_rtol_are_the_answer() -> None:
    """Truth: the enumeration of all critical points, which `limit=1` forbids."""
    network, u = random_network([3, 4, 2], 3, seed=0), [0.3, -0.2, 0.5]
    truth = pm.margin(network, u, proof=False, workers=1).radius
    found = pm.Verifier(network, workers=1, settings=pm.Settings(limit=1, rtol=1e-2)).margin(u, proof=False)
    assert found.standing is Standing.CERTIFIED
    assert found.lower <= truth * (1 + 1e-12)
    assert truth * (1 - 1e-12) <= found.upper <= found.lower * (1 + 2e-2)
    strict = pm.Verifier(network, workers=1, settings=pm.Settings(limit=1, rtol=1e-14)).margin(
        u, proof=False, timeout=0.5
    )
    assert strict.standing is Standing.BRACKETED
    assert strict.lower <= truth * (1 + 1e-12)
    assert truth * (1 - 1e-12) <= strict.upper
    with pytest.raises(pm.InputError, match="rtol"):
        pm.Verifier(network, settings=pm.Settings(rtol=0.0)).margin(u, proof=False)


def test_bounds_are_found_where_not_even_half_of_the_distance_is_proved() -> None:
    generator = np.random.default_rng(0)
    layers = [(generator.normal(size=(4, 2)), generator.normal(size=4)), (generator.normal(size=(2, 4)), np.zeros(2))]
    network, u = pm.PolynomialNetwork(layers, degree=40), generator.normal(size=2)
    found = pm.Verifier(network, settings=pm.Settings(limit=1)).margin(u, timeout=5)
    assert 0 < found.lower <= found.upper < math.inf
    assert found.standing in (Standing.BRACKETED, Standing.CERTIFIED)


@pytest.mark.parametrize(("constant", "nearer"), [(1, ""), (-1, " nearer than 0.799975")])
def test_a_doubted_enumeration_is_told_in_words(monkeypatch: pytest.MonkeyPatch, constant: int, nearer: str) -> None:
    monkeypatch.setattr("polymargin.margins.network_margins.seen_ahead", lambda *_: np.ones((1, 2), dtype=bool))
    quartic = pm.PolynomialNetwork([np.eye(2), ([[1, 1], [0, 0]], [constant, 0])], degree=4)
    notes = " ".join(pm.margin(quartic, [0.1, 0.2], proof=False).notes)
    assert f"enumeration found no tie{nearer}, but a point{nearer} was met at which this class wins" in notes
