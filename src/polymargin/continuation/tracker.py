"""Following paths, and not letting one get lost.

A `Tracker` says how paths are followed, a `Job` which ones: every start point of a program to every target. `run` is one call
of the core, with all paths of all jobs in one queue. `follow` adds what makes the result trustworthy: a path that did
not end regularly is followed again, more carefully and then in double-double arithmetic; paths that arrived at the
same point are followed again with tighter tolerances, because at least one of them has jumped.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymargin import _core, gpu
from polymargin.continuation.paths import PathEnd, Paths
from polymargin.continuation.same_points import duplicates
from polymargin.continuation.settings import TrackerSettings
from polymargin.continuation.survey import Survey, rules, survey_from, survey_of
from polymargin.deadlines import NEVER, Deadline
from polymargin.polynomials import Program

ComplexArray = NDArray[np.complex128]

_logger = logging.getLogger(__name__)

# Fraction of the way at its end in which failures are left to the endgame.
END_ZONE = 1e-3
# Work that a deadline does not cut into parts; paths of the first part, and seconds that a part takes.
SHORT_WORK, FIRST_PART, PART = 1e6, 64, 0.25
# Names the instruction set of the core, for tests of one machine on behalf of others; the widest of this machine if unset.
INSTRUCTION_SET = "POLYMARGIN_INSTRUCTION_SET"


@dataclass(frozen=True, eq=False)
class Job:
    """Every start point (N, n) of a program from the start parameters (P,) to each target (T, P), on segments.

    `selected` (T, N) restricts the work to some paths; the others come back as zeros. With `stopped` paths (T, N) these go on
    from where they are, which is for the CPU core.
    """

    program: Program
    start_points: ArrayLike
    start_parameters: ArrayLike
    targets: ArrayLike
    selected: NDArray[np.bool_] | None = None
    stopped: Paths | None = None

    def arrays(self) -> tuple[ComplexArray, ComplexArray, ComplexArray]:
        """Start points, start parameters and targets as the core takes them."""
        targets = np.atleast_2d(_complex(self.targets, None))
        return _complex(self.start_points, 2), _complex(self.start_parameters, 1), targets

    def for_core(self) -> _core.Job:
        """Return the job as the core's type."""
        starts, begin, targets = self.arrays()
        selected = None if self.selected is None else np.flatnonzero(self.selected).astype(np.int64)
        where = (None, None) if self.stopped is None else (self.stopped.points, self.stopped.remaining)
        return _core.Job(self.program.compiled, begin, targets, starts, selected, *where)


@dataclass(frozen=True)
class Tracker:
    """A path tracker: settings, worker threads (default: all cores), instruction set (default: the widest), device.

    The device is 'cpu', 'cuda' or 'auto' (a GPU if there is one and there are many paths); `POLYMARGIN_DEVICE` by default. The
    result depends on neither the number of threads nor the order of the jobs. The presets are those of the settings. Paths that
    fail on the GPU are retried on the CPU unless `retry=False`. After the deadline, tracking raises `TimeUpError`.
    """

    settings: TrackerSettings = field(default_factory=TrackerSettings)
    threads: int | None = None
    instruction_set: str | None = None
    device: str | None = None
    retry: bool = True
    kernels: gpu.Kernels = field(default_factory=gpu.Kernels, compare=False, repr=False)
    deadline: Deadline = field(default=NEVER, compare=False)

    @classmethod
    def of(cls, settings: TrackerSettings | None, threads: int | None, device: str | None = None) -> Tracker:
        """Make a tracker from the options of a public function."""
        gpu.chosen_device(device)
        return cls(settings or TrackerSettings(), threads, device=device)

    @property
    def workers(self) -> int:
        """Return the threads that work together."""
        return self.threads or available_threads()

    def settled_for(self, path_count: int) -> Tracker:
        """Return a tracker with the device for so many paths, for callers that track a few at a time."""
        return replace(self, device=gpu.device_for(self.device, path_count))

    def until(self, deadline: Deadline) -> Tracker:
        """Return a tracker that stops at a deadline."""
        return replace(self, deadline=deadline)

    def tightened(self) -> Tracker:
        """Return a tracker with tighter tolerances."""
        return replace(self, settings=self.settings.tightened())

    def far_sighted(self) -> Tracker:
        """Return a tracker for paths far out."""
        return replace(self, settings=self.settings.far_sighted())

    def hasty(self) -> Tracker:
        """Return a tracker with few steps."""
        return replace(self, settings=self.settings.hasty())

    def bold(self) -> Tracker:
        """Return a tracker with long steps."""
        return replace(self, settings=self.settings.bold())

    def rough(self) -> Tracker:
        """Return a tracker for paths that rounding would stop."""
        return replace(self, settings=self.settings.rough())

    def giving_up(self) -> Tracker:
        """Return a tracker without retries, for callers that reach the same endpoints in another way."""
        return replace(self, retry=False)

    def exploring(self) -> Tracker:
        """Return a tracker with few long steps."""
        return replace(self, settings=self.settings.exploring())

    def run(self, jobs: Sequence[Job], *, double_double: bool = False) -> list[Paths]:
        """Follow the paths of all jobs in one queue: of the CPU core, or of a GPU if that is the device and has a kernel."""
        self.deadline.check()
        if not jobs:
            return []
        if not double_double and self.instruction_set is None:
            bundles = self._for_gpu(jobs)
            if any(bundles):
                return self._with_gpu(jobs, bundles)
        return self._with_core(jobs, double_double)

    def survey(self, jobs: Sequence[Job]) -> Iterator[Survey]:
        """Track the jobs and return a survey of each job's endpoints.

        On a GPU the next job runs while the caller reads the survey of the previous one.
        """
        bundles = self._for_gpu(jobs) if self.instruction_set is None else [None] * len(jobs)
        if jobs and all(bundle is not None and gpu.fits_survey(bundle) for bundle in bundles):
            return self._survey_with_gpu(jobs, [bundle for bundle in bundles if bundle is not None])
        return (survey_of(paths, job.arrays()[2]) for job, paths in zip(jobs, self.run(jobs), strict=True))

    def _survey_with_gpu(self, jobs: Sequence[Job], bundles: Sequence[gpu.Bundle]) -> Iterator[Survey]:
        def settled(place: int, numbers: NDArray[np.intp]) -> dict[str, NDArray[Any]]:
            again = job_again(jobs[place], numbers)
            (found,) = self._with_core([again], False)
            return {name: getattr(found, name)[again.selected] for name in gpu.SURVEYED}

        told = gpu.survey(bundles, self.settings, [rules(bundle.tape.inputs) for bundle in bundles], settled)
        return (survey_from(each) for each in told)

    def _with_core(self, jobs: Sequence[Job], double_double: bool) -> list[Paths]:
        if self.deadline.exists and sum(map(_work, jobs)) > SHORT_WORK:
            return [in_parts(job, lambda part: self._at_once([part], double_double)[0], self.deadline) for job in jobs]
        return self._at_once(jobs, double_double)

    def _at_once(self, jobs: Sequence[Job], double_double: bool) -> list[Paths]:
        found = _core.track(
            [job.for_core() for job in jobs],
            self.settings.as_core(),
            threads=self.workers,
            double_double=double_double,
            instruction_set=self.instruction_set or instruction_set(),
        )
        return [Paths(**arrays) for arrays in found]

    def _for_gpu(self, jobs: Sequence[Job]) -> list[gpu.Bundle | None]:
        """Return the jobs that go to a GPU."""
        arrays = [job.arrays() for job in jobs]
        counts = [
            len(starts) * len(targets) if job.selected is None else int(job.selected.sum())
            for job, (starts, _, targets) in zip(jobs, arrays, strict=True)
        ]
        if gpu.device_for(self.device, sum(counts)) == "cpu":
            return [None] * len(jobs)
        tapes = [
            gpu.tape_for(job.program) if count and job.stopped is None else None
            for job, count in zip(jobs, counts, strict=True)
        ]
        return [
            None if tape is None else gpu.Bundle(tape, *given, job.selected, self.kernels)
            for job, tape, given in zip(jobs, tapes, arrays, strict=True)
        ]

    def _with_gpu(self, jobs: Sequence[Job], bundles: Sequence[gpu.Bundle | None]) -> list[Paths]:
        """Track paths on the GPU; the core tracks those that neither converge nor diverge there, and names their states."""
        found = iter(gpu.follow([bundle for bundle in bundles if bundle is not None], self.settings))
        known = [None if bundle is None else Paths(**next(found)) for bundle in bundles]
        left: list[tuple[Paths, NDArray[np.intp], Job]] = []
        for job, paths in zip(jobs, known, strict=True):
            if paths is not None and len(numbers := _left_by_gpu(paths, self.retry)):
                _logger.info("%s of %s paths go back to the CPU", f"{len(numbers):,}", f"{paths.ends.size:,}")
                left.append((paths, numbers, job_again(job, numbers)))
        others = [job for job, bundle in zip(jobs, bundles, strict=True) if bundle is None]
        again = [job for _, _, job in left]
        settled = iter(self._with_core([*others, *again], False) if others or again else [])
        results = [next(settled) if paths is None else paths for paths in known]
        for paths, numbers, job in left:
            paths.put(numbers, next(settled), job.selected)
        return results

    def track(
        self,
        program: Program,
        start_points: ArrayLike,
        start_parameters: ArrayLike,
        targets: ArrayLike,
        *,
        double_double: bool = False,
        selected: NDArray[np.bool_] | None = None,
    ) -> Paths:
        """Track one job."""
        job = Job(program, start_points, start_parameters, targets, selected)
        return self.run([job], double_double=double_double)[0]

    def follow(
        self, program: Program, start_points: ArrayLike, start_parameters: ArrayLike, targets: ArrayLike
    ) -> Paths:
        """Track, then retry every path that failed or met another one, twice."""
        return self.follow_and_tell(program, start_points, start_parameters, targets)[0]

    def follow_and_tell(
        self, program: Program, start_points: ArrayLike, start_parameters: ArrayLike, targets: ArrayLike
    ) -> tuple[Paths, NDArray[np.bool_]]:
        """Do `follow`, and return which paths (T, N) still share their endpoint with another one."""
        job = Job(program, start_points, start_parameters, targets)
        paths = self.run([job])[0]
        tight = self
        for more, double_double in ((True, False), (False, True), (True, True)):
            met = _met(paths, self.workers)
            doubtful = np.flatnonzero(met | _failed_on_the_way(paths))
            if not len(doubtful):
                return paths, met
            tight = tight.tightened() if more else tight
            again = job_again(job, doubtful)
            paths.put(doubtful, tight.run([again], double_double=double_double)[0], again.selected)
        return paths, _met(paths, self.workers)

    def follow_boldly(
        self, program: Program, start_points: ArrayLike, start_parameters: ArrayLike, target: ArrayLike
    ) -> tuple[Paths, NDArray[np.bool_]]:
        """Track all paths to one generic target with long steps; track every one again that failed or met another one.

        Paths to a generic target have distinct endpoints, so duplicates and failures reveal path jumps. If all bold paths have
        distinct endpoints, none is missing. Return the paths, and which of them (N,) have an endpoint of their own.
        """
        job = Job(program, start_points, start_parameters, target)
        paths = self.bold().hasty().run([job])[0]  # longer ones are on their way to infinity
        regular, bold = paths.converged[0], np.ones(paths.ends.shape[1], dtype=bool)
        while True:
            numbers = np.flatnonzero(bold & ~regular)
            if len(numbers):
                _logger.info("%s of %s paths are followed again", f"{len(numbers):,}", f"{len(bold):,}")
                again = job_again(job, numbers)
                paths.put(numbers, self.run([again])[0], again.selected)
                bold[numbers] = False
            regular = (paths.converged & ~_met(paths, self.workers))[0]
            if not (bold & ~regular).any():
                return paths, regular

    def carry(
        self, program: Program, start_points: ArrayLike, start_parameters: ArrayLike, targets: ArrayLike
    ) -> Paths:
        """Track, then track unfinished paths in double-doubles, for generic targets with regular endpoints.

        Unlike `follow` it does not look for path jumps: callers that carry a whole set check the whole set.
        """
        job = Job(program, start_points, start_parameters, targets)
        paths = self.hasty().run([job])[0]
        left = np.flatnonzero(~paths.converged)
        if len(left):
            again = job_again(job, left)
            paths.put(left, self.far_sighted().run([again], double_double=True)[0], again.selected)
        return paths


def _work(job: Job) -> float:
    """Return paths × unknowns³: a million take 0.1 s on one core, or some seconds in double-doubles."""
    targets, starts = len(np.atleast_2d(job.targets)), len(np.atleast_2d(job.start_points))
    count = targets * starts if job.selected is None else int(job.selected.sum())
    return float(count * np.shape(job.start_points)[-1] ** 3)


def in_parts(job: Job, follow: Callable[[Job], Paths], deadline: Deadline) -> Paths:
    """Track the paths of a job in parts and check the clock in between; a part takes about `PART` seconds."""
    selected = np.ones((len(np.atleast_2d(job.targets)), len(job.arrays()[0])), dtype=bool)
    numbers = np.flatnonzero(selected if job.selected is None else job.selected)
    found = follow(replace(job, selected=np.zeros_like(selected)))
    begin, size = 0, FIRST_PART
    while begin < len(numbers):
        deadline.check()
        started = perf_counter()
        part = numbers[begin : begin + size]
        again = job_again(job, part)
        found.put(part, follow(again), again.selected)
        begin += size
        size = int(min(4 * size, max(1, size * PART / max(perf_counter() - started, 1e-9))))
    return found


def job_again(job: Job, numbers: NDArray[np.intp]) -> Job:
    """Return the paths with these ascending numbers, counted through all targets, as one job."""
    all_starts, begin, all_targets = job.arrays()
    targets, starts = np.divmod(numbers, len(all_starts))
    rows, row = np.unique(targets, return_inverse=True)
    columns, column = np.unique(starts, return_inverse=True)
    selected = np.zeros((len(rows), len(columns)), dtype=bool)
    selected[row, column] = True
    return Job(job.program, all_starts[columns], begin, all_targets[rows], selected)


def _left_by_gpu(paths: Paths, lost_too: bool) -> NDArray[np.intp]:
    """Return paths from a GPU that the core tracks again: those that need row exchanges, and failed ones if `retry`."""
    if lost_too:
        return np.flatnonzero(~(paths.converged | (paths.ends == PathEnd.DIVERGED.code)))
    return np.flatnonzero(paths.ends == gpu.NEEDS_EXCHANGES)


def _failed_on_the_way(paths: Paths) -> NDArray[np.bool_]:
    # A path that got into the neighbourhood of its end without reaching it, or left every bounded region, has a singular
    # end: following it again would end the same way. That is what the endgame is for.
    near_the_end = (paths.remaining > 0) & (paths.remaining < END_ZONE)
    return np.asarray(~paths.converged & ~near_the_end & (paths.ends != PathEnd.DIVERGED.code))


def _met(paths: Paths, threads: int) -> NDArray[np.bool_]:
    """Return paths that share their endpoint with another one."""
    met = np.zeros(paths.ends.shape, dtype=bool)
    for points, converged, mine in zip(paths.points, paths.converged, met, strict=True):
        # Long lists are not copied without need.
        mine[converged] = duplicates(points if converged.all() else points[converged], threads=threads)
    return met


def instruction_set() -> str | None:
    """Return the instruction set that was chosen, None for the default."""
    return os.environ.get(INSTRUCTION_SET) or None


def available_threads() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _complex(values: ArrayLike, axes: int | None) -> NDArray[np.complex128]:
    array = np.ascontiguousarray(values, dtype=np.complex128)
    if axes is not None and array.ndim != axes:
        raise ValueError(f"expected an array with {axes} axes, got shape {array.shape}")
    return array
