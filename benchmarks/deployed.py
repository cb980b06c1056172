"""Networks that people run under homomorphic encryption: how much of the attack's distance is proved, and in what time.

For every image: the nearest counterexample over all rivals (`attack`), then the largest radius that is proved against all
of them (`lower_bound`), in CPU seconds of one core. Images are taken evenly from the last 2,000 of MNIST's test set, which
the networks have not seen. With --proofs the first images are also verified at 0.97 of what was proved, and the separate checker
reads the certificates. `squares` is 784-64-32-10 with x², trained here (torch) on the first 8,000 images. `digits_recognizer` is
quadratic and gets exact margins of all 10,000 images instead. --wall counts seconds by the clock, for a machine with a GPU,
which then solves the larger programs.

A row is written as soon as it is there, and images that have one are left out, so that a run may be stopped and taken up
again, or done in parts: --part 2/5 takes every fifth image from the second on. --again forgets the rows that are there.

Run: python benchmarks/deployed.py ZOO MNIST --networks tenseal orion_mlp --images 20 --out results/deployed
"""

from __future__ import annotations

import argparse
import gzip
import json
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import common
import numpy as np

import polymargin as pm
from polymargin.regions import L2
from polymargin.relaxation.search import RegionSearch
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


def trained_squares(pixels: np.ndarray, classes: np.ndarray) -> pm.Network:
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
    started, began = process_time(), perf_counter()
    found = pm.margin(network, pixels, proof=False, workers=1)
    seconds, passed = process_time() - started, perf_counter() - began
    radii = np.array([one.radius for one in found])
    standings = sorted({one.standing.name for one in found})
    content = {"network": "digits_recognizer", "images": len(found), "seconds": seconds, "standings": standings}
    content |= {"clock_seconds": passed, "seconds_per_image": seconds / len(found)} | stamp()
    content |= {"radius_quartiles": np.quantile(radii, [0.25, 0.5, 0.75]).tolist()}
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "digits_recognizer.json").write_text(json.dumps(content, indent=1) + "\n")
    print("digits_recognizer", json.dumps(content), flush=True)


def stamp() -> dict[str, str]:
    return {"version": pm.__version__, "date": datetime.now(UTC).date().isoformat()}


def search(network: pm.Network, u: np.ndarray) -> RegionSearch:
    """Return the search for a proved radius against all rivals."""
    label = int(network.predict(u))
    rivals = [rival for rival in range(network.class_count) if rival != label]
    return RegionSearch(network, u, label, rivals, L2().in_dimension(len(u)))


def measure(network: pm.Network, u: np.ndarray, clock: Callable[[], float]) -> dict[str, Any]:
    """In CPU seconds, which do not depend on what else the machine is doing, and by the clock."""
    began, started = perf_counter(), clock()
    nearest = pm.attack(network, u)
    attacked = clock()
    assert nearest is not None
    proved = search(network, u).largest(nearest.distance)
    ended = clock()
    return {
        "attack": nearest.distance,
        "proved": proved.radius,
        "ratio": proved.radius / nearest.distance,
        "rival": nearest.rival,
        "attack_seconds": attacked - started,
        "bound_seconds": ended - attacked,
        "clock_seconds": perf_counter() - began,
    } | stamp()


def prove_and_check(network: pm.Network, u: np.ndarray, radius: float) -> dict[str, Any]:
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
    file = options.out / f"{name}.json"
    options.out.mkdir(parents=True, exist_ok=True)
    content = {"network": name, "preparation_seconds": None, "rows": [], "proofs": []}
    if file.exists() and not options.again:
        content = json.loads(file.read_text())
    chosen = np.linspace(UNSEEN.start, UNSEEN.stop - 1, options.images).astype(int).tolist()
    content["rows"] = [row for row in content["rows"] if row["image"] in chosen]
    part, parts = options.part
    known = {row["image"] for row in content["rows"]}
    missing = [index for index in chosen[part - 1 :: parts] if index not in known]
    clock = perf_counter if options.wall else process_time
    started = clock()
    if missing:
        search(network, pixels[missing[0]]).prepared(1e-3)
        content["preparation_seconds"] = clock() - started
    for index in missing:
        row = {"image": index} | measure(network, pixels[index], clock)
        content["rows"] = sorted([*content["rows"], row], key=lambda row: row["image"])
        file.write_text(json.dumps(content, indent=1) + "\n")
        print(name, json.dumps(row), flush=True)
    checked = {proof["image"] for proof in content["proofs"]}
    for row in content["rows"][: options.proofs]:
        if row["image"] not in checked:
            proof = {"image": row["image"]} | prove_and_check(network, pixels[row["image"]], FRACTION * row["proved"])
            content["proofs"].append(proof | stamp())
            file.write_text(json.dumps(content, indent=1) + "\n")
    return summary(content)


def summary(content: dict[str, Any]) -> list[str]:
    rows = content["rows"]
    ratios = [row["ratio"] for row in rows]
    attack = [row["attack_seconds"] for row in rows]
    total = [row["attack_seconds"] + row["bound_seconds"] for row in rows]
    share = np.mean([row["proved"] >= RADIUS for row in rows])
    once = content["preparation_seconds"]
    return [
        content["network"],
        str(len(rows)),
        f"{np.median(ratios):.3f}",
        f"{min(ratios):.3f}",
        f"{np.median(total):.2f}",
        f"{max(total):.2f}",
        f"{np.median(attack):.2f}",
        f"{share:.2f}",
        "–" if once is None else f"{once:.1f}",
    ]


def part_of(text: str) -> tuple[int, int]:
    part, parts = (int(word) for word in text.split("/"))
    if not 1 <= part <= parts:
        raise ValueError(f"part {text}: expected something like 2/5")
    return part, parts


def main() -> None:
    parser = argparse.ArgumentParser(description="Proved radii of deployed networks.")
    parser.add_argument("zoo", type=Path)
    parser.add_argument("mnist", type=Path)
    parser.add_argument("--networks", nargs="+", default=["tenseal", "orion_mlp", "cryptonets", "lola"])
    parser.add_argument("--images", type=int, default=20)
    parser.add_argument("--part", type=part_of, default=(1, 1), help="K/N: every N-th image from the K-th on")
    parser.add_argument("--again", action="store_true", help="forget the rows that are there")
    parser.add_argument("--proofs", type=int, default=0)
    parser.add_argument("--wall", action="store_true", help="seconds by the clock, for a machine with a GPU")
    parser.add_argument("--out", type=Path, default=Path("results/deployed"))
    options = parser.parse_args()
    pixels = images(options.mnist)
    if "digits_recognizer" in options.networks:
        options.networks.remove("digits_recognizer")
        exact_margins(options, pixels)
    header = [
        "network",
        "images",
        "proved/attack",
        "worst",
        "seconds",
        "worst",
        "attack s",
        f"share at {RADIUS}",
        "once",
    ]
    common.print_table(header, [run(name, options, pixels) for name in options.networks])


if __name__ == "__main__":
    main()
