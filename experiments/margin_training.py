"""Clean against certified accuracy: plain training, PGD, and training on exact margins, for 784-h-10 with x² on MNIST.

The first 8,000 images of an IDX pair are for training, the next 2,000 for the test. Every method has the same number of
passes over the data, the same optimiser (Adam, rate 3e-3, cosine) and weights averaged over the last half:

    plain           cross entropy
    PGD ε           cross entropy at the end of ten steps of L2 PGD
    margin w, v     PGD (ε = 1.5) first, then `soft_worst(margin_softplus(w, v), 0.3)` of the four nearest
                    `rival_margins` and no cross entropy
    scratch w, v    the same from a network that has seen plain training for a tenth of the passes

Certified accuracy at a radius is the share of test images with the right class and an exact margin of at least that radius.

    python experiments/margin_training.py --images t10k-images-idx3-ubyte.gz --labels t10k-labels-idx1-ubyte.gz --hidden 50
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from common import arguments, write_table
from mnist_quadratic import Digits, digits_from_idx

import polymargin as pm
from polymargin.learning import fine_tune, margin_softplus, rival_margins, shallow_network, soft_worst

RADII = (0.25, 0.5, 1.0, 1.5)
Loss = Callable[[Any, Any, Any], Any]


def cross_entropy(module: Any, x: Any, y: Any) -> Any:
    return torch.nn.functional.cross_entropy(module(x), y)


def attacked(epsilon: float, steps: int = 10) -> Loss:
    """Cross entropy at the end of PGD: steps of 2.5 ε / steps along the normalised gradient from a random start in the ball."""

    def loss(module: Any, x: Any, y: Any) -> Any:
        moved = torch.randn_like(x)
        moved *= epsilon * torch.rand(len(x), 1) / moved.norm(dim=1, keepdim=True)
        for _ in range(steps):
            moved.requires_grad_()
            (slope,) = torch.autograd.grad(cross_entropy(module, x + moved, y), moved)
            with torch.no_grad():
                moved = moved + 2.5 * epsilon / steps * slope / slope.norm(dim=1, keepdim=True).clamp_min(1e-12)
                moved = moved * (epsilon / moved.norm(dim=1, keepdim=True)).clamp_max(1.0)
        return cross_entropy(module, x + moved.detach(), y)

    return loss


def learned(module: Any, data: Digits, loss: Loss, epochs: int, seed: int, batch: int = 256, rate: float = 3e-3) -> Any:
    """The loop of `fine_tune`, for losses of the module instead of distances."""
    x = torch.tensor(data.train_points, dtype=torch.float32)
    y = torch.tensor(data.train_labels)
    torch.manual_seed(seed)
    optimizer = torch.optim.Adam(module.parameters(), lr=rate)
    passes = len(x) // batch
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs * passes)
    average = torch.optim.swa_utils.AveragedModel(module)
    for epoch in range(epochs):
        for rows in torch.randperm(len(x)).split(batch)[:passes]:
            optimizer.zero_grad()
            loss(module, x[rows], y[rows]).backward()
            optimizer.step()
            schedule.step()
            if 2 * epoch >= epochs:
                average.update_parameters(module)
    return average.module


def on_margins(module: Any, data: Digits, wanted: float, width: float, epochs: int, seed: int) -> Any:
    x = torch.tensor(data.train_points, dtype=torch.float32)
    y = torch.tensor(data.train_labels)
    loss = soft_worst(margin_softplus(wanted, width), 0.3)
    return fine_tune(
        copy.deepcopy(module), x, y, loss, epochs=epochs, rate=3e-3, seed=seed, distances=rival_margins, nearest=4
    )


def judged(module: Any, data: Digits) -> dict[str, float]:
    """Clean and certified accuracy in percent and the median margin, by exact margins of all test images."""
    found = pm.margin(pm.from_torch(module), data.test_points, proof=False, workers=1)
    right = np.array([one.label for one in found]) == data.test_labels
    radii = np.where(right, found.radii, 0.0)
    row = {"clean": 100 * float(right.mean()), "median": float(np.median(radii))}
    return row | {f"at {r:g}": 100 * float(np.mean(right & (radii >= r))) for r in RADII}


def every_method(data: Digits, options: Any, seed: int) -> Iterator[tuple[str, str, Any]]:
    """Name, setting and trained network, one after another."""
    start = shallow_network(784, options.hidden, 10, seed=seed)

    def fresh(loss: Loss, epochs: int) -> Any:
        return learned(copy.deepcopy(start), data, loss, epochs, seed)

    yield "plain", "", fresh(cross_entropy, options.epochs)
    for epsilon in (0.5, 1.0, 1.5, 2.0, 2.5):
        yield "PGD", f"{epsilon}", fresh(attacked(epsilon), options.epochs)
    begun = fresh(attacked(1.5), options.epochs - options.last)
    for wanted, width in ((1.0, 0.3), (1.5, 0.3), (1.5, 0.5), (2.0, 0.5)):
        yield "margin", f"{wanted}, {width}", on_margins(begun, data, wanted, width, options.last, seed)
    little = options.epochs // 10
    seen = fresh(cross_entropy, little)
    yield "scratch", "1.5, 0.3", on_margins(seen, data, 1.5, 0.3, options.epochs - little, seed)


def main() -> None:
    options = arguments(
        __doc__ or "",
        "results/margin_training",
        images=Path(),
        labels=Path(),
        hidden=50,
        first=0,
        seeds=5,
        epochs=40,
        last=15,
    )
    data = digits_from_idx(options.images, options.labels, 8000, 2000)
    rows: list[dict[str, Any]] = []
    for seed in range(options.first, options.first + options.seeds):
        begun = time.process_time()
        for method, setting, module in every_method(data, options, seed):
            seconds = time.process_time() - begun
            row = {"hidden": options.hidden, "seed": seed, "method": method, "setting": setting, **judged(module, data)}
            rows.append(row | {"seconds": seconds})
            print(*(f"{k} {v:.4g}" if isinstance(v, float) else v for k, v in rows[-1].items()), flush=True)
            write_table(options.out / f"hidden_{options.hidden}_from_{options.first}.csv", rows)
            begun = time.process_time()


if __name__ == "__main__":
    main()
