"""Geometry: how many critical points there are, and where their number changes."""

from polymargin.geometry.discriminants.chambers import Chambers, chambers
from polymargin.geometry.discriminants.crossings import Crossing, discriminant_crossings
from polymargin.geometry.discriminants.ed_discriminant import ed_discriminant
from polymargin.geometry.discriminants.planes import Plane
from polymargin.geometry.discriminants.result import DiscriminantComponent, EDDiscriminant
from polymargin.geometry.ed_degrees.boundary_count import BoundaryCount, boundary_count
from polymargin.geometry.ed_degrees.ed_degree import EDDegree, ed_degree
from polymargin.geometry.ed_degrees.formulas import Formula, degree_bounds, formula
from polymargin.geometry.ed_degrees.monodromy_count import monodromy_count
from polymargin.geometry.ed_degrees.multiplicities import CriticalMultiplicities, critical_points_with_multiplicity
from polymargin.geometry.ed_degrees.parameterisation import Parameterisation, parameterisation
from polymargin.geometry.strata.parameter_discriminant import ParameterDiscriminant, parameter_discriminant
from polymargin.geometry.strata.parameter_polynomials import shallow_family
from polymargin.geometry.ties import NearestTie, kkt_bound, nearest_runner_up_change, nearest_tie
from polymargin.geometry.varieties.polar_degrees import polar_degrees
from polymargin.geometry.varieties.variety import Variety

__all__ = [
    "BoundaryCount",
    "Chambers",
    "CriticalMultiplicities",
    "Crossing",
    "DiscriminantComponent",
    "EDDegree",
    "EDDiscriminant",
    "Formula",
    "NearestTie",
    "ParameterDiscriminant",
    "Parameterisation",
    "Plane",
    "Variety",
    "boundary_count",
    "chambers",
    "critical_points_with_multiplicity",
    "degree_bounds",
    "discriminant_crossings",
    "ed_degree",
    "ed_discriminant",
    "formula",
    "kkt_bound",
    "monodromy_count",
    "nearest_runner_up_change",
    "nearest_tie",
    "parameter_discriminant",
    "parameterisation",
    "polar_degrees",
    "shallow_family",
]
