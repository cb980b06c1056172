"""Figures of docs/encrypted-inference.md: ranges, noise and rounding of a network that TenSEAL's tutorial runs under CKKS.

    python experiments/encrypted_inference.py tenseal.onnx MNIST_FOLDER results/encrypted_inference/tenseal.json

Images are 8100 and those after it, which the network has not seen. Programs run in onnxruntime.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from time import perf_counter

import numpy as np

import polymargin as pm
from polymargin.learning.idx import read_idx

FIRST, COUNT = 8100, 5
EPSILON, RADIUS = 8 / 255, 0.5
POINTS, BATCH = 1_000_000, 20_000


def main(model: str, folder: str, output: str) -> None:
    """Measure everything, and write what is known after each step."""
    network = pm.load(model)
    images = read_idx(Path(folder) / "t10k-images-idx3-ubyte.gz").reshape(-1, network.dimension) / 255.0
    labels = read_idx(Path(folder) / "t10k-labels-idx1-ubyte.gz")
    chosen = [k for k in range(FIRST, FIRST + 2 * COUNT) if network.predict(images[k]) == labels[k]][:COUNT]
    result: dict[str, object] = {"model": Path(model).name, "images": chosen}

    def note(name: str, value: object) -> None:
        result[name] = value
        Path(output).parent.mkdir(parents=True, exist_ok=True)
        Path(output).write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")

    within = pm.Linf(domain=(0, 1))
    note("rounding", rounding(model, network, images[chosen[0]], within))
    note("near an image", table(pm.ranges(network, images[chosen[0]], radius=EPSILON, within=within, timeout=120)))
    note("budgets", budgets(network, images[chosen]))
    note("noise", noise(network, images[chosen[0]]))
    costs = []
    for k in chosen[:2]:
        plain, program = (pm.margin(network, images[k], arithmetic=name, timeout=120) for name in (None, "float32"))
        costs.append({"plain": [plain.lower, plain.upper], "float32": program.lower})
    note("radius in float32", costs)
    note("all images of [0, 1]", table(pm.ranges(network, images[:1000], domain=(0, 1), timeout=300)))


def budgets(network: pm.Network, points: np.ndarray) -> dict[str, object]:
    """Return for each layer and point how many percent of its largest value there the class bears: proved and found."""
    verifier, found = pm.Verifier(network), {}
    for layer in (0, 1, "logits"):
        started = perf_counter()
        rows = [verifier.noise_budget(point, {layer: "1%"}, timeout=20) for point in points]
        percent = [[row.lower, row.upper] for row in rows]
        found[str(layer)] = {"percent": percent, "seconds": round((perf_counter() - started) / len(rows), 2)}
    return found


def noise(network: pm.Network, point: np.ndarray) -> list[dict[str, object]]:
    """Return verdicts in an L2 ball with noise of 0.1 % of the range at one layer."""
    found = []
    for layer in (0, 1):
        verdict = pm.verify(network, point, RADIUS, noise={layer: "0.1%"}, timeout=120)
        row = {"layer": layer, "radius": RADIUS, "answer": verdict.answer.name, "seconds": round(verdict.seconds, 1)}
        found.append(row)
    return found


def table(found: object) -> dict[str, object]:
    """Return a row for each layer."""
    rows = [
        {
            "name": layer.name,
            "proved": [float(layer.lower.min()), float(layer.upper.max())],
            "found": [float(layer.found_lower.min()), float(layer.found_upper.max())],
            "observed": None
            if layer.observed is None
            else [float(layer.observed[0].min()), float(layer.observed[1].max())],
            "median ratio": float(np.median(layer.ratio)),
        }
        for layer in found.layers
    ]
    return {"standing": found.standing.name, "seconds": round(found.seconds, 1), "layers": rows}


def rounding(model: str, network: pm.Network, image: np.ndarray, within: object) -> dict[str, object]:
    """Compare onnxruntime in float32 with the network at random points of a region, and with the bound that is proved."""
    import onnxruntime

    radius = 2 / 255
    started = perf_counter()
    verdict = pm.verify(network, image, radius, within=within, arithmetic="float32", timeout=300)
    seconds = perf_counter() - started
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    (given,) = session.get_inputs()
    shape = [-1, *(size for size in given.shape[1:])]
    draw, largest, kept = np.random.default_rng(0), 0.0, True
    for _ in range(POINTS // BATCH):
        points = np.clip(image + draw.uniform(-radius, radius, size=(BATCH, len(image))), 0, 1).astype(np.float32)
        batches = points.reshape(shape)
        logits = np.concatenate([session.run(None, {given.name: part})[0] for part in _parts(batches, given.shape[0])])
        exact = network(points.astype(np.float64))
        largest = max(largest, float(np.abs(logits - exact).max()))
        kept = kept and bool((logits.argmax(axis=1) == verdict.label).all())
    lead = None
    if verdict.certificate is not None:
        lead = float.fromhex(verdict.certificate.data["neighbourhood"]["abstain"])
    return {
        "answer": verdict.answer.name,
        "radius": radius,
        "lead of two logits": lead,
        "largest error of a logit seen": largest,
        "points": POINTS,
        "all classified alike": kept,
        "seconds": round(seconds, 1),
    }


def _parts(batches: np.ndarray, size: object) -> list[np.ndarray]:
    return [batches] if not isinstance(size, int) else list(np.split(batches, len(batches) // size))


if __name__ == "__main__":
    main(*sys.argv[1:])
