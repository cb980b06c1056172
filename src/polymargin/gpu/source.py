"""The source of a kernel: the tape's code between the hand-written files, for a thread or a group of lanes per path."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from polymargin.gpu.row_assignment import row_assignment
from polymargin.gpu.shared_file import SharedFile
from polymargin.gpu.straight_line import straight_line
from polymargin.gpu.stream import Stream
from polymargin.gpu.tape import Tape

# Unknowns up to which the upper half of the Jacobian fits the registers of a thread.
MOST_FOR_A_THREAD = 11
# Unknowns and registers of a tape that is evaluated with few of a thread's; and registers beyond which its code is as long as
# that of many unknowns.
FEW, SHORT, LONG = 6, 100, 250
# Warps of a multiprocessor: with 168 registers a thread, and with 255.
MOST_WARPS, WARPS = 12, 8
# Bytes of coefficients that arrive with the launch, for instructions to name: what a cache for constants holds.
MOST_ARGUMENTS = 2048
# Numbers in bytes, and shared memory of a multiprocessor that blocks may share (CUDA takes one kilobyte per block).
COMPLEX, DOUBLE = 16, 8
SHARED_MEMORY, PER_BLOCK = 227 * 1024, 1024


@dataclass(frozen=True)
class Layout:
    """The lanes over which a path is spread, and the rows of the matrix that each of them holds."""

    lanes: int
    rows: int

    def columns(self, inner: int) -> int:
        """Return the numbers of the columns of the elimination, each from the first row of its slot on, and three right sides."""
        return sum(inner - k // self.lanes * self.lanes for k in range(inner)) + 3 * inner


@dataclass(frozen=True, eq=False)
class KernelSource:
    """Text for the compiler, how to launch it, and in which order it wants the coefficients."""

    layout: Layout
    threads: int
    blocks: int  # that share a multiprocessor
    shared_bytes: int
    text: str
    stream: Stream
    takes_numbers: bool  # as an argument of the launch

    def numbers(self, tape: Tape) -> NDArray[np.float64]:
        """Return the stream of numbers of a tape."""
        return self.stream.numbers(tape)

    def arguments(self, tape: Tape) -> tuple[NDArray[np.void], ...]:
        """Return the arguments of a launch besides the job."""
        if not self.takes_numbers:
            return ()
        numbers = self.numbers(tape)
        return (numbers.view([("numbers", np.float64, numbers.shape)]),)


THREAD = Layout(1, 0)
# Groups by the rows they hold, the last unknown not counted.
GROUPS = {12: Layout(4, 3), 16: Layout(8, 2), 24: Layout(8, 3), 32: Layout(16, 2)}


MOST_UNKNOWNS = max(GROUPS) + 1


def layout_for(tape: Tape) -> Layout | None:
    """Return the fastest layout for so many unknowns whose shared memory holds the tape's registers; None if none does."""
    if tape.inputs <= MOST_FOR_A_THREAD:
        return THREAD
    file = SharedFile(tape, None)
    for most, layout in GROUPS.items():
        per_warp = 32 // layout.lanes * _numbers(file, layout) * COMPLEX
        if tape.inputs - 1 <= most and per_warp <= SHARED_MEMORY - PER_BLOCK:
            return layout
    return None


def _numbers(file: SharedFile, layout: Layout) -> int:
    """Return the complex numbers of a path in shared memory: the registers of its tape, then the columns of the elimination."""
    numbers = max(file.length, file.scratch + layout.columns(file.tape.inputs - 1))
    # Groups a multiple of 128 bytes apart would meet in the same banks.
    return numbers + (numbers % 8 == 0)


def kernel_source(tape: Tape, layout: Layout) -> KernelSource:
    """Return the source for all tapes of this structure."""
    stream = Stream(len(tape.coefficients))
    if layout == THREAD:
        code = straight_line(tape, stream)
        numbers = 5 * tape.inputs  # point, slope, both one step before, candidate
        parts = ["numbers.cuh", "job.cuh", code, "thread_path.cuh"]
    else:
        code, file = row_assignment(tape, stream, layout.lanes, layout.rows)
        numbers = _numbers(file, layout)
        parts = ["numbers.cuh", "job.cuh", "group_rows.cuh", code, "group_path.cuh"]
    few = layout == THREAD and tape.inputs <= FEW and tape.registers <= LONG
    in_step = not few  # long code does not fit the cache of a scheduler: warps in step fetch it once
    takes_numbers = few and len(stream.order) * DOUBLE <= MOST_ARGUMENTS
    copied = layout == THREAD and not takes_numbers
    warps = MOST_WARPS if few and tape.registers <= SHORT else WARPS
    per_warp = 32 // layout.lanes * numbers * COMPLEX
    common = len(stream.order) * DOUBLE if copied else 0
    warps = max(1, min(warps, (SHARED_MEMORY - PER_BLOCK - common) // per_warp))
    # Of two blocks whose warps are in step, one computes while the other one reads.
    half = warps // 2 * per_warp + common + PER_BLOCK
    blocks = 2 if in_step and warps % 2 == 0 and 2 * half <= SHARED_MEMORY else 1
    threads, shared = 32 * warps // blocks, warps // blocks * per_warp + common
    defines = {
        "PM_SIZE": tape.inputs,
        "PM_PARAMETERS": tape.parameters,
        "PM_GROUP": layout.lanes,
        "PM_ROWS": layout.rows,
        "PM_THREADS": threads,
        "PM_BLOCKS": blocks,
        "PM_NUMBERS": numbers,
        "PM_COEFFICIENTS": len(stream.order),
        "PM_SHARED_COEFFICIENTS": int(copied),
        "PM_ARGUMENT_COEFFICIENTS": int(takes_numbers),
        "PM_IN_STEP": int(in_step),
    }
    head = "\n".join(f"#define {name} {value}" for name, value in defines.items())
    files = [_written(part) if part.endswith(".cuh") else part for part in (*parts, "follower.cuh", "launch.cuh")]
    return KernelSource(layout, threads, blocks, shared, "\n".join([head, *files]), stream, takes_numbers)


def _written(name: str) -> str:
    return (files("polymargin.gpu") / "kernel" / name).read_text()
