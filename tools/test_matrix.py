"""The suite as other machines would run it: `python tools/test_matrix.py`, or `--quick` for the cheap part.

Results differ in their last bits with the kernels of the BLAS, the vector instructions that NumPy uses, and the instruction set
of the core. All three can be told to behave as on another x86-64 CPU, and each row of `MACHINES` is one run of the suite. After
them come the other Pythons that are found here, and the oldest releases that the package admits (`test_environments.py`).
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
from functools import partial
from pathlib import Path

import numpy as np
from test_environments import Environment, environments

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
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
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
        names = {"NPY_DISABLE_CPU_FEATURES": " ".join(disabled)} if disabled else {}
        return {**ONE_THREAD, **names, "OPENBLAS_CORETYPE": self.blas, "POLYMARGIN_INSTRUCTION_SET": self.core}


MACHINES = (
    Machine("prescott", "Prescott", AVX2, "baseline"),
    Machine("haswell", "Haswell", AVX512, "avx2"),
    Machine("zen", "Zen", AVX512, "baseline"),
    Machine("skylakex", "SkylakeX", (), "avx512"),
)


def run_as(machine: Machine, words: Sequence[str]) -> bool:
    """Whether the suite passes there."""
    if machine.core not in _core.instruction_sets():
        print(f"== {machine.name}: this CPU has no {machine.core}; not run", flush=True)
        return True
    settings = machine.environment()
    print(f"== {machine.name}:", *(f"{name}={value!r}" for name, value in settings.items()), flush=True)
    return _passes(Path(sys.executable), settings, words)


def run_in(environment: Environment, words: Sequence[str]) -> bool:
    print(f"== {environment.name}: {environment.interpreter}", *environment.constraints, flush=True)
    environment.install()
    return _passes(environment.python, ONE_THREAD, words)


def _passes(python: Path, settings: dict[str, str], words: Sequence[str]) -> bool:
    here = python == Path(sys.executable)
    command = [python, "-m", "pytest", "-q", "-n", "2", *words]
    # The package is the one that is installed there, not the one of whoever runs this.
    surroundings = {name: value for name, value in os.environ.items() if name != "PYTHONPATH" or here}
    return subprocess.run(command, cwd=ROOT, env={**surroundings, **settings}).returncode == 0


def main() -> int:
    rows = {machine.name: partial(run_as, machine) for machine in MACHINES}
    rows |= {environment.name: partial(run_in, environment) for environment in environments()}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--quick", action="store_true", help="the folders with most arithmetic, as on the oldest machine"
    )
    parser.add_argument("--only", choices=list(rows), help="one row instead of all")
    options, words = parser.parse_known_args()
    if options.quick:
        words = [*words, *(f"tests/{name}" for name in QUICK), "src"]
    wanted = options.only or ("prescott" if options.quick else None)
    failed = [name for name, row in rows.items() if wanted in (None, name) and not row(words)]
    print("failed on:", *failed) if failed else print("passed")
    return len(failed)


if __name__ == "__main__":
    sys.exit(main())
