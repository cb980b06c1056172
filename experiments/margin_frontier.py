"""The frontier of `margin_training.py`: clean against certified accuracy, one curve per method, and the table of its rows.

Every mark is the mean over the starts with its standard error in both directions. The last column of the table compares with
PGD at equal clean accuracy: the certified accuracy minus that of the line through PGD's marks, where PGD has marks on both sides.

    python experiments/margin_frontier.py --out results/margin_training --hidden 50
"""

from __future__ import annotations

import csv
from collections import defaultdict
from typing import Any

import numpy as np
from common import arguments
from numpy.typing import NDArray

from polymargin.plots.boundaries import COLOURS
from polymargin.plots.figure_file import new_figure

RADII = ("0.5", "1", "1.5")
METHODS = {
    "PGD": "PGD (ε = 0.5 … 2.5)",
    "margin": "PGD 1.5, then exact margins",
    "scratch": "exact margins from scratch",
}
Array = NDArray[np.float64]


def read(options: Any) -> dict[tuple[str, str], list[dict[str, float]]]:
    runs: dict[tuple[str, str], list[dict[str, float]]] = defaultdict(list)
    for path in sorted(options.out.glob(f"hidden_{options.hidden}_from_*.csv")):
        with path.open(encoding="utf-8") as file:
            for row in csv.DictReader(file):
                numbers = {k: float(v) for k, v in row.items() if k not in ("method", "setting")}
                runs[row["method"], row["setting"]].append(numbers)
    return runs


def mean(rows: list[dict[str, float]], key: str) -> tuple[float, float]:
    values = np.array([row[key] for row in rows])
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")


def frontier(runs: dict[tuple[str, str], list[dict[str, float]]], key: str) -> tuple[Array, Array]:
    """PGD's marks from its best clean accuracy downwards, ordered by clean accuracy."""
    marks = sorted(
        (mean(rows, "clean")[0], mean(rows, key)[0]) for (method, _), rows in runs.items() if method == "PGD"
    )
    best = [mark for mark in marks if not any(o[0] >= mark[0] and o[1] > mark[1] for o in marks)]
    return np.array([mark[0] for mark in best]), np.array([mark[1] for mark in best])


def table(runs: dict[tuple[str, str], list[dict[str, float]]]) -> str:
    keys = ("clean", "at 0.25", "at 0.5", "at 1", "at 1.5", "median")
    lines = ["| method | " + " | ".join(keys) + " | seconds | against PGD at 0.5 / 1 / 1.5 |", "|" + "---|" * 9]
    for (method, setting), rows in runs.items():
        cells = [f"{value:.2f} ± {error:.2f}" for value, error in (mean(rows, key) for key in keys)]
        gains = []
        for radius in RADII:
            clean, certified = frontier(runs, f"at {radius}")
            here = mean(rows, "clean")[0]
            inside = clean[0] <= here <= clean[-1]
            level = (
                float(np.interp(here, clean, certified)) if inside else float(certified[-1 if here > clean[-1] else 0])
            )
            gain = mean(rows, f"at {radius}")[0] - level
            gains.append(f"{gain:+.2f}" + ("" if inside else "*"))
        against = "" if method in ("PGD", "plain") else " / ".join(gains)
        lines.append(f"| {method} {setting} | {' | '.join(cells)} | {mean(rows, 'seconds')[0]:.0f} | {against} |")
    return "\n".join(lines)


def main() -> None:
    options = arguments(__doc__ or "", "results/margin_training", hidden=50)
    runs = read(options)
    figure = new_figure(figsize=(11, 4.2), layout="constrained")
    for axes, radius in zip(figure.subplots(1, len(RADII)), RADII, strict=True):
        for (method, name), colour in zip(METHODS.items(), COLOURS, strict=False):
            marks = [
                (*mean(rows, "clean"), *mean(rows, f"at {radius}")) for (m, _), rows in runs.items() if m == method
            ]
            if marks:
                x, dx, y, dy = np.array(marks).T
                axes.errorbar(x, y, dy, dx, fmt="o-", color=colour, markersize=4, linewidth=1.2, label=name)
        axes.set(title=f"r = {radius}", xlabel="clean accuracy, %")
    figure.axes[0].set_ylabel("certified accuracy at r, %")
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    figure.savefig(options.out / f"frontier_{options.hidden}.png", dpi=130)
    print(table(runs))


if __name__ == "__main__":
    main()
