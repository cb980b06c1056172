"""Boundaries: the class-pair polynomial, its active subspace, its critical equations."""

from polymargin.boundary.boundary import Boundary
from polymargin.boundary.critical_system import CriticalSystem, critical_system
from polymargin.boundary.degree import axis_coefficients, generic_critical_count
from polymargin.boundary.reduction import Reduction

__all__ = [
    "Boundary",
    "CriticalSystem",
    "Reduction",
    "axis_coefficients",
    "critical_system",
    "generic_critical_count",
]
