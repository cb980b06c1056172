"""Proofs: how long they take beside the number, how long the separate checker takes, and how large they are.

Seven networks with random weights, batches of 50 points (5 for the last two), one thread. `margin` is the number alone; `proof`
is the same with a proof against every rival that the checker has accepted in the same call; `check` reads the model and the
file of all rows and judges them. A network is new for every measurement, so that nothing is remembered; the median of three.

Run: python benchmarks/verification.py [--json results/verification/table.json]
"""

from __future__ import annotations

import argparse
import io
import json
from collections import Counter
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from statistics import median
from time import process_time

import common
import numpy as np

import polymargin as pm
from polymargin.margins.certificate import lines_of
from polymargin_checker import check_rows

SEED = 0
ROUNDS = 3
# Widths, degree of the activations, points.
NETWORKS = (
    ([2, 4, 2], 3, 50),
    ([4, 6, 3], 3, 50),
    ([8, 10, 2], 3, 50),
    ([8, 10, 3], 2, 50),
    ([64, 32, 10], 2, 50),
    ([784, 128, 10], 2, 5),
    ([6, 8, 8, 3], 2, 5),
)


def network(widths: list[int], degree: int, seed: int) -> pm.Network:
    generator = np.random.default_rng(seed)
    layers = [(generator.normal(size=(b, a)) / np.sqrt(a), generator.normal(size=b)) for a, b in pairwise(widths)]
    return pm.PolynomialNetwork(layers, degree=degree)


def verifier(net: pm.Network) -> pm.Verifier:
    return pm.Verifier(net, workers=1, settings=pm.Settings(cache=False))


def measured(widths: list[int], degree: int, count: int) -> dict[str, object]:
    """Milliseconds of processor time a row, bytes a row, and how the margins are known."""
    points = np.random.default_rng(SEED + 1).normal(size=(count, widths[0]))
    verifier(network(widths, degree, SEED + 99)).margin(points[:2])  # what is loaded lazily
    rounds = []
    for seed in range(SEED, SEED + ROUNDS):
        started = process_time()
        verifier(network(widths, degree, seed)).margin(points, proof=False)
        plain = process_time() - started
        made = network(widths, degree, seed)
        started = process_time()
        proved = verifier(made).margin(points)
        with_proof = process_time() - started
        file = io.BytesIO()
        made.save(file)
        lines = lines_of([row.certificate for row in proved])
        started = process_time()
        results = check_rows(file.getvalue(), lines)
        checked = process_time() - started
        if not all(result.accepted for result in results):
            raise SystemExit("a certificate was refused")
        standings = Counter(row.standing.name for row in proved)
        rounds.append((plain, with_proof, checked, len(lines), standings))
    plain, with_proof, checked = (1e3 * median(row[place] for row in rounds) / count for place in range(3))
    return {
        "widths": widths,
        "degree": degree,
        "points": count,
        "margin_ms": round(plain, 3),
        "proof_ms": round(with_proof, 3),
        "check_ms": round(checked, 3),
        "bytes": round(median(row[3] for row in rounds) / count),
        "standings": dict(sum((row[4] for row in rounds), Counter())),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the table to this file")
    arguments = parser.parse_args()
    found = [measured(*each) for each in NETWORKS]
    header = ["network", "margin", "proof", "ratio", "check", "ratio", "bytes", "standing"]
    rows = []
    for one in found:
        plain, proof, checked = float(one["margin_ms"]), float(one["proof_ms"]), float(one["check_ms"])
        ratios = [f"{proof / plain:.1f}", f"{checked / plain:.1f}"]
        names = ", ".join(f"{count} {name}" for name, count in one["standings"].items())
        cells = [f"{plain:.2f}", f"{proof:.2f}", ratios[0], f"{checked:.2f}", ratios[1], str(one["bytes"]), names]
        rows.append([f"{tuple(one['widths'])}, z^{one['degree']}", *cells])
    common.print_table(header, rows)
    if arguments.json is not None:
        about = {
            "command": "python benchmarks/verification.py --json " + str(arguments.json),
            "version": pm.__version__,
            "date": datetime.now(UTC).date().isoformat(),
            "seed": SEED,
            "unit": "milliseconds of processor time a row, one thread",
        }
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(about | {"rows": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
