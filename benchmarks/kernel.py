"""The program interpreter against a kernel written by hand, evaluate-and-solve for evaluate-and-solve.

One operation: the critical system of a shallow cubic network (8 inputs, 10 neurons) and its 9×9 complex
Jacobian at one point, factorisation, one solve. `handwritten.cpp` does it with AVX-512 intrinsics for exactly
this shape: by symmetric elimination as the core does, and by LU with partial and with threshold pivoting. The
interpreter (`interpreter.cpp`: the headers of the core) does it for any program, once for every instruction set
of this machine. Needs g++, and AVX-512 for the hand-written side. Times are the best of several repetitions on
one core, per path.

    python benchmarks/kernel.py [--rounds 20000] [--repetitions 9] [--seed 0]
"""

from __future__ import annotations

import argparse
import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import common  # before NumPy, which it keeps to one thread
import numpy as np
from common import ComplexArray
from numpy.typing import NDArray

import polymargin as pm
from polymargin import _core
from polymargin.boundary import critical_system

INPUTS, HIDDEN, LANES = 8, 10, 8
HERE = Path(__file__).parent
# Name of the row and how it is built.
BUILDS = {
    "hand-written, symmetric elimination": ["-DSYMMETRIC=1"],
    "hand-written, threshold pivoting": ["-DTHRESHOLD=0.25"],
    "hand-written, partial pivoting": ["-DTHRESHOLD=1.0"],
}
# The flags that CMakeLists.txt has for each instruction set.
CORE_FLAGS = ["-std=c++17", "-O3", "-ffp-contract=off", "-fno-math-errno", "-Wno-psabi"]
SET_FLAGS = {
    "baseline": [],
    "avx2": ["-mavx2", "-mfma"],
    "avx512": ["-mavx512f", "-mavx512dq", "-mprefer-vector-width=512"],
}

Kernel = Callable[[ComplexArray, int], ComplexArray]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20_000, help="operations per repetition")
    parser.add_argument("--repetitions", type=int, default=9)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    generator = np.random.default_rng(options.seed)
    net = common.network(INPUTS, [HIDDEN], 3, generator)
    boundary = pm.Boundary.from_network(net, 0, 1)
    inputs = _random_complex(generator, (LANES, INPUTS + 1))
    point = _random_complex(generator, (INPUTS,))
    if shutil.which("g++") is None:
        raise SystemExit("g++ is not installed: both sides of this comparison are compiled here")
    kernels: dict[str, tuple[Kernel, int]] = {}
    with tempfile.TemporaryDirectory() as folder:
        if "avx512" in _core.instruction_sets():
            for name, flags in BUILDS.items():
                kernels[name] = handwritten(net, boundary, point, flags, Path(folder)), LANES
        else:
            print("hand-written kernel left out: this machine has no AVX-512")
        for name, lanes in _core.instruction_sets().items():
            kernels[f"interpreter, {name}"] = interpreter(boundary, point, name, lanes, Path(folder)), lanes
        difference = largest_difference({name: kernel for name, (kernel, _) in kernels.items()}, inputs)
        seconds = time_per_path(kernels, inputs, options.rounds, options.repetitions)

    reference = min((seconds[name] for name in BUILDS if name in seconds), default=float("nan"))
    rows = [
        [name, str(kernels[name][1]), f"{time * 1e6:.3f}", f"{time / reference:.2f}"] for name, time in seconds.items()
    ]
    common.print_table(["kernel", "lanes", "µs per path", "ratio to fastest hand-written"], rows)
    print(f"largest relative difference between the steps: {difference:.1e}")


def handwritten(net: pm.Network, boundary: pm.Boundary, point: ComplexArray, flags: list[str], folder: Path) -> Kernel:
    """The compiled loop, given the network in the reduced coordinates that the interpreter works in."""
    function = build("handwritten.cpp", ["-O3", "-march=native", *flags], folder).handwritten
    weights, bias, outer, offset = common.shallow_coefficients(net)
    reduction = boundary.reduction
    fixed = [
        np.ascontiguousarray(reduction.scale * weights @ reduction.basis),
        bias + weights @ reduction.centre,
        outer / reduction.factor,
    ]

    def run(inputs: ComplexArray, rounds: int) -> ComplexArray:
        steps = np.empty_like(inputs)
        system = (*map(_pointer, fixed), ctypes.c_double(offset / reduction.factor))
        where = (_pointer(inputs), _pointer(point))
        if function(*system, *where, ctypes.c_long(rounds), _pointer(steps)):
            raise SystemExit("a pivot was too small for symmetric elimination: try another seed")
        return steps

    return run


def interpreter(boundary: pm.Boundary, point: ComplexArray, instruction_set: str, lanes: int, folder: Path) -> Kernel:
    """The core's headers, compiled for one instruction set and given the program of the critical system."""
    defines = [f"-DPM_ISA={instruction_set}", f"-DPM_LANES={lanes}"]
    library = build("interpreter.cpp", [*CORE_FLAGS, *SET_FLAGS[instruction_set], *defines], folder)
    library.new_program.restype = ctypes.c_void_p
    parts = critical_system(boundary).target.encoded()
    names = ("code", "arguments", "coefficient_hi", "constant_hi")
    counts = [parts[name] for name in ("inputs", "parameters", "registers", "value_code")]
    sizes = np.array([*counts, *(len(parts[name]) for name in names)], dtype=np.int64)
    arrays = ("code", "arguments", "coefficient_hi", "coefficient_lo", "constant_hi", "constant_lo")
    outputs = ("value_registers", "jacobian_registers")
    program = ctypes.c_void_p(
        library.new_program(_pointer(sizes), *(_pointer(parts[name]) for name in (*arrays, *outputs)))
    )
    parameters = np.append(point, 0.0)  # the point, and the level of the boundary

    def run(inputs: ComplexArray, rounds: int) -> ComplexArray:
        steps = np.empty_like(inputs)
        for first in range(0, len(inputs), lanes):
            pack, found = inputs[first : first + lanes], steps[first : first + lanes]
            library.evaluate_and_solve(
                program, _pointer(pack), _pointer(parameters), ctypes.c_long(rounds), _pointer(found)
            )
        return steps

    return run


def build(source: str, flags: list[str], folder: Path) -> ctypes.CDLL:
    library = folder / f"{len(list(folder.iterdir()))}.so"
    subprocess.run(["g++", "-shared", "-fPIC", *flags, "-o", str(library), str(HERE / source)], check=True)
    return ctypes.CDLL(str(library))


def largest_difference(kernels: dict[str, Kernel], inputs: ComplexArray) -> float:
    """Relative difference of every kernel's Newton steps from the first one's; above 1e-9 is an error."""
    steps = {name: kernel(inputs, 1) for name, kernel in kernels.items()}
    expected = next(iter(steps.values()))
    largest = max(float(np.abs(found - expected).max() / np.abs(expected).max()) for found in steps.values())
    if not largest <= 1e-9:
        raise SystemExit(f"the kernels disagree: relative difference {largest:.1e}")
    return largest


def time_per_path(
    kernels: dict[str, tuple[Kernel, int]], inputs: ComplexArray, rounds: int, repetitions: int
) -> dict[str, float]:
    """Best seconds per path; the kernels take turns, so that a busy moment hits all of them."""
    best = dict.fromkeys(kernels, float("inf"))
    for _ in range(repetitions):
        for name, (kernel, lanes) in kernels.items():
            started = perf_counter()
            kernel(inputs[:lanes], rounds)
            best[name] = min(best[name], (perf_counter() - started) / (rounds * lanes))
    return best


def _random_complex(generator: np.random.Generator, shape: tuple[int, ...]) -> ComplexArray:
    return np.asarray(generator.normal(size=shape) + 1j * generator.normal(size=shape))


def _pointer(array: NDArray[Any]) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


if __name__ == "__main__":
    main()
