"""A job as the follower takes it: kernel/job.cuh, field by field, and the arrays it points to."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any

POINTERS = (
    "coefficients",
    "begin",
    "targets",
    "starts",
    "points",
    "ends",
    "steps",
    "rejections",
    "remaining",
    "correction",
    "condition",
    "selected",
    "next",
    "left",
    "left_count",
)
SETTINGS = ("contraction", "correction", "change", "accuracy", "final_accuracy", "smallest_step", "infinity")
# What comes back for a path: the name, the type of its number, and whether it has one per unknown.
RESULTS = {
    "points": ("complex128", True),
    "ends": ("int32", False),
    "steps": ("int32", False),
    "rejections": ("int32", False),
    "remaining": ("float64", False),
    "correction": ("float64", False),
    "condition": ("float64", False),
}
# The end that the follower names and the CPU core does not know: elimination needs exchanges of rows.
NEEDS_EXCHANGES = 100


class KernelJob(ctypes.Structure):
    """kernel/job.cuh: struct KernelJob."""

    _fields_ = (
        *[(name, ctypes.c_void_p) for name in POINTERS],
        ("start_count", ctypes.c_uint32),
        ("path_count", ctypes.c_uint32),
        *[(name if name != "correction" else "largest_correction", ctypes.c_double) for name in SETTINGS],
        ("most_steps", ctypes.c_int32),
    )


def make_job(addresses: Mapping[str, int], start_count: int, path_count: int, settings: Any) -> KernelJob:
    """Make a job from the `addresses` of the arrays named in POINTERS and the `settings` of the tracker."""
    numbers = [float(getattr(settings, name)) for name in SETTINGS]
    return KernelJob(
        *[addresses.get(name) for name in POINTERS], start_count, path_count, *numbers, int(settings.most_steps)
    )
