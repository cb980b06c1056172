"""ED degrees that the paper leaves out: attention modules with t·d ≤ 10, deep networks of intermediate width with few inputs.

Run: python experiments/beyond_tables.py --directory results/tables
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from concurrent.futures import Executor
from functools import partial
from itertools import product
from pathlib import Path
from time import perf_counter

from ed_degree_trends import draw_trends

from polymargin.boundary import Architecture, AttentionArchitecture, NetworkArchitecture
from polymargin.geometry import degree_bounds
from polymargin.geometry.algebra.counting import exact_ed_degree
from polymargin.reproduce.ed_degree_tables import table1_rows, table2_rows, write_csv
from polymargin.reproduce.rows import Row, resumable_rows


def attention_modules(most_inputs: int = 10) -> list[AttentionArchitecture]:
    """Return all (t, d, d', a) up to the number of inputs that have no superfluous value dimension or rank."""
    sizes = range(1, most_inputs + 1)
    modules = [
        AttentionArchitecture(t, d, values, rank)
        for t, d in product(sizes, sizes)
        if t * d <= most_inputs
        for values in range(1, min(t, d) + 1)
        for rank in range(1, d + 1)
    ]
    return sorted(modules, key=lambda m: (m.inputs, m.d, m.d_prime, m.a))


def deep_networks(most_inputs: int = 5) -> list[NetworkArchitecture]:
    """Return (n, [n, h]) with x² and, for n ≤ 3, x³; (n, [n, h, g]) with x² for n ≤ 3: widths between 1 and n."""
    two = [
        NetworkArchitecture((n, n, h, 2), d)
        for n in range(2, most_inputs + 1)
        for h in range(1, n + 1)
        for d in ((2, 3) if n <= 3 else (2,))
    ]
    three = [
        NetworkArchitecture((n, n, h, g, 2), 2) for n in range(2, 4) for h, g in product(range(1, n + 1), repeat=2)
    ]
    return two + three


def beyond_table(
    kind: str,
    directory: Path,
    *,
    seed: int = 0,
    timeout: float = 600.0,
    executor: Executor | None = None,
    progress: Callable[[Row], None] | None = None,
) -> list[Row]:
    """Compute ED degrees by Gröbner bases modulo a prime, `kind` "attention" or "deep"; a run resumes in its `directory`."""
    rows: list[Architecture] = list(attention_modules()) if kind == "attention" else list(deep_networks())
    found = resumable_rows(
        partial(symbolic_row, seed=seed, timeout=timeout),
        rows,
        [str(row) for row in rows],
        directory / f"beyond-{kind}-seed{seed}.jsonl",
        header={"table": f"beyond-{kind}", "seed": seed},
        executor=executor,
        progress=progress,
    )
    write_csv(directory / f"beyond-{kind}-seed{seed}.csv", found)
    return found


def trends(rows: list[Row], file: Path) -> Path:
    """Draw the attention rows."""
    degrees = {(m.t, m.d, m.d_prime, m.a): row["ed_degree"] for m, row in zip(attention_modules(), rows, strict=True)}
    return draw_trends(degrees, file)


def symbolic_row(architecture: Architecture, *, seed: int, timeout: float) -> Row:
    """Return one row: the degree, the bounds of theorems, and the printed value if the paper has the row."""
    started = perf_counter()
    found = exact_ed_degree(architecture, seed=seed, timeout=timeout)
    rows: list[tuple[Architecture, int]] = [*table1_rows(), *table2_rows()]
    printed = {row.reduced(): value for row, value in rows}
    lower, upper = degree_bounds(architecture)
    return {
        "ed_degree": found.value,
        "lower": lower,
        "upper": upper,
        "printed": printed.get(architecture.reduced()),
        "engine": found.engine,
        "variables": found.variables,
        "seconds": round(perf_counter() - started, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--directory", type=Path, default=Path("results/tables"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--timeout", type=float, default=600.0, help="Seconds for one row.")
    options = parser.parse_args()
    for kind in ("deep", "attention"):
        rows = beyond_table(kind, options.directory, seed=options.seed, timeout=options.timeout, progress=print)
    print(trends(rows, options.directory / "trends.png"))


if __name__ == "__main__":
    main()
