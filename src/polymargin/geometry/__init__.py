"""Geometry: how the number of critical points depends on the parameters of a network."""

from polymargin.geometry.conics import Conic
from polymargin.geometry.parameter_strata import ParameterDiscriminant, parameter_discriminant
from polymargin.geometry.symbolic_discriminant import SymbolicParameterDiscriminant, symbolic_parameter_discriminant

__all__ = [
    "Conic",
    "ParameterDiscriminant",
    "SymbolicParameterDiscriminant",
    "parameter_discriminant",
    "symbolic_parameter_discriminant",
]
