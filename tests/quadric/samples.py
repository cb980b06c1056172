"""Random quadrics with planted eigenvalues, in exact rational coordinates."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

import polymargin as pm

SHAPES = ("smooth", "paraboloid", "cone", "centred")


@dataclass(frozen=True, eq=False)
class Sample:
    """B(x) = xᵀ A x + bᵀ x + c with rational coefficients, and what was planted."""

    matrix: list[list[Fraction]]
    linear: list[Fraction]
    constant: Fraction
    eigenvalues: tuple[int, ...]
    shape: str

    @property
    def dimension(self) -> int:
        return len(self.linear)

    @property
    def distinct(self) -> int:
        return len(set(self.eigenvalues) - {0})

    @property
    def ed_degree(self) -> int:
        """By the shape it was built with."""
        return 2 * self.distinct + {"smooth": 0, "centred": 0, "paraboloid": 1, "cone": -2}[self.shape]

    def boundary(self) -> pm.Boundary:
        size = range(self.dimension)
        names = [f"x{i}" for i in size]
        terms = [f"({self.matrix[i][i]})*{names[i]}**2" for i in size if self.matrix[i][i]]
        terms += [
            f"({2 * self.matrix[i][j]})*{names[i]}*{names[j]}" for i in size for j in range(i) if self.matrix[i][j]
        ]
        terms += [f"({entry})*{name}" for entry, name in zip(self.linear, names, strict=True) if entry]
        return pm.Boundary.from_expression(" + ".join([*terms, f"({self.constant})"]), names)


def sample(generator: np.random.Generator, dimension: int, rotated: bool = True) -> Sample:
    """A quadric with eigenvalues among −3..3 (repeated and zero ones are common) and a random shape."""
    while True:
        eigenvalues = tuple(int(value) for value in generator.integers(-3, 4, size=dimension))
        shape = str(generator.choice(SHAPES))
        if any(eigenvalues) and (shape != "paraboloid" or 0 in eigenvalues):
            break
    rotation = _rotation(generator, dimension) if rotated else _identity(dimension)
    centre = [Fraction(int(k), 4) for k in generator.integers(-4, 5, size=dimension)]
    least = Fraction(0) if shape == "cone" else Fraction(int(generator.choice([-3, -2, -1, 1, 2])), 2)
    extra = [Fraction(0)] * dimension
    if shape == "paraboloid":
        extra = [Fraction(int(generator.integers(1, 4))) * (value == 0) for value in eigenvalues]
    # In eigencoordinates y: Σ σ (y − m)² + extra·y + least, then y = Qᵀ x.
    linear = [-2 * s * m + e for s, m, e in zip(eigenvalues, centre, extra, strict=True)]
    constant = sum((s * m * m for s, m in zip(eigenvalues, centre, strict=True)), least)
    size = range(dimension)
    matrix = [
        [sum((rotation[i][k] * eigenvalues[k] * rotation[j][k] for k in size), Fraction(0)) for j in size] for i in size
    ]
    rotated_linear = [sum((rotation[i][k] * linear[k] for k in size), Fraction(0)) for i in size]
    return Sample(matrix, rotated_linear, constant, eigenvalues, shape)


def _identity(size: int) -> list[list[Fraction]]:
    return [[Fraction(int(i == j)) for j in range(size)] for i in range(size)]


def _rotation(generator: np.random.Generator, size: int) -> list[list[Fraction]]:
    """A product of two rational reflections."""
    result = _identity(size)
    for _ in range(2):
        v = [int(k) for k in generator.integers(-2, 3, size=size)]
        norm = sum(k * k for k in v)
        if norm:
            inner = [sum((row[k] * v[k] for k in range(size)), Fraction(0)) for row in result]
            result = [[result[i][j] - 2 * inner[i] * v[j] / norm for j in range(size)] for i in range(size)]
    return result
