"""Expected numbers of real critical points: how long they take, and the tables in `results/expected`.

python benchmarks/expected.py                        times only
python benchmarks/expected.py --out results/expected  also the tables and figures; some minutes
python benchmarks/expected.py --out results/expected --samples 1000000 --large   tables of their own, for a machine with a GPU

Rows of the large tables are written one by one, and those with as many samples that are there already are kept; `--only` names
parts, or words in the names of architectures. What was counted of a row that was not finished is kept beside the table.
"""

from __future__ import annotations

import argparse
import csv
import math
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from pathlib import Path
from time import perf_counter
from typing import Any

import common  # noqa: F401  (before NumPy)
import numpy as np
from expected_figures import Bar, architecture_counts

from polymargin import __version__
from polymargin.cli.expected import deviation
from polymargin.cli.printing import progress_bar
from polymargin.expected import (
    AttentionFamily,
    DeepFamily,
    Family,
    ShallowEnsemble,
    ShallowFamily,
    ShallowKernel,
    SimulatedCounts,
    expected_for_field,
    expected_real_critical_points,
    leading_constant,
    simulate_real_counts,
)

POINTS = {"origin": (0.0, 0.0, 0.0), "off origin": (1.0, 0.5, 0.25)}
AGREEMENT = [(1, d) for d in (2, 3, 5, 7, 10, 15, 20, 25, 30)] + [(2, 2), (2, 3), (2, 4), (3, 2), (3, 3)]
DEGREES = (2, 4, 8, 16, 32, 64, 128, 256, 512)
WIDTHS = (3, 4, 6, 10, 20, 50, 200, 1000)


def reproduce_kac_rice(
    directory: Path,
    *,
    samples: int = 1000,
    most: int = 30,
    seed: int = 0,
    width: int | None = None,
    name: str = "kac_rice",
) -> list[Path]:
    """The simulation figure: real zeros in one variable for degrees 1 to `most`, and the theory. Files are returned.

    Networks are drawn in the limit of infinite width, exactly, unless a width is given.
    """
    from polymargin.plots.kac_rice import real_zero_counts

    directory.mkdir(parents=True, exist_ok=True)
    degrees = list(range(1, most + 1))
    simulations = []
    with progress_bar() as progress:
        task = progress.add_task("networks", total=samples * len(degrees))
        for degree in degrees:
            family = ShallowFamily(ShallowEnsemble(1, degree, width))
            simulations.append(
                simulate_real_counts(family, samples, seed=seed, progress=lambda count: progress.advance(task, count))
            )
    rows: list[dict[str, object]] = []
    for degree, found in zip(degrees, simulations, strict=True):
        expected = expected_real_critical_points(1, degree).value
        rows.append(
            {
                "degree": degree,
                "expected": f"{expected:.10f}",
                "simulated_mean": f"{found.mean:.6f}",
                "standard_error": f"{found.standard_error:.6f}",
                "deviation_in_standard_errors": deviation(found, expected),
            }
        )
    remark = f"{samples} networks per degree, width {width or 'infinite'}, seed {seed}"
    table = write_table(directory / f"{name}.csv", rows, remark)
    return [real_zero_counts(degrees, simulations, directory / f"{name}.png"), table]


def write_table(path: Path, rows: Sequence[Mapping[str, object]], remark: str) -> Path:
    """A CSV file with one column per key, that says first where it comes from."""
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(f"# polymargin {__version__}, {date.today().isoformat()}; {remark}\n")
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return path


def kept_rows(path: Path, remark: str, samples: int) -> list[dict[str, object]]:
    """Rows with so many samples of a table with this remark; none if there is no such table."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        if not file.readline().rstrip("\n").endswith(f"; {remark}"):
            return []
        return [dict(row) for row in csv.DictReader(file) if row["samples"] == str(samples)]


def shallow(dimension: int, degree: int, width: int | None = None) -> ShallowFamily:
    return ShallowFamily(ShallowEnsemble(dimension, degree, width))


ARCHITECTURES: list[tuple[str, str, Family]] = [
    ("2 inputs, shallow z⁴, limit", "shallow", shallow(2, 4)),
    ("2-3-3, z²", "deep", DeepFamily((2, 3, 3), 2)),
    ("2-8-8, z²", "deep", DeepFamily((2, 8, 8), 2)),
    ("2 inputs, shallow z⁸, limit", "shallow", shallow(2, 8)),
    ("2-3-3-3, z²", "deep", DeepFamily((2, 3, 3, 3), 2)),
    ("2-6-6-6, z²", "deep", DeepFamily((2, 6, 6, 6), 2)),
    ("2 inputs, shallow z⁹, limit", "shallow", shallow(2, 9)),
    ("2-3-3, z³", "deep", DeepFamily((2, 3, 3), 3)),
    ("2-8-8, z³", "deep", DeepFamily((2, 8, 8), 3)),
    ("3 inputs, shallow z⁴, limit", "shallow", shallow(3, 4)),
    ("3-3-2, z²", "deep", DeepFamily((3, 3, 2), 2)),
    ("3-4-4, z²", "deep", DeepFamily((3, 4, 4), 2)),
    ("3-8-8, z²", "deep", DeepFamily((3, 8, 8), 2)),
    ("4 inputs, shallow z³, limit", "shallow", shallow(4, 3)),
    ("attention t=2 d=2 d'=1 a=1", "attention", AttentionFamily(2, 2, 1, 1)),
    ("attention t=2 d=2 d'=2 a=1", "attention", AttentionFamily(2, 2, 2, 1)),
    ("attention t=2 d=2 d'=1 a=2", "attention", AttentionFamily(2, 2, 1, 2)),
    ("attention t=2 d=2 d'=2 a=2", "attention", AttentionFamily(2, 2, 2, 2)),
    ("6 inputs, shallow z³, limit", "shallow", shallow(6, 3)),
    ("attention t=3 d=2 d'=1 a=1", "attention", AttentionFamily(3, 2, 1, 1)),
    ("attention t=3 d=2 d'=2 a=2", "attention", AttentionFamily(3, 2, 2, 2)),
    ("attention t=2 d=3 d'=2 a=2", "attention", AttentionFamily(2, 3, 2, 2)),
    ("attention t=2 d=3 d'=2 a=3", "attention", AttentionFamily(2, 3, 2, 3)),
]


def timed(name: str, task: Callable[[], Any]) -> Any:
    started = perf_counter()
    found = task()
    print(f"{perf_counter() - started:8.2f} s  {name}", flush=True)
    return found


def times() -> None:
    """What the package promises about speed."""
    timed("integral, n = 2, d = 3, relative 1e-6", lambda: expected_real_critical_points(2, 3, [1.0, 0.5]))
    timed("integral, n = 3, d = 3, relative 1e-6", lambda: expected_real_critical_points(3, 3, [1.0, 0.5, 0.25]))
    timed("integral, n = 4, d = 3, relative 3e-3", lambda: expected_real_critical_points(4, 3))
    for n, d in ((2, 3), (2, 4), (3, 3)):
        task = lambda n=n, d=d: simulate_real_counts(shallow(n, d), 1000)  # noqa: E731
        timed(f"1,000 networks, n = {n}, d = {d}", task)


def agreement(directory: Path, samples: int, seed: int, name: str = "agreement", keep: bool = False) -> None:
    """Simulated means against the integral, at two points each."""
    path, remark = directory / f"{name}.csv", f"benchmarks/expected.py, seed {seed}"
    cases = [(n, d, where) for n, d in AGREEMENT for where in POINTS]
    kept = kept_rows(path, remark, samples) if keep else []
    rows = {(int(str(row["dimension"])), int(str(row["degree"])), str(row["where"])): row for row in kept}
    for case in cases:
        if case in rows:
            continue
        dimension, degree, where = case
        u = np.array(POINTS[where][:dimension])
        started = perf_counter()
        found = expected_real_critical_points(dimension, degree, u, simulate=samples, seed=seed)
        # In one variable the value is a closed form; the quadrature is independent of it.
        by_quadrature = expected_for_field(ShallowKernel(dimension, degree), u, tolerance=1e-8)
        simulation = found.simulation
        assert simulation is not None
        rows[case] = {
            "dimension": dimension,
            "degree": degree,
            "point": " ".join(map(str, u)),
            "where": where,
            "expected": f"{found.value:.10f}",
            "by_quadrature": f"{by_quadrature.value:.10f}",
            "quadrature_error": f"{by_quadrature.error:.1e}",
            "simulated_mean": f"{simulation.mean:.6f}",
            "standard_error": f"{simulation.standard_error:.6f}",
            "deviation_in_standard_errors": deviation(simulation, found.value),
            "samples": samples,
            "doubtful": simulation.doubtful,
            "complex_count": found.complex_count,
        }
        print(f"{perf_counter() - started:8.1f} s", *rows[case].values(), flush=True)
        write_table(path, [rows[each] for each in cases if each in rows], remark)


def growths(directory: Path) -> None:
    """Expected numbers for degrees up to 512 in one, two and three variables."""
    rows = []
    for n in (1, 2, 3):
        found = [expected_real_critical_points(n, degree, POINTS["off origin"][:n]) for degree in DEGREES]
        values = np.array([each.value for each in found])
        totals = np.array([each.complex_count for each in found], dtype=np.float64)
        exponent, tail, of_complex = (
            np.polyfit(np.log(DEGREES[part]), np.log(numbers[part]), 1)[0]
            for part, numbers in ((slice(None), values), (slice(-3, None), values), (slice(None), totals))
        )
        for each, ratio in zip(found, values / np.sqrt(totals), strict=True):
            rows.append(
                {
                    "dimension": n,
                    "degree": each.degree,
                    "expected": f"{each.value:.8f}",
                    "error": f"{each.error:.1e}",
                    "complex_count": each.complex_count,
                    "ratio_to_root_of_complex": f"{ratio:.6f}",
                    "limit_of_ratio": f"{leading_constant(n):.6f}",
                    "fitted_exponent": f"{exponent:.4f}",
                    "exponent_of_last_three": f"{tail:.4f}",
                    "half_dimension": n / 2,
                    "complex_exponent": f"{of_complex:.4f}",
                }
            )
    write_table(directory / "growth.csv", rows, "benchmarks/expected.py; nothing random")


def widths(directory: Path, samples: int, seed: int) -> None:
    """Networks of finite width against the limit; the last rows have the width of the paper's figure."""
    cases = [(n, d, width, samples) for n, d in ((1, 10), (2, 3)) for width in WIDTHS if width > n]
    cases += [(1, d, 20_000, 1000) for d in (3, 5, 10, 15, 20, 30)]
    rows = []
    for dimension, degree, width, count in cases:
        limit = expected_real_critical_points(dimension, degree).value
        found = simulate_real_counts(shallow(dimension, degree, width), count, seed=seed)
        setting = {"dimension": dimension, "degree": degree, "width": width}
        rows.append(setting | summary(found) | {"limit": f"{limit:.6f}", "deviation": deviation(found, limit)})
        print(*rows[-1].values(), flush=True)
    write_table(directory / "finite_width.csv", rows, f"benchmarks/expected.py, seed {seed}")


def architectures(
    directory: Path,
    samples: int,
    seed: int,
    name: str = "architectures",
    keep: bool = False,
    words: Sequence[str] = (),
) -> None:
    """Deep networks and attention, for which there is no formula, beside shallow networks of the same degree."""
    path, remark = directory / f"{name}.csv", f"benchmarks/expected.py, seed {seed}, point (1, 1/2, 1/3, …)"
    rows = {str(row["architecture"]): row for row in (kept_rows(path, remark, samples) if keep else [])}
    for architecture, kind, family in ARCHITECTURES:
        if architecture in rows or (words and not any(word in architecture for word in words)):
            continue
        u = 1 / np.arange(1.0, family.dimension + 1)
        started = perf_counter()
        found = simulate_real_counts(family, samples, u, seed=seed, progress=Progress(architecture, samples))
        rows[architecture] = {
            "architecture": architecture,
            "kind": kind,
            "inputs": family.dimension,
            "degree": family.degree,
            **summary(found),
            "least": int(found.counts.min()),
            "most": int(found.counts.max()),
            "complex_count": found.complex_count,
            "ratio_to_root_of_complex": f"{found.mean / math.sqrt(found.complex_count):.4f}",
        }
        print(f"{perf_counter() - started:8.1f} s", *rows[architecture].values(), flush=True)
        write_table(path, [rows[each] for each, _, _ in ARCHITECTURES if each in rows], remark)
    if len(rows) == len(ARCHITECTURES):
        bars = [_bar(rows[each]) for each, _, _ in ARCHITECTURES]
        architecture_counts(bars, directory / f"{name}.png")


def _bar(row: Mapping[str, object]) -> Bar:
    mean, low, high = (float(str(row[name])) for name in ("mean_real", "low_95", "high_95"))
    return Bar(str(row["architecture"]), str(row["kind"]), mean, (low, high), int(str(row["complex_count"])))


class Progress:
    """Says every ten seconds how many of the samples are finished."""

    def __init__(self, name: str, samples: int) -> None:
        self.name, self.samples, self.done = name, samples, 0
        self.started = self.told = perf_counter()

    def __call__(self, count: int) -> None:
        self.done += count
        if perf_counter() - self.told > 10:
            self.told = perf_counter()
            print(f"{self.told - self.started:8.1f} s  {self.name}: {self.done} of {self.samples}", flush=True)


def summary(found: SimulatedCounts) -> dict[str, object]:
    """Mean, 95 % interval, samples, and how many of them are in doubt."""
    low, high = found.interval
    return {
        "mean_real": f"{found.mean:.4f}",
        "low_95": f"{low:.4f}",
        "high_95": f"{high:.4f}",
        "samples": found.samples,
        "doubtful": found.doubtful,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="directory for tables and figures")
    parser.add_argument("--samples", type=int, default=10_000, help="networks per row of the agreement table")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--large", action="store_true", help="tables of their own, with so many networks in every row")
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="WORD", help="of the large ones: figure, agreement, or architectures"
    )
    options = parser.parse_args()
    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
    if options.large:
        large(options.out, options.samples, options.seed, options.only)
        return
    times()
    if options.out is None:
        return
    timed(
        "figure, n = 1, degrees 1 to 30, 1,000 networks each",
        lambda: reproduce_kac_rice(options.out, seed=options.seed),
    )
    timed("growth", lambda: growths(options.out))
    timed("agreement", lambda: agreement(options.out, options.samples, options.seed))
    timed("finite width", lambda: widths(options.out, options.samples // 2, options.seed))
    timed("architectures", lambda: architectures(options.out, options.samples // 5, options.seed))


def large(directory: Path, samples: int, seed: int, only: Sequence[str]) -> None:
    """The tables with many networks; `only` has the names of parts, or words in the names of architectures."""
    parts = {
        "figure": lambda: reproduce_kac_rice(directory, samples=samples, seed=seed, name="kac_rice_large"),
        "agreement": lambda: agreement(directory, samples, seed, "agreement_large", keep=True),
    }
    for name, part in parts.items():
        if not only or name in only:
            timed(name, part)
    words = [word for word in only if word not in (*parts, "architectures")]
    if not only or words or "architectures" in only:
        timed("architectures", lambda: architectures(directory, samples, seed, "architectures_large", True, words))


if __name__ == "__main__":
    main()
