"""The program interpreter against a kernel written by hand, evaluate-and-solve for evaluate-and-solve.

One operation: the critical system of a shallow cubic network (8 inputs, 10 neurons) and its 9×9 complex
Jacobian at one point, LU factorisation with pivoting, one solve. `handwritten.cpp` does it with AVX-512
intrinsics for exactly this shape, once with partial pivoting and once with the threshold pivoting of the
core; the interpreter does it for any program. Needs g++ and a machine with AVX-512 for the hand-written
side. Times are the best of several repetitions on one core, per path.

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
SOURCE = Path(__file__).with_name("handwritten.cpp")
# Name of the row and the pivoting threshold it is built with.
BUILDS = {"hand-written, partial pivoting": 1.0, "hand-written, threshold pivoting": 0.25}

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
    kernels: dict[str, tuple[Kernel, int]] = {}
    with tempfile.TemporaryDirectory() as folder:
        if reason := _cannot_build():
            print(f"hand-written kernel left out: {reason}")
        else:
            for name, threshold in BUILDS.items():
                kernels[name] = handwritten(net, boundary, point, threshold, Path(folder)), LANES
        for name, lanes in _core.instruction_sets().items():
            kernels[f"interpreter, {name}"] = interpreter(boundary, point, name), lanes
        difference = largest_difference({name: kernel for name, (kernel, _) in kernels.items()}, inputs)
        seconds = time_per_path(kernels, inputs, options.rounds, options.repetitions)

    reference = min((seconds[name] for name in BUILDS if name in seconds), default=float("nan"))
    rows = [
        [name, str(kernels[name][1]), f"{time * 1e6:.3f}", f"{time / reference:.2f}"] for name, time in seconds.items()
    ]
    common.print_table(["kernel", "lanes", "µs per path", "ratio to fastest hand-written"], rows)
    print(f"largest relative difference between the steps: {difference:.1e}")


def handwritten(
    net: pm.PolynomialNetwork, boundary: pm.Boundary, point: ComplexArray, threshold: float, folder: Path
) -> Kernel:
    """The compiled loop, given the network in the reduced coordinates that the interpreter works in."""
    library = folder / f"handwritten_{threshold}.so"
    flags = ["-O3", "-march=native", "-shared", "-fPIC", f"-DTHRESHOLD={threshold}"]
    subprocess.run(["g++", *flags, "-o", str(library), str(SOURCE)], check=True)
    function = ctypes.CDLL(str(library)).handwritten
    function.restype = None
    weights, bias, outer, offset = common.shallow_coefficients(net)
    reduction = boundary.reduction
    fixed = [
        np.ascontiguousarray(reduction.scale * weights @ reduction.basis),
        bias + weights @ reduction.center,
        outer / reduction.factor,
    ]

    def run(inputs: ComplexArray, rounds: int) -> ComplexArray:
        steps = np.empty_like(inputs)
        system = (*map(_pointer, fixed), ctypes.c_double(offset / reduction.factor))
        where = (_pointer(inputs), _pointer(point))
        function(*system, *where, ctypes.c_long(rounds), _pointer(steps))
        return steps

    return run


def interpreter(boundary: pm.Boundary, point: ComplexArray, instruction_set: str) -> Kernel:
    program = critical_system(boundary).target.compiled
    lanes = _core.instruction_sets()[instruction_set]
    parameters = np.append(point, 0.0)  # the point, and the level of the boundary

    def run(inputs: ComplexArray, rounds: int) -> ComplexArray:
        packs = [inputs[first : first + lanes] for first in range(0, len(inputs), lanes)]
        return np.concatenate(
            [_core.evaluate_and_solve(program, pack, parameters, rounds, instruction_set) for pack in packs]
        )

    return run


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


def _cannot_build() -> str | None:
    if shutil.which("g++") is None:
        return "g++ is not installed"
    if "avx512" not in _core.instruction_sets():
        return "this machine has no AVX-512"
    return None


def _random_complex(generator: np.random.Generator, shape: tuple[int, ...]) -> ComplexArray:
    return np.asarray(generator.normal(size=shape) + 1j * generator.normal(size=shape))


def _pointer(array: NDArray[Any]) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


if __name__ == "__main__":
    main()
