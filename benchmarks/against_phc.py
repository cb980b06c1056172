"""polymargin against PHCpack's blackbox solver, on all critical points of a shallow network's boundary.

Both get B(x) = Σ a_j (w_j·x + b_j)^d + β with standard normal weights and the critical equations
x − u + λ∇B(x) = 0, B(x) = 0; PHCpack as products and powers, with every digit of every coefficient. One
thread each. `phc -b` and polymargin's first point (a new network object, stage 1 and stage 2, no cache)
are CPU seconds; a further point is the `seconds` that its margin reports. Medians over several runs for
polymargin, one run for PHCpack, and the nearest real distances must agree to 1e-7.

    python benchmarks/against_phc.py [--inputs 8] [--hidden 10] [--degree 3] [--seed 0] [--skip-phc]

PHCpack is the Debian package `phcpack`; the default size takes it about 80 s.
"""

from __future__ import annotations

import argparse
import math
import re
import resource
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import process_time

import common  # before NumPy, which it keeps to one thread
import numpy as np
from common import Array, ComplexArray

import polymargin as pm

PHC = "PHCpack, phc -b"
REPETITIONS, FURTHER_POINTS = 5, 20
AGREEMENT = 1e-7


@dataclass(frozen=True)
class Outcome:
    """One row: who, how many distinct regular solutions, how long, and how far to the nearest real one."""

    solver: str
    solutions: int
    seconds: float
    distance: float


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--inputs", type=int, default=8)
    parser.add_argument("--hidden", type=int, default=10)
    parser.add_argument("--degree", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--skip-phc", action="store_true")
    options = parser.parse_args()

    generator = np.random.default_rng(options.seed)
    net = common.network(options.inputs, [options.hidden], options.degree, generator)
    points = generator.normal(size=(1 + FURTHER_POINTS, options.inputs))
    outcomes = run_polymargin(net, points)
    if options.skip_phc:
        print("PHCpack skipped as asked.")
    elif (phc := shutil.which("phc")) is None:
        print("PHCpack is not installed (Debian package phcpack): its row is left out.")
    else:
        outcomes.insert(0, run_phc(phc, net, points[0], options.degree))

    reference = outcomes[0].seconds if outcomes[0].solver == PHC else None
    rows = [
        [
            item.solver,
            str(item.solutions),
            f"{item.seconds:.5f}",
            "-" if reference is None else f"{item.seconds / reference:.6f}",
            "-" if reference is None else f"{reference / item.seconds:,.0f}",
        ]
        for item in outcomes
    ]
    print(f"{net}, d = {options.degree}, seed {options.seed}")
    common.print_table(["solver", "solutions", "seconds", "ratio to phc", "times faster"], rows)
    check_agreement(outcomes)


def run_polymargin(net: pm.Network, points: Array) -> list[Outcome]:
    """The first point from nothing, and further points of a batch that shares stage 1."""
    seconds = []
    for _ in range(REPETITIONS):
        layers = [(layer.weights, layer.bias) for layer in net.chain.layers]
        fresh = pm.PolynomialNetwork(layers, activations=net.chain.activations)
        started = process_time()
        first = pm.margin(fresh, points[0], proof=False, workers=1)
        seconds.append(process_time() - started)
    batch = pm.margin(net, points, proof=False, workers=1)
    further = median(row.seconds for row in batch[1:])
    return [
        Outcome("polymargin, first point", first.complex_count, median(seconds), first.radius),
        Outcome("polymargin, further point", batch[0].complex_count, further, batch[0].radius),
    ]


def run_phc(phc: str, net: pm.Network, u: Array, degree: int) -> Outcome:
    """`phc -b` on the critical system; the CPU time is that of the child process."""
    with tempfile.TemporaryDirectory() as folder:
        source, answer = Path(folder, "input"), Path(folder, "output")
        source.write_text(critical_system(net, u, degree))
        before = _children_seconds()
        subprocess.run([phc, "-b", str(source), str(answer)], check=True, stdout=subprocess.DEVNULL)
        seconds = _children_seconds() - before
        solutions = distinct(regular_solutions(answer.read_text(), len(u)))
    real = solutions[np.abs(solutions.imag).max(axis=1) <= 1e-9 * (1 + np.abs(solutions).max(axis=1))]
    nearest = np.linalg.norm(real.real - u, axis=1).min(initial=math.inf)
    return Outcome(PHC, len(solutions), seconds, float(nearest))


def critical_system(net: pm.Network, u: Array, degree: int) -> str:
    """The critical equations in PHCpack's input format."""
    weights, bias, outer, offset = common.shallow_coefficients(net)
    neurons = [
        "(" + "".join(f"{w:+.17e}*x{i + 1}" for i, w in enumerate(row)) + f"{b:+.17e})"
        for row, b in zip(weights, bias, strict=True)
    ]

    def combination(factors: Array, power: int) -> str:
        return "".join(f"{f:+.17e}*{neuron}^{power}" for f, neuron in zip(factors, neurons, strict=True))

    equations = [
        f"x{i + 1}{-u[i]:+.17e}+lambda*({combination(degree * outer * weights[:, i], degree - 1)})"
        for i in range(len(u))
    ]
    equations.append(combination(outer, degree) + f"{offset:+.17e}")
    return f"{len(equations)}\n" + "".join(f"{equation};\n" for equation in equations)


def regular_solutions(text: str, inputs: int) -> ComplexArray:
    """x of every solution that PHCpack calls regular, (N, inputs) complex, from the last list it wrote."""
    last = text[text.rindex("THE SOLUTIONS :") :]
    found = []
    for block in re.split(r"^solution \d+ :", last, flags=re.MULTILINE)[1:]:
        if not re.search(r"= (real|complex) regular ==", block):
            continue
        values = dict(re.findall(r"^ (\w+) : +(\S+ +\S+)$", block, flags=re.MULTILINE))
        found.append([complex(*map(float, values[f"x{i + 1}"].split())) for i in range(inputs)])
    return np.array(found, dtype=np.complex128).reshape(-1, inputs)


def distinct(points: ComplexArray) -> ComplexArray:
    """One point of each group that agrees to six digits."""
    kept: list[ComplexArray] = []
    for point in points:
        if all(np.abs(point - other).max() > 1e-6 * (1 + np.abs(point).max()) for other in kept):
            kept.append(point)
    return np.array(kept).reshape(-1, points.shape[1])


def check_agreement(outcomes: list[Outcome]) -> None:
    """Same nearest real distance for all, infinity where the boundary has no real point."""
    nearest = min(item.distance for item in outcomes)
    for item in outcomes:
        if item.distance != nearest and not item.distance - nearest <= AGREEMENT:
            raise SystemExit(f"{item.solver} found {item.distance!r} where another solver found {nearest!r}")
    print(f"nearest real distance {nearest:.12g}, the same for all to {AGREEMENT:.0e}")


def _children_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
