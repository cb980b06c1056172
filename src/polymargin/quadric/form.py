"""A boundary of degree at most two in coordinates: B(x) = xᵀ A x + bᵀ x + c with A symmetric.

A network gives A = Wᵀ diag(α) W, b and c from its weights (see `squares`). Any other source gives the exact rational
coefficients c = B(0), b = ∇B(0), A = ½ ∇²B(0) of its expanded polynomial; each is rounded once.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import flint
import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymargin.arguments import real_array
from polymargin.boundary import Boundary
from polymargin.errors import InputError
from polymargin.networks import Network
from polymargin.polynomials import Graph, evaluate, flatten
from polymargin.quadric.squares import HiddenSquares, SquareSum, squares_of

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class QuadricForm:
    """B(x) = xᵀ A x + bᵀ x + c: `matrix` (n, n) symmetric, `linear` (n,), `constant`.

    >>> ellipse = QuadricForm.from_boundary(Boundary.from_expression("x**2 + 4*y**2 - 4"))
    >>> ellipse.matrix.tolist(), ellipse.linear.tolist(), ellipse.constant, ellipse([2.0, 0.0])
    ([[1.0, 0.0], [0.0, 4.0]], [0.0, 0.0], -4.0, 0.0)
    """

    matrix: Array
    linear: Array
    constant: float

    def __post_init__(self) -> None:
        matrix = real_array(self.matrix, "the matrix").copy()
        linear = real_array(self.linear, "the linear part").copy()
        if (
            matrix.ndim != 2
            or linear.shape != matrix.shape[:1]
            or matrix.shape[0] != matrix.shape[1]
            or not linear.size
        ):
            raise InputError(
                f"matrix of shape {matrix.shape} with linear part {linear.shape}: expected (n, n) and (n,)"
            )
        if not (np.isfinite(matrix).all() and np.isfinite(linear).all() and np.isfinite(self.constant)):
            raise InputError("a coefficient of the quadric is not finite; every coefficient must be a finite number")
        object.__setattr__(self, "matrix", (matrix + matrix.T) / 2)
        object.__setattr__(self, "linear", linear)
        object.__setattr__(self, "constant", float(self.constant))

    @property
    def dimension(self) -> int:
        """Return the number of variables."""
        return len(self.linear)

    def __call__(self, points: ArrayLike) -> NDArray[np.float64] | float:
        """Return B at one point (n,) or a batch (m, n)."""
        x = real_array(points, "the points")
        values = np.einsum("...i,...i->...", x @ self.matrix + self.linear, x) + self.constant
        return float(values) if np.ndim(values) == 0 else values

    @classmethod
    def from_boundary(cls, boundary: Boundary) -> QuadricForm:
        """Return the form of a boundary of exact degree at most two; others are refused."""
        squares = squares_of(boundary.source)
        if squares is not None:
            return cls.from_squares(squares)
        matrix, linear, constant = exact_form(boundary)
        return cls(
            np.array([[float(entry) for entry in row] for row in matrix]),
            np.array([float(entry) for entry in linear]),
            float(constant),
        )

    @classmethod
    def from_network(cls, network: Network, label: int, rival: int) -> QuadricForm:
        """Return the form of f_label − f_rival for a network with logits of degree at most two."""
        return cls.from_squares(HiddenSquares.from_network(network).pair(label, rival))

    @classmethod
    def from_squares(cls, squares: SquareSum) -> QuadricForm:
        """Expand Σ α_j y_j² + Σ ℓ_j y_j + k with y = W x + s."""
        weights, bias = squares.weights, squares.bias
        return cls(
            weights.T @ (squares.squares[:, None] * weights),
            weights.T @ (2 * squares.squares * bias + squares.slopes),
            float(bias @ (squares.squares * bias + squares.slopes)) + squares.constant,
        )


def exact_form(boundary: Boundary) -> tuple[list[list[Fraction]], list[Fraction], Fraction]:
    """Return the coefficients (A, b, c) as exact rationals; meant for up to some dozens of variables.

    >>> exact_form(Boundary.from_expression("x*y/3 + y - 1"))[0]
    [[Fraction(0, 1), Fraction(1, 6)], [Fraction(1, 6), Fraction(0, 1)]]
    """
    if boundary.degree > 2:
        raise InputError(
            f"the boundary ({boundary.name}) has degree {boundary.degree}; a quadric needs degree at most 2"
        )
    size = boundary.dimension
    context: Any = flint.fmpq_mpoly_ctx.get(tuple(f"x{axis}" for axis in range(size)), flint.Ordering.degrevlex)
    graph = Graph()
    program = flatten(graph, [boundary.source.polynomial(graph.inputs(size))])

    def lift(number: Any) -> Any:
        exact = Fraction(number)
        return context.constant(flint.fmpq(exact.numerator, exact.denominator))

    polynomial = evaluate(program, list(context.gens()), lift=lift)[0]
    matrix, linear, constant = [[Fraction(0)] * size for _ in range(size)], [Fraction(0)] * size, Fraction(0)
    for powers, coefficient in polynomial.to_dict().items():
        value = Fraction(int(coefficient.p), int(coefficient.q))
        axes = [axis for axis, power in enumerate(powers) for _ in range(power)]
        if len(axes) == 2:
            i, j = axes
            matrix[i][j] = matrix[j][i] = value if i == j else value / 2
        elif axes:
            linear[axes[0]] = value
        else:
            constant = value
    return matrix, linear, constant
