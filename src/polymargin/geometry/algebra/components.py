"""Primary components of an ideal, and the points of those of dimension zero."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import flint

# Bits beyond the point to which real points are found before they are rounded to doubles.
ACCURACY = 64


@dataclass(frozen=True, eq=False)
class PrimaryComponent:
    """A primary ideal and its prime, as generators with integer coefficients.

    dimension     of the zero set: 0 for points, 1 and more for families
    multiplicity  of each point; None for families
    minimal       an irreducible polynomial in t, one root for each point; None for families
    coordinates   of the points, rational polynomials in t
    """

    primary: tuple[Any, ...]
    prime: tuple[Any, ...]
    dimension: int
    multiplicity: int | None = None
    minimal: Any = None
    coordinates: tuple[Any, ...] = ()

    def __repr__(self) -> str:
        ideal = f"⟨{', '.join(map(str, self.primary))}⟩"
        if self.dimension > 0:
            return f"PrimaryComponent({ideal}, dimension {self.dimension})"
        return f"PrimaryComponent({ideal}, points: {self.size}, real: {len(self.real_points)}, multiplicity: {self.multiplicity})"

    def vanishes(self, polynomial: Any) -> bool:
        """Return whether a polynomial in the same variables vanishes at the points."""
        total: Any = flint.fmpq_poly([])
        for powers, coefficient in polynomial.to_dict().items():
            value: Any = flint.fmpq_poly([flint.fmpq(coefficient)])
            for coordinate, power in zip(self.coordinates, powers, strict=True):
                value = value * pow(coordinate, int(power)) % self.minimal
            total += value
        return bool(total == 0)

    @property
    def size(self) -> int | None:
        """Return the number of points over the complex numbers; None for families."""
        return None if self.minimal is None else int(self.minimal.degree())

    @property
    def rational_point(self) -> tuple[Fraction, ...] | None:
        """Return the point if it is a single rational one."""
        if self.size != 1:
            return None
        root = -self.minimal[0] / self.minimal[1]
        values = [coordinate(root) for coordinate in self.coordinates]
        return tuple(Fraction(int(value.p), int(value.q)) for value in values)

    @cached_property
    def real_points(self) -> tuple[tuple[float, ...], ...]:
        """Return the real points, from enclosures of all roots of the minimal polynomial: none is missed, none invented."""
        if self.minimal is None:
            return ()
        precision = 2 * ACCURACY
        while True:
            with flint.ctx.workprec(precision):
                roots = [root for root, _ in self.minimal.numer().complex_roots() if root.imag == 0]
                points = [[_at(coordinate, root.real) for coordinate in self.coordinates] for root in roots]
            if all(_accurate(value) for point in points for value in point):
                return tuple(tuple(float(value.mid()) for value in point) for point in points)
            precision *= 2


def _at(polynomial: Any, argument: Any) -> Any:
    """Return a rational polynomial at a real ball."""
    total = flint.arb(0)
    for coefficient in reversed(polynomial.coeffs()):
        total = total * argument + flint.arb(coefficient)
    return total


def _accurate(value: Any) -> bool:
    return bool(value.rad() * flint.arb(2) ** ACCURACY < 1 + abs(value.mid()))
