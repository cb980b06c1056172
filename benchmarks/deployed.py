"""Networks that people run under homomorphic encryption: how much of the attack's distance is proved, and in what time.

For every image: the nearest counterexample over all rivals (`attack`), then the largest radius that is proved against all
of them (`lower_bound`), in CPU seconds of one core. Images are taken evenly from the last 2,000 of MNIST's test set, which
the networks have not seen. With --proofs the first images are also verified at 0.97 of what was proved, and the separate checker
reads the certificates. `squares` is 784-64-32-10 with x², trained here (torch) on the first 8,000 images. `digits_recognizer` is
quadratic and gets exact margins of all 10,000 images instead.

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
EPOCHS = 12


def images(folder: Path) -> np.ndarray:
    with gzip.open(folder / "t10k-images-idx3-ubyte.gz") as stream:
        return np.frombuffer(stream.read(), np.uint8, offset=16).reshape(-1, 784) / 255.0


def labels(folder: Path) -> np.ndarray:
    with gzip.open(folder / "t10k-labels-idx1-ubyte.gz") as stream:
        return np.frombuffer(stream.read(), np.uint8, offset=8).astype(np.int64)


def trained_squares(pixels: np.ndarray, classes: np.ndarray) -> pm.PolynomialNetwork:
    """784-64-32-10 with x² between the layers, trained on the first 8,000 images."""
    import torch

    torch.manual_seed(0)
    layers = [torch.nn.Linear(a, b) for a, b in ((784, 64), (64, 32), (32, 10))]

    def logits(x: Any) -> Any:
        return layers[2](layers[1](layers[0](x).square()).square())

    optimiser = torch.optim.Adam([p for layer in layers for p in layer.parameters()], lr=1e-3)
    x = torch.tensor(pixels[: UNSEEN.start], dtype=torch.float32)
    y = torch.tensor(classes[: UNSEEN.start])
    for _ in range(EPOCHS):
        for batch in torch.randperm(len(x)).split(64):
            optimiser.zero_grad()
            torch.nn.functional.cross_entropy(logits(x[batch]), y[batch]).backward()
            optimiser.step()
    arrays = [(p.weight.detach().double().numpy(), p.bias.detach().double().numpy()) for p in layers]
    network = pm.PolynomialNetwork(arrays, degree=2)
    unseen = np.array(UNSEEN)
    accuracy = np.mean(np.argmax(network(pixels[unseen]), axis=1) == classes[unseen])
    print(f"squares: accuracy {accuracy:.3f} on unseen images")
    return network


def exact_margins(options: argparse.Namespace, pixels: np.ndarray) -> None:
    """All images of the quadratic network of the HomomorphicEncryption.org benchmark."""
    import torch

    state = torch.load(options.zoo / "digits_recognizer.pth", map_location="cpu", weights_only=True)
    arrays = [
        (state[f"{name}.weight"].double().numpy(), state[f"{name}.bias"].double().numpy()) for name in ("fc1", "fc2")
    ]
    network = pm.PolynomialNetwork(arrays, degree=2)
    started = process_time()
    found = pm.margin(network, pixels, cache=False, threads=1)
    seconds = process_time() - started
    radii = np.array([one.radius for one in found])
    standings = sorted({one.standing.name for one in found})
    content = {"network": "digits_recognizer", "images": len(found), "seconds": seconds, "standings": standings}
    content |= {"radius_quartiles": np.quantile(radii, [0.25, 0.5, 0.75]).tolist()}
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "digits_recognizer.json").write_text(json.dumps(content, indent=1) + "\n")
    print("digits_recognizer", json.dumps(content), flush=True)


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
    network = (
        trained_squares(pixels, labels(options.mnist)) if name == "squares" else pm.load(options.zoo / f"{name}.onnx")
    )
    chosen = np.linspace(UNSEEN.start, UNSEEN.stop - 1, options.images).astype(int)
    started = process_time()
    pm.lower_bound(network, pixels[0], timeout=1e-3)  # what is computed once per network
    prepared = process_time() - started
    rows = []
    for index in chosen.tolist():
        rows.append({"image": index} | measure(network, pixels[index]))
        print(name, json.dumps(rows[-1]), flush=True)
    proofs = [
        {"image": row["image"]} | prove_and_check(network, pixels[row["image"]], FRACTION * row["proved"])
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
    if "digits_recognizer" in options.networks:
        options.networks.remove("digits_recognizer")
        exact_margins(options, pixels)
    header = ["network", "images", "proved/attack", "worst", "CPU s", "worst", "attack s", f"share at {RADIUS}", "once"]
    common.print_table(header, [run(name, options, pixels) for name in options.networks])


if __name__ == "__main__":
    main()
