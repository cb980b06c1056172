"""What the experiments share: the command line, tables, and the page that says how a result came about."""

from __future__ import annotations

import argparse
import csv
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

import polymargin
from polymargin.learning import Factor, LocusProjection, Regulariser, Stratum, Training, project, shallow_network, train
from polymargin.learning.strata import network_stratum
from polymargin.networks import PolynomialNetwork, from_torch
from polymargin.plots.boundaries import Panel, boundary_panels

TOLERANCE = 1e-3  # relative distance at which a trained quadric counts as being on a stratum


@dataclass(frozen=True, eq=False)
class Learned:
    """One conic learned from data: with which strength, how it went, and where it ended."""

    seed: int
    strength: float
    training: Training
    network: PolynomialNetwork
    stratum: Stratum
    projection: LocusProjection | None = None


def arguments(description: str, folder: str, **defaults: Any) -> argparse.Namespace:
    """--out and one option per default, of its type."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(folder), help="folder for the figures and tables")
    for name, value in defaults.items():
        parser.add_argument(f"--{name}", type=type(value), default=value)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    return options


def write_table(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def write_section(folder: Path, name: str, text: str) -> None:
    """Put `text` into the folder's README.md as the section `name`, in place of what was there."""
    page = folder / "README.md"
    head = "# Networks with quadratic activation\n\nWritten by the scripts in `experiments/`; one section each.\n"
    parts = (page.read_text(encoding="utf-8") if page.exists() else head).split("\n## ")
    when = datetime.now(UTC).strftime("%Y-%m-%d")
    origin = f"polymargin {polymargin.__version__}, torch {torch.__version__}, {when}\n`python {' '.join(sys.argv)}`"
    sections = {part.split("\n", 1)[0]: part for part in parts[1:]}
    sections[name] = f"{name}\n\n{origin}\n\n{text.strip()}\n"
    ordered = [sections[key].rstrip("\n") for key in sorted(sections)]
    page.write_text("\n\n## ".join([parts[0].rstrip("\n"), *ordered]) + "\n", encoding="utf-8")


def learn_conic(
    points: NDArray[np.float64],
    labels: NDArray[np.int64],
    factor: Factor,
    strength: float,
    *,
    hidden: int,
    seed: int,
    steps: int,
    rate: float,
) -> tuple[Learned, Learned]:
    """Train 2-hidden-2 in double precision with strength · factor², as it comes and projected onto factor = 0."""
    module = shallow_network(2, hidden, 2, seed=seed, dtype=torch.float64)
    penalty = Regulariser(factor, strength) if strength else None
    training = train(module, points, labels, steps=steps, rate=rate, penalty=penalty)
    trained = from_torch(module)
    projection = project(module, factor)
    projected = from_torch(module)
    return (
        Learned(seed, strength, training, trained, network_stratum(trained, tolerance=TOLERANCE)),
        Learned(seed, strength, training, projected, network_stratum(projected, tolerance=TOLERANCE), projection),
    )


def compare_conics(
    name: str,
    points: NDArray[np.float64],
    labels: NDArray[np.int64],
    factor: Factor,
    options: argparse.Namespace,
    window: tuple[float, float, float, float],
) -> None:
    """Learn without, with, and with the regulariser and a projection, from every start; write table, picture, section.

    The picture shows the first start for which the three are the most accurate.
    """
    runs: list[tuple[Learned, Learned, Learned]] = []
    common = {"hidden": options.hidden, "steps": options.steps, "rate": options.rate}
    for seed in range(options.seeds):
        plain, _ = learn_conic(points, labels, factor, 0.0, seed=seed, **common)
        drawn, projected = learn_conic(points, labels, factor, options.strength, seed=seed, **common)
        runs.append((plain, drawn, projected))
        print(f"start {seed}, λ = 0: {plain.training} {plain.stratum}")
        print(f"start {seed}, λ = {options.strength:g}: {drawn.training} {drawn.stratum}")
        print(f"start {seed}, {projected.projection}", flush=True)
    file = f"{name.lower()}_{options.hidden}_hidden"
    write_table(options.out / f"{file}.csv", [row(learned, points, labels) for run in runs for learned in run])
    shown = max(runs, key=lambda run: min(accuracy(learned, points, labels) for learned in run))
    titles = (
        "no regulariser",
        f"λ ({factor.value})², λ = {options.strength:g}",
        f"then projected onto {factor.value} = 0",
    )
    panels = [Panel(t.network, title, caption(t, factor)) for t, title in zip(shown[:2], titles[:2], strict=True)]
    boundary_panels(panels, points, labels, options.out / f"{file}.png", window=window)
    columns = list(zip(*runs, strict=True))
    tallies = [Counter(f"{t.stratum.name} (ED degree {t.stratum.ed_degree})" for t in column) for column in columns]
    names = sorted(set().union(*tallies))
    lines = [f"| {kind} | " + " | ".join(str(tally[kind]) for tally in tallies) + " |" for kind in names]
    means = [f"{np.mean([accuracy(t, points, labels) for t in column]):.4f}" for column in columns]
    text = "\n".join(
        [
            f"Network 2-{options.hidden}-2, {options.seeds} starts (torch seeds 0 …), {options.steps} steps, "
            f"rate {options.rate:g}; {len(points)} points, data seed {options.seed}. "
            f"Strata at relative tolerance {TOLERANCE:g}.",
            f"Files: `{file}.csv`, `{file}.png` (start {shown[0].seed}).",
            "",
            f"| boundary | λ = 0 | λ = {options.strength:g} | projected |",
            "|---|---|---|---|",
            *lines,
            f"| *mean accuracy* | {' | '.join(means)} |",
            "",
            "Shown:",
            *(f"* {title}: {t.stratum!r}" for t, title in zip(shown, titles, strict=True)),
        ]
    )
    print(text)
    write_section(options.out, f"{name}, {options.hidden} hidden neurons", text)


def caption(learned: Learned, factor: Factor) -> str:
    """What to write below a picture."""
    place = learned.stratum
    distance = {
        Factor.RANK: place.rank_distance,
        Factor.SINGULAR: place.singular_distance,
        Factor.REPEATED: place.repeated_distance,
    }[factor]
    return f"{place.name}, ED degree {place.ed_degree}\ndistance to {factor.value} = 0: {distance:.1e}"


def accuracy(learned: Learned, points: NDArray[np.float64], labels: NDArray[np.int64]) -> float:
    return float(np.mean(learned.network.predict(points) == labels))


def row(learned: Learned, points: NDArray[np.float64], labels: NDArray[np.int64]) -> dict[str, Any]:
    """One line of a table."""
    place = learned.stratum
    return {
        "seed": learned.seed,
        "strength": learned.strength,
        "projected": learned.projection is not None,
        "loss": f"{learned.training.loss:.6g}",
        "accuracy": f"{accuracy(learned, points, labels):.4f}",
        "stratum": place.name,
        "ed_degree": place.ed_degree,
        "rank_distance": f"{place.rank_distance:.3e}",
        "singular_distance": f"{place.singular_distance:.3e}",
        "repeated_distance": f"{place.repeated_distance:.3e}",
    }
