"""ED degrees and polar degrees of published varieties: Macaulay2 against ours, in the same run, on one thread.

    python benchmarks/geometry.py [--timeout 120]

Macaulay2 (Debian package `macaulay2`) gets the conormal equations modulo a prime and computes the degree of the ideal. It is
asked for one prime, ours counts modulo two. Macaulay2's start, about 0.4 s, is measured by an empty script and left out; ours
includes finding the codimension and starting msolve, if it is installed.
"""

from __future__ import annotations

import argparse
import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from common import print_table

import polymargin as pm
from polymargin.boundary import Metric
from polymargin.geometry import Variety
from polymargin.geometry.algebra import exact_equations

sys.path.append(str(Path(__file__).parent.parent / "tests"))

from published_degrees import TABLE, Published

PRIME = 1073741789


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds for each Macaulay2 run")
    options = parser.parse_args()
    if shutil.which("M2") is None:
        sys.exit("Macaulay2 (M2) is not installed; Debian package macaulay2")
    _, start = run_macaulay2("", options.timeout)
    rows = []
    for entry in TABLE:
        started = perf_counter()
        variety = Variety(entry.equations)
        found = int(pm.ed_degree(variety, metric=entry.weights))
        seconds = perf_counter() - started
        theirs, wall = run_macaulay2(macaulay2_script(entry), options.timeout)
        wall = max(wall - start, 0.0)
        shown = "–" if theirs is None else str(theirs)
        rows.append([entry.name, str(found), f"{seconds:.2f}", shown, f"{wall:.2f}", f"{wall / seconds:.1f}"])
        if theirs not in (None, found):
            rows[-1].append("DIFFERENT")
    print_table(["variety", "ours", "s", "M2", "s", "ratio"], rows)


def macaulay2_script(entry: Published) -> str:
    """The degree of the ideal of critical points for a random point, in Macaulay2's language."""
    variety = Variety(entry.equations)
    generator = random.Random(0)
    equations = exact_equations(variety.equations, PRIME, Metric.of(entry.weights, variety.dimension))
    offsets = equations.offsets(equations.random_vector(generator))
    system = equations.normal_to(variety.codimension, offsets, generator)
    names = ",".join(system.ring.names)
    ideal = ",\n".join(map(str, system.polynomials))
    return f'R = ZZ/{PRIME}[{names}];\nI = ideal({ideal});\nprint("FOUND " | toString degree I);\n'


def run_macaulay2(script: str, timeout: float) -> tuple[int | None, float]:
    """The number that was printed and wall seconds; None if there was none in time."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "system.m2"
        file.write_text(f"{script}exit 0\n")
        started = perf_counter()
        try:
            done = subprocess.run(
                ["M2", "--script", str(file)], capture_output=True, text=True, timeout=timeout, check=False
            )
        except subprocess.TimeoutExpired:
            return None, timeout
        seconds = perf_counter() - started
    found = re.search(r"FOUND (\d+)", done.stdout)
    return (None if found is None else int(found[1])), seconds


if __name__ == "__main__":
    main()
