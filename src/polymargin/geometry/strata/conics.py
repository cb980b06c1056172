"""Plane conics a x₁² + b x₁x₂ + c x₂² + d x₁ + e x₂ + f = 0 by name.

    Δ_sing = det M,     Δ_par = ac − b²/4,     Δ_circ = (a − c)² + b²

are the three factors of the parameter discriminant for two inputs. The name follows from the signatures of A and M.
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
        conic_name(invariants),
        delta_sing=invariants.augmented_determinant,
        delta_par=invariants.determinant,
        delta_circ=invariants.eigenvalue_discriminant,
    )


def conic_name(invariants: QuadricInvariants) -> str:
    """The name over the reals; what has no real point is `empty`, with what it is over the complex numbers."""
    match (invariants.rank, invariants.augmented_rank):
        case (2, 3):
            if invariants.signature == (1, 1):
                return "rectangular hyperbola" if invariants.traceless else "hyperbola"
            name = "circle" if invariants.repeated_eigenvalues else "ellipse"
            return f"empty (imaginary {name})" if invariants.empty else name
        case (2, 2):
            if invariants.signature != (1, 1):
                return "point"
            return "perpendicular lines" if invariants.traceless else "crossing lines"
        case (1, 3):
            return "parabola"
        case (1, 2):
            return "empty (imaginary parallel lines)" if invariants.empty else "parallel lines"
        case (1, 1):
            return "double line"
        case (0, 2):
            return "line"
        case (0, 1):
            return "empty (constant)"
        case _:
            return "whole plane"
