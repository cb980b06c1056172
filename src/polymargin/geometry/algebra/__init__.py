"""Exact algebra: boundaries as polynomials over the rationals and modulo primes, resultants, Gröbner engines."""

from polymargin.geometry.algebra.components import PrimaryComponent
from polymargin.geometry.algebra.engines import EngineError, OutOfTimeError, find_engine
from polymargin.geometry.algebra.equations import Equations, System, exact_equations, random_equations
from polymargin.geometry.algebra.rings import Ring

__all__ = [
    "EngineError",
    "Equations",
    "OutOfTimeError",
    "PrimaryComponent",
    "Ring",
    "System",
    "exact_equations",
    "find_engine",
    "random_equations",
]
