"""Continuation: all solutions of a polynomial system given as a program."""

from polymargin.continuation.endgame import Limits, limits
from polymargin.continuation.monodromy import Orbit, contains, distinct, explore
from polymargin.continuation.paths import PathEnd, Paths
from polymargin.continuation.precise_paths import End, PreciseEnd, precise_ends
from polymargin.continuation.settings import TrackerSettings
from polymargin.continuation.solve import Solutions, solve
from polymargin.continuation.start_systems import critical_start, random_phase, total_degree_start
from polymargin.continuation.tracking import FAR_OUT, available_threads, carry, duplicates, follow, track

__all__ = [
    "FAR_OUT",
    "End",
    "Limits",
    "Orbit",
    "PathEnd",
    "Paths",
    "PreciseEnd",
    "Solutions",
    "TrackerSettings",
    "available_threads",
    "carry",
    "contains",
    "critical_start",
    "distinct",
    "duplicates",
    "explore",
    "follow",
    "limits",
    "precise_ends",
    "random_phase",
    "solve",
    "total_degree_start",
    "track",
]
