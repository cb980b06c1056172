"""CROWN's L2 bound, written out: what bound propagation proves on the networks of deployed.py, next to what we prove.

A bound of every neuron is a row of numbers that is carried backwards: through a layer by its weights, through an activation by a
line below it where its factor is positive and a line above it where it is negative, each valid on the neuron's range. At the
input, c·x + d ≥ c·u + d − r‖c‖ on the ball. Ranges of a layer come the same way from the layers below it. Two choices of lines:

zero      for x², as auto_LiRPA: above the chord, below the tangent at the point of the range that is nearest to zero
parallel  above and below with the slope of the chord, as close as possible; for every polynomial activation

The radius is bisected, twelve times as was done with auto_LiRPA; nothing is rounded outwards. Images are those with a row in
results/deployed, whose attack and proved radius are put next to it. Radii that auto_LiRPA itself proved, from a file
{network: {image: radius}}, are compared with the first choice.

Run: python benchmarks/crown.py ZOO MNIST --networks tenseal orion_lenet --out results/deployed/crown.json
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any

import common
import numpy as np
from deployed import images, labels, stamp, trained_squares
from numpy.polynomial.polynomial import polyder, polyroots, polyval
from scipy.sparse import csr_array

import polymargin as pm

BISECTIONS = 12
SPARSE = 0.2


@dataclass(frozen=True)
class Lines:
    """below z + below_at ≤ σ(z) ≤ above z + above_at, for every neuron of a layer on its range."""

    below: np.ndarray
    below_at: np.ndarray
    above: np.ndarray
    above_at: np.ndarray


def zero(sigma: np.ndarray, low: np.ndarray, high: np.ndarray) -> Lines:
    if tuple(sigma) != (0.0, 0.0, 1.0):
        raise ValueError(f"activation {sigma.tolist()}: these lines are for x² alone")
    touching = np.clip(0.0, low, high)
    return Lines(2 * touching, -(touching**2), low + high, -low * high)


def parallel(sigma: np.ndarray, low: np.ndarray, high: np.ndarray) -> Lines:
    width = np.maximum(high - low, 1e-300)
    slope = np.where(high > low, (polyval(high, sigma) - polyval(low, sigma)) / width, polyval(low, polyder(sigma)))
    least, most = np.empty_like(low), np.empty_like(low)
    for neuron, (a, b, s) in enumerate(zip(low, high, slope, strict=True)):
        shifted = np.array(sigma, dtype=float)
        shifted[1] -= s
        turning = polyroots(polyder(shifted))
        inside = [float(z.real) for z in turning if abs(z.imag) < 1e-9 and a < z.real < b]
        values = polyval(np.array([a, b, *inside]), shifted)
        least[neuron], most[neuron] = values.min(), values.max()
    return Lines(slope, least, slope, most)


class Propagation:
    """A network, and the bounds of everything in it on balls around points."""

    def __init__(self, network: Any, lines: Any) -> None:
        self.layers = [(_packed(layer.weights), layer.bias) for layer in network.chain.layers]
        self.activations = [np.array(sigma, dtype=float) for sigma in network.chain.activations]
        self.lines = lines

    def below(self, rows: Any, constants: np.ndarray, known: list[Lines], u: np.ndarray, r: float) -> np.ndarray:
        """Lower bounds of rows @ z + constants, z the values after the last activation whose lines are known."""
        for (weights, bias), lines in zip(reversed(self.layers[: len(known)]), reversed(known), strict=True):
            positive, negative = _positive(rows), -_positive(-rows)
            constants = constants + positive @ lines.below_at + negative @ lines.above_at
            rows = positive * lines.below[None, :] + negative * lines.above[None, :]
            constants = constants + rows @ bias
            rows = rows @ weights
        return np.asarray(constants + rows @ u - r * np.sqrt((rows * rows).sum(axis=1)))

    def lowest(self, u: np.ndarray, r: float, comparison: np.ndarray) -> np.ndarray:
        """Lower bounds of comparison @ logits on the ball of radius r around u."""
        known: list[Lines] = []
        for (weights, bias), sigma in zip(self.layers[:-1], self.activations, strict=True):
            low = self.below(weights, bias, known, u, r)
            high = -self.below(-weights, -bias, known, u, r)
            known.append(self.lines(sigma, low, high))
        weights, bias = self.layers[-1]
        return self.below(comparison @ weights, comparison @ bias, known, u, r)

    def radius(self, u: np.ndarray, label: int, limit: float) -> float:
        """The largest radius up to the limit at which every rival is excluded, by bisection."""
        classes = len(self.layers[-1][1])
        comparison = np.delete(np.eye(classes)[label] - np.eye(classes), label, axis=0)
        proved, refused = 0.0, limit
        for _ in range(BISECTIONS):
            middle = (proved + refused) / 2
            if (self.lowest(u, middle, comparison) > 0).all():
                proved = middle
            else:
                refused = middle
        return proved


def _packed(weights: Any) -> Any:
    """Convolutions are mostly zeros."""
    weights = np.asarray(weights, dtype=float)
    return csr_array(weights) if np.count_nonzero(weights) < SPARSE * weights.size else weights


def _positive(rows: Any) -> Any:
    return rows.maximum(0.0) if hasattr(rows, "maximum") else np.maximum(rows, 0.0)


def run(name: str, options: argparse.Namespace, pixels: np.ndarray) -> dict[str, Any]:
    network: Any = (
        trained_squares(pixels, labels(options.mnist)) if name == "squares" else pm.load(options.zoo / f"{name}.onnx")
    )
    squares = all(tuple(sigma) == (0.0, 0.0, 1.0) for sigma in network.chain.activations)
    choices = {"zero": zero, "parallel": parallel} if squares else {"parallel": parallel}
    theirs = json.loads(options.lirpa.read_text()).get(name, {}) if options.lirpa else {}
    rows = []
    for known in json.loads((options.deployed / f"{name}.json").read_text())["rows"][: options.images]:
        u = pixels[known["image"]]
        row = {"image": known["image"], "attack": known["attack"], "proved": known["proved"]}
        for choice, lines in choices.items():
            started = process_time()
            row[choice] = Propagation(network, lines).radius(u, int(np.argmax(network(u))), known["attack"])
            row[f"{choice}_seconds"] = process_time() - started
        if str(known["image"]) in theirs:
            row["auto_lirpa"] = theirs[str(known["image"])]
        rows.append(row)
        print(name, json.dumps(row), flush=True)
    return {"rows": rows} | stamp()


def summary(name: str, rows: list[dict[str, Any]]) -> list[str]:
    line = [name, str(len(rows))]
    for what in ("proved", "zero", "parallel", "auto_lirpa"):
        shares = [row[what] / row["attack"] for row in rows if what in row]
        line.append(f"{np.median(shares):.3f} ({min(shares):.3f})" if shares else "–")
    away = [abs(row["zero"] - row["auto_lirpa"]) / row["attack"] for row in rows if "auto_lirpa" in row]
    return [*line, f"{max(away):.1e}" if away else "–"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("zoo", type=Path)
    parser.add_argument("mnist", type=Path)
    parser.add_argument("--networks", nargs="+", default=["tenseal", "orion_mlp", "squares", "orion_lenet"])
    parser.add_argument("--images", type=int, default=20)
    parser.add_argument("--deployed", type=Path, default=Path("results/deployed"), help="where deployed.py wrote")
    parser.add_argument("--lirpa", type=Path, help="radii proved by auto_LiRPA, to compare with")
    parser.add_argument("--out", type=Path, default=Path("results/deployed/crown.json"))
    options = parser.parse_args()
    pixels = images(options.mnist)
    content = json.loads(options.out.read_text()) if options.out.exists() else {}
    for name in options.networks:
        content[name] = run(name, options, pixels)
        options.out.write_text(json.dumps(content, indent=1) + "\n")
    header = ["network", "images", "proved", "zero", "parallel", "auto_LiRPA", "apart"]
    common.print_table(header, [summary(name, content[name]["rows"]) for name in options.networks])


if __name__ == "__main__":
    main()
