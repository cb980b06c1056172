"""The XOR figure: a quadratic network with and without the regulariser λ (det M)².

Four clusters at (±1, ±1), labelled by the sign of x₁x₂; a network 2-4-2 with activation x². Without the regulariser a hyperbola
of ED degree 4 is learned, with λ = 0.1 the boundary is drawn to the locus det M = 0 of crossing or parallel lines, ED degree 2.
The outcome depends on the start, so several are run and all of them are counted.
"""

from __future__ import annotations

import csv
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from polymargin.learning import Factor, Regulariser, Stratum, Training, shallow_network, train
from polymargin.learning.extra import torch_package
from polymargin.learning.strata import network_stratum
from polymargin.networks import Network, from_torch
from polymargin.plots.boundaries import Panel, boundary_panels
from polymargin.reproduce.figure_training import one_thread
from polymargin.reproduce.report_items import NOT_PRINTED, Comparison, Progress, Reproduced, silent

WINDOW = (-2.2, 2.2, -2.2, 2.2)
DATA, HIDDEN, RATE, STRENGTH = 400, 4, 1e-2, 0.1
TOLERANCE = 1e-3  # relative distance at which a trained quadric counts as being on a stratum


@dataclass(frozen=True, eq=False)
class LearnedConic:
    """A conic learned from one start with one strength of the regulariser."""

    start: int
    strength: float
    training: Training
    network: Network
    stratum: Stratum


def figure_xor(
    directory: Path, *, starts: int = 10, steps: int = 5000, seed: int = 0, progress: Progress = silent
) -> Reproduced:
    """Train from every start, with and without the regulariser; write the table and draw the first accurate start."""
    points, labels = xor_data(DATA, seed)
    runs = []
    with one_thread():
        for start in range(starts):
            runs.append([_learn(points, labels, strength, start, steps) for strength in (0.0, STRENGTH)])
            progress(f"start {start + 1} of {starts}")
    directory.mkdir(parents=True, exist_ok=True)
    shown = max(runs, key=lambda pair: min(learned.training.accuracy for learned in pair))
    titles = ("no regulariser", f"λ (det M)², λ = {STRENGTH:g}")
    panels = [Panel(one.network, title, caption(one)) for one, title in zip(shown, titles, strict=True)]
    files = [directory / f"figure-xor.{kind}" for kind in ("png", "svg")]
    for file in files:
        boundary_panels(panels, points, labels, file, window=WINDOW)
    table = _write_table(directory / "figure-xor.csv", runs)
    return Reproduced((*files, table), _rows(runs, shown), _notes(shown[0].start, starts, steps, seed))


def xor_data(count: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return clusters at the corners of a square, opposite corners in one class."""
    generator = np.random.default_rng(seed)
    corner = generator.integers(0, 4, count)
    centres = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    return centres[corner] + 0.3 * generator.standard_normal((count, 2)), (corner >= 2).astype(np.int64)


def caption(learned: LearnedConic) -> str:
    """Return the note below a picture."""
    place = learned.stratum
    return f"{place.name}, ED degree {place.ed_degree}\ndistance to det M = 0: {place.singular_distance:.1e}"


def _learn(
    points: NDArray[np.float64], labels: NDArray[np.int64], strength: float, start: int, steps: int
) -> LearnedConic:
    module = shallow_network(2, HIDDEN, 2, seed=start, dtype=torch_package().float64)
    penalty = Regulariser(Factor.SINGULAR, strength) if strength else None
    training = train(module, points, labels, steps=steps, rate=RATE, penalty=penalty)
    network = from_torch(module)
    return LearnedConic(start, strength, training, network, network_stratum(network, tolerance=TOLERANCE))


def _rows(runs: list[list[LearnedConic]], shown: list[LearnedConic]) -> tuple[Comparison, ...]:
    rows = [
        Comparison.of(
            f"ED degree, λ = {learned.strength:g} (start {learned.start})", printed, learned.stratum.ed_degree
        )
        for learned, printed in zip(shown, (4, 2), strict=True)
    ]
    for column in range(2):
        tally = Counter(f"{pair[column].stratum.name} ({pair[column].stratum.ed_degree})" for pair in runs)
        text = ", ".join(f"{name}: {count}" for name, count in tally.most_common())
        name = f"all {len(runs)} starts, λ = {runs[0][column].strength:g}: boundary (ED degree)"
        rows.append(Comparison(name, NOT_PRINTED, text, None))
    return tuple(rows)


def _notes(start: int, starts: int, steps: int, seed: int) -> tuple[str, ...]:
    return (
        f"Network 2-{HIDDEN}-2, {starts} starts, {steps} steps of Adam at rate {RATE:g}, {DATA} points, data seed {seed}; the "
        f"picture shows start {start}, the first of the most accurate. A boundary counts as lying on a stratum within relative "
        f"{TOLERANCE:g}.",
        "The paper gives neither data nor width nor rate; this setting was chosen after a few trials, which "
        "results/quadrics/README.md describes.",
    )


def _write_table(file: Path, runs: list[list[LearnedConic]]) -> Path:
    with file.open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["start", "strength", "loss", "accuracy", "stratum", "ed_degree", "singular_distance"])
        for learned in (one for pair in runs for one in pair):
            place, training = learned.stratum, learned.training
            numbers = (f"{training.loss:.6g}", f"{training.accuracy:.4f}")
            distance = f"{place.singular_distance:.3e}"
            writer.writerow([learned.start, learned.strength, *numbers, place.name, place.ed_degree, distance])
    return file
