"""The integral against closed forms, against other routes to the same number, and against the theorem as it is stated."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import polymargin as pm
from polymargin.expected import (
    GaussianField,
    RandomPolynomial,
    ShallowEnsemble,
    ShallowKernel,
    expected_for_field,
    expected_real_critical_points,
    leading_constant,
    sampled,
)
from polymargin.expected.determinants import _weighted_absolute_form, mean_absolute_determinant

POINT = np.array([1.0, 0.5, 0.25])


@pytest.mark.parametrize("degree", [1, 2, 3, 10, 30, 100])
@pytest.mark.parametrize("point", [0.0, 3.0])
def test_one_variable_by_quadrature(degree: int, point: float) -> None:
    found = expected_for_field(ShallowKernel(1, degree), [point], tolerance=1e-9)
    truth = degree / math.sqrt(2 * degree - 1)
    assert abs(found.value - truth) <= found.error < 1e-7 * truth
    assert expected_real_critical_points(1, degree, [point]).value == pytest.approx(truth, rel=1e-14)


@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize("scale", [0.0, 1.0, 4.0])
def test_a_hyperplane_has_one_foot(dimension: int, scale: float) -> None:
    found = expected_for_field(ShallowKernel(dimension, 1), scale * POINT[:dimension])
    assert abs(found.value - 1) <= found.error < 1e-5


def test_a_hyperplane_has_one_foot_by_sampling() -> None:
    found = expected_real_critical_points(4, 1, [1.0, 0.0, 0.5, 0.0], tolerance=0.02)
    assert abs(found.value - 1) <= found.error
    assert found.method == "quasi-Monte Carlo"


@pytest.mark.parametrize("degree", [2, 3, 4, 25])
def test_the_plane_from_the_origin_in_closed_form(degree: int) -> None:
    # With u = 0 the density depends on r alone, and its integral is elementary (docs/expected.md).
    root = 2 * degree * (degree - 1) / (2 * degree - 1) * math.sqrt(degree / (2 * degree - 3))
    square = (2 * degree - 1) * (2 * degree - 3) / (4 * degree * (degree - 1) ** 2)
    side = math.sqrt(1 - square)
    truth = 2 / math.pi * root * (1 + square * math.atanh(side) / side)
    found = expected_real_critical_points(2, degree)
    assert found.value == pytest.approx(truth, rel=1e-11)


@pytest.mark.parametrize(("dimension", "degree"), [(1, 6), (2, 3), (3, 2)])
def test_two_routes_to_the_same_number(dimension: int, degree: int) -> None:
    """The kernel in closed form, and the polynomial with its coefficients."""
    fields: list[GaussianField] = [ShallowKernel(dimension, degree), ShallowEnsemble(dimension, degree).limit]
    values = [expected_for_field(field, POINT[:dimension]).value for field in fields]
    assert values[0] == pytest.approx(values[1], rel=1e-9)


def test_symmetry_is_a_short_cut_only() -> None:
    turned = replace(ShallowEnsemble(3, 3).limit, isotropic=False)
    long_way = expected_for_field(turned, POINT, tolerance=1e-4)
    assert long_way.value == pytest.approx(expected_for_field(ShallowKernel(3, 3), POINT).value, rel=1e-6)


@settings(max_examples=15, deadline=None)
@given(angle=st.floats(0, 6.28), tilt=st.floats(0, 6.28), dimension=st.sampled_from([2, 3]), degree=st.integers(1, 12))
def test_turning_the_point_changes_nothing(angle: float, tilt: float, dimension: int, degree: int) -> None:
    turned = np.array([np.cos(angle), np.sin(angle) * np.cos(tilt), np.sin(angle) * np.sin(tilt)])[:dimension]
    size = float(np.linalg.norm(turned))
    straight = np.array([size, 0.0, 0.0])[:dimension]
    values = [expected_for_field(ShallowKernel(dimension, degree), u).value for u in (turned, straight)]
    assert values[0] == pytest.approx(values[1], rel=1e-5)


@pytest.mark.parametrize("closed", [1, 2])
def test_three_variables_by_sampling(closed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Points alone, and Hessians too."""
    monkeypatch.setattr(sampled, "LARGEST_CLOSED", closed)
    kernel = ShallowKernel(3, 3)
    law = lambda points, directions, _: kernel.tangent_law(points, directions)  # noqa: E731
    value, error = sampled.sampled_expectation(law, POINT, kernel.length, 1 << 12, 0, turned=False)
    assert abs(value - expected_for_field(kernel, POINT).value) <= error < 0.02


def test_the_constants_in_the_transform() -> None:
    rank_one = np.zeros((4, 4))
    rank_one[0, 0] = 1.0
    crossing = np.diag([0.0, 1.0, -1.0, 0.0])
    mixed = np.zeros((4, 4))
    mixed[0, 1] = mixed[1, 0] = 0.5
    mean = math.sqrt(2 / math.pi)
    forms = np.array([rank_one, -np.eye(4), crossing, mixed, np.zeros((4, 4)), 1e-30 * crossing])
    # E|y|³, −E|y|(y² + 3), E|y| · E|ab| · 2, E y² E|y|.
    truth = [2 * mean, 5 * mean, mean * 4 / math.pi, mean, 0.0, 1e-30 * mean * 4 / math.pi]
    assert _weighted_absolute_form(forms) == pytest.approx(truth, rel=1e-11)


# -- the theorem as it is stated ---------------------------------------------------------------------


def vectors(field: RandomPolynomial, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """f, ∇f and ∇²f at a point as combinations of the normal coefficients, by differences in exact steps."""
    n, h = len(x), 1e-3

    def value(place: np.ndarray) -> np.ndarray:
        return np.asarray(np.prod(place**field.exponents, axis=1) @ field.root)

    steps = h * np.eye(n)
    slope = np.array([(value(x + s) - value(x - s)) / (2 * h) for s in steps])
    bend = np.array(
        [[value(x + s + t) - value(x + s - t) - value(x - s + t) + value(x - s - t) for t in steps] for s in steps]
    )
    return value(x), slope, bend / (4 * h * h)


def stated_density(field: RandomPolynomial, x: np.ndarray, u: np.ndarray, count: int) -> tuple[float, float]:
    """∫ |λ|^{−n} p(0, v) E|vᵀ adj(I + λH) v| dλ, v = (u − x)/λ, with sampled Hessians; and its standard error."""
    n, (value, slope, bend) = field.dimension, vectors(field, x)
    observed, flat = np.vstack([value, slope]), bend.reshape(n * n, -1)
    given, cross = observed @ observed.T, flat @ observed.T
    normals = np.random.default_rng(0).normal(size=(count, flat.shape[1]))
    rest = (normals - normals @ observed.T @ np.linalg.solve(given, observed)) @ flat.T
    t, weights = np.polynomial.legendre.leggauss(60)
    total = np.zeros(count)
    for p, weight in zip((t + 1) / 2, weights / 2, strict=True):
        for multiplier in (p / (1 - p), -p / (1 - p)):
            seen = np.linalg.solve(given, np.append(0.0, (u - x) / multiplier))
            v = (u - x) / multiplier
            density = math.exp(-np.append(0.0, v) @ seen / 2) / math.sqrt(
                (2 * math.pi) ** (n + 1) * np.linalg.det(given)
            )
            A = np.eye(n) + multiplier * (cross @ seen + rest).reshape(-1, n, n)
            adjugate = np.linalg.det(A)[:, None, None] * np.linalg.inv(A)
            terms = np.abs(np.einsum("i,tij,j->t", v, adjugate, v))
            total += weight / (1 - p) ** 2 * density * abs(multiplier) ** -n * terms
    return float(total.mean()), float(total.std()) / math.sqrt(count)


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_the_density_is_the_integrand_of_the_theorem(dimension: int) -> None:
    u, x = POINT[:dimension], np.array([0.2, 0.9, -0.3])[:dimension]
    ensemble = ShallowEnsemble(dimension, 3)
    truth, error = stated_density(ensemble.limit, x, u, 4_000)
    radius = np.linalg.norm(x - u)
    for field in (ShallowKernel(dimension, 3), ensemble.limit):
        law = field.tangent_law(x[None], (x - u)[None] / radius)
        density = law.density * mean_absolute_determinant(law, np.array([radius])) / radius ** (dimension - 1)
        assert abs(density[0] - truth) <= 4 * error + 2e-3 * truth


# -- other fields --------------------------------------------------------------------------------------


def test_random_circles() -> None:
    # a(x² + y²) + bx + cy + e = 0 is a circle with 2 critical points if b² + c² > 4ae, and empty otherwise. With a, e standard
    # normal and Var b = Var c = 4, P(b² + c² > w) = e^{−w/8} for w > 0 leaves E = 1 + E e^{−|ae|/2}, one integral.
    exponents = np.array([[0, 0], [2, 0], [0, 2], [1, 0], [0, 1]])
    root = np.zeros((5, 4))
    root[0, 0] = root[1, 1] = root[2, 1] = 1.0
    root[3, 2] = root[4, 3] = 2.0
    nodes, weights = np.polynomial.legendre.leggauss(400)
    a = 10 * (nodes + 1) / 2
    inner = [math.exp(v * v / 8) * math.erfc(v / math.sqrt(8)) for v in a]  # E e^{−v|e|/2}
    truth = 1 + 2 * float((weights * 5) @ (np.exp(-a * a / 2) / math.sqrt(2 * math.pi) * inner))
    found = expected_for_field(RandomPolynomial(exponents, root), [0.7, 0.2])
    assert found.value == pytest.approx(truth, rel=1e-6)


@pytest.mark.parametrize(("dimension", "degree", "distance"), [(2, 3, 200.0), (2, 4, 5000.0), (3, 2, 110.0)])
def test_far_points_against_simulation(dimension: int, degree: int, distance: float) -> None:
    """Nine critical points at most: 'may be infinite' was said from |u| = 200 on, and 'degenerate' from 500 on."""
    u = np.zeros(dimension)
    u[:2] = 0.6 * distance, -0.8 * distance
    found = expected_real_critical_points(dimension, degree, u, simulate=400, threads=1)
    assert found.error < 1e-5
    assert abs(found.simulation.mean - found.value) < 4 * found.simulation.standard_error


def test_the_number_has_a_limit_far_away() -> None:
    """A point at infinity sees parallel normals: from 10² lengths on the number changes by less and less."""
    values = [expected_real_critical_points(2, 3, [10.0**k, 0.0]).value for k in (0, 2, 4, 6, 8)]
    steps = np.diff(values)
    assert (steps > 0).all()
    assert (steps[2:] < 0.3 * steps[1:-1]).all()
    assert values[-1] < 9


def test_the_law_in_closed_form_is_that_of_the_polynomial() -> None:
    generator = np.random.default_rng(5)
    for dimension, degree in ((2, 3), (3, 4), (4, 2)):
        points, directions = 2 * generator.normal(size=(2, 6, dimension))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        closed = ShallowKernel(dimension, degree).tangent_law(points, directions)
        general = ShallowEnsemble(dimension, degree).limit.tangent_law(points, directions)
        np.testing.assert_allclose(closed.density, general.density, rtol=1e-9)
        np.testing.assert_allclose(closed.spread, general.spread, rtol=1e-9)
        np.testing.assert_allclose(general.mean, 0, atol=1e-9)
        covariances = [law.root @ law.root.transpose(0, 2, 1) for law in (closed, general)]
        np.testing.assert_allclose(*covariances, rtol=1e-7, atol=1e-10)


def test_errors_say_what_to_do() -> None:
    with pytest.raises(pm.InputError, match="expected 2 finite numbers"):
        expected_real_critical_points(2, 3, [1.0])
    with pytest.raises(pm.InputError, match="lengths of the field from the origin"):
        expected_real_critical_points(2, 3, [1e200, 0.0])
    empty = RandomPolynomial(np.array([[1], [2]]), np.eye(2))
    with pytest.raises(pm.InputError, match="no variance"):
        empty.tangent_law(np.zeros((1, 1)), np.ones((1, 1)))
    with pytest.raises(pm.InputError, match="expected a GaussianField"):
        expected_for_field("a field")


# -- growth ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_growth_is_the_square_root_of_the_complex_number(dimension: int) -> None:
    degrees = [256, 512, 1024]
    found = [expected_real_critical_points(dimension, degree, POINT[:dimension]) for degree in degrees]
    values = np.array([each.value for each in found])
    assert np.polyfit(np.log(degrees), np.log(values), 1)[0] == pytest.approx(dimension / 2, abs=0.02)
    limit = leading_constant(dimension)
    gaps = values / np.sqrt([each.complex_count for each in found]) - limit
    assert (gaps > 0).all()
    assert (np.diff(gaps) < 0).all()
    assert gaps[-1] < 0.02 * limit


def test_mean_determinants_of_small_gaussian_matrices() -> None:
    generator = np.random.default_rng(5)
    a, b, c = generator.normal(size=(3, 400_000)) * np.sqrt([[2.0], [2.0], [1.0]])
    sample = np.abs(a * b - c * c)
    truth = leading_constant(3) * 2**1.5 * (2 * math.pi) ** 2 / (2 * math.pi**2)
    assert abs(sample.mean() - truth) < 4 * sample.std() / math.sqrt(len(sample))


def test_the_limit_is_known_in_few_variables() -> None:
    with pytest.raises(pm.InputError, match="known for 1 to 3"):
        leading_constant(4)


def test_the_result_prints_and_turns_into_data() -> None:
    found = expected_real_critical_points(2, 3, [1.0, 0.5])
    assert float(found) == found.value
    data = found.to_dict()
    assert data["complex_count"] == 9
    assert data["point"] == [1.0, 0.5]
    assert data["simulation"] is None
