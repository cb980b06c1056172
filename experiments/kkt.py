"""Proposition 1 on random networks, and what the full KKT system costs.

For each network γ comes from all strata of the full system, γ̃ from the relaxed one; the two must agree to 1e-8. For
single rivals they need not: the table counts the rivals whose nearest tie is not where both classes are largest. The second
table sets the paths and the time of the full system beside those of the relaxed one, solved from the same total-degree start
and from the start system of `margin`.

    python experiments/kkt.py --out results/kkt
"""

from __future__ import annotations

import argparse
import csv
import math
import platform
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

import polymargin as pm
from polymargin.geometry import NearestTie, nearest_tie

Array = NDArray[np.float64]
# Inputs, hidden neurons, classes, degree: of the 200 networks, and of the table of costs.
FAMILIES = (((2, 3, 3, 2), 120), ((2, 3, 4, 2), 40), ((3, 4, 3, 2), 20), ((2, 4, 3, 3), 20))
COSTS = (
    (2, 3, 2, 2),
    (2, 3, 3, 2),
    (2, 3, 4, 2),
    (2, 3, 5, 2),
    (2, 3, 6, 2),
    (3, 4, 3, 2),
    (3, 4, 4, 2),
    (2, 4, 3, 3),
    (2, 4, 4, 3),
)
REPEATS = 5


def random_problem(shape: tuple[int, int, int, int], seed: int) -> tuple[pm.Network, Array]:
    """A network with normal weights of variance 1 / inputs, and a point near the origin."""
    inputs, hidden, classes, degree = shape
    generator = np.random.default_rng([seed, *shape])
    layers = [
        (generator.normal(size=(out, width)) / math.sqrt(width), 0.5 * generator.normal(size=out))
        for width, out in pairwise((inputs, hidden, classes))
    ]
    return pm.PolynomialNetwork(layers, degree=degree), 0.5 * generator.normal(size=inputs)


def compare(shape: tuple[int, int, int, int], seed: int) -> dict[str, Any]:
    """γ and γ̃ of one network, and what was met."""
    network, u = random_problem(shape, seed)
    started = perf_counter()
    full = nearest_tie(network, u)
    seconds = perf_counter() - started
    relaxed = pm.margin(network, u, proof=False)
    rivals = {rival: nearest_tie(network, u, rival=rival) for rival in range(shape[2]) if rival != full.label}
    both_infinite = math.isinf(full.radius) and math.isinf(relaxed.radius)
    by_rival = {pair.rival: pair.radius for pair in relaxed.pairs}
    return {
        "inputs": shape[0],
        "hidden": shape[1],
        "classes": shape[2],
        "degree": shape[3],
        "seed": seed,
        "gamma": repr(full.radius),
        "relaxed_gamma": repr(relaxed.radius),
        "difference": 0.0 if both_infinite else abs(full.radius - relaxed.radius),
        "status": full.standing.name,
        "rivals": len(rivals),
        "rivals_that_differ": sum(_differ(found.radius, by_rival[rival]) for rival, found in rivals.items()),
        "rivals_with_active_inequality": sum(len(found.classes) > 1 for found in rivals.values()),
        "solutions": sum(len(stratum.points) for stratum in full.strata),
        "feasible": sum(int(stratum.minimal.sum()) for stratum in full.strata),
        "paths": full.path_count,
        "seconds": round(seconds, 4),
    }


def _differ(full: float, relaxed: float) -> bool:
    return full != relaxed and not abs(full - relaxed) <= 1e-8


def cost(shape: tuple[int, int, int, int]) -> dict[str, Any]:
    """Paths and seconds per margin, over all rivals; medians of a few networks."""
    inputs, _, classes, degree = shape
    full: list[NearestTie] = []
    times: dict[str, list[float]] = {"full": [], "total degree": [], "margin": []}
    for seed in range(REPEATS):
        network, u = random_problem(shape, 1000 + seed)
        started = perf_counter()
        full.append(nearest_tie(network, u, threads=1))
        times["full"].append(perf_counter() - started)
        times["total degree"].append(_relaxed_by_total_degree(network, u))
        started = perf_counter()
        for rival in [c for c in range(classes) if c != int(network.predict(u))]:
            boundary = pm.Boundary.from_network(network, int(network.predict(u)), rival)
            pm.critical_points(boundary, u, cache=False, threads=1)
        times["margin"].append(perf_counter() - started)
    seconds = {name: float(np.median(values)) for name, values in times.items()}
    relaxed_paths = (classes - 1) * degree ** (inputs + 1)
    blend_paths = (classes - 1) * pm.Boundary.from_network(network, 0, 1).critical_bound
    return {
        "n": inputs,
        "k": classes,
        "degree": degree,
        "strata": f"{len(full[0].strata)} / {classes - 1}",
        "solutions": f"{sum(len(stratum.points) for stratum in full[0].strata)} / {blend_paths}",
        "complete": f"{sum(each.standing is pm.Standing.NUMERICAL for each in full)} of {REPEATS}",
        "paths, full": full[0].path_count,
        "paths, relaxed": relaxed_paths,
        "paths, margin": blend_paths,
        "s, full": f"{seconds['full']:.3f}",
        "s, relaxed": f"{seconds['total degree']:.3f}",
        "s, margin": f"{seconds['margin']:.4f}",
        "full / relaxed": f"{seconds['full'] / seconds['total degree']:.1f}",
        "full / margin": f"{seconds['full'] / seconds['margin']:.0f}",
    }


def _relaxed_by_total_degree(network: pm.Network, u: Array) -> float:
    """Seconds for the relaxed systems from the same kind of start system: a two-class network per rival."""
    label = int(network.predict(u))
    first, last = network.chain.layers
    total = 0.0
    for rival in [c for c in range(network.class_count) if c != label]:
        rows = [label, rival]
        pair = pm.PolynomialNetwork(
            [(first.weights, first.bias), (last.weights[rows], last.bias[rows])], activations=network.chain.activations
        )
        started = perf_counter()
        nearest_tie(pair, u, threads=1)
        total += perf_counter() - started
    return total


def write_csv(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def markdown(rows: Sequence[Mapping[str, Any]]) -> str:
    names = list(rows[0])
    lines = [names, ["---"] * len(names), *([str(row[name]) for name in names] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def summary(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One line per family of networks."""
    lines = []
    for shape, _ in FAMILIES:
        names = ("inputs", "hidden", "classes", "degree")
        mine = [row for row in rows if tuple(row[name] for name in names) == shape]
        lines.append(
            {
                "n, hidden, k, degree": ", ".join(map(str, shape)),
                "networks": len(mine),
                "complete": sum(row["status"] == "NUMERICAL" for row in mine),
                "γ infinite": sum(row["gamma"] == "inf" for row in mine),
                "largest difference": f"{max(row['difference'] for row in mine):.1e}",
                "rivals": sum(row["rivals"] for row in mine),
                "rivals with γ ≠ γ̃": sum(row["rivals_that_differ"] for row in mine),
                "rivals with an active inequality": sum(row["rivals_with_active_inequality"] for row in mine),
            }
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results/kkt"), help="folder for the tables")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    started = perf_counter()
    rows = []
    for shape, count in FAMILIES:
        for seed in range(count):
            rows.append(compare(shape, seed))
            if rows[-1]["status"] == "NUMERICAL" and not rows[-1]["difference"] <= 1e-8:
                raise SystemExit(f"Proposition 1 fails: {rows[-1]}")
        print(f"{shape}: {count} networks", flush=True)
    costs = [cost(shape) for shape in COSTS]
    write_csv(options.out / "proposition_1.csv", rows)
    write_csv(options.out / "cost.csv", costs)
    when = datetime.now(UTC).strftime("%Y-%m-%d")
    seconds = perf_counter() - started
    text = f"""# The full KKT system

polymargin {pm.__version__}, {when}, `python {" ".join(sys.argv)}`, {seconds:.0f} s on one {platform.machine()} core;
network i of a family has seed [i, n, hidden, k, degree].

## Proposition 1: γ = γ̃

γ from all strata of the full system, γ̃ from the relaxed one, {len(rows)} random networks. The margin, the least
over all rivals, agrees; for single rivals the inequalities do matter. Rows: `proposition_1.csv`.

{markdown(summary(rows))}

## Cost

All rivals of one margin, medians of {REPEATS} networks (seeds 1000 …). *Full*: all strata of the KKT system, *relaxed*: single
ties, both from total-degree start systems, with an exact count; *margin*: `critical_points`, single ties from its own start.
Strata and solutions: full / relaxed. *Complete*: networks for which each stratum has as many critical points as algebra counts.

{markdown(costs)}
"""
    (options.out / "README.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
