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
from polymargin.expected.families import ConditionalFamily
from polymargin.expected.integral import as_point
from polymargin.expected.result import ExpectedCount
from polymargin.expected.sampled import SCRAMBLINGS, sampled_expectation
from polymargin.expected.tangent import Array, TangentLaw, law_of_vectors
from polymargin.polynomials import Graph, evaluate, flatten, gradient, hessian, modulo

PRIME = 2**61 - 1
# Biases and weights contribute equally within about this length of the origin.
LENGTH = 1.0


class HiddenField:
    """The field given hidden weights: one coordinate for each feature F_j, and one for β."""

    def __init__(self, family: ConditionalFamily) -> None:
        self.family = family
        self.dimension = n = family.dimension
        graph = Graph()
        x = graph.inputs(n)
        features = family.features(x, graph.parameters(len(family.hidden_deviations)))
        self.count = len(features)
        outputs = list(features)
        for feature in features:
            outputs += gradient(feature, x)
        for feature in features:
            outputs += [entry for row in hessian(feature, x) for entry in row]
        self._program = flatten(graph, outputs)

    @property
    def gradient_rank(self) -> int:
        """Return the dimension of all gradients at a general point for general weights, found modulo a prime."""
        generator = random.Random(20269)
        lift = modulo(PRIME)
        sizes = self.dimension, len(self.family.hidden_deviations)
        x, weights = ([lift(Fraction(generator.randrange(PRIME))) for _ in range(size)] for size in sizes)
        found = evaluate(self._program, x, weights, lift=lift)
        slopes = [int(entry) for entry in found[self.count : self.count * (1 + self.dimension)]]
        return int(flint.nmod_mat(self.count, self.dimension, slopes, PRIME).rank())

    def tangent_law(self, points: Array, directions: Array, chances: Array) -> TangentLaw:
        """Return the law at points (T, n) for directions (T, n), for hidden weights given by uniform coordinates (T, P)."""
        from scipy.special import ndtri

        n, count = self.dimension, self.count
        hidden = ndtri(chances) * self.family.hidden_deviations
        found = evaluate(self._program, list(points.T), list(hidden.T))
        flat = self.family.outer_deviation * np.stack([np.broadcast_to(entry, len(points)) for entry in found], axis=1)
        parts = np.split(flat, [count, count * (1 + n)], axis=1)
        value, slope, bend = (part.reshape(len(points), count, -1).transpose(0, 2, 1) for part in parts)
        value = np.concatenate([value[:, 0], np.ones((len(points), 1))], axis=1)
        slope, bend = (np.pad(part, ((0, 0), (0, 0), (0, 1))) for part in (slope, bend))
        return law_of_vectors(value, slope, bend, directions)


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
    value, error = sampled_expectation(field.tangent_law, u, LENGTH, count, seed, more=len(family.hidden_deviations))
    return ExpectedCount(value, error, "sampled hidden weights", family.dimension, family.degree, u)
