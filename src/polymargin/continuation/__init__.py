"""Continuation: all solutions of a polynomial system given as a program."""

from polymargin.continuation.endgame import Limits, limits
from polymargin.continuation.paths import PathEnd, Paths
from polymargin.continuation.settings import TrackerSettings
from polymargin.continuation.start_systems import critical_start, random_phase, total_degree_start
from polymargin.continuation.total_degree import Solutions, solve
from polymargin.continuation.tracking import available_threads, duplicates, follow, track

__all__ = [
    "Limits",
    "PathEnd",
    "Paths",
    "Solutions",
    "TrackerSettings",
    "available_threads",
    "critical_start",
    "duplicates",
    "follow",
    "limits",
    "random_phase",
    "solve",
    "total_degree_start",
    "track",
]
