"""Exact margins of a quadratic network 784-128-10 on MNIST: nearest boundary points to all nine rivals of every image.

The network is trained on the first 8,000 images of an IDX pair and tested on the next 2,000; where no folder is given, it
is 64-32-10 on the digits that come with scikit-learn. Pixels are in [0, 1]; the margin is over all of Rⁿ, so the nearest
adversarial point may leave that box: with the box it can only be farther. A multistart attack must never come nearer than
the margin, and on this sample should meet it.

    python experiments/mnist_quadratic.py --images t10k-images-idx3-ubyte.gz --labels t10k-labels-idx1-ubyte.gz
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from common import arguments, write_section, write_table
from digit_figures import DigitPair, margin_distribution, nearest_images
from numpy.typing import NDArray

from polymargin import attack
from polymargin.errors import InputError
from polymargin.learning import read_idx, shallow_network, train
from polymargin.networks import Network, from_torch
from polymargin.quadric import NetworkSolvers

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Digits:
    """Images as rows with pixels in [0, 1], split into training and test."""

    name: str
    shape: tuple[int, int]
    train_points: Array
    train_labels: NDArray[np.int64]
    test_points: Array
    test_labels: NDArray[np.int64]


def digits_from_idx(images: Path, labels: Path, train_count: int, test_count: int) -> Digits:
    count = train_count + test_count
    pixels, classes = read_idx(images, rows=count), read_idx(labels, rows=count)
    if pixels.ndim != 3 or classes.shape != pixels.shape[:1] or len(pixels) < count:
        raise InputError(f"{pixels.shape} images and {classes.shape} labels: expected {count} of each")
    points, targets = pixels.reshape(count, -1) / 255.0, classes.astype(np.int64)
    parts = (points[:train_count], targets[:train_count], points[train_count:], targets[train_count:])
    return Digits("MNIST", pixels.shape[1:], *parts)


def digits_from_sklearn(seed: int) -> Digits:
    from sklearn.datasets import load_digits

    bunch = load_digits()
    order = np.random.default_rng(seed).permutation(len(bunch.target))
    points, labels = bunch.data[order] / 16.0, bunch.target[order].astype(np.int64)
    return Digits("Digits", (8, 8), points[:1200], labels[:1200], points[1200:], labels[1200:])


def learn(data: Digits, hidden: int, seed: int, steps: int) -> Network:
    """Mini-batches of 256 with weight decay, in float32; the weights are then taken exactly."""
    module = shallow_network(data.train_points.shape[1], hidden, 10, seed=seed)
    options: dict[str, Any] = {"batch": 256, "rate": 3e-3, "decay": 0.1, "seed": seed}
    print(train(module, data.train_points, data.train_labels, steps=steps, **options))
    return from_torch(module)


@dataclass(frozen=True, eq=False)
class Margins:
    """Exact margins of the test images, with the rival and the nearest boundary point of each."""

    labels: NDArray[np.int64]
    rivals: NDArray[np.int64]
    radii: Array
    nearest: Array
    setup_seconds: float
    seconds: float


def exact_margins(network: Network, points: Array) -> Margins:
    """The nearest boundary point to each image over all rivals."""
    start = time.perf_counter()
    solvers = NetworkSolvers(network)
    classes = range(network.class_count)
    for label in classes:
        for rival in classes:
            if rival != label:
                solvers.pair(label, rival)
    ready = time.perf_counter()
    labels = network.predict(points)
    radii, rivals, nearest = np.full(len(points), np.inf), np.zeros(len(points), dtype=np.int64), points.copy()
    for label in classes:
        rows = np.flatnonzero(labels == label)
        if not len(rows):
            continue
        others = np.array([rival for rival in classes if rival != label])
        found = [solvers.pair(label, int(rival)).nearest_batch(points[rows]) for rival in others]
        best = np.stack([batch.distances for batch in found]).argmin(axis=0)
        rivals[rows] = others[best]
        for k, batch in enumerate(found):
            chosen = best == k
            radii[rows[chosen]], nearest[rows[chosen]] = batch.distances[chosen], batch.points[chosen]
    return Margins(labels, rivals, radii, nearest, ready - start, time.perf_counter() - ready)


def compare_with_attack(network: Network, points: Array, margins: Margins, rows: Any) -> Array:
    """attack / margin − 1 for the rows: an upper bound that is checked in exact arithmetic, against the exact margin."""
    ratios = []
    for row in rows:
        found = attack(network, points[row], starts=8, seed=0)
        ratios.append(np.inf if found is None else found.distance / margins.radii[row] - 1)
    return np.array(ratios)


def main() -> None:
    description = {"images": "", "labels": "", "seed": 0, "steps": 3000, "train": 8000, "test": 2000, "attacks": 50}
    options = arguments(__doc__, "results/quadrics", **description)
    if options.images:
        data, hidden = digits_from_idx(Path(options.images), Path(options.labels), options.train, options.test), 128
    else:
        data, hidden = digits_from_sklearn(options.seed), 32
    network = learn(data, hidden, options.seed, options.steps)
    correct = network.predict(data.test_points) == data.test_labels
    trained = float(np.mean(network.predict(data.train_points) == data.train_labels))
    margins = exact_margins(network, data.test_points)
    count, file = len(margins.radii), data.name.lower()
    sample = np.linspace(0, count - 1, options.attacks).astype(int)
    start = time.perf_counter()
    excess = compare_with_attack(network, data.test_points, margins, sample)
    attack_seconds = (time.perf_counter() - start) / max(1, len(sample))
    rows = [
        {"image": i, "class": int(k), "label": int(a), "rival": int(b), "margin": f"{r:.9g}"}
        for i, (k, a, b, r) in enumerate(
            zip(data.test_labels, margins.labels, margins.rivals, margins.radii, strict=True)
        )
    ]
    write_table(options.out / f"{file}.csv", rows)
    widths = "-".join(map(str, network.widths))
    title = f"{data.name}, network {widths} with activation x²: exact margins of {count} test images"
    margin_distribution(margins.radii, correct, options.out / f"{file}_margins.png", title=title)
    order = np.argsort(np.where(correct, margins.radii, np.nan))[: int(correct.sum())]
    picks = order[[len(order) // 2, len(order) - 1]]
    pairs = [
        DigitPair(
            data.test_points[i],
            margins.nearest[i],
            int(margins.labels[i]),
            int(margins.rivals[i]),
            float(margins.radii[i]),
        )
        for i in picks
    ]
    files = f"`{file}.csv`, `{file}_margins.png`"
    if not options.images:  # images of somebody's files do not belong into results
        nearest_images(pairs, data.shape, options.out / f"{file}_nearest.png")
        files += f", `{file}_nearest.png` (right answers, median and largest margin)"
    quantiles = np.quantile(margins.radii, [0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0])
    text = "\n".join(
        [
            f"{network!r}, seed {options.seed}, {options.steps} steps, {len(data.train_points)} training and {count} test "
            f"images; accuracy {trained:.4f} trained, {np.mean(correct):.4f} test.",
            f"Files: {files}.",
            "",
            "| margin | least | 10 % | 25 % | median | 75 % | 90 % | largest |",
            "|---|---|---|---|---|---|---|---|",
            f"| all {count} | " + " | ".join(f"{value:.4f}" for value in quantiles) + " |",
            "",
            f"* {count / margins.seconds:.0f} images per second on {torch.get_num_threads()} core, all nine rivals each, after "
            f"{margins.setup_seconds:.2f} s for the 90 eigenproblems.",
            f"* Attack (8 starts per rival, exact arithmetic at the end) on {len(sample)} images, {attack_seconds:.2f} s each: "
            f"nearest relative to the margin −1 is {excess.min():+.2e} at least, {np.median(excess):+.2e} in the median, "
            f"{excess.max():+.2e} at most (1e-14 is rounding); within 1e-6 for {int(np.sum(excess <= 1e-6))} of {len(sample)}.",
        ]
    )
    print(text)
    write_section(options.out, data.name, text)
    # An attack that is nearer than the exact margin by more than rounding would refute it.
    if excess.min() < -1e-9:
        raise SystemExit("an attack came nearer than the exact margin")


if __name__ == "__main__":
    main()
