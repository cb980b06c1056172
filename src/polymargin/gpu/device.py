"""The one place that talks to a GPU: memory, compilation and launches through CuPy, an extra that nothing else needs.

CuPy brings what is not our subject: NVRTC with a cache of compiled kernels on disk (by source, compiler and architecture of the device), pools
of device and pinned memory, streams. It is imported when a GPU is first asked for.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.errors import PolymarginError
from polymargin.gpu.jobs import RESULTS, make_job
from polymargin.gpu.source import KernelSource, kernel_source, lanes_per_path
from polymargin.gpu.tape import Tape
from polymargin.polynomials import Program

ComplexArray = NDArray[np.complex128]

# How long somebody who waits sleeps between two looks, in seconds: a signal is heard in between.
PATIENCE = 2e-4
OPTIONS = ("--std=c++17", "--diag-suppress=177,550")


class DeviceError(PolymarginError):
    """No GPU can be used; the message says why and what to do."""


@cache
def cupy_or_reason() -> Any:
    """CuPy if it is there and sees a GPU, or one sentence why not."""
    try:
        import cupy
    except ImportError as error:
        return f"CuPy cannot be imported ({error}); install polymargin[cuda]"
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return f"no GPU answers ({error})"
    return cupy if count else "the machine has no GPU"


def description() -> str:
    """The GPU, or why there is none."""
    cupy = cupy_or_reason()
    if isinstance(cupy, str):
        return cupy
    properties = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)
    driver = cupy.cuda.runtime.driverGetVersion()
    return f"{properties['name'].decode()}, CUDA {driver // 1000}.{driver % 1000 // 10}, CuPy {cupy.__version__}"


@dataclass(frozen=True, eq=False)
class Kernel:
    """A compiled follower for all tapes of one structure."""

    source: KernelSource
    function: Any
    grid: int


_kernels: dict[tuple[str, int], Kernel] = {}


def kernel_for(tape: Tape, group: int) -> Kernel:
    """Compiled now, read from the cache on disk, or known already."""
    key = (tape.structure, group)
    if key not in _kernels:
        cupy = _cupy()
        source = kernel_source(tape, group)
        function = cupy.RawModule(code=source.text, options=OPTIONS).get_function("follow")
        function.max_dynamic_shared_size_bytes = source.shared_bytes
        multiprocessors = cupy.cuda.Device().attributes["MultiProcessorCount"]
        _kernels[key] = Kernel(source, function, multiprocessors * source.blocks)
    return _kernels[key]


def fits(program: Program) -> Tape | None:
    """The tape of a program that has a kernel: symmetric, and not too many unknowns."""
    if lanes_per_path(program.input_count) is None:
        return None
    return Tape.of(program)


@dataclass(frozen=True, eq=False)
class Pending:
    """Paths under way on the GPU."""

    arrays: Mapping[str, Any]
    shape: tuple[int, int]
    stream: Any
    done: Any

    def result(self) -> dict[str, Any]:
        """Wait; the ends of all paths. An interrupt empties the queue, so that the GPU stops when the paths in its lanes have ended."""
        try:
            while not self.done.done:
                time.sleep(PATIENCE)
        except BaseException:
            cupy = _cupy()
            with cupy.cuda.Stream(non_blocking=True) as other:
                self.arrays["next"].fill(self.shape[0] * self.shape[1])
                other.synchronize()
            self.stream.synchronize()
            raise
        return {name: self.arrays[name].get(stream=self.stream) for name in RESULTS}


def launch(
    tape: Tape, starts: ComplexArray, begin: ComplexArray, targets: ComplexArray, settings: Any, group: int | None = None
) -> Pending:
    """Send all paths from `starts` at the parameters `begin` to each of `targets` on their way."""
    cupy = _cupy()
    kernel = kernel_for(tape, group or lanes_per_path(tape.inputs) or 1)
    shape = (len(targets), len(starts))
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        arrays = {
            "coefficients": cupy.asarray(kernel.source.numbers(tape)),
            "begin": cupy.asarray(begin),
            "targets": cupy.asarray(targets),
            "starts": cupy.asarray(starts),
            "next": cupy.zeros(1, dtype=np.uint32),
        }
        for name, (kind, vector) in RESULTS.items():
            arrays[name] = cupy.empty((*shape, tape.inputs) if vector else shape, dtype=kind)
        job = make_job({name: array.data.ptr for name, array in arrays.items()}, shape[1], shape[0] * shape[1], settings)
        arrays["job"] = cupy.asarray(np.frombuffer(bytes(job), dtype=np.uint8))
        kernel.function((kernel.grid,), (kernel.source.threads,), (arrays["job"],), shared_mem=kernel.source.shared_bytes)
        done = stream.record()
    return Pending(arrays, shape, stream, done)


def _cupy() -> Any:
    cupy = cupy_or_reason()
    if isinstance(cupy, str):
        raise DeviceError(f"device cuda: {cupy}")
    return cupy
