"""Continuation: all solutions of a polynomial system given as a program."""

from polymargin.continuation.endgame import Limits, limits
from polymargin.continuation.gathered import Gathered
from polymargin.continuation.monodromy import Orbit, explore
from polymargin.continuation.paths import PathEnd, Paths
from polymargin.continuation.precise_paths import End, PreciseEnd, landings, precise_ends
from polymargin.continuation.same_points import (
    contains,
    counted,
    distinct,
    duplicates,
    real_points,
    same,
    without_conjugate,
)
from polymargin.continuation.settings import TrackerSettings
from polymargin.continuation.solve import Solutions, solve
from polymargin.continuation.start_systems import (
    CriticalStart,
    critical_start,
    critical_start_of,
    near_unit_circle,
    random_phase,
    total_degree_start,
)
from polymargin.continuation.survey import Survey
from polymargin.continuation.tracker import Job, Tracker, available_threads

__all__ = [
    "CriticalStart",
    "End",
    "Gathered",
    "Job",
    "Limits",
    "Orbit",
    "PathEnd",
    "Paths",
    "PreciseEnd",
    "Solutions",
    "Survey",
    "Tracker",
    "TrackerSettings",
    "available_threads",
    "contains",
    "counted",
    "critical_start",
    "critical_start_of",
    "distinct",
    "duplicates",
    "explore",
    "landings",
    "limits",
    "near_unit_circle",
    "precise_ends",
    "random_phase",
    "real_points",
    "same",
    "solve",
    "total_degree_start",
    "without_conjugate",
]
