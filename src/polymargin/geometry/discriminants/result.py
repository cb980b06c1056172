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
from polymargin.errors import InputError, MissingExtraError
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
        return f"EDDiscriminant({self.describe()}, method {self.method!r}, {self.seconds:.2f} s)"

    def describe(self) -> str:
        """Return a short description."""
        if not self.components:
            return "empty"
        smaller = sum(component.codimension > 1 for component in self.components)
        parts = [f"hypersurface of degree {self.degree}"] if self.degree else []
        parts += [f"{smaller} smaller piece{'s' if smaller > 1 else ''}"] if smaller else []
        return " and ".join(parts)

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

    @property
    def codimension(self) -> int | None:
        """Return the least codimension of a piece; None if the discriminant is empty."""
        return min((component.codimension for component in self.components), default=None)

    # -- at points -----------------------------------------------------------------------------

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

    # -- in other words ------------------------------------------------------------------------

    def sympy(self) -> tuple[Any, ...]:
        """Return the generators as SymPy expressions."""
        try:
            import sympy
        except ImportError:
            raise MissingExtraError("this form needs SymPy; install it with: pip install sympy") from None
        symbols = sympy.symbols(self.variables)
        return tuple(
            sympy.Add(
                *(
                    int(c) * sympy.Mul(*(s**e for s, e in zip(symbols, exponents, strict=True)))
                    for exponents, c in generator.to_dict().items()
                )
            )
            for generator in self.generators
        )

    def latex(self) -> str:
        """Return the polynomial, or the ideal in angle brackets, in LaTeX."""
        texts = [_latex(generator, self.variables) for generator in self.generators]
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


def _latex(polynomial: Any, names: Sequence[str]) -> str:
    """Return terms by falling degree: 3 u_{1}^{2} u_{2} - u_{1} + 7."""
    text = ""
    for exponents, coefficient in polynomial.to_dict().items():
        number = int(coefficient)
        factors = " ".join(
            f"{name[0]}_{{{name[1:]}}}" + (f"^{{{power}}}" if power > 1 else "")
            for name, power in zip(names, exponents, strict=True)
            if power
        )
        size = "" if abs(number) == 1 and factors else str(abs(number))
        sign = (" - " if number < 0 else " + ") if text else ("-" if number < 0 else "")
        text += sign + " ".join(filter(None, (size, factors)))
    return text or "0"
