"""Many paths on the GPU: jobs in parts that fit its memory, one part computing while the one before comes back.

Which paths go there is decided here too. 'cuda' sends every job that has a kernel; 'auto', the default, those large enough to be worth it, if
there is a GPU; 'cpu' none. What the GPU could not settle is for the CPU core, with its exchanges of rows, to follow again.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.errors import InputError
from polymargin.gpu.device import Pending, cupy_or_reason, launch, required_cupy
from polymargin.gpu.jobs import RESULTS
from polymargin.gpu.source import layout_for
from polymargin.gpu.tape import Tape
from polymargin.polynomials import Program

ComplexArray = NDArray[np.complex128]

# Names the device for everything that is not told one.
DEVICE = "POLYMARGIN_DEVICE"
DEVICES = ("auto", "cpu", "cuda")
# Paths from which a GPU is chosen without being asked for: two cores take about a second for them, a new kernel about two to compile.
WORTH_IT = 200_000
# Paths in a part: some hundredths of a second, and a gigabyte of ends for the largest systems.
MOST_PATHS = 1 << 22


def chosen_device(device: str | None) -> str:
    """The device asked for, by argument or by POLYMARGIN_DEVICE."""
    name = device or os.environ.get(DEVICE) or "auto"
    if name not in DEVICES:
        raise InputError(f"device {name!r}: expected one of {', '.join(DEVICES)}")
    if name == "cuda":
        required_cupy()
    return name


def takes(device: str | None, program: Program, path_count: int) -> Tape | None:
    """The tape, if these paths go to the GPU."""
    name = chosen_device(device)
    if name == "cpu" or not path_count or layout_for(program.input_count) is None:
        return None
    if name == "auto" and (path_count < WORTH_IT or find_spec("cupy") is None or isinstance(cupy_or_reason(), str)):
        return None
    return _tape(program)


def follow(
    tape: Tape,
    starts: ComplexArray,
    begin: ComplexArray,
    targets: ComplexArray,
    settings: Any,
    selected: NDArray[np.bool_] | None = None,
) -> dict[str, Any]:
    """What the CPU core's `track` returns, for starts (N, n), begin (P,), targets (T, P) and perhaps a selection (T, N)."""
    layout = layout_for(tape.inputs)
    assert layout is not None  # as `takes` has seen
    _require("start points", starts.shape[1], tape.inputs)
    _require("start parameters", len(begin), tape.parameters)
    _require("target parameters", targets.shape[1], tape.parameters)
    parts = list(_parts(len(targets), len(starts)))
    under_way: list[tuple[_Part, Pending]] = []
    results: dict[str, NDArray[Any]] = {}
    if len(parts) > 1:
        shape = (len(targets), len(starts))
        results = {n: np.empty((*shape, tape.inputs) if vector else shape, dtype=k) for n, (k, vector) in RESULTS.items()}
    try:
        for part in (*parts, None):
            if part is not None:
                mask = None if selected is None else selected[part.targets, part.starts]
                pending = launch(tape, layout, starts[part.starts], begin, targets[part.targets], settings, mask)
                under_way.append((part, pending))
            if len(under_way) == 2 or part is None:
                done, pending = under_way[0]
                found = pending.wait()
                del under_way[0]
                if len(parts) == 1:
                    return dict(found)
                for name, array in found.items():
                    results[name][done.targets, done.starts] = array
    except BaseException:  # an interrupt, or no memory for the next part
        for _, pending in under_way:
            pending.stop()
        raise
    return results


def _require(what: str, found: int, expected: int) -> None:
    if found != expected:
        raise ValueError(f"{what}: expected {expected} columns, got {found}")


@dataclass(frozen=True)
class _Part:
    targets: slice
    starts: slice


def _parts(targets: int, starts: int) -> Iterator[_Part]:
    """Blocks of targets with all starts, or where these are too many, of starts for one target."""
    if starts <= MOST_PATHS:
        rows = max(1, MOST_PATHS // max(1, starts))
        yield from (_Part(slice(row, min(row + rows, targets)), slice(0, starts)) for row in range(0, targets, rows))
        return
    for row in range(targets):
        for first in range(0, starts, MOST_PATHS):
            yield _Part(slice(row, row + 1), slice(first, min(first + MOST_PATHS, starts)))


_tapes: dict[int, Tape | None] = {}


def _tape(program: Program) -> Tape | None:
    """The tape of a program, made once while the program lives."""
    key = id(program)
    if key not in _tapes:
        _tapes[key] = Tape.of(program)
        weakref.finalize(program, _tapes.pop, key, None)
    return _tapes[key]
