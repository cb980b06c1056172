"""Proofs: how long they take to make, and how long the separate checker takes.

* completeness certificates for shallow cubic networks, one core, beside the checker on the same file;
* `verify` on the 8-input cubic network of the demo: 200 points, random radii around the margins, stage 1 cached;
* the S-lemma bound without branching for 784 inputs, 128 neurons, activation x³.

Run: python benchmarks/verification.py
"""

from __future__ import annotations

import tempfile
from importlib.resources import files
from pathlib import Path
from statistics import median
from time import perf_counter

import common
import numpy as np

import polymargin as pm
from polymargin.bounds import pair_lower_bound
from polymargin_checker.checker import check


def completeness(folder: Path) -> list[list[str]]:
    rows = []
    for n, h in ((4, 6), (6, 8), (8, 10)):
        network = common.network(n, [h], 3, np.random.default_rng(0))
        u = np.random.default_rng(1).normal(size=n)
        pm.Verifier(network, settings=pm.Settings(cache=folder)).margin(u, proof=False)
        started = perf_counter()
        certified = pm.Verifier(network, workers=1, settings=pm.Settings(cache=folder)).margin(u)
        made = perf_counter() - started
        network.save(folder / "model.npz")
        certified.certificate.save(folder / "proof.json")
        started = perf_counter()
        accepted = check(folder / "model.npz", folder / "proof.json").accepted
        checked = perf_counter() - started
        gap = (certified.upper - certified.lower) / certified.upper
        rows.append([f"({n}, {h})", f"{made:.3f}", f"{checked:.3f}", "yes" if accepted else "NO", f"{gap:.1e}"])
    return rows


def verdicts(folder: Path) -> list[list[str]]:
    network = pm.load(Path(str(files("polymargin") / "data" / "cubic8.npz")))
    generator = np.random.default_rng(2)
    times: dict[str, list[float]] = {}
    network.save(folder / "model.npz")
    checked = []
    for u in generator.uniform(-1, 1, size=(200, 8)):
        radius = pm.Verifier(network, settings=pm.Settings(cache=folder)).margin(
            u, proof=False
        ).radius * generator.uniform(0.5, 1.5)
        verdict = pm.Verifier(network, workers=1, settings=pm.Settings(cache=folder)).verify(u, radius)
        times.setdefault(verdict.answer.name, []).append(verdict.seconds)
        if verdict.certificate is not None:
            verdict.certificate.save(folder / "proof.json")
            started = perf_counter()
            if not check(folder / "model.npz", folder / "proof.json").accepted:
                raise SystemExit("a certificate was refused")
            checked.append(perf_counter() - started)
    everything = [second for part in times.values() for second in part]
    rows = [
        [name, str(len(part)), f"{1e3 * median(part):.1f}", f"{1e3 * max(part):.1f}"] for name, part in times.items()
    ]
    rows.append(["all", str(len(everything)), f"{1e3 * median(everything):.1f}", f"{1e3 * max(everything):.1f}"])
    rows.append(["checker", str(len(checked)), f"{1e3 * median(checked):.1f}", f"{1e3 * max(checked):.1f}"])
    return rows


def large_bound() -> list[list[str]]:
    network = common.network(784, [128], 3, np.random.default_rng(3))
    u = np.random.default_rng(3).uniform(size=784)
    label = int(network.predict(u))
    started = perf_counter()
    found = pair_lower_bound(network, u, label, 1 - label, tolerance=1e-3)
    seconds = perf_counter() - started
    upper = pm.attack(network, u)
    ratio = "–" if upper is None else f"{found.radius / upper.distance:.3f}"
    return [[f"{found.radius:.6f}", ratio, f"{seconds:.2f}"]]


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        common.print_table(["(n, h), d = 3", "make s", "check s", "accepted", "gap"], completeness(folder))
        print()
        common.print_table(["verify, cubic8", "points", "median ms", "largest ms"], verdicts(folder))
    print()
    common.print_table(["S-lemma 784-128", "share of the attack", "seconds per rival"], large_bound())


if __name__ == "__main__":
    main()
