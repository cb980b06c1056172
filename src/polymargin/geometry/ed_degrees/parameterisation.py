"""The map from weights to boundary polynomials: dimension of its image, identifiability.

The rank of the Jacobian at a random point is the dimension of the image (with probability next to one; it is never more).
Everything happens modulo the prime 2^61 − 1. Instead of coefficients, of which there may be millions, the polynomial is
differentiated at random points: as many as there are weights determine the rank.

Scaling a hidden neuron by c and its outgoing weights by c^{−d} changes nothing, so the fibres have at least one dimension per
hidden neuron. `identifiable` means: no more than that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import comb

import flint
import numpy as np

from polymargin.boundary import Architecture, AttentionArchitecture
from polymargin.errors import InputError
from polymargin.polynomials import Expression, Graph, evaluate, flatten, gradient, modulo

PRIME = 2**61 - 1
# More weights than this make a Jacobian of unreasonable size.
MOST_WEIGHTS = 2_000


@dataclass(frozen=True)
class Parameterisation:
    """Weights ↦ boundary polynomial.

    weights    number of weights, the last bias included
    dimension  of the image
    ambient    dimension of the space of all polynomials of the degree in the inputs
    scalings   dimension of the obvious symmetries: fibres are at least this large
    """

    weights: int
    dimension: int
    ambient: int
    scalings: int

    @property
    def expected(self) -> int:
        """Return the dimension that counting weights and symmetries predicts."""
        return min(self.weights - self.scalings, self.ambient)

    @property
    def defective(self) -> bool:
        """Return whether the image is smaller than expected."""
        return self.dimension < self.expected

    @property
    def identifiable(self) -> bool:
        """Return whether, up to obvious symmetries, finitely many weights give the same boundary polynomial."""
        return self.dimension == self.weights - self.scalings

    @property
    def fills(self) -> bool:
        """Return whether almost every polynomial of the degree is a boundary."""
        return self.dimension == self.ambient


def parameterisation(architecture: Architecture, *, seed: int = 0) -> Parameterisation:
    """Return the dimension of the set of boundary polynomials of an architecture.

    >>> from polymargin.boundary import NetworkArchitecture
    >>> found = parameterisation(NetworkArchitecture((3, 3, 2, 2), 2))
    >>> found.weights, found.dimension, found.ambient, found.defective
    (23, 17, 35, True)
    """
    if isinstance(architecture, AttentionArchitecture) and architecture.shared:
        raise InputError(f"attention {architecture}: the symmetries of shared weights are not known")
    graph = Graph()
    x = graph.inputs(architecture.inputs)
    weights = graph.parameters(1)

    def weight(_: float) -> Expression:
        weights.extend(graph.parameters(1))
        return weights[-1]

    value = architecture.polynomial(x, weight) + weights[0]
    if len(weights) > MOST_WEIGHTS:
        raise InputError(f"{architecture} has {len(weights)} weights; the rank is computed for at most {MOST_WEIGHTS}")
    program = flatten(graph, gradient(value, weights))
    generator = np.random.default_rng(seed)
    number = _random_numbers(generator)
    at = [number() for _ in weights]
    lift = modulo(PRIME)
    rows = [evaluate(program, [number() for _ in x], at, lift=lift) for _ in range(len(weights))]
    rank = flint.nmod_mat(len(rows), len(weights), [int(entry) for row in rows for entry in row], PRIME).rank()
    ambient = comb(architecture.inputs + architecture.total_degree, architecture.inputs)
    return Parameterisation(len(weights), int(rank), ambient, _symmetries(architecture))


def _symmetries(architecture: Architecture) -> int:
    """Return the dimension of the symmetries.

    Networks: one scaling per hidden neuron. Attention: (K, Q) ↦ (K G, Q G^{−T}), (V, C) ↦ (H V, H^{−T} C), and a scaling
    between the two pairs.
    """
    if isinstance(architecture, AttentionArchitecture):
        return architecture.a**2 + architecture.d_prime**2 + 1
    return sum(architecture.hidden)


def _random_numbers(generator: np.random.Generator) -> Callable[[], flint.nmod]:
    return lambda: flint.nmod(int(generator.integers(PRIME)), PRIME)
