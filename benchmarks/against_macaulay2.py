"""ED degrees of a family by monodromy: Macaulay2's MonodromySolver against ours, on the same family in the same run.

    python benchmarks/against_macaulay2.py [--timeout 600]

Macaulay2 (Debian package `macaulay2`) gets the critical equations of the family with all weights and the point as parameters, its
seed solved for the constant term and the point as ours is, and its default stopping rule; it runs on one thread. Ours includes
building the equations and the trace test at three places, on one thread and on all.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from polymargin.boundary import NetworkArchitecture, architecture_family
from polymargin.continuation import Tracker
from polymargin.geometry import monodromy_count

FAMILIES = (
    NetworkArchitecture((6, 8, 2), 3),
    NetworkArchitecture((4, 4, 3, 2), 2),
    NetworkArchitecture((3, 3, 2, 2), 2),
)

SCRIPT = """
needsPackage "MonodromySolver"
setRandomSeed 1
R = CC[{parameters}][{unknowns}]
{layers}
B = {boundary} + c0
F = {{ {equations}, B }}
G = polySystem F
x0 = apply({size}, i -> random CC)
w0 = apply({weights}, i -> random CC)
-- u and c0 enter linearly with coefficient -1 and 1: the values at u = 0, c0 = 0 give them
K = coefficientRing R
known = matrix {{w0 | toList({size}:0_CC)}}
at0 = apply(F, f -> sub(lift(sub(f, apply({size}, i -> R_i => x0#i)), K), known))
p0 = point matrix {{ w0 | apply({size}-1, i -> at0#i) | {{ -at0#({size}-1) }} }}
elapsedTime (V, n) = monodromySolve(G, p0, {{point matrix {{x0}}}})
print("FOUND " | toString length V.PartialSols)
exit 0
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds for each Macaulay2 run")
    options = parser.parse_args()
    if shutil.which("M2") is None:
        sys.exit("Macaulay2 (M2) is not installed; Debian package macaulay2")
    print(f"{'family':24} {'ours':>6} {'1 thread':>9} {'all':>7} {'M2':>6} {'seconds':>9} {'ratio':>7} {'all':>7}")
    for architecture in FAMILIES:
        seconds = []
        for threads in (1, None):
            started = perf_counter()
            found = monodromy_count(architecture_family(architecture), Tracker(threads=threads))
            seconds.append(perf_counter() - started)
        theirs, wall = run_macaulay2(architecture, options.timeout)
        ratios = [f"{wall / own:7.0f}" if theirs is not None else "      –" for own in seconds]
        count = "–" if theirs is None else str(theirs)
        state = "" if found.complete else "  NOT COMPLETE"
        print(
            f"{architecture!s:24} {len(found.solutions):6d} {seconds[0]:9.2f} {seconds[1]:7.2f} {count:>6} {wall:9.1f} "
            f"{ratios[0]} {ratios[1]}{state}",
            flush=True,
        )


def run_macaulay2(architecture: NetworkArchitecture, timeout: float) -> tuple[int | None, float]:
    """Number of solutions and wall seconds; None if it failed or ran out of time."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "family.m2"
        file.write_text(_script(architecture))
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        started = perf_counter()
        try:
            result = subprocess.run(
                ["M2", "--script", str(file)],
                capture_output=True,
                text=True,
                timeout=timeout,
                env=environment,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return None, timeout
        seconds = perf_counter() - started
    found = re.search(r"FOUND (\d+)", result.stdout)
    if found is None:
        print(result.stdout[-500:], result.stderr[-500:], file=sys.stderr)
        return None, seconds
    return int(found.group(1)), seconds


def _script(architecture: NetworkArchitecture) -> str:
    n, names, lines = architecture.inputs, [], []
    values = [f"x{i}" for i in range(n)]
    for layer, width in enumerate(architecture.hidden):
        rows = [[f"w{layer}x{j}x{i}" for i in range(len(values))] for j in range(width)]
        biases = [f"b{layer}x{j}" for j in range(width)]
        names += [name for row in rows for name in row] + biases
        for j, (row, bias) in enumerate(zip(rows, biases, strict=True)):
            form = " + ".join(f"{w}*{v}" for w, v in zip(row, values, strict=True))
            lines.append(f"z{layer}x{j} = ({form} + {bias})^{architecture.degree}")
        values = [f"z{layer}x{j}" for j in range(width)]
    last = [f"a{j}" for j in range(len(values))]
    names += last
    u = [f"u{i}" for i in range(n)]
    return SCRIPT.format(
        parameters=", ".join([*names, *u, "c0"]),
        unknowns=", ".join([*(f"x{i}" for i in range(n)), "l"]),
        layers="\n".join(lines),
        boundary=" + ".join(f"{a}*{v}" for a, v in zip(last, values, strict=True)),
        equations=", ".join(f"x{i} - u{i} + l*diff(x{i}, B)" for i in range(n)),
        size=n + 1,
        weights=len(names),
    )


if __name__ == "__main__":
    main()
