"""The suite as other machines would run it: `python tools/test_matrix.py`, or `--quick` for the cheap part.

Results differ in their last bits with the kernels of the BLAS, the vector instructions that NumPy uses, and the instruction set
of the core. All three can be told to behave as on another x86-64 CPU, and each row of `MACHINES` is one run of the suite.
`--quick` runs the folders where most of the arithmetic is, and the documentation, as on the oldest CPU. More words go to
pytest: `python tools/test_matrix.py --only haswell tests/quadric`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from polymargin import _core

ROOT = Path(__file__).parent.parent
QUICK = (
    "continuation",
    "polynomials",
    "quadric",
    "margins",
    "boundary",
    "expected",
    "piecewise",
    "learning",
    "test_docs.py",
)
# Names that releases of NumPy have for the families.
AVX512 = ("AVX512", "X86_V4")
AVX2 = (*AVX512, "AVX2", "FMA3", "X86_V3")


@dataclass(frozen=True)
class Machine:
    """Kernels of OpenBLAS, families that NumPy must not use, instruction set of the core."""

    name: str
    blas: str
    without: tuple[str, ...]
    core: str

    def environment(self) -> dict[str, str]:
        """What makes this machine behave like that one."""
        found = np.show_config(mode="dicts")["SIMD Extensions"]["found"]
        disabled = [name for name in found if name.startswith(self.without)] if self.without else []
        threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        names = {"NPY_DISABLE_CPU_FEATURES": " ".join(disabled)} if disabled else {}
        return {**threads, **names, "OPENBLAS_CORETYPE": self.blas, "POLYMARGIN_INSTRUCTION_SET": self.core}


MACHINES = (
    Machine("prescott", "Prescott", AVX2, "baseline"),
    Machine("haswell", "Haswell", AVX512, "avx2"),
    Machine("zen", "Zen", AVX512, "baseline"),
    Machine("skylakex", "SkylakeX", (), "avx512"),
)


def run(machine: Machine, words: Sequence[str]) -> bool:
    """Whether the suite passes there."""
    settings = machine.environment()
    print(f"== {machine.name}:", *(f"{name}={value!r}" for name, value in settings.items()), flush=True)
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", *words]
    return subprocess.run(command, cwd=ROOT, env={**os.environ, **settings}).returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--quick", action="store_true", help="the folders with most arithmetic, as on the oldest machine"
    )
    parser.add_argument("--only", choices=[machine.name for machine in MACHINES], help="one machine instead of all")
    options, words = parser.parse_known_args()
    wanted = "prescott" if options.quick else options.only
    if options.quick:
        words = [*words, *(f"tests/{name}" for name in QUICK), "src"]
    failed = []
    for machine in MACHINES:
        if wanted not in (None, machine.name):
            continue
        if machine.core not in _core.instruction_sets():
            print(f"== {machine.name}: this CPU has no {machine.core}; not run")
        elif not run(machine, words):
            failed.append(machine.name)
    print("failed on:", *failed) if failed else print("passed")
    return len(failed)


if __name__ == "__main__":
    sys.exit(main())
