"""The expected number of real critical points of a Gaussian field, as an integral over radius and direction (see `tangent`)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from polymargin.arguments import checked, checked_point, positive
from polymargin.errors import InputError
from polymargin.expected.determinants import mean_absolute_determinant
from polymargin.expected.quadrature import LARGEST_DIMENSION, rays
from polymargin.expected.result import ExpectedCount
from polymargin.expected.sampled import SCRAMBLINGS, sampled_expectation
from polymargin.expected.tangent import Array, GaussianField

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
FIRST_SAMPLES, MOST_SAMPLES = 1 << 10, 1 << 20


@checked(GaussianField)
def expected_for_field(
    field: GaussianField, point: ArrayLike | None = None, *, tolerance: float | None = None, seed: int = 0
) -> ExpectedCount:
    """Return the expected number of real critical points of the distance from `point` to {f = 0}, for a centred Gaussian field.

    Parameters
    ----------
    field       dimension, symmetry and law (`ShallowKernel`, `RandomPolynomial`)
    point       the point u, the origin by default
    tolerance   wanted relative error: 1e-6 by default, 3e-3 in four and more variables, where the Hessian is sampled
    seed        of the scrambled sequences in four and more variables
    """
    u = as_point(point, field.dimension)
    distance = math.hypot(*u)
    if distance > FARTHEST * field.length:
        raise InputError(
            f"the point is {distance / field.length:.2g} lengths of the field from the origin: expected at most {FARTHEST:g}, "
            "beyond which doubles do not tell where its normals pass the origin"
        )
    if field.dimension > LARGEST_DIMENSION:
        wanted = DEFAULT_SAMPLED_TOLERANCE if tolerance is None else positive(tolerance, "tolerance")
        value, error, method = *_by_sampling(field, u, wanted, seed), "quasi-Monte Carlo"
    else:
        wanted = DEFAULT_TOLERANCE if tolerance is None else positive(tolerance, "tolerance")
        value, error, method = *_by_refinement(field, u, wanted), "quadrature"
    if not math.isfinite(value) or error > NO_CONVERGENCE * abs(value):
        raise InputError(
            f"the integral did not converge (value {value:.4g}, last change {error:.2g}); the expected number may be infinite, "
            "or the field may change over a length other than its length"
        )
    return ExpectedCount(value, error, method, field.dimension, None, u)


def as_point(point: ArrayLike | None, dimension: int) -> Array:
    """Return the point as an array (n,); the origin by default."""
    return np.zeros(dimension) if point is None else checked_point(point, dimension)


def _by_sampling(field: GaussianField, u: Array, tolerance: float, seed: int) -> tuple[float, float]:
    """Return value and error; samples are doubled until the error is below tolerance · value, or there are too many."""
    count = FIRST_SAMPLES
    while True:
        value, error = sampled_expectation(
            lambda points, directions, _: field.tangent_law(points, directions),
            u,
            field.length,
            count,
            seed,
            turned=not field.isotropic,
        )
        if error <= tolerance * value or 2 * count * SCRAMBLINGS > MOST_SAMPLES:
            return value, error
        count *= 2


def _by_refinement(field: GaussianField, u: Array, tolerance: float) -> tuple[float, float]:
    around = field.dimension == LARGEST_DIMENSION and not field.isotropic
    most = MOST_NODES_ON_SPHERE if around else MOST_NODES[field.dimension]
    nodes = FIRST_NODES
    value, change = _by_quadrature(field, u, nodes), math.inf
    while change > tolerance * abs(value) and 2 * nodes <= most:
        nodes *= 2
        finer = _by_quadrature(field, u, nodes)
        value, change = finer, abs(finer - value)
    return value, change + ROUNDING * value


def _by_quadrature(field: GaussianField, u: Array, nodes: int) -> float:
    rule = rays(nodes, u, field.length, not field.isotropic)
    total, on_a_ray = 0.0, rule.radii.shape[1]
    step = max(1, BATCH // on_a_ray)
    for start in range(0, len(rule.directions), step):
        part = slice(start, start + step)
        directions, radii = np.repeat(rule.directions[part], on_a_ray, axis=0), rule.radii[part].ravel()
        law = field.tangent_law(u + radii[:, None] * directions, directions)
        density = (law.density * mean_absolute_determinant(law, radii)).reshape(-1, on_a_ray)
        total += float(rule.weights[part] @ (density * rule.radial_weights[part]).sum(axis=1))
    return total
