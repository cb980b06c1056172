"""Geometry: how many critical points there are, and where their number changes."""

from polymargin.geometry.conics import Conic
from polymargin.geometry.ed_degree_formulas import Formula, degree_bounds, formula
from polymargin.geometry.monodromy_count import MonodromyCount, monodromy_count
from polymargin.geometry.parameter_strata import ParameterDiscriminant, parameter_discriminant
from polymargin.geometry.parameterisation import Parameterisation, parameterisation
from polymargin.geometry.symbolic_discriminant import SymbolicParameterDiscriminant, symbolic_parameter_discriminant

__all__ = [
    "Conic",
    "Formula",
    "MonodromyCount",
    "ParameterDiscriminant",
    "Parameterisation",
    "SymbolicParameterDiscriminant",
    "degree_bounds",
    "formula",
    "monodromy_count",
    "parameter_discriminant",
    "parameterisation",
    "symbolic_parameter_discriminant",
]
