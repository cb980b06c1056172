"""The integral against closed forms, against other routes to the same number, and against the theorem as it is stated."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import polymargin as pm
from polymargin.expected import (
    GaussianField,
    Jets,
    KernelField,
    RandomPolynomial,
    ShallowEnsemble,
    ShallowKernel,
    expected_for_field,
    expected_real_critical_points,
    growth,
    joint_density,
    leading_constant,
    location_density,
)
from polymargin.expected.determinants import _weighted_absolute_form
from polymargin.expected.sampled import sampled_expectation
from polymargin.expected.tangent import tangent_law

POINT = np.array([1.0, 0.5, 0.25])


def stationary(dimension: int, scale: float) -> KernelField:
    """K(x, y) = exp(−|x − y|²/(2 scale²))."""
    eye = np.eye(dimension)
    fourth = (
        np.einsum("ij,kl->ijkl", eye, eye) + np.einsum("ik,jl->ijkl", eye, eye) + np.einsum("il,jk->ijkl", eye, eye)
    )

    def jets(points: np.ndarray) -> Jets:
        def everywhere(value: np.ndarray) -> np.ndarray:
            return np.broadcast_to(value, (len(points), *value.shape)).copy()

        return Jets(
            everywhere(np.ones(())),
            everywhere(np.zeros(dimension)),
            everywhere(eye / scale**2),
            everywhere(-eye / scale**2),
            everywhere(np.zeros(3 * (dimension,))),
            everywhere(fourth / scale**4),
        )

    return KernelField(dimension, jets)


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
def test_three_routes_to_the_same_number(dimension: int, degree: int) -> None:
    kernel, u = ShallowKernel(dimension, degree), POINT[:dimension]
    raw = KernelField(dimension, kernel.unnormalised_jets, isotropic=True, length=kernel.length)
    fields: list[GaussianField] = [kernel, raw, ShallowEnsemble(dimension, degree).limit]
    values = [expected_for_field(field, u).value for field in fields]
    assert values == pytest.approx([values[0]] * 3, rel=1e-9)


def test_symmetry_is_a_short_cut_only() -> None:
    kernel = ShallowKernel(3, 3)
    long_way = expected_for_field(KernelField(3, kernel.jets, length=kernel.length), POINT, tolerance=1e-4)
    assert long_way.value == pytest.approx(expected_for_field(kernel, POINT).value, rel=1e-6)


@settings(max_examples=15, deadline=None)
@given(angle=st.floats(0, 6.28), tilt=st.floats(0, 6.28), dimension=st.sampled_from([2, 3]), degree=st.integers(1, 12))
def test_turning_the_point_changes_nothing(angle: float, tilt: float, dimension: int, degree: int) -> None:
    turned = np.array([np.cos(angle), np.sin(angle) * np.cos(tilt), np.sin(angle) * np.sin(tilt)])[:dimension]
    size = float(np.linalg.norm(turned))
    straight = np.array([size, 0.0, 0.0])[:dimension]
    values = [expected_for_field(ShallowKernel(dimension, degree), u).value for u in (turned, straight)]
    assert values[0] == pytest.approx(values[1], rel=1e-5)


def test_three_variables_by_sampled_hessians() -> None:
    kernel = ShallowKernel(3, 3)
    value, error, samples = sampled_expectation(kernel, POINT, math.inf, 1e-9, 1 << 16, 0)
    assert samples == 1 << 16
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


def stated_density(
    field: GaussianField, x: np.ndarray, multiplier: float, u: np.ndarray, count: int
) -> tuple[float, float]:
    """|λ|^{−n} p(0, v) E|vᵀ adj(I + λH) v| with the full Hessian sampled given f = 0, ∇f = v; and its standard error."""
    n, jets = field.dimension, field.jets(x[None])
    v = (u - x) / multiplier
    given = np.zeros((n + 1, n + 1))
    given[0, 0], given[1:, 1:] = jets.value[0], jets.gradient[0]
    given[0, 1:] = given[1:, 0] = jets.value_gradient[0]
    cross = np.concatenate(
        [jets.hessian_value[0].reshape(n * n, 1), jets.hessian_gradient[0].reshape(n * n, n)], axis=1
    )
    observed = np.append(0.0, v)
    mean = cross @ np.linalg.solve(given, observed)
    covariance = jets.hessian[0].reshape(n * n, n * n) - cross @ np.linalg.solve(given, cross.T)
    density = math.exp(-observed @ np.linalg.solve(given, observed) / 2)
    density /= math.sqrt((2 * math.pi) ** (n + 1) * np.linalg.det(given))
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
    normals = np.random.default_rng(0).normal(size=(count, n * n))
    hessians = (mean + normals @ (vectors * np.sqrt(np.maximum(values, 0))).T).reshape(-1, n, n)
    A = np.eye(n) + multiplier * hessians
    adjugate = np.linalg.det(A)[:, None, None] * np.linalg.inv(A)
    terms = np.abs(np.einsum("i,tij,j->t", v, adjugate, v))
    scale = density * abs(multiplier) ** -n
    return scale * float(terms.mean()), scale * float(terms.std()) / math.sqrt(count)


@pytest.mark.parametrize("dimension", [1, 2, 3, 4])
@pytest.mark.parametrize("multiplier", [-0.7, 0.4])
def test_joint_density_is_the_integrand_of_the_theorem(dimension: int, multiplier: float) -> None:
    u, x = np.array([1.0, 0.5, 0.25, -0.5])[:dimension], np.array([0.2, 0.9, -0.3, 0.1])[:dimension]
    kernel = ShallowKernel(dimension, 3)
    for field in (kernel, KernelField(dimension, kernel.unnormalised_jets)):
        truth, error = stated_density(field, x, multiplier, u, 40_000)
        assert abs(joint_density(field, x[None], [multiplier], u)[0] - truth) <= 4 * error + 2e-3 * truth


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_integrating_out_the_multiplier(dimension: int) -> None:
    kernel, u, x = ShallowKernel(dimension, 4), POINT[:dimension], np.array([0.2, 0.9, -0.3])[:dimension]
    nodes, weights = np.polynomial.legendre.leggauss(200)
    t = (nodes + 1) / 2
    multipliers = t / (1 - t)
    half = weights / 2 / (1 - t) ** 2
    both = np.concatenate([multipliers, -multipliers])
    joint = joint_density(kernel, np.tile(x, (400, 1)), both, u)
    assert joint @ np.concatenate([half, half]) == pytest.approx(location_density(kernel, x[None], u)[0], rel=2e-3)


# -- other fields --------------------------------------------------------------------------------------


def test_zeros_of_a_stationary_field() -> None:
    # Rice: one zero per πℓ on average.
    found = expected_for_field(stationary(1, 0.5), [7.0], radius=2.0)
    assert found.value == pytest.approx(4 / (math.pi * 0.5), rel=1e-10)


def test_everywhere_is_too_far_for_a_stationary_field() -> None:
    with pytest.raises(pm.InputError, match=r"did not converge.*radius="):
        expected_for_field(stationary(2, 0.5))


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


def test_the_law_in_closed_form_is_that_of_the_covariances() -> None:
    generator = np.random.default_rng(5)
    for dimension, degree in ((2, 3), (3, 4), (4, 2)):
        kernel = ShallowKernel(dimension, degree)
        points, directions = 2 * generator.normal(size=(2, 6, dimension))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        closed = tangent_law(kernel, points, directions)
        general = tangent_law(KernelField(dimension, kernel.jets), points, directions)
        np.testing.assert_allclose(closed.density, general.density, rtol=1e-12)
        np.testing.assert_allclose(closed.spread, general.spread, rtol=1e-12)
        np.testing.assert_allclose(general.mean * points[0, 0], 0, atol=1e-12)
        covariances = [law.root @ law.root.transpose(0, 2, 1) for law in (closed, general)]
        np.testing.assert_allclose(*covariances, atol=1e-13)


def test_errors_say_what_to_do() -> None:
    with pytest.raises(pm.InputError, match="expected 2 finite numbers"):
        expected_real_critical_points(2, 3, [1.0])
    with pytest.raises(pm.InputError, match="lengths of the field from the origin"):
        expected_real_critical_points(2, 3, [1e200, 0.0])
    with pytest.raises(pm.InputError, match="radius -1"):
        expected_for_field(ShallowKernel(2, 3), radius=-1.0)
    bad = Jets(*(np.zeros((16, *[1] * k)) for k in (0, 1, 2, 3, 3, 4)))
    with pytest.raises(pm.InputError, match="hessian_value of the kernel has shape"):
        KernelField(1, lambda points: bad).jets(np.zeros((16, 1)))
    empty = Jets(*(np.zeros((64, *[1] * k)) for k in (0, 1, 2, 2, 3, 4)))
    with pytest.raises(pm.InputError, match="no variance"):
        expected_for_field(KernelField(1, lambda points: empty))
    with pytest.raises(pm.InputError, match="length 0"):
        KernelField(1, lambda points: empty, length=0.0)


def test_densities_are_not_defined_at_the_point() -> None:
    kernel = ShallowKernel(2, 3)
    with pytest.raises(pm.InputError, match="the point u itself"):
        location_density(kernel, [[1.0, 0.0], [0.0, 0.0]])
    with pytest.raises(pm.InputError, match="rows of 2 coordinates"):
        location_density(kernel, [1.0, 0.0])
    with pytest.raises(pm.InputError, match="one nonzero number"):
        joint_density(kernel, [[1.0, 0.0]], [0.0])


# -- growth ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_growth_is_the_square_root_of_the_complex_number(dimension: int) -> None:
    found = growth(dimension, [256, 512, 1024], POINT[:dimension])
    assert found.exponent == pytest.approx(dimension / 2, abs=0.02)
    assert found.complex_exponent == pytest.approx(dimension, abs=0.01)
    limit = leading_constant(dimension)
    gaps = found.ratios - limit
    assert (gaps > 0).all()
    assert (np.diff(gaps) < 0).all()
    assert gaps[-1] < 0.02 * limit


def test_mean_determinants_of_small_gaussian_matrices() -> None:
    generator = np.random.default_rng(5)
    a, b, c = generator.normal(size=(3, 400_000)) * np.sqrt([[2.0], [2.0], [1.0]])
    sample = np.abs(a * b - c * c)
    truth = leading_constant(3) * 2**1.5 * (2 * math.pi) ** 2 / (2 * math.pi**2)
    assert abs(sample.mean() - truth) < 4 * sample.std() / math.sqrt(len(sample))


def test_growth_needs_two_degrees() -> None:
    with pytest.raises(pm.InputError, match="at least two"):
        growth(2, [3, 3])
    with pytest.raises(pm.InputError, match="known for 1 to 3"):
        leading_constant(4)


def test_the_result_prints_and_turns_into_data() -> None:
    found = expected_real_critical_points(2, 3, [1.0, 0.5])
    assert float(found) == found.value
    data = found.to_dict()
    assert data["complex_count"] == 9
    assert data["point"] == [1.0, 0.5]
    assert data["simulation"] is None
