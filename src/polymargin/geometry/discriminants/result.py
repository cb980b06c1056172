"""The ED discriminant as an object."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import prod
from typing import Any

import flint
import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymargin.arguments import real_array
from polymargin.boundary.formula import latex_of, sympy_of
from polymargin.errors import InputError
from polymargin.geometry.algebra.small_bases import reduced_basis
from polymargin.polynomials import exact

# Coefficients up to so many bits leave room for their products and sums in a double.
LARGEST_BITS = 900


@dataclass(frozen=True, eq=False)
class DiscriminantComponent:
    """One piece: where all `generators` vanish. Those of codimension one are irreducible over the rationals."""

    generators: tuple[Any, ...]
    codimension: int

    def __repr__(self) -> str:
        return f"DiscriminantComponent(⟨{', '.join(map(str, self.generators))}⟩)"


@dataclass(frozen=True, eq=False)
class EDDiscriminant:
    """The data points at which critical points of the distance to a boundary merge.

    generators   polynomials in u1, u2, … (python-flint's fmpz_mpoly, primitive, leading coefficient positive) whose common
                 zeros are the discriminant; (1,) if it is empty
    components   its pieces
    method       "quadric", "plane" or "elimination"
    """

    generators: tuple[Any, ...]
    components: tuple[DiscriminantComponent, ...]
    method: str
    seconds: float

    def __repr__(self) -> str:
        smaller = sum(component.codimension > 1 for component in self.components)
        parts = [f"hypersurface of degree {self.degree}"] if self.degree else []
        parts += [f"{smaller} smaller piece{'s' if smaller > 1 else ''}"] if smaller else []
        return f"EDDiscriminant({' and '.join(parts) or 'empty'}, method {self.method!r}, {self.seconds:.2f} s)"

    @property
    def variables(self) -> tuple[str, ...]:
        """Return the names u1, u2, … of the variables."""
        return tuple(self.generators[0].context().names())

    @cached_property
    def factors(self) -> tuple[Any, ...]:
        """Return the irreducible polynomials of the pieces of codimension one."""
        return tuple(component.generators[0] for component in self.components if component.codimension == 1)

    @cached_property
    def polynomial(self) -> Any:
        """Return D: the product of the factors; 1 if no piece has codimension one."""
        return prod(self.factors, start=self.generators[0].context().constant(1))

    @property
    def degree(self) -> int:
        """Return the degree of D."""
        return int(self.polynomial.total_degree())

    def at(self, point: Sequence[Any]) -> tuple[Fraction, ...]:
        """Return the generators at a rational point, exactly; floats are taken as the dyadic rationals they are."""
        return tuple(self._exact_value(generator, point) for generator in self.generators)

    def contains(self, point: Sequence[Any]) -> bool:
        """Return whether a rational point lies on the discriminant."""
        return not any(self.at(point))

    def sign(self, point: Sequence[Any]) -> int:
        """Return the sign of D at a rational point, and 0 everywhere on the discriminant; exact."""
        value = self._exact_value(self.polynomial, point)
        return 0 if value == 0 or self.contains(point) else 1 if value > 0 else -1

    def __call__(self, points: ArrayLike) -> NDArray[np.float64] | float:
        """D at one point (n,) or a batch (m, n) in floating point: for pictures. `sign` and `at` do not round.

        Coefficients may be integers beyond all doubles: they are scaled down by a power of two while terms are added, and where
        the value itself is beyond all doubles it is infinite, with its sign.
        """
        x = real_array(points, "the points")
        if x.shape[-1:] != (len(self.variables),):
            raise InputError(f"points of shape {x.shape}: expected (…, {len(self.variables)})")
        terms = {tuple(map(int, powers)): int(coefficient) for powers, coefficient in self.polynomial.to_dict().items()}
        excess = max(0, max(coefficient.bit_length() for coefficient in terms.values()) - LARGEST_BITS)
        total = np.zeros(x.shape[:-1])
        for powers, coefficient in terms.items():
            total += float(Fraction(coefficient, 1 << excess)) * np.prod(x ** list(powers), axis=-1)
        if excess:
            with np.errstate(over="ignore"):
                total = np.ldexp(total, excess)
        return float(total) if total.ndim == 0 else total

    def _exact_value(self, polynomial: Any, point: Sequence[Any]) -> Fraction:
        if len(point) != len(self.variables):
            raise InputError(f"a point with {len(point)} coordinates: expected {len(self.variables)}")
        coordinates = [exact(coordinate) for coordinate in point]
        rational = flint.fmpq_mpoly_ctx.get(self.variables, flint.Ordering.degrevlex)
        terms = {e: flint.fmpq(c) for e, c in polynomial.to_dict().items()}
        value = rational.from_dict(terms)(*(flint.fmpq(c.numerator, c.denominator) for c in coordinates))
        return Fraction(int(value.p), int(value.q))

    def sympy(self) -> tuple[Any, ...]:
        """Return the generators as SymPy expressions."""
        return tuple(sympy_of(str(generator)) for generator in self.generators)

    def latex(self) -> str:
        """Return the polynomial, or the ideal in angle brackets, in LaTeX."""
        texts = [latex_of(generator) for generator in self.sympy()]
        return texts[0] if len(texts) == 1 else rf"\langle {', '.join(texts)} \rangle"


def union_generators(context: Any, components: Sequence[DiscriminantComponent]) -> tuple[Any, ...]:
    """Return the generators of the union: D times a basis of the product of the ideals of the smaller components.

    This is the ideal of the union itself where the smaller components have no point in common or are linear equations in
    different variables, as they are for quadrics and plane curves; in any case it has the right zeros.
    """
    smaller = [component.generators for component in components if component.codimension > 1]
    basis = (context.constant(1),)
    if smaller:
        basis = reduced_basis([prod(choice, start=context.constant(1)) for choice in product(*smaller)])
    factors = (component.generators[0] for component in components if component.codimension == 1)
    polynomial = prod(factors, start=context.constant(1))
    return tuple(polynomial * entry for entry in basis)
