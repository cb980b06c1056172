"""Critical equations with the weights as parameters: all boundaries of an architecture at once.

The parameters are (u, ε, weights). Whatever (x, λ) and weights one chooses, exactly one (u, ε) makes them a solution, namely
the value of the equations at u = 0, ε = 0; so the solutions over all parameters form one irreducible family, and one member
comes free. Complex weights keep loops away from badly conditioned networks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polymargin.boundary.architectures import Architecture
from polymargin.boundary.boundary import Boundary
from polymargin.boundary.critical_system import blended_equations, critical_equations, critical_system
from polymargin.boundary.degree import generic_critical_count
from polymargin.polynomials import Expression, Graph, Program, evaluate

ComplexArray = NDArray[np.complex128]


@dataclass(frozen=True, eq=False)
class BoundaryFamily:
    """Critical equations in unknowns (x, λ) and parameters (u, ε, weights), and natural sizes of the parameters.

    `blend` has parameters (u, ε, weights, s₀, s₁, a, c) and leads from the start polynomial to the family (`CriticalSystem`).
    """

    name: str
    program: Program
    blend: Program
    degree: int
    sizes: NDArray[np.float64]

    @property
    def dimension(self) -> int:
        """Number of active inputs."""
        return self.program.input_count - 1

    @property
    def bound(self) -> int:
        """Return a number that no member exceeds with its isolated critical points."""
        return generic_critical_count(self.dimension, self.degree)

    def generic(self, generator: np.random.Generator) -> ComplexArray:
        """Return random complex parameters."""
        return self.sizes * _normal(len(self.sizes), generator)

    def seed(self, generator: np.random.Generator) -> tuple[ComplexArray, ComplexArray]:
        """Return a random solution and parameters it belongs to: u and ε are solved for."""
        solution, parameters = _normal(self.dimension + 1, generator), self.generic(generator)
        parameters[: self.dimension + 1] = 0
        parameters[: self.dimension + 1] = evaluate(self.program, list(solution), list(parameters), lift=complex)
        return solution, parameters


def boundary_family(boundary: Boundary) -> BoundaryFamily:
    """Return one boundary in reduced coordinates: the weights are fixed, point and level vary."""
    system = critical_system(boundary)
    return BoundaryFamily(
        boundary.name, system.target, system.blend, boundary.degree, np.ones(boundary.reduction.dimension + 1)
    )


def architecture_family(architecture: Architecture) -> BoundaryFamily:
    """Return all weights, in the active subspace.

    >>> from polymargin.boundary import NetworkArchitecture
    >>> architecture_family(NetworkArchitecture((9, 3, 2), 3)).bound
    21
    """
    graph = Graph()
    reduced = architecture.reduced()
    x = graph.inputs(reduced.inputs)
    (multiplier,) = graph.inputs(1)
    u = graph.parameters(reduced.inputs)
    (level,) = graph.parameters(1)
    sizes = [1.0] * (reduced.inputs + 1)

    def weight(size: float) -> Expression:
        sizes.append(size)
        return graph.parameters(1)[0]

    value = reduced.polynomial(x, weight) - level
    program = critical_equations(value, x, multiplier, u)
    degree = architecture.total_degree
    blend = blended_equations(value, x, multiplier, u, degree) if degree > 1 else program
    return BoundaryFamily(str(architecture), program, blend, architecture.total_degree, np.array(sizes))


def _normal(count: int, generator: np.random.Generator) -> ComplexArray:
    return np.asarray((generator.normal(size=count) + 1j * generator.normal(size=count)) / np.sqrt(2))
