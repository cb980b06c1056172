"""A small deep network trained on exact margins: the boundary before and after, judged on points it has not seen.

A network 2-4-3-2 with x² twice (boundaries of degree four) learns the wave of the sinusoid experiment by cross entropy, then
goes on with `margin_softplus` of `exact_margin`, whose ties come from homotopy continuation.

    python experiments/deep_margin.py --out results/margin_training        # minutes; needs torch and matplotlib
"""

from __future__ import annotations

import copy

import numpy as np
import torch
from along_training import layered
from common import arguments, write_table
from sinusoid import WINDOW, wave_data

from polymargin.learning import exact_margin, fine_tune, margin_softplus, train
from polymargin.networks import from_torch
from polymargin.plots.boundaries import Panel, boundary_panels


def main() -> None:
    options = arguments(__doc__ or "", "results/margin_training", seed=0, points=200, steps=2000, epochs=12, wanted=0.5)
    points, labels = wave_data(options.points, options.seed)
    x, y = torch.tensor(points), torch.tensor(labels)
    unseen, truth = wave_data(500, options.seed + 1)
    before = layered((2, 4, 3, 2), 2, options.seed)
    print(train(before, points, labels, steps=options.steps, rate=1e-2))
    loss = margin_softplus(options.wanted, 0.15)
    after = fine_tune(
        copy.deepcopy(before), x, y, loss, epochs=options.epochs, rate=2e-3, batch=50, seed=options.seed, threads=1
    )
    panels, rows = [], []
    for name, module in (("cross entropy", before), ("then exact margins", after)):
        distances = exact_margin(module, torch.tensor(unseen), torch.tensor(truth), threads=1).detach().numpy()
        row = {
            "training": name,
            "accuracy": float(np.mean(distances > 0)),
            "median": float(np.median(distances)),
            **{f"at {r:g}": float(np.mean(distances >= r)) for r in (0.1, 0.2, 0.3, 0.5)},
        }
        rows.append(row)
        print({key: round(value, 4) if isinstance(value, float) else value for key, value in row.items()})
        note = f"accuracy {row['accuracy']:.3f}, margin ≥ 0.2 for {row['at 0.2']:.3f}, median {row['median']:.3f}"
        panels.append(Panel(from_torch(module), name, note))
    write_table(options.out / "deep_margin.csv", rows)
    boundary_panels(panels, points, labels, options.out / "deep_margin.png", window=WINDOW)


if __name__ == "__main__":
    main()
