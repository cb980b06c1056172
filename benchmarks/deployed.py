"""Networks that people run under homomorphic encryption: how much of the attack's distance is proved, and in what time.

For every image: the nearest counterexample over all rivals (`attack`), then the largest radius that is proved against all
of them (`lower_bound`), in CPU seconds of one core. Images are taken evenly from the last 2,000 of MNIST's test set, which
the networks have not seen. With --proofs the first images are also verified at 0.97 of the attack, and the separate checker
reads the certificates.

Run: python benchmarks/deployed.py ZOO MNIST --networks tenseal orion_mlp --images 20 --out results/deployed
"""

from __future__ import annotations

import argparse
import gzip
import json
import tempfile
from pathlib import Path
from time import process_time
from typing import Any

import common
import numpy as np

import polymargin as pm
from polymargin_checker.checker import check

UNSEEN = range(8000, 10_000)
RADIUS = 0.5
FRACTION = 0.97


def images(folder: Path) -> np.ndarray:
    with gzip.open(folder / "t10k-images-idx3-ubyte.gz") as stream:
        return np.frombuffer(stream.read(), np.uint8, offset=16).reshape(-1, 784) / 255.0


def measure(network: pm.PolynomialNetwork, u: np.ndarray) -> dict[str, Any]:
    started = process_time()
    nearest = pm.attack(network, u)
    attacked = process_time()
    proved = pm.lower_bound(network, u)
    ended = process_time()
    assert nearest is not None
    return {
        "attack": nearest.distance,
        "proved": proved.radius,
        "ratio": proved.radius / nearest.distance,
        "rival": proved.rival,
        "attack_seconds": attacked - started,
        "bound_seconds": ended - attacked,
    }


def prove_and_check(network: pm.PolynomialNetwork, u: np.ndarray, radius: float) -> dict[str, Any]:
    """`verify`, and the checker on what it made."""
    started = process_time()
    verdict = pm.verify(network, u, radius, timeout=600)
    made = process_time() - started
    row: dict[str, Any] = {"answer": verdict.answer.name, "verify_seconds": made}
    if verdict.certificate is not None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            network.save(folder / "model.npz")
            verdict.certificate.save(folder / "proof.json")
            started = process_time()
            row["accepted"] = check(folder / "model.npz", folder / "proof.json").accepted
            row["check_seconds"] = process_time() - started
            row["bytes"] = (folder / "proof.json").stat().st_size
    return row


def run(name: str, options: argparse.Namespace, pixels: np.ndarray) -> list[str]:
    network = pm.load(options.zoo / f"{name}.onnx")
    chosen = np.linspace(UNSEEN.start, UNSEEN.stop - 1, options.images).astype(int)
    started = process_time()
    pm.lower_bound(network, pixels[0], timeout=1e-3)  # what is computed once per network
    prepared = process_time() - started
    rows = []
    for index in chosen.tolist():
        rows.append({"image": index} | measure(network, pixels[index]))
        print(name, json.dumps(rows[-1]), flush=True)
    proofs = [
        {"image": row["image"]} | prove_and_check(network, pixels[row["image"]], FRACTION * row["attack"])
        for row in rows[: options.proofs]
    ]
    options.out.mkdir(parents=True, exist_ok=True)
    content = {"network": name, "preparation_seconds": prepared, "rows": rows, "proofs": proofs}
    (options.out / f"{name}.json").write_text(json.dumps(content, indent=1) + "\n")
    ratios = [row["ratio"] for row in rows]
    attack = [row["attack_seconds"] for row in rows]
    total = [row["attack_seconds"] + row["bound_seconds"] for row in rows]
    share = np.mean([row["proved"] >= RADIUS for row in rows])
    return [
        name,
        str(len(rows)),
        f"{np.median(ratios):.3f}",
        f"{min(ratios):.3f}",
        f"{np.median(total):.2f}",
        f"{max(total):.2f}",
        f"{np.median(attack):.2f}",
        f"{share:.2f}",
        f"{prepared:.1f}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description="Proved radii of deployed networks.")
    parser.add_argument("zoo", type=Path)
    parser.add_argument("mnist", type=Path)
    parser.add_argument("--networks", nargs="+", default=["tenseal", "orion_mlp", "cryptonets", "lola"])
    parser.add_argument("--images", type=int, default=20)
    parser.add_argument("--proofs", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("results/deployed"))
    options = parser.parse_args()
    pixels = images(options.mnist)
    header = ["network", "images", "proved/attack", "worst", "CPU s", "worst", "attack s", f"share at {RADIUS}", "once"]
    common.print_table(header, [run(name, options, pixels) for name in options.networks])


if __name__ == "__main__":
    main()
