"""Surveys of lists of ends where these are: the kernel of kernel/survey.cuh, what it goes by and what it tells."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

# Points of a list up to which it can be sorted in the memory of a block.
MOST_POINTS = 1 << 14
# Bytes per slot of that memory: a key and an entry.
SLOT = 12

POINTERS = ("points", "targets", "ends", "condition", "directions", "clear", "real_counts", "unclear", "gaps", "chosen")
COUNTS = ("list_count", "point_count", "size", "parameters", "slots")
LIMITS = ("same", "same_conjugate", "real", "clearly_complex", "largest_condition")
# What the kernel reads of the ends of paths.
SURVEYED = ("points", "ends", "condition")
# What it tells of a list: the name, the type of its numbers, how many there are, and whether these are points.
SURVEY_ARRAYS = {
    "clear": ("int32", (), False),
    "real_counts": ("int32", (), False),
    "unclear": ("int32", (), False),
    "gaps": ("float64", (2,), False),
    "chosen": ("complex128", (4,), True),
}
SurveyArrays: TypeAlias = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Rules:
    """When points are the same, conjugate, real or clearly not, and regular; and the directions along which they are sorted."""

    directions: NDArray[np.float64]  # 2n entries to tell points by, n for conjugates
    same: float
    same_conjugate: float
    real: float
    clearly_complex: float
    largest_condition: float


class Lists(ctypes.Structure):
    """kernel/survey.cuh: struct Lists."""

    _fields_ = (
        *[(name, ctypes.c_void_p) for name in POINTERS],
        *[(name, ctypes.c_uint32) for name in COUNTS],
        *[(name, ctypes.c_double) for name in (*LIMITS, "reach")],
    )


def make_lists(addresses: Mapping[str, int], shape: tuple[int, int, int], parameters: int, rules: Rules) -> Lists:
    """Make lists × points × unknowns from the addresses of the arrays named in POINTERS."""
    size = shape[2]
    reach = rules.same * float(np.abs(rules.directions[: 2 * size]).sum())
    limits = [float(getattr(rules, name)) for name in LIMITS]
    return Lists(*[addresses[name] for name in POINTERS], *shape, parameters, slots_for(shape[1]), *limits, reach)


def allocated(shape: tuple[int, int, int], module: Any = np) -> dict[str, Any]:
    """Allocate arrays for the survey of lists × points × unknowns."""
    return {
        name: module.zeros((shape[0], *more, *([shape[2]] if points else [])), dtype=kind)
        for name, (kind, more, points) in SURVEY_ARRAYS.items()
    }


def slots_for(points: int) -> int:
    """Return the smallest power of two that is at least so many."""
    return 1 << max(points - 1, 1).bit_length()


def threads_for(points: int) -> int:
    """Return the number of threads of a block."""
    return 64 if points <= 128 else 256


def survey_source(threads: int) -> str:
    """Return the source of the survey kernel."""
    parts = [(files("polymargin.gpu") / "kernel" / name).read_text() for name in ("numbers.cuh", "survey.cuh")]
    return "\n".join([f"#define PM_THREADS {threads}", *parts])
