"""Plane conics a x₁² + b x₁x₂ + c x₂² + d x₁ + e x₂ + f = 0 by name.

    Δ_sing = det M,     Δ_par = ac − b²/4,     Δ_circ = (a − c)² + b²

are the three factors of the parameter discriminant for two inputs.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from polymargin.geometry.strata.quadric_invariants import QuadricInvariants


@dataclass(frozen=True)
class Conic:
    """Its name over the reals, and the three discriminants."""

    name: str
    delta_sing: Fraction | float
    delta_par: Fraction | float
    delta_circ: Fraction | float


def conic_of(invariants: QuadricInvariants) -> Conic | None:
    """The conic of a quadric in two variables; None in other dimensions."""
    if invariants.dimension != 2:
        return None
    return Conic(
        invariants.name,
        delta_sing=invariants.augmented_determinant,
        delta_par=invariants.determinant,
        delta_circ=invariants.eigenvalue_discriminant,
    )
