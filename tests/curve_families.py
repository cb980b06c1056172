"""Families of boundaries on which counts, chambers and margins were wrong, each member with its polynomial as exact numbers.

Every member is drawn from its number alone. Texts are read by `Boundary.from_expression`, polynomials by `eliminants`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import flint
import numpy as np
from eliminants import RING

import polymargin as pm

Generator = np.random.Generator


@dataclass(frozen=True, eq=False)
class Curve:
    """A plane curve; `polynomial` over the rationals, `text` the same."""

    polynomial: Any

    @property
    def text(self) -> str:
        return str(self.polynomial)

    def boundary(self) -> pm.Boundary:
        return pm.Boundary.from_expression(self.text, "x y")


def curve(family: str, number: int) -> Curve:
    """Member `number` of a family of plane curves."""
    generator = np.random.default_rng([number, sorted(CURVES).index(family)])
    while True:
        polynomial = CURVES[family](generator)
        if polynomial.total_degree() > 1:
            return Curve(polynomial)


def powers(generator: Generator) -> Any:
    """a·y^p = b·x^q: cusps and worse at the origin."""
    x, y = RING.gens()
    p, q = sorted(int(k) for k in generator.choice(np.arange(2, 9), size=2, replace=False))
    a, b = (int(c) for c in generator.choice([1, -1, 2, 3], size=2))
    return a * y**p - b * x**q


def sparse_through_the_origin(generator: Generator) -> Any:
    """Three to five terms with small integers, degree at most five, no constant."""
    x, y = RING.gens()
    places = [(i, j) for i, j in product(range(6), repeat=2) if 0 < i + j <= 5]
    chosen = generator.choice(len(places), size=int(generator.integers(3, 6)), replace=False)
    return sum((_nonzero(generator) * x ** places[k][0] * y ** places[k][1] for k in chosen), 0 * x)


def conic_and_a_little(generator: Generator) -> Any:
    """A conic + (a cubic or quartic form)/10⁸."""
    x, y = RING.gens()
    conic = sum(int(generator.integers(-9, 10)) * x**i * y**j for i, j in product(range(3), repeat=2) if i + j <= 2)
    degree = int(generator.integers(3, 5))
    form = sum((int(generator.integers(-2, 3)) * x**i * y ** (degree - i) for i in range(degree + 1)), 0 * x)
    return conic + form / 10 ** int(generator.integers(6, 11))


def near_circle(generator: Generator) -> Any:
    """A circle, its axes or a cubic term off by a hair."""
    x, y = RING.gens()
    hair = Fraction(1, 10 ** int(generator.integers(6, 13)))
    change = [x**2, x * y, x**3, x**2 * y, x * y + y**3][int(generator.integers(5))]
    centre, size = int(generator.integers(-2, 3)), int(generator.integers(1, 4))
    return x**2 + y**2 - centre * x - size + _exact(hair) * change


def smooth_cubic(generator: Generator) -> Any:
    """An ordinary cubic with one-digit coefficients: nothing here should stay undecided."""
    x, y = RING.gens()
    places = [(i, j) for i, j in product(range(4), repeat=2) if i + j <= 3]
    return sum((_nonzero(generator) * x**i * y**j for i, j in places), 0 * x)


CURVES: dict[str, Callable[[Generator], Any]] = {
    function.__name__: function
    for function in (powers, sparse_through_the_origin, conic_and_a_little, near_circle, smooth_cubic)
}


def surface_text(number: int) -> str:
    """A sparse surface through the origin with three to five terms of degree at most four in x, y and z."""
    generator = np.random.default_rng([number, 100])
    places = [p for p in product(range(5), repeat=3) if 0 < sum(p) <= 4]
    while True:
        chosen = [places[k] for k in generator.choice(len(places), size=int(generator.integers(3, 6)), replace=False)]
        if all(any(p[i] for p in chosen) for i in range(3)) and max(map(sum, chosen)) > 1:
            return " + ".join(f"({_nonzero(generator)})*x**{i}*y**{j}*z**{k}" for i, j, k in chosen)


@dataclass(frozen=True, eq=False)
class PlantedTie:
    """{|x − u|² = r² + c·q(x)²} with q = 0 at one point of the sphere around u: no tie is nearer than that one, at distance r."""

    polynomial: Any
    point: tuple[Fraction, ...]
    distance: float

    def boundary(self) -> pm.Boundary:
        return pm.Boundary.from_expression(str(self.polynomial), self.polynomial.context().names())


def planted_tie(number: int) -> PlantedTie:
    """Two or three variables; q is linear or quadratic, c between 10⁻³ and 10³."""
    generator = np.random.default_rng([number, 101])
    size = int(generator.integers(2, 4))
    ring = flint.fmpq_mpoly_ctx.get(["x", "y", "z"][:size], "lex")
    point = [Fraction(int(c), 8) for c in generator.integers(-16, 17, size=size)]
    step = [Fraction(int(c), 16) for c in generator.integers(-20, 21, size=size)]
    step[0] += Fraction(3, 2)
    offsets = [x - _exact(a) for x, a in zip(ring.gens(), point, strict=True)]
    from_tie = [offset - _exact(b) for offset, b in zip(offsets, step, strict=True)]
    form = sum(int(c) * offset for offset, c in zip(from_tie, generator.integers(-6, 7, size=size), strict=True))
    form += int(generator.integers(-3, 4)) * from_tie[0] ** 2
    scale = _exact(Fraction(10) ** int(generator.integers(-3, 4)))
    square = sum(b * b for b in step)
    polynomial = sum(offset**2 for offset in offsets) - _exact(square) - scale * form**2
    return PlantedTie(polynomial, tuple(point), math.sqrt(square))


def _nonzero(generator: Generator) -> int:
    return int(generator.choice([-5, -4, -3, -2, -1, 1, 2, 3, 4, 5]))


def _exact(number: Fraction) -> Any:
    return flint.fmpq(number.numerator, number.denominator)
