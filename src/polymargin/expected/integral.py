"""The expected number of real critical points of a Gaussian field, as an integral over radius and direction (see `tangent`)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from polymargin.arguments import checked, checked_point, positive, real_array
from polymargin.errors import InputError
from polymargin.expected.determinants import mean_absolute_determinant
from polymargin.expected.fields import Array, GaussianField
from polymargin.expected.quadrature import LARGEST_DIMENSION, rays
from polymargin.expected.result import ExpectedCount
from polymargin.expected.sampled import mean_over_last, sampled_expectation
from polymargin.expected.tangent import tangent_law

# Nodes per coordinate of the first and of the finest rule.
FIRST_NODES = 16
MOST_NODES = {1: 1024, 2: 512, 3: 256}
MOST_NODES_ON_SPHERE = 64  # n = 3 without symmetry: nodes³ · 2 points
BATCH = 16_384
# What remains of the integrand's accuracy after rounding, relative.
ROUNDING = 1e-11
# A last refinement that changes the value by more than this share has not begun to converge.
NO_CONVERGENCE = 0.1
# Points further away, in lengths of the field, see it as a point.
FARTHEST = 1e10
DEFAULT_TOLERANCE = 1e-6
DEFAULT_SAMPLED_TOLERANCE = 3e-3
MOST_SAMPLES = 1 << 20


@checked(GaussianField)
def expected_for_field(
    field: GaussianField,
    point: ArrayLike | None = None,
    *,
    radius: float = math.inf,
    tolerance: float | None = None,
    seed: int = 0,
) -> ExpectedCount:
    """Return the expected number of real critical points of the distance from `point` to {f = 0}.

    Parameters
    ----------
    field       dimension, symmetry and kernel derivatives (`KernelField`, `ShallowKernel`, `RandomPolynomial`)
    point       the point u, the origin by default
    radius      count only within this distance of the point; a field without an end, such as a stationary one, needs it
    tolerance   wanted relative error: 1e-6 by default, 3e-3 in four and more variables, where the Hessian is sampled
    seed        of the scrambled sequences in four and more variables
    """
    u = as_point(point, field.dimension)
    if not radius > 0:
        raise InputError(f"radius {radius}: expected a positive number")
    distance = math.hypot(*u)
    if FARTHEST * field.length < distance < radius:
        raise InputError(
            f"the point is {distance / field.length:.2g} lengths of the field from the origin: expected at most {FARTHEST:g}, "
            "beyond which doubles do not tell where its normals pass the origin"
        )
    if field.dimension > LARGEST_DIMENSION:
        wanted = DEFAULT_SAMPLED_TOLERANCE if tolerance is None else positive(tolerance, "tolerance")
        value, error, _ = sampled_expectation(field, u, radius, wanted, MOST_SAMPLES, seed)
        return _checked(ExpectedCount(value, error, "quasi-Monte Carlo", field.dimension, None, u), radius)
    wanted = DEFAULT_TOLERANCE if tolerance is None else positive(tolerance, "tolerance")
    around = field.dimension == LARGEST_DIMENSION and not field.isotropic
    most = MOST_NODES_ON_SPHERE if around else MOST_NODES[field.dimension]
    nodes = FIRST_NODES
    value, change = _by_quadrature(field, u, radius, nodes), math.inf
    while change > wanted * abs(value) and 2 * nodes <= most:
        nodes *= 2
        finer = _by_quadrature(field, u, radius, nodes)
        value, change = finer, abs(finer - value)
    return _checked(ExpectedCount(value, change + ROUNDING * value, "quadrature", field.dimension, None, u), radius)


def location_density(field: GaussianField, points: ArrayLike, point: ArrayLike | None = None) -> Array:
    """Return the expected critical points per volume at points (T, n), n ≤ 3: the integrand with λ integrated out."""
    u = as_point(point, field.dimension)
    radii, directions = _polar(points, u)
    density = _polar_density(field, u, radii, directions)
    return np.asarray(density / radii ** (field.dimension - 1))


def joint_density(
    field: GaussianField, points: ArrayLike, multipliers: ArrayLike, point: ArrayLike | None = None
) -> Array:
    """Return the theorem's integrand at pairs of points (T, n) and multipliers λ (T,): expected critical points per volume and λ.

    In one and two variables in closed form; beyond that the Hessian is averaged over a fixed low-discrepancy sample.
    """
    u = as_point(point, field.dimension)
    radii, directions = _polar(points, u)
    multiplier = real_array(multipliers, "the multipliers")
    if multiplier.shape != radii.shape or not multiplier.all():
        raise InputError(
            f"multipliers of shape {multiplier.shape}: expected one nonzero number for each of {len(radii)} points"
        )
    law = tangent_law(field, u + radii[:, None] * directions, directions)
    p = -radii / multiplier
    straight = np.eye(field.dimension - 1) - radii[:, None, None] * law.mean
    if field.dimension == 1:
        determinant = np.ones(len(radii))
    else:
        normals = _fixed_normals(field.dimension * (field.dimension - 1) // 2 - 1)
        rows = [mean_over_last(straight, -multiplier, law.root, np.tile(row, (len(radii), 1))) for row in normals]
        determinant = np.mean(rows, axis=0)
    gaussian = law.density / (math.sqrt(2 * math.pi) * law.spread) * np.exp(-((p / law.spread) ** 2) / 2)
    return np.asarray(np.abs(multiplier) ** (-field.dimension) * gaussian * p**2 * determinant)


def as_point(point: ArrayLike | None, dimension: int) -> Array:
    """Return the point as an array (n,); the origin by default."""
    return np.zeros(dimension) if point is None else checked_point(point, dimension)


def _polar(points: ArrayLike, u: Array) -> tuple[Array, Array]:
    """Return the distances and directions of points (T, n) seen from u."""
    array = real_array(points, "the points")
    if array.ndim != 2 or array.shape[1] != len(u):
        raise InputError(f"points of shape {array.shape}: expected rows of {len(u)} coordinates")
    shifts = array - u
    radii = np.linalg.norm(shifts, axis=1)
    if not radii.all():
        raise InputError("one of the points is the point u itself, where the density is not defined")
    return radii, shifts / radii[:, None]


def _by_quadrature(field: GaussianField, u: Array, radius: float, nodes: int) -> float:
    rule = rays(nodes, u, field.length, radius, not field.isotropic)
    total, on_a_ray = 0.0, rule.radii.shape[1]
    step = max(1, BATCH // on_a_ray)
    for start in range(0, len(rule.directions), step):
        part = slice(start, start + step)
        directions = np.repeat(rule.directions[part], on_a_ray, axis=0)
        density = _polar_density(field, u, rule.radii[part].ravel(), directions).reshape(-1, on_a_ray)
        total += float(rule.weights[part] @ (density * rule.radial_weights[part]).sum(axis=1))
    return total


def _polar_density(field: GaussianField, u: Array, radii: Array, directions: Array) -> Array:
    """Return expected critical points per dr dω."""
    law = tangent_law(field, u + radii[:, None] * directions, directions)
    return np.asarray(law.density * mean_absolute_determinant(law, radii))


def _fixed_normals(count: int) -> Array:
    from scipy.special import ndtri
    from scipy.stats import qmc

    if not count:
        return np.zeros((1, 0))
    return np.asarray(ndtri(qmc.Sobol(count, seed=np.random.default_rng(20266)).random(1024)))


def _checked(found: ExpectedCount, radius: float) -> ExpectedCount:
    if not math.isfinite(found.value) or found.error > NO_CONVERGENCE * abs(found.value):
        where = "over all space" if math.isinf(radius) else f"within radius {radius:g}"
        raise InputError(
            f"the integral {where} did not converge (value {found.value:.4g}, last change {found.error:.2g}); "
            "the expected number may be infinite, or the field may change over a length other than its length; "
            "give a smaller radius="
        )
    return found
