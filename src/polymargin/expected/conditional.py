"""Deep networks and attention: Kac–Rice given the hidden weights, which are sampled.

Their boundaries are no Gaussian fields. But B = Σ_j c_j F_j(x; w) + β is one given the hidden weights w, if the outer weights c
and the constant β are normal: its covariances are sums over j of products of F_j and its derivatives at one point. So

    E[number of critical points] = E_w ∫∫ (the integrand of `tangent` for the field given w) dr dω,

and one sample is a hidden network, a direction, a radius, and, in four and more variables, a Hessian. Samples are scrambled Sobol
points; the spread over independent scramblings gives the error. The gradient of B must not be degenerate given w: the last
hidden layer must have at least as many values as there are inputs. Where it hardly has more, the integrand has heavy tails and
the error is large.
"""

from __future__ import annotations

import math
import random
from fractions import Fraction

import flint
import numpy as np
from numpy.typing import ArrayLike

from polymargin.arguments import checked
from polymargin.errors import InputError
from polymargin.expected.determinants import LARGEST_CLOSED, mean_absolute_determinant
from polymargin.expected.families import ConditionalFamily
from polymargin.expected.fields import Array
from polymargin.expected.integral import as_point
from polymargin.expected.quadrature import Scales
from polymargin.expected.result import ExpectedCount
from polymargin.expected.sampled import SCRAMBLINGS, SMALLEST_CHANCE, conditional_mean, directions_at, sampled_angles
from polymargin.expected.tangent import TangentLaw, entries, orthonormal_complements, semidefinite_root
from polymargin.polynomials import Graph, evaluate, flatten, gradient, hessian, modulo

PRIME = 2**61 - 1
# Samples of one scrambling that are handled at once.
BATCH = 1024
# Biases and weights contribute equally within about this length of the origin.
LENGTH = 1.0


class HiddenField:
    """The field given hidden weights: as many points as rows of weights, each point with weights of its own."""

    def __init__(self, family: ConditionalFamily) -> None:
        self.dimension = family.dimension
        self._deviation = family.outer_deviation
        graph = Graph()
        x = graph.inputs(family.dimension)
        hidden = graph.parameters(len(family.hidden_deviations))
        features = family.features(x, hidden)
        self.count = len(features)
        outputs = list(features)
        for feature in features:
            outputs += gradient(feature, x)
        for feature in features:
            outputs += [entry for row in hessian(feature, x) for entry in row]
        self._program = flatten(graph, outputs)
        self.hidden = np.zeros((0, len(hidden)))

    def given(self, hidden: Array) -> HiddenField:
        """Return the same field with weights (T, P)."""
        field = object.__new__(HiddenField)
        field.__dict__.update(self.__dict__)
        field.hidden = hidden
        return field

    @property
    def gradient_rank(self) -> int:
        """Return the dimension of all gradients at a general point for general weights, found modulo a prime."""
        generator = random.Random(20269)
        lift = modulo(PRIME)
        numbers = [lift(Fraction(generator.randrange(PRIME))) for _ in range(self.dimension + self.hidden.shape[1])]
        found = evaluate(self._program, numbers[: self.dimension], numbers[self.dimension :], lift=lift)
        slopes = [int(entry) for entry in found[self.count : self.count * (1 + self.dimension)]]
        return int(flint.nmod_mat(self.count, self.dimension, slopes, PRIME).rank())

    def tangent_law(self, points: Array, directions: Array) -> TangentLaw:
        """Return the law at points (T, n) for unit directions (T, n), given the weights (T, P).

        With f = v·ζ, ∂ᵢf = gᵢ·ζ and ∂ᵢⱼf = hᵢⱼ·ζ for standard normal ζ, conditions are projections of vectors: far from the
        origin covariances would lose what is left of them.
        """
        n = self.dimension
        value, slope, bend = self._vectors(points)
        along = value / np.linalg.norm(value, axis=1, keepdims=True)
        size = 1 / np.linalg.norm(value, axis=1)  # the size of B moves no critical point
        slope, bend = slope * size[:, None, None], bend * size[:, None, None]
        slope = _without(slope, along[:, :, None])
        rows, columns = entries(n - 1)
        across = orthonormal_complements(directions)
        pick = (across[:, :, None, rows] * across[:, None, :, columns]).reshape(len(points), n * n, -1)
        turned = _without(pick.transpose(0, 2, 1) @ bend, along[:, :, None])
        basis, triangle = np.linalg.qr(slope.transpose(0, 2, 1))  # Cov(∇f | f = 0) = RᵀR
        diagonal = np.abs(np.einsum("tii->ti", triangle))
        if not (diagonal > 0).all():
            raise InputError(
                "the gradient of the field is degenerate where the field vanishes; Kac–Rice does not apply"
            )
        lever = np.linalg.solve(triangle.transpose(0, 2, 1), directions[:, :, None])[:, :, 0]
        spread = 1 / np.linalg.norm(lever, axis=1)
        mean = np.zeros((len(points), n - 1, n - 1))
        mean[:, rows, columns] = mean[:, columns, rows] = np.einsum("tac,tcn,tn->ta", turned, basis, lever)
        turned = _without(turned, basis)
        density = (2 * np.pi) ** (-n / 2) * spread / diagonal.prod(axis=1)
        return TangentLaw(density, spread, mean, semidefinite_root(turned @ turned.transpose(0, 2, 1)))

    def _vectors(self, points: Array) -> tuple[Array, Array, Array]:
        """Return V (T, c), g (T, n, c) and h (T, n², c): one coordinate for each feature, and the last one for β."""
        n, count = self.dimension, self.count
        found = evaluate(self._program, list(points.T), list(self.hidden.T))
        flat = self._deviation * np.stack([np.broadcast_to(entry, len(points)) for entry in found], axis=1)
        parts = np.split(flat, [count, count * (1 + n)], axis=1)
        value, slope, bend = (part.reshape(len(points), count, -1).transpose(0, 2, 1) for part in parts)
        value = np.concatenate([value, np.ones((len(points), 1, 1))], axis=2)[:, 0]
        slope, bend = (np.pad(part, ((0, 0), (0, 0), (0, 1))) for part in (slope, bend))
        return value, slope, bend


def _without(vectors: Array, basis: Array) -> Array:
    """Return row vectors (T, m, c) less their parts along orthonormal columns (T, c, k)."""
    return np.asarray(vectors - (vectors @ basis) @ basis.transpose(0, 2, 1))


@checked()
def expected_for_family(
    family: ConditionalFamily, point: ArrayLike | None = None, *, samples: int = 1 << 16, seed: int = 0
) -> ExpectedCount:
    """Return the expected number of real critical points for random deep networks or attention modules.

    The error is three standard errors, from 16 independent scramblings of about `samples` samples in all.

    >>> from polymargin.expected import DeepFamily
    >>> found = expected_for_family(DeepFamily((2, 3, 3), 2), [1.0, 0.5], samples=1 << 13)
    >>> 2 < found.value < 4
    True
    """
    u = as_point(point, family.dimension)
    field = HiddenField(family)
    if field.gradient_rank < family.dimension:
        raise InputError(
            f"{family}: given the hidden weights the gradients fill {field.gradient_rank} of {family.dimension} dimensions, so "
            "that they have no density; expected more values before the output. simulate_real_counts counts for any family"
        )
    count = 1 << max(4, math.ceil(math.log2(max(samples, 1) / SCRAMBLINGS)))
    values = np.array(
        [_one_scrambling(field, family.hidden_deviations, u, count, [seed, i]) for i in range(SCRAMBLINGS)]
    )
    error = 3 * float(values.std(ddof=1)) / math.sqrt(SCRAMBLINGS)
    return ExpectedCount(float(values.mean()), error, "sampled hidden weights", family.dimension, family.degree, u)


def _one_scrambling(field: HiddenField, deviations: Array, point: Array, count: int, seed: list[int]) -> float:
    from scipy.special import ndtri
    from scipy.stats import qmc

    n = field.dimension
    inner = n * (n - 1) // 2 if n - 1 > LARGEST_CLOSED else 0
    place = 2 + n
    sequence = qmc.Sobol(place + inner + len(deviations), seed=np.random.default_rng(seed)).random(count)
    sequence = np.clip(sequence, SMALLEST_CHANCE, 1 - SMALLEST_CHANCE)
    scales = Scales(float(np.linalg.norm(point)), LENGTH, math.inf)
    total = 0.0
    for start in range(0, count, BATCH):
        places, chances, weights = np.split(sequence[start : start + BATCH], [place, place + inner], axis=1)
        angles, shares = sampled_angles(places[:, 1], n, scales)
        radii, slopes = scales.radii(places[:, 0], angles)
        directions = directions_at(angles, places[:, 2 : 1 + n], point)
        law = field.given(ndtri(weights) * deviations).tangent_law(point + radii[:, None] * directions, directions)
        means = conditional_mean(law, radii, chances) if inner else law.density * mean_absolute_determinant(law, radii)
        total += float((shares * slopes * means).sum())
    return total / count
