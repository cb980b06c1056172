"""Boundaries: the class-pair polynomial, its active subspace, its critical equations."""

from polymargin.boundary.boundary import Boundary
from polymargin.boundary.critical_system import blend_program, target_program
from polymargin.boundary.degree import generic_critical_count
from polymargin.boundary.reduction import Reduction

__all__ = ["Boundary", "Reduction", "blend_program", "generic_critical_count", "target_program"]
