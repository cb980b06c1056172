"""The one place that talks to a GPU: memory, compilation and launches through CuPy, an extra that nothing else needs.

CuPy brings what is not our subject: NVRTC with a cache of compiled kernels on disk (by source, compiler and architecture), pools
of device and pinned memory, streams. It is imported when a GPU is first asked for.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.gpu.jobs import RESULTS, make_job
from polymargin.gpu.kernels import Kernels, cupy_or_reason, required_cupy
from polymargin.gpu.source import Layout
from polymargin.gpu.surveys import (
    SLOT,
    SURVEYED,
    Rules,
    SurveyArrays,
    allocated,
    make_lists,
    slots_for,
    threads_for,
)
from polymargin.gpu.tape import Tape

ComplexArray = NDArray[np.complex128]

# Seconds between two checks while waiting; signals are handled in between.
PATIENCE = 2e-4
NONE = np.zeros(0, dtype=np.intp)


def description() -> str:
    """Return the name of the GPU, or the reason why there is none."""
    cupy = cupy_or_reason()
    if isinstance(cupy, str):
        return cupy
    name = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)["name"].decode()
    driver = cupy.cuda.runtime.driverGetVersion()
    return f"{name} (CUDA {driver // 1000}.{driver % 1000 // 10}, CuPy {cupy.__version__})"


@dataclass(frozen=True, eq=False)
class Pending:
    """Paths under way on the GPU, on a stream of their own that also brings back what was asked for."""

    kernels: Kernels
    arrays: Mapping[str, Any]
    results: Mapping[str, NDArray[Any]]  # in pinned memory; there once `done` is
    path_count: int
    stream: Any
    done: Any

    def wait(self) -> Mapping[str, NDArray[Any]]:
        """Return the requested results of all paths."""
        _wait_for(self.done)
        return self.results

    def stop(self) -> None:
        """Empty the queue and wait until the paths in the lanes have ended."""
        cupy = required_cupy()
        with cupy.cuda.Stream(non_blocking=True) as other:
            self.arrays["next"].fill(self.path_count)
            other.synchronize()
        self.stream.synchronize()

    def unsettled(self) -> NDArray[np.intp]:
        """Return the ascending numbers of the paths that the CPU core tracks again."""
        count = int(self.wait()["left_count"][0])
        return np.sort(self.arrays["left"][:count].get(stream=self.stream)).astype(np.intp) if count else NONE

    def settle(self, numbers: NDArray[np.intp], found: Mapping[str, NDArray[Any]]) -> None:
        """Replace the results of these paths by those of the CPU core."""
        cupy = required_cupy()
        with self.stream:
            places = cupy.asarray(numbers)
            for name, values in found.items():
                array = self.arrays[name]
                array.reshape(-1, *array.shape[2:])[places] = cupy.asarray(values)

    def survey(self, rules: Rules) -> SurveyArrays:
        """Survey the endpoints list by list, once all are settled."""
        cupy = required_cupy()
        from cupyx import empty_pinned

        shape = self.arrays["points"].shape
        threads = threads_for(shape[1])
        function = self.kernels.survey(threads)
        with self.stream:
            given = {name: self.arrays[name] for name in ("targets", *SURVEYED)}
            arrays_of_survey = allocated(shape, cupy)
            directions = cupy.asarray(rules.directions)
            arrays = {**given, **arrays_of_survey, "directions": directions}
            addresses = {name: array.data.ptr for name, array in arrays.items()}
            lists = make_lists(addresses, shape, given["targets"].shape[1], rules)
            job = cupy.asarray(np.frombuffer(bytes(lists), dtype=np.uint8))
            function((shape[0],), (threads,), (job,), shared_mem=SLOT * slots_for(shape[1]))
            results = {name: empty_pinned(array.shape, dtype=array.dtype) for name, array in arrays_of_survey.items()}
            for name, result in results.items():
                arrays_of_survey[name].get(stream=self.stream, out=result, blocking=False)
            done = self.stream.record()
        _wait_for(done)
        return results


def launch(
    kernels: Kernels,
    tape: Tape,
    layout: Layout,
    starts: ComplexArray,
    begin: ComplexArray,
    targets: ComplexArray,
    settings: Any,
    selected: NDArray[np.bool_] | None = None,
    brought: Collection[str] = tuple(RESULTS),
) -> Pending:
    """Send the paths from `starts` at the parameters `begin` to each of `targets` on their way, or those `selected`.

    What is `brought` back of them: arrays named in RESULTS, or `left_count`, for those who survey the ends where they are.
    """
    cupy = required_cupy()
    from cupyx import empty_pinned

    kernel = kernels.follower(tape, layout)
    shape = (len(targets), len(starts))
    inputs = {"coefficients": kernel.source.numbers(tape), "begin": begin, "targets": targets, "starts": starts}
    path_count = shape[0] * shape[1]
    if selected is not None:
        inputs["selected"] = np.flatnonzero(selected).astype(np.uint32)
        path_count = len(inputs["selected"])
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        arrays = {name: cupy.asarray(array) for name, array in inputs.items()}
        arrays["next"] = cupy.zeros(1, dtype=np.uint32)
        if "left_count" in brought:
            arrays["left_count"] = cupy.zeros(1, dtype=np.uint32)
            arrays["left"] = cupy.empty(path_count, dtype=np.uint32)
        make = cupy.empty if selected is None else cupy.zeros
        for name, (kind, vector) in RESULTS.items():
            arrays[name] = make((*shape, tape.inputs) if vector else shape, dtype=kind)
        addresses = {name: array.data.ptr for name, array in arrays.items()}
        job = make_job(addresses, shape[1], path_count, settings)
        arrays["job"] = cupy.asarray(np.frombuffer(bytes(job), dtype=np.uint8))
        kernel.start(arrays["job"], tape)
        results = {name: empty_pinned(arrays[name].shape, dtype=arrays[name].dtype) for name in brought}
        for name, result in results.items():
            arrays[name].get(stream=stream, out=result, blocking=False)
        done = stream.record()
    return Pending(kernels, arrays, results, path_count, stream, done)


def _wait_for(event: Any) -> None:
    while not event.done:
        time.sleep(PATIENCE)
