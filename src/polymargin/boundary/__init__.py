"""Boundaries: the class-pair polynomial, its active subspace, its critical equations."""

from polymargin.boundary.architectures import Architecture, AttentionArchitecture, NetworkArchitecture
from polymargin.boundary.boundary import Boundary
from polymargin.boundary.critical_system import CriticalSystem, blend_along, critical_system
from polymargin.boundary.degree import axis_coefficients, generic_critical_count, is_reduced
from polymargin.boundary.families import BoundaryFamily, architecture_family, boundary_family
from polymargin.boundary.leading_axes import LeadingAxes, leading_axes
from polymargin.boundary.metric import Metric, bombieri_weyl, in_metric
from polymargin.boundary.parametric import ParametricBoundary
from polymargin.boundary.reduction import Reduction
from polymargin.boundary.sources import ExpressionSource

__all__ = [
    "Architecture",
    "AttentionArchitecture",
    "Boundary",
    "BoundaryFamily",
    "CriticalSystem",
    "ExpressionSource",
    "LeadingAxes",
    "Metric",
    "NetworkArchitecture",
    "ParametricBoundary",
    "Reduction",
    "architecture_family",
    "axis_coefficients",
    "blend_along",
    "bombieri_weyl",
    "boundary_family",
    "critical_system",
    "generic_critical_count",
    "in_metric",
    "is_reduced",
    "leading_axes",
]
