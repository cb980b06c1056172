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
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import common
import numpy as np
from deployed import UNSEEN, images, labels, stamp, trained_squares
from numpy.polynomial.polynomial import polyder, polyval
from reading import readers

import polymargin as pm

STEPS = 400
STILL = 1e-11
SLACK = 1e-9


def values_and_gradients(
    name: str, network: Any, zoo: Path
) -> Callable[[np.ndarray, int, int], tuple[float, np.ndarray]]:
    """B = f_label − f_rival and its gradient at a point, by the chain rule."""
    return _of_products(zoo / f"{name}.npz") if name == "vpn_ccp4" else _of_layers(network)


def _of_layers(network: Any) -> Callable[[np.ndarray, int, int], tuple[float, np.ndarray]]:
    last = network.chain.layers[-1]

    def evaluate(x: np.ndarray, label: int, rival: int) -> tuple[float, np.ndarray]:
        values, slopes = x, []
        for layer, sigma in zip(network.chain.layers[:-1], network.chain.activations, strict=True):
            z = layer.weights @ values + layer.bias
            values, derivative = polyval(z, sigma), polyval(z, polyder(sigma))
            slopes.append((layer.weights, derivative))
        gradient = last.weights[label] - last.weights[rival]
        value = float(gradient @ values + last.bias[label] - last.bias[rival])
        for weights, derivative in reversed(slopes):
            gradient = weights.T @ (derivative * gradient)
        return value, gradient

    return evaluate


def _of_products(file: Path) -> Callable[[np.ndarray, int, int], tuple[float, np.ndarray]]:
    """o₁ = U₁x, o_k = (U_k x + 1)∘o_{k−1}, logits C o₄ + c."""
    with np.load(file) as arrays:
        factors = [np.asarray(arrays[f"U{k}"], dtype=float) for k in range(1, 5)]
        readout, bias = (np.asarray(arrays[key], dtype=float) for key in ("C", "C_bias"))

    def evaluate(x: np.ndarray, label: int, rival: int) -> tuple[float, np.ndarray]:
        steps = [factors[0] @ x, *(factor @ x + 1 for factor in factors[1:])]
        row = readout[label] - readout[rival]
        gradient = sum(
            factor.T @ (row * np.prod([*steps[:k], *steps[k + 1 :]], axis=0)) for k, factor in enumerate(factors)
        )
        return float(row @ np.prod(steps, axis=0) + bias[label] - bias[rival]), np.asarray(gradient)

    return evaluate


def deepfool(evaluate: Any, u: np.ndarray, label: int, rival: int) -> float:
    """The distance at which the iteration stands still on the boundary; infinite if it never does."""
    for part in (1.0, 0.5, 0.25):
        x = u
        for _ in range(STEPS):
            value, g = evaluate(x, label, rival)
            square = float(g @ g)
            if not (np.isfinite(value) and square > 0):
                break
            aim = u + g * ((g @ (x - u) - value) / square)
            moved, distance = float(np.linalg.norm(aim - x)), float(np.linalg.norm(aim - u))
            x = x + part * (aim - x)
            if moved <= STILL * distance:
                return distance
    return np.inf


def loaded(name: str, options: argparse.Namespace, pixels: np.ndarray) -> Any:
    if name == "squares":
        return trained_squares(pixels, labels(options.mnist))
    readers_of = readers(options.zoo)
    return next(read for file, read in readers_of.items() if file.split(".")[0] == name)()


def run(name: str, options: argparse.Namespace, pixels: np.ndarray) -> list[str]:
    network = loaded(name, options, pixels)
    evaluate = values_and_gradients(name, network, options.zoo)
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
        theirs = {rival: deepfool(evaluate, u, nearest.label, rival) for rival in rivals}
        their_seconds = process_time() - started
        alone = {rival: pm.attack(network, u, rivals=[rival]) for rival in rivals}
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
