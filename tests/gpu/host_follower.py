"""The follower compiled for the host: every line that a GPU runs but the launch."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
from numpy.typing import NDArray

import polymargin.gpu
from polymargin.continuation import Paths, TrackerSettings
from polymargin.gpu.jobs import RESULTS, make_job
from polymargin.gpu.kernels import Kernels
from polymargin.gpu.source import KernelSource, Layout, kernel_source
from polymargin.gpu.surveys import SURVEYED, Rules, SurveyArrays, allocated, make_lists, survey_source
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
    starts, begin = (np.ascontiguousarray(array, dtype=np.complex128) for array in (starts, begin))
    targets = np.ascontiguousarray(np.atleast_2d(targets), dtype=np.complex128)
    followed = host_launch(Kernels(), tape, layout, starts, begin, targets, settings or TrackerSettings(), selected)
    return Paths(**followed.wait())


@dataclass(frozen=True, eq=False)
class HostPending:
    """Paths that have been followed on the host, with the methods of `gpu.device.Pending`."""

    arrays: dict[str, Any]

    def wait(self) -> dict[str, Any]:
        return {name: self.arrays[name] for name in RESULTS}

    def unsettled(self) -> NDArray[np.intp]:
        return np.sort(self.arrays["left"][: self.arrays["left_count"][0]]).astype(np.intp)

    def settle(self, numbers: NDArray[np.intp], found: Mapping[str, Any]) -> None:
        for name, values in found.items():
            array = self.arrays[name]
            array.reshape(-1, *array.shape[2:])[numbers] = values

    def survey(self, rules: Rules, threads: int = 4) -> SurveyArrays:
        return host_survey(*(self.arrays[name] for name in (*SURVEYED, "targets")), rules, threads)

    def stop(self) -> None:
        pass


def host_survey(points: Any, ends: Any, condition: Any, targets: Any, rules: Rules, threads: int = 4) -> SurveyArrays:
    """What the kernel tells of lists of ends, with blocks of so many threads."""
    found = allocated(points.shape)
    given = {"points": points, "ends": ends, "condition": condition, "targets": targets}
    arrays = {**given, **found, "directions": rules.directions}
    assert all(array.flags.c_contiguous for array in arrays.values())
    addresses = {name: array.ctypes.data for name, array in arrays.items()}
    lists = make_lists(addresses, points.shape, targets.shape[1], rules)
    _compiled(survey_source(threads)).survey(ctypes.byref(lists))
    return found


def host_launch(
    kernels: Kernels,
    tape: Tape,
    layout: Layout,
    starts: Any,
    begin: Any,
    targets: Any,
    settings: TrackerSettings,
    selected: NDArray[np.bool_] | None = None,
    brought: Any = (),
) -> HostPending:
    """`gpu.device.launch` on the host."""
    source: KernelSource = kernel_source(tape, layout)
    library = _compiled(source.text)
    shape = (len(targets), len(starts))
    results = {
        name: np.zeros((*shape, tape.inputs) if vector else shape, dtype=kind)
        for name, (kind, vector) in RESULTS.items()
    }
    path_count = shape[0] * shape[1]
    arrays = {"coefficients": source.numbers(tape), "begin": begin, "targets": targets, "starts": starts, **results}
    if selected is not None:
        arrays["selected"] = np.flatnonzero(selected).astype(np.uint32)
        path_count = len(arrays["selected"])
    arrays |= {"left": np.zeros(path_count, dtype=np.uint32), "left_count": np.zeros(1, dtype=np.uint32)}
    assert all(array.flags.c_contiguous for array in arrays.values())
    addresses = {name: array.ctypes.data for name, array in arrays.items()}
    library.follow(ctypes.byref(make_job(addresses, shape[1], path_count, settings)))
    return HostPending(arrays)
