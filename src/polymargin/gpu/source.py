"""The source of a kernel: the tape's code between the hand-written files, for a thread or a group of lanes per path."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from polymargin.gpu.dealt_rows import dealt_rows
from polymargin.gpu.straight_line import straight_line
from polymargin.gpu.stream import Stream
from polymargin.gpu.tape import Tape

# Unknowns up to which the upper half of the Jacobian fits the registers of a thread, and beyond which a warp has no lane for a row.
MOST_FOR_A_THREAD = 10
MOST_FOR_A_WARP = 33
# Numbers in bytes, and shared memory of a multiprocessor that blocks may share (CUDA takes one kilobyte per block).
COMPLEX, DOUBLE = 16, 8
SHARED_MEMORY, PER_BLOCK = 227 * 1024, 1024


@dataclass(frozen=True, eq=False)
class KernelSource:
    """Text for the compiler, how to launch it, and in which order it wants the coefficients."""

    group: int
    threads: int
    blocks: int  # that share a multiprocessor
    shared_bytes: int
    text: str
    stream: Stream

    def numbers(self, tape: Tape) -> NDArray[np.float64]:
        return self.stream.numbers(tape)


def lanes_per_path(unknowns: int) -> int | None:
    """One thread, half a warp or a warp; None if no kernel takes so many unknowns."""
    if unknowns <= MOST_FOR_A_THREAD:
        return 1
    if unknowns <= MOST_FOR_A_WARP:
        return 16 if unknowns <= 17 else 32
    return None


def kernel_source(tape: Tape, group: int) -> KernelSource:
    """The source for all tapes of this structure."""
    return _Assembly(tape, group).source()


@dataclass
class _Assembly:
    tape: Tape
    group: int

    def source(self) -> KernelSource:
        stream = Stream(len(self.tape.coefficients))
        if self.group == 1:
            code, file_length = straight_line(self.tape, stream), 0
            numbers = 5 * self.tape.inputs  # point, slope, both one step before, candidate
        else:
            code, file_length = dealt_rows(self.tape, stream, self.group)
            numbers = file_length + 2 * (self.tape.inputs + 2)  # and two rows of pivots
        threads, blocks, shared = self._launch(numbers, len(stream.order))
        defines = {
            "PM_SIZE": self.tape.inputs,
            "PM_PARAMETERS": self.tape.parameters,
            "PM_GROUP": self.group,
            "PM_THREADS": threads,
            "PM_BLOCKS": blocks,
            "PM_FILE": file_length,
            "PM_NUMBERS": numbers,
            "PM_COEFFICIENTS": len(stream.order),
            "PM_SHARED_COEFFICIENTS": int(self.group == 1),
        }
        middle = ["group_rows.cuh"] if self.group > 1 else []
        path = "thread_path.cuh" if self.group == 1 else "group_path.cuh"
        parts = [
            "\n".join(f"#define {name} {value}" for name, value in defines.items()),
            *map(_written, ["numbers.cuh", "job.cuh", *middle]),
            code,
            *map(_written, [path, "follower.cuh", "launch.cuh"]),
        ]
        return KernelSource(self.group, threads, blocks, shared, "\n".join(parts), stream)

    def _launch(self, numbers: int, coefficients: int) -> tuple[int, int, int]:
        """Threads per block, blocks per multiprocessor, bytes of shared memory per block."""
        threads = 128
        wanted = 2 if self.group == 1 and self.tape.inputs > 6 else 4
        per_block = numbers * (threads // self.group) * COMPLEX
        if self.group == 1:
            per_block += coefficients * DOUBLE
        blocks = max(1, min(wanted, SHARED_MEMORY // (per_block + PER_BLOCK)))
        return threads, blocks, per_block


@lru_cache
def _written(name: str) -> str:
    return (files("polymargin.gpu") / "kernel" / name).read_text()
