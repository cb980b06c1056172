"""Table 3: the soundness benchmark, trained, verified, and put beside the printed numbers.

The paper's networks are not published, so eight networks are trained anew with the same recipe. The share of clean points
that are falsified is a property of the trained networks and differs from training to training. All unverifiable instances
must be falsified, whatever the training gave.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from datetime import date
from pathlib import Path
from time import perf_counter

from polymargin import __version__
from polymargin.reproduce.ed_degree_tables import printed_table, write_csv
from polymargin.reproduce.rows import Row
from polymargin.soundness import (
    Plan,
    PlantedNetwork,
    VerifierOutcome,
    generate_benchmark,
    paper_settings,
    score,
    train_benchmark,
    verify_benchmark,
)
from polymargin.soundness.benchmark_files import CLEAN, UNVERIFIABLE, read_instances
from polymargin.work import Workers


def reproduce_table3(
    directory: str | Path,
    *,
    epochs: int = 5000,
    seed: int = 0,
    executor: Workers | None = None,
    progress: Callable[[str], None] | None = None,
) -> list[Row]:
    """Train the eight networks, verify the 160 instances, and write table3.csv, README.md and the benchmark itself.

    The benchmark goes into `directory`/benchmark; a folder made with other options is refused.
    """
    folder = Path(directory)
    benchmark = generate_benchmark(folder / "benchmark", paper_settings(), Plan(epochs=epochs, seed=seed))
    started = perf_counter()
    networks = train_benchmark(benchmark, executor=executor, progress=progress)
    trained = perf_counter()
    outcomes = verify_benchmark(benchmark, seed=seed, executor=executor, progress=progress)
    seconds = trained - started, perf_counter() - trained
    rows = [_row(network, printed, outcomes) for network, printed in zip(networks, _printed(networks), strict=True)]
    write_csv(folder / "table3.csv", rows)
    (folder / "README.md").write_text(_readme(benchmark, rows, outcomes, seconds, epochs, seed), encoding="utf-8")
    return rows


def _printed(networks: list[PlantedNetwork]) -> list[dict[str, str]]:
    table = {
        (int(row["hidden"]), int(row["activation_degree"]), float(row["epsilon"])): row
        for row in printed_table("soundness_benchmark")
    }
    return [table[item.setting.hidden[0], item.setting.degree, item.setting.epsilon] for item in networks]


def _row(network: PlantedNetwork, printed: dict[str, str], outcomes: list[VerifierOutcome]) -> Row:
    setting = network.setting
    ours = [item for item in outcomes if Path(item.onnx).stem == setting.name]
    seconds = [item.margin_seconds for item in ours]
    printed_mean = float(printed["seconds_mean"])
    return {
        "name": setting.name,
        "hidden": setting.hidden[0],
        "degree": setting.degree,
        "epsilon": setting.epsilon,
        "falsified_unverifiable_printed": float(printed["falsified_unverifiable"]),
        "falsified_unverifiable": _share(ours, UNVERIFIABLE),
        "falsified_clean_printed": float(printed["falsified_clean"]),
        "falsified_clean": _share(ours, CLEAN),
        "proved": sum(item.proved for item in ours),
        "instances": len(ours),
        "seconds_mean_printed": printed_mean,
        "seconds_std_printed": float(printed["seconds_std"]),
        "seconds_mean": _short(statistics.mean(seconds)),
        "seconds_std": _short(statistics.stdev(seconds)),
        "seconds_shared": _short(ours[0].shared_seconds),
        "times_faster": round(printed_mean / statistics.mean(seconds)),
        "verdict_seconds_mean": _short(statistics.mean(item.verdict_seconds for item in ours)),
        "failed_attempts": network.attempt,
        "training_seconds": round(network.seconds, 1),
    }


def _share(outcomes: list[VerifierOutcome], kind: str) -> float:
    """Return the share falsified with a counterexample that the checker accepts."""
    of_kind = [item.result == "sat" for item in outcomes if item.kind == kind]
    return sum(of_kind) / len(of_kind)


def _short(value: float) -> float:
    return float(f"{value:.3g}")


def _readme(
    benchmark: Path,
    rows: list[Row],
    outcomes: list[VerifierOutcome],
    seconds: tuple[float, float],
    epochs: int,
    seed: int,
) -> str:
    results = {(Path(o.onnx).name, Path(o.vnnlib).name): (o.result, o.verdict_seconds) for o in outcomes}
    ratios = score(read_instances(benchmark), results).to_dict()
    lines = [
        "# Soundness benchmark (Table 3)",
        "",
        f"polymargin {__version__}, {date.today().isoformat()}, seed {seed}, {epochs} epochs.",
        "`polymargin reproduce table3` writes everything here; `docs/soundness.md` says what it means.",
        "",
        "| h | d | ε | falsified, unverifiable: printed / ours | falsified, clean: printed / ours | seconds: printed mean (std) "
        "| ours mean (std) | once per network | times faster | proved | failed attempts |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row['hidden']} | {row['degree']} | {row['epsilon']} "
        f"| {row['falsified_unverifiable_printed']:.0%} / {row['falsified_unverifiable']:.0%} "
        f"| {row['falsified_clean_printed']:.0%} / {row['falsified_clean']:.0%} "
        f"| {row['seconds_mean_printed']} ({row['seconds_std_printed']}) | {row['seconds_mean']} ({row['seconds_std']}) "
        f"| {row['seconds_shared']} | {row['times_faster']} | {row['proved']} of {row['instances']} | {row['failed_attempts']} |"
        for row in rows
    ]
    lines += [
        "",
        "Seconds are wall time on one thread for the full margin of one point; what a network's points share (base solutions) is",
        "done once and listed apart. `proved` counts verdicts, robust or not, whose certificate the separate checker",
        "accepts. Failed attempts are trainings that did not plant every counterexample; the next seed is then tried.",
        "",
        f"Training took {seconds[0]:.0f} s in all; margins, verdicts, certificates and their check took {seconds[1]:.1f} s for "
        f"{len(outcomes)} instances.",
        "",
        *(f"* {name}: {value:.4g}" for name, value in ratios.items() if value is not None and name != "seconds"),
        "",
    ]
    return "\n".join(lines)
