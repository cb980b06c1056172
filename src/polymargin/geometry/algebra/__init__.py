"""Exact algebra: boundaries as polynomials over the rationals and modulo primes, resultants, Gröbner engines."""

from polymargin.geometry.algebra.components import PrimaryComponent
from polymargin.geometry.algebra.engines import EngineError, OutOfTimeError, find_engine
from polymargin.geometry.algebra.hypersurface import Hypersurface, exact_hypersurface, random_hypersurface
from polymargin.geometry.algebra.rings import Ring

__all__ = [
    "EngineError",
    "Hypersurface",
    "OutOfTimeError",
    "PrimaryComponent",
    "Ring",
    "exact_hypersurface",
    "find_engine",
    "random_hypersurface",
]
