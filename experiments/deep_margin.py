"""A small deep network trained on exact margins: the boundary before and after, judged on points it has not seen.

A network 2-4-3-2 with x² twice (boundaries of degree four) learns 80 points on both sides of the wave of the sinusoid
experiment by cross entropy, then goes on with `margin_softplus` of `exact_margin`, whose ties come from homotopy continuation.
The picture shows the start with the middle gain.

    python experiments/deep_margin.py --out results/margin_training        # minutes; needs torch and matplotlib
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import torch
from along_training import layered
from common import arguments, write_table
from numpy.typing import NDArray
from sinusoid import WINDOW, wave_data

from polymargin.learning import exact_margin, fine_tune, margin_softplus, train
from polymargin.networks import from_torch
from polymargin.plots.boundaries import Panel, boundary_panels


def parted(count: int, seed: int, gap: float) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Points of the wave data at least `gap` above or below the wave, so that there is a margin to be gained."""
    points, _ = wave_data(4 * count, seed)
    height = points[:, 1] - np.cos(1.2 * points[:, 0])
    kept = np.flatnonzero(np.abs(height) >= gap)[:count]
    return points[kept], (height[kept] > 0).astype(np.int64)


def learned(points: NDArray[np.float64], labels: NDArray[np.int64], options: Any, seed: int) -> list[tuple[str, Any]]:
    before = layered((2, 4, 3, 2), 2, seed)
    train(before, points, labels, steps=options.steps, rate=1e-2)
    after = fine_tune(
        copy.deepcopy(before),
        torch.tensor(points),
        torch.tensor(labels),
        margin_softplus(options.wanted, 0.15),
        epochs=options.epochs,
        rate=5e-3,
        batch=40,
        seed=seed,
        workers=1,
    )
    return [("cross entropy", before), ("then exact margins", after)]


def main() -> None:
    options = arguments(__doc__ or "", "results/margin_training", seeds=5, points=80, steps=2000, epochs=40, wanted=0.4)
    rows: list[dict[str, Any]] = []
    pictures: list[tuple[float, list[Panel], Any]] = []
    for seed in range(options.seeds):
        data = parted(options.points, seed, 0.3)
        unseen, truth = (torch.tensor(array) for array in parted(500, 1000 + seed, 0.3))
        panels, shares = [], []
        for name, module in learned(*data, options, seed):
            distances = exact_margin(module, unseen, truth, workers=1).detach().numpy()
            row: dict[str, Any] = {"seed": seed, "training": name, "accuracy": float(np.mean(distances > 0))}
            row |= {f"at {r:g}": float(np.mean(distances >= r)) for r in (0.1, 0.2, 0.3, 0.5)}
            row["median"] = round(float(np.median(distances)), 4)
            rows.append(row)
            print(row, flush=True)
            note = f"unseen points: {row['accuracy']:.1%} right, {row['at 0.2']:.1%} with margin ≥ 0.2"
            panels.append(Panel(from_torch(module), name, note))
            shares.append(row["at 0.2"])
        pictures.append((shares[1] - shares[0], panels, data))
    write_table(options.out / "deep_margin.csv", rows)
    _, panels, data = sorted(pictures, key=lambda picture: picture[0])[len(pictures) // 2]
    boundary_panels(panels, *data, options.out / "deep_margin.png", window=WINDOW)


if __name__ == "__main__":
    main()
