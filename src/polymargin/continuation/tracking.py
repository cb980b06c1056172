"""Following paths, and not letting one get lost.

`track` is one call of the core. `follow` adds what makes the result trustworthy: a path that did not end
regularly is followed again, more carefully and then in double-double arithmetic; paths that arrived at the
same point are followed again with tighter tolerances, because at least one of them has jumped.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymargin import _core, gpu
from polymargin.continuation.paths import PathEnd, Paths
from polymargin.continuation.same_points import duplicates
from polymargin.continuation.settings import TrackerSettings
from polymargin.polynomials import Program

DEFAULT = TrackerSettings()
# Fraction of the way at its end in which failures are left to the endgame.
END_ZONE = 1e-3
# Steps after which a path is handed over to double-doubles.
HASTY = 1000
# Double-doubles may follow a path this far out.
FAR_OUT = 1e30
# Names the instruction set of the core, for tests of one machine on behalf of others; the widest of this machine if unset.
INSTRUCTION_SET = "POLYMARGIN_INSTRUCTION_SET"


def track(
    program: Program,
    start_points: ArrayLike,
    start_parameters: ArrayLike,
    target_parameters: ArrayLike,
    *,
    settings: TrackerSettings = DEFAULT,
    threads: int | None = None,
    double_double: bool = False,
    selected: NDArray[np.bool_] | None = None,
    instruction_set: str | None = None,
) -> Paths:
    """Follow every start point (N, n) from the start parameters (P,) to each target (T, P) on a segment.

    `selected` (T, N) restricts the work to some paths; the others come back as zeros. The result does not
    depend on the number of threads.
    """
    starts = _complex(start_points, 2)
    targets = np.atleast_2d(_complex(target_parameters, None))
    if not double_double and instruction_set is None:
        tape = gpu.takes(None, program, len(starts) * len(targets) if selected is None else int(selected.sum()))
        if tape is not None:
            begin = _complex(start_parameters, 1)
            return _settled(Paths(**gpu.follow(tape, starts, begin, targets, settings, selected)), program, starts, begin, targets, settings, threads)
    chosen = None if selected is None else np.flatnonzero(selected).astype(np.int64)
    found: dict[str, Any] = _core.track(
        program.compiled,
        _complex(start_parameters, 1),
        targets,
        starts,
        settings.as_core(),
        threads=threads or available_threads(),
        double_double=double_double,
        selected=chosen,
        instruction_set=instruction_set or os.environ.get(INSTRUCTION_SET) or None,
    )
    return Paths(**found)


def _settled(paths, program, starts, begin, targets, settings, threads):
    left = ~(paths.converged | (paths.ends == PathEnd.DIVERGED.code))
    for target in np.flatnonzero(left.any(axis=1)):
        mine = left[target]
        again = _core.track(program.compiled, begin, targets[target:target+1], np.ascontiguousarray(starts[mine]), settings.as_core(), threads=threads or available_threads(), double_double=False, selected=None, instruction_set=None)
        for name, array in again.items():
            getattr(paths, name)[target, mine] = array[0]
    return paths


def follow(
    program: Program,
    start_points: ArrayLike,
    start_parameters: ArrayLike,
    target_parameters: ArrayLike,
    *,
    settings: TrackerSettings = DEFAULT,
    threads: int | None = None,
) -> Paths:
    """`track`, then a second and a third look at every path that failed or met another one."""

    def again(mask: NDArray[np.bool_], careful: TrackerSettings, double_double: bool) -> Paths:
        return track(
            program,
            start_points,
            start_parameters,
            target_parameters,
            settings=careful,
            threads=threads,
            double_double=double_double,
            selected=mask,
        )

    paths = track(program, start_points, start_parameters, target_parameters, settings=settings, threads=threads)
    tight = settings.tightened()
    for careful, double_double in ((tight, False), (tight, True), (tight.tightened(), True)):
        doubtful = _doubtful(paths)
        if not doubtful.any():
            break
        paths = paths.replaced(again(doubtful, careful, double_double), doubtful)
    return paths


def carry(
    program: Program,
    points: ArrayLike,
    start_parameters: ArrayLike,
    target_parameters: ArrayLike,
    *,
    settings: TrackerSettings = DEFAULT,
    threads: int | None = None,
) -> Paths:
    """`track`, then in double-doubles what doubles could not bring to the end: for generic targets, where every end is regular.

    Unlike `follow` it does not look for paths that jumped: whoever carries a whole set checks the whole set.
    """
    hasty = replace(settings, most_steps=min(settings.most_steps, HASTY))
    paths = track(program, points, start_parameters, target_parameters, settings=hasty, threads=threads)
    left = ~paths.converged
    if not left.any():
        return paths
    far_sighted = replace(settings, infinity=FAR_OUT)
    again = track(
        program,
        points,
        start_parameters,
        target_parameters,
        settings=far_sighted,
        threads=threads,
        double_double=True,
        selected=left,
    )
    return paths.replaced(again, left)


def _doubtful(paths: Paths) -> NDArray[np.bool_]:
    """Paths that failed on the way or ended inaccurately, and paths that share their end with another one."""
    # A path that got into the neighbourhood of its end without reaching it, or left every bounded region, has a singular
    # end: following it again would end the same way. That is what the endgame is for.
    near_the_end = (paths.remaining > 0) & (paths.remaining < END_ZONE)
    mask = np.asarray(~paths.converged & ~near_the_end & (paths.ends != PathEnd.DIVERGED.code))
    for target in range(paths.ends.shape[0]):
        arrived = np.flatnonzero(paths.converged[target])
        mask[target, arrived[duplicates(paths.points[target, arrived])]] = True
    return mask


def available_threads() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _complex(values: ArrayLike, axes: int | None) -> NDArray[np.complex128]:
    array = np.ascontiguousarray(values, dtype=np.complex128)
    if axes is not None and array.ndim != axes:
        raise ValueError(f"expected an array with {axes} axes, got shape {array.shape}")
    return array
