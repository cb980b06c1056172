"""The follower compiled for the host: every line that a GPU runs but the launch."""

from __future__ import annotations

import ctypes
import subprocess
from functools import lru_cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
from numpy.typing import NDArray

import polymargin.gpu
from polymargin.continuation import Paths, TrackerSettings
from polymargin.gpu.jobs import RESULTS, make_job
from polymargin.gpu.source import KernelSource, Layout, kernel_source
from polymargin.gpu.tape import Tape
from polymargin.polynomials import Program

KERNEL_FILES = Path(polymargin.gpu.__file__).parent / "kernel"


@lru_cache
def _compiled(text: str) -> Any:
    folder = Path(mkdtemp(prefix="polymargin-host-"))
    source, library = folder / "follower.cpp", folder / "follower.so"
    source.write_text(text)
    command = [
        "g++",
        "-std=c++17",
        "-O1",
        "-shared",
        "-fPIC",
        "-Wall",
        "-Wno-unused-variable",
        "-Wno-unused-but-set-variable",
        f"-I{KERNEL_FILES}",
    ]
    done = subprocess.run([*command, str(source), "-o", str(library)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not done.stderr, done.stderr
    return ctypes.CDLL(str(library))


def host_follow(
    program: Program,
    starts: Any,
    begin: Any,
    targets: Any,
    *,
    layout: Layout,
    selected: NDArray[np.bool_] | None = None,
    settings: TrackerSettings | None = None,
) -> Paths:
    """What `track` gives, by the follower with this layout."""
    tape = Tape.of(program)
    assert tape is not None
    source: KernelSource = kernel_source(tape, layout)
    library = _compiled(source.text)
    starts, begin = (np.ascontiguousarray(array, dtype=np.complex128) for array in (starts, begin))
    targets = np.ascontiguousarray(np.atleast_2d(targets), dtype=np.complex128)
    shape = (len(targets), len(starts))
    results = {
        name: np.zeros((*shape, program.input_count) if vector else shape, dtype=kind)
        for name, (kind, vector) in RESULTS.items()
    }
    arrays = {"coefficients": source.numbers(tape), "begin": begin, "targets": targets, "starts": starts, **results}
    path_count = shape[0] * shape[1]
    if selected is not None:
        arrays["selected"] = np.flatnonzero(selected).astype(np.uint32)
        path_count = len(arrays["selected"])
    addresses = {name: array.ctypes.data for name, array in arrays.items()}
    job = make_job(addresses, shape[1], path_count, settings or TrackerSettings())
    library.follow(ctypes.byref(job))
    return Paths(**results)
