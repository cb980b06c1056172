"""Our attack against a DeepFool iteration that is run until it stands still, on the networks of the zoo.

DeepFool goes to the nearest point of the linearised boundary, x ← u + g (g·(x − u) − B) / ‖g‖², until it stands still (steps
are halved where it does not settle). For every image and every rival: the distance of `attack(network, u, rival)` over
DeepFool's, which should nowhere exceed 1 + 1e-9; and of `attack(network, u)` over the best of all rivals.
Images as in deployed.py.

Run: python benchmarks/deepfool.py ZOO MNIST --networks cryptonets lola --images 20 --out results/deepfool
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from time import process_time
from typing import Any

import common
import numpy as np
from deployed import UNSEEN, images, labels, stamp, trained_squares
from numpy.polynomial.polynomial import polyder, polyval

import polymargin as pm

STEPS = 400
STILL = 1e-11
SLACK = 1e-9


def boundary(network: Any, x: np.ndarray, row: np.ndarray, constant: float) -> tuple[float, np.ndarray]:
    """B = row·a + constant and its gradient, by the chain rule."""
    values, slopes = x, []
    for layer, sigma in zip(network.layers[:-1], network.activations, strict=True):
        z = layer.weights @ values + layer.bias
        values, derivative = polyval(z, sigma), polyval(z, polyder(sigma))
        slopes.append((layer.weights, derivative))
    gradient = row
    for weights, derivative in reversed(slopes):
        gradient = weights.T @ (derivative * gradient)
    return float(row @ values + constant), gradient


def deepfool(network: Any, u: np.ndarray, label: int, rival: int) -> float:
    """The distance at which the iteration stands still on the boundary; infinite if it never does."""
    last = network.layers[-1]
    row, constant = last.weights[label] - last.weights[rival], float(last.bias[label] - last.bias[rival])
    for part in (1.0, 0.5, 0.25):
        x = u
        for _ in range(STEPS):
            value, g = boundary(network, x, row, constant)
            square = float(g @ g)
            if not (np.isfinite(value) and square > 0):
                break
            aim = u + g * ((g @ (x - u) - value) / square)
            moved, distance = float(np.linalg.norm(aim - x)), float(np.linalg.norm(aim - u))
            x = x + part * (aim - x)
            if moved <= STILL * distance:
                return distance
    return np.inf


def run(name: str, options: argparse.Namespace, pixels: np.ndarray) -> list[str]:
    network: Any = (
        trained_squares(pixels, labels(options.mnist)) if name == "squares" else pm.load(options.zoo / f"{name}.onnx")
    )
    chosen = np.linspace(UNSEEN.start, UNSEEN.stop - 1, options.images).astype(int).tolist()
    rows = []
    for index in chosen:
        u = pixels[index]
        started = process_time()
        nearest = pm.attack(network, u)
        seconds = process_time() - started
        assert nearest is not None
        started = process_time()
        rivals = [rival for rival in range(network.class_count) if rival != nearest.label]
        theirs = {rival: deepfool(network, u, nearest.label, rival) for rival in rivals}
        their_seconds = process_time() - started
        alone = {rival: pm.attack(network, u, rival) for rival in rivals}
        ours = {rival: np.inf if found is None else found.distance for rival, found in alone.items()}
        ratios = {rival: ours[rival] / theirs[rival] for rival in rivals if np.isfinite(theirs[rival])}
        rows.append(
            {
                "image": index,
                "nearest": nearest.distance / min(theirs.values()),
                "rivals": ratios,
                "seconds": seconds,
                "deepfool_seconds": their_seconds,
            }
        )
        print(name, index, f"{rows[-1]['nearest']:.12f}", f"{max(ratios.values()):.12f}", flush=True)
    options.out.mkdir(parents=True, exist_ok=True)
    content = {"network": name, "slack": SLACK, "rows": rows} | stamp()
    (options.out / f"{name}.json").write_text(json.dumps(content, indent=1) + "\n")
    every = [ratio for row in rows for ratio in row["rivals"].values()]
    return [
        name,
        str(len(rows)),
        str(len(every)),
        str(sum(ratio > 1 + SLACK for ratio in every) + sum(row["nearest"] > 1 + SLACK for row in rows)),
        f"{max(every):.10f}",
        f"{min(every):.4f}",
        f"{np.median([row['seconds'] for row in rows]):.3f}",
        f"{np.median([row['deepfool_seconds'] for row in rows]):.3f}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("zoo", type=Path)
    parser.add_argument("mnist", type=Path)
    parser.add_argument("--networks", nargs="+", default=["tenseal", "orion_mlp", "cubic_mlp", "gelu4_mlp", "squares"])
    parser.add_argument("--images", type=int, default=20)
    parser.add_argument("--out", type=Path, default=Path("results/deepfool"))
    options = parser.parse_args()
    pixels = images(options.mnist)
    header = ["network", "images", "pairs", "worse", "worst ratio", "best", "attack s", "DeepFool s"]
    common.print_table(header, [run(name, options, pixels) for name in options.networks])


if __name__ == "__main__":
    main()
