"""Boundaries of degree two: all critical points and the nearest one, at any size."""

from polymargin.quadric.critical import QuadricCriticalPoints, quadric_critical_points
from polymargin.quadric.ed_degree import QuadricEDDegree, ed_degree_by_ranks, quadric_ed_degree
from polymargin.quadric.form import QuadricForm, exact_form
from polymargin.quadric.nearest import NetworkSolvers, QuadricSolver, nearest_of
from polymargin.quadric.nearest_batch import Nearest, NearestBatch, NearestBatches
from polymargin.quadric.precise import MOST_VARIABLES, EnclosedNearest, PreciseQuadric
from polymargin.quadric.secular import NearestKind
from polymargin.quadric.squares import HiddenSquares, SquareSum

__all__ = [
    "MOST_VARIABLES",
    "EnclosedNearest",
    "HiddenSquares",
    "Nearest",
    "NearestBatch",
    "NearestBatches",
    "NearestKind",
    "NetworkSolvers",
    "PreciseQuadric",
    "QuadricCriticalPoints",
    "QuadricEDDegree",
    "QuadricForm",
    "QuadricSolver",
    "SquareSum",
    "ed_degree_by_ranks",
    "exact_form",
    "nearest_of",
    "quadric_critical_points",
    "quadric_ed_degree",
]
