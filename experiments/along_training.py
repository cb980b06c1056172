"""Margin, ED degree and number of real critical points along training, for four architectures on the paper's two problems.

The ED degree is fixed by the architecture for almost all weights and says what an exact margin costs; the real critical points
are what a person sees of it: the candidates for the nearest tie. At eleven moments of a training run the script takes the median
margin of the points that are classified right and the mean number of real critical points over the same points. The
ticks on the left axis of the lower row are the Kac–Rice expectations for a random wide shallow network of the same degree, at
a typical distance from the origin.

    python experiments/along_training.py --out results/margin_training        # a few minutes; needs torch and matplotlib
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from common import arguments, write_table
from numpy.typing import NDArray
from sinusoid import wave_data

import polymargin as pm
from polymargin.learning import Factor, Regulariser, train
from polymargin.learning.shallow import shallow_network
from polymargin.networks import Network, from_torch
from polymargin.plots.boundaries import COLOURS
from polymargin.plots.figure_file import new_figure
from polymargin.reproduce.figure_xor import xor_data

MOMENTS = (0, 5, 10, 20, 50, 100, 200, 400, 800, 1600, 3000)
SHOWN = 40  # data points at which margins and real points are taken


class Power(torch.nn.Module):  # type: ignore[misc]
    def __init__(self, degree: int) -> None:
        super().__init__()
        self.degree = degree

    def forward(self, z: Any) -> Any:
        return z**self.degree


def layered(widths: tuple[int, ...], degree: int, seed: int) -> Any:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        layers: list[Any] = []
        for inputs, outputs in pairwise(widths):
            layers += [torch.nn.Linear(inputs, outputs, dtype=torch.float64), Power(degree)]
    return torch.nn.Sequential(*layers[:-1])


@dataclass(frozen=True)
class Candidate:
    """One architecture, how its boundary is called, and what is added to the loss."""

    name: str
    make: Callable[[int], Any]
    kernel_degree: int | None
    penalty: Callable[[Any], Any] | None = None


CANDIDATES = (
    Candidate("2-4-2, x²", lambda seed: shallow_network(2, 4, 2, seed=seed, dtype=torch.float64), 2),
    Candidate(
        "2-4-2, x², towards det M = 0",
        lambda seed: shallow_network(2, 4, 2, seed=seed, dtype=torch.float64),
        None,
        Regulariser(Factor.SINGULAR, 0.1),
    ),
    Candidate("2-4-2, x³", lambda seed: layered((2, 4, 2), 3, seed), 3),
    Candidate("2-3-3-2, x² twice", lambda seed: layered((2, 3, 3, 2), 2, seed), None),
)


def look(network: Network, points: NDArray[np.float64], labels: NDArray[np.int64]) -> dict[str, float]:
    right = points[network.predict(points) == labels][:SHOWN]
    boundary = pm.Boundary.from_network(network, 0, 1)
    radii = pm.margin(network, right, proof=False, workers=1).radii if len(right) else np.array([np.nan])
    counts = [int(pm.critical_points(boundary, point, threads=1).real.sum()) for point in points[:SHOWN]]
    return {
        "accuracy": float(np.mean(network.predict(points) == labels)),
        "margin": float(np.median(radii)),
        "real": float(np.mean(counts)),
        "ed_degree": float(pm.ed_degree(boundary).value),
    }


def history(
    candidate: Candidate, points: NDArray[np.float64], labels: NDArray[np.int64], seed: int
) -> list[dict[str, float]]:
    module, seen, step = candidate.make(seed), [], 0

    def after(network: Any) -> None:
        nonlocal step
        if step in MOMENTS:
            seen.append({"step": step, **look(from_torch(network), points, labels)})
        step += 1

    after(module)
    train(module, points, labels, steps=MOMENTS[-1], rate=1e-2, penalty=candidate.penalty, after_step=after)
    return seen


def draw(rows: list[dict[str, Any]], problems: list[str], path: Any) -> None:
    figure = new_figure(figsize=(9.2, 6.4), layout="constrained")
    axes = figure.subplots(2, len(problems), sharex=True, sharey="row")
    for column, problem in enumerate(problems):
        for candidate, colour in zip(CANDIDATES, COLOURS, strict=False):
            mine = [row for row in rows if row["problem"] == problem and row["network"] == candidate.name]
            degree = max(row["ed_degree"] for row in mine)
            for line, (quantity, axis) in enumerate(zip(("margin", "real"), axes[:, column], strict=True)):
                table = np.array([[r[quantity] for r in mine if r["step"] == step] for step in MOMENTS])
                table[~np.isfinite(table)] = np.nan  # a start where most points have no tie at all
                middle = np.nanmean(table, axis=1)
                spread = np.nanstd(table, axis=1) / np.sqrt(table.shape[1])
                label = f"{candidate.name} (ED degree {degree:g})" if line == column == 0 else None
                axis.plot(MOMENTS, middle, "o-", color=colour, markersize=3, label=label)
                axis.fill_between(MOMENTS, middle - spread, middle + spread, color=colour, alpha=0.2, linewidth=0)
            if candidate.kernel_degree is not None:
                expected = pm.expected_real_critical_points(2, candidate.kernel_degree, [1.0, 1.0]).value
                axes[1, column].plot([0], [expected], ">", color=colour, markersize=9, clip_on=False)
        axes[0, column].set_title(problem)
        axes[1, column].set(xlabel="training step", xscale="symlog", xlim=(0, MOMENTS[-1]))
    axes[0, 0].set_ylabel("median margin of points\nclassified right")
    axes[1, 0].set_ylabel("real critical points, mean\n(▷ Kac–Rice, random network)")
    figure.legend(loc="outside lower center", ncols=2, fontsize=9)
    figure.savefig(path, dpi=130)


def main() -> None:
    options = arguments(__doc__ or "", "results/margin_training", seeds=5)
    problems = {"XOR": xor_data(300, 0), "sinusoid": wave_data(300, 0)}
    rows: list[dict[str, Any]] = []
    for problem, (points, labels) in problems.items():
        for candidate in CANDIDATES:
            for seed in range(options.seeds):
                found = history(candidate, points, labels, seed)
                rows += [{"problem": problem, "network": candidate.name, "seed": seed, **row} for row in found]
                print(problem, candidate.name, seed, {k: round(v, 3) for k, v in found[-1].items()}, flush=True)
    write_table(options.out / "along_training.csv", rows)
    draw(rows, list(problems), options.out / "along_training.png")


if __name__ == "__main__":
    main()
