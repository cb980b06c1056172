"""Compiled kernels. A tracker keeps those of its paths, by the structure of their tapes; CuPy keeps compiled code on disk."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock
from typing import Any

from polymargin.errors import MissingExtraError
from polymargin.gpu.source import KernelSource, Layout, kernel_source
from polymargin.gpu.surveys import MOST_POINTS, SLOT, survey_source
from polymargin.gpu.tape import Tape

OPTIONS = ("--std=c++17", "--diag-suppress=177,550")


def cupy_or_reason() -> Any:
    """Return CuPy if it sees a GPU, or the reason why not."""
    try:
        import cupy
    except ImportError:
        return "CuPy is not installed; install polymargin[cuda]"
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return f"no GPU answers ({error}); check the driver with nvidia-smi"
    return cupy if count else "this machine has no NVIDIA GPU"


def required_cupy() -> Any:
    """Return CuPy with a GPU; raise MissingExtraError if something is missing."""
    cupy = cupy_or_reason()
    if isinstance(cupy, str):
        raise MissingExtraError(f"device 'cuda': {cupy}")
    return cupy


@dataclass(frozen=True, eq=False)
class Kernel:
    """A compiled follower for all tapes of one structure."""

    source: KernelSource
    function: Any
    grid: int

    def start(self, job: Any, tape: Tape) -> None:
        """Follow the paths of a job that is on the GPU, for a tape of this structure."""
        source = self.source
        arguments = (job, *source.arguments(tape))
        self.function((self.grid,), (source.threads,), arguments, shared_mem=source.shared_bytes)


class Kernels:
    """Kernels by structure and layout, and surveys by the threads of a block. They do not travel to other processes."""

    def __init__(self) -> None:
        self._followers: dict[tuple[str, Layout], Kernel] = {}
        self._surveys: dict[int, Any] = {}
        self._compiling = Lock()

    def __reduce__(self) -> tuple[type[Kernels], tuple[()]]:
        return Kernels, ()

    def follower(self, tape: Tape, layout: Layout) -> Kernel:
        """Return the kernel for a tape, compiled or from CuPy's cache on disk when it is first asked for."""
        key = (tape.structure, layout)
        with self._compiling:
            if key not in self._followers:
                source = kernel_source(tape, layout)
                function = _compiled(source.text, "follow", source.shared_bytes)
                multiprocessors = required_cupy().cuda.Device().attributes["MultiProcessorCount"]
                self._followers[key] = Kernel(source, function, multiprocessors * source.blocks)
            return self._followers[key]

    def survey(self, threads: int) -> Any:
        """Return the survey for blocks of so many threads."""
        with self._compiling:
            if threads not in self._surveys:
                self._surveys[threads] = _compiled(survey_source(threads), "survey", SLOT * MOST_POINTS)
            return self._surveys[threads]


def _compiled(text: str, name: str, shared_bytes: int) -> Any:
    function = required_cupy().RawModule(code=text, options=OPTIONS).get_function(name)
    function.max_dynamic_shared_size_bytes = shared_bytes
    return function
