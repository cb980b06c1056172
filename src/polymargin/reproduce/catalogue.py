"""The tables and figures of the paper in its order, with the sizes of a full and of a quick run.

A quick run leaves out table rows that take minutes, draws fewer samples and trains for fewer steps where that takes long; it
computes everything else the same way.
"""

from __future__ import annotations

from typing import Any

from polymargin.errors import InputError
from polymargin.reproduce.report_items import Comparison, Entry, Reproduced, Run

# Rows with larger printed ED degrees are left out of a quick run.
QUICK_DEGREES = {"table1": 400, "table2": 160}


def _ed_degree_table(run: Run, table: str) -> Reproduced:
    from polymargin.reproduce.ed_degree_tables import TABLES, ed_degree_table

    most = QUICK_DEGREES[table] if run.quick else None
    total = len(TABLES[table]())
    rows = ed_degree_table(
        table, run.directory, seed=run.seed, largest_degree=most, progress=lambda row: run.progress(str(row["name"]))
    )
    notes = [
        "Counted by monodromy until the trace test passed or the bound for the degree was reached; the time is that of all rows "
        f"together. {len(rows)} of {total} rows"
        + (f": a quick run takes those with a printed ED degree of at most {most}." if most is not None else ".")
    ]
    notes += [_disagreement(row) for row in rows if row["agrees"] is False]
    file = run.directory / f"{table}-seed{run.seed}.csv"
    seconds = sum(float(row["seconds"]) for row in rows)
    return Reproduced((file,), tuple(map(_ed_degree_row, rows)), tuple(notes), seconds)


def _ed_degree_row(row: dict[str, Any]) -> Comparison:
    ours = str(row["ours"]) if row["complete"] else f"{row['ours']} (not known to be complete)"
    return Comparison(row["name"], str(row["printed"]), ours, row["agrees"])


def _disagreement(row: dict[str, Any]) -> str:
    defect = "" if row["trace_defect"] is None else f" (defect {row['trace_defect']:.0e})"
    if not row["complete"]:
        why = f"our trace test did not pass{defect}, so that our own count is not settled either"
    elif defect:
        why = f"our trace test passed{defect}, so that we take our count to be complete"
    else:
        why = "ours is the most that a boundary of this degree can have"
    return f"{row['name']}: printed {row['printed']}, ours {row['ours']}; {why}."


def _table1(run: Run) -> Reproduced:
    return _ed_degree_table(run, "table1")


def _table2(run: Run) -> Reproduced:
    return _ed_degree_table(run, "table2")


def _table3(run: Run) -> Reproduced:
    from polymargin.reproduce.table3 import reproduce_table3

    folder = run.directory / "table3"
    rows = reproduce_table3(folder, seed=run.seed, progress=run.progress)
    compared = [found for row in rows for found in _soundness_rows(row)]
    proved, instances = (sum(row[key] for row in rows) for key in ("proved", "instances"))
    notes = (
        "The paper's networks are not published; eight are trained anew with its recipe. Every planted counterexample has to be "
        "found. What share of the clean points is falsified depends on the training, so that it is shown but not compared; times "
        "are those of two machines.",
        f"{proved} of {instances} verdicts come with a certificate that the separate checker accepts.",
    )
    return Reproduced((folder / "table3.csv",), tuple(compared), notes)


def _soundness_rows(row: dict[str, Any]) -> list[Comparison]:
    name = f"h = {row['hidden']}, d = {row['degree']}, ε = {row['epsilon']:g}"
    found, printed = row["falsified_unverifiable"], row["falsified_unverifiable_printed"]
    clean, clean_printed = f"{row['falsified_clean']:.0%}", f"{row['falsified_clean_printed']:.0%}"
    seconds, seconds_printed = f"{row['seconds_mean']:g} s", f"{row['seconds_mean_printed']:g} s"
    return [
        Comparison(f"{name}: unverifiable falsified", f"{printed:.0%}", f"{found:.0%}", found == printed),
        Comparison(f"{name}: clean falsified", clean_printed, clean, None),
        Comparison(f"{name}: time per point", seconds_printed, seconds, None),
    ]


def _chambers(run: Run) -> Reproduced:
    from polymargin.reproduce.figure_chambers import figure_chambers

    samples = 6_000 if run.quick else 15_000
    files, slices = figure_chambers(run.directory, samples=samples, progress=lambda _: run.progress("slice"))
    numbers = sorted({number for found in slices for number in found.shares()})
    rows = (
        Comparison.of("complex critical points (ED degree)", 17, slices[0].total),
        Comparison.of("numbers of real critical points", "3, 5, 7, 9", ", ".join(map(str, numbers))),
    )
    unknown = sum(int((found.counts < 0).sum()) for found in slices)
    note = (
        f"{sum(len(found.counts) for found in slices)} samples in three windows, gathered along the discriminant; {unknown} lie "
        "too near to it to count. The paper's network and planes are random and not given; ours were chosen among six planes of "
        "a dozen networks so that all of 3, 5, 7 and 9 occur."
    )
    return Reproduced(tuple(files), rows, (note,))


def _kac_rice(run: Run) -> Reproduced:
    from polymargin.reproduce.figure_kac_rice import figure_kac_rice

    return figure_kac_rice(run.directory, samples=300 if run.quick else 1000, seed=run.seed, progress=run.progress)


def _discriminant(run: Run) -> Reproduced:
    from polymargin.reproduce.figure_discriminant import figure_discriminant

    return figure_discriminant(run.directory, samples=3_000 if run.quick else 15_000)


def _conics(run: Run) -> Reproduced:
    from polymargin.reproduce.figure_conics import figure_conics

    return figure_conics(run.directory)


def _xor(run: Run) -> Reproduced:
    from polymargin.reproduce.figure_xor import figure_xor

    return figure_xor(run.directory, starts=3 if run.quick else 10, seed=run.seed, progress=run.progress)


def _sphere(run: Run) -> Reproduced:
    from polymargin.reproduce.figure_sphere import figure_sphere

    steps, cells = (3_000, 48) if run.quick else (10_000, 72)
    return figure_sphere(run.directory, steps=steps, cells=cells, seed=run.seed)


def _tracking(run: Run) -> Reproduced:
    from polymargin.reproduce.figure_tracking import figure_tracking

    return figure_tracking(run.directory)


ENTRIES = (
    Entry(
        "figure-sphere",
        "Robustness sphere",
        "The decision surface of a network with three inputs, a point, and the sphere around it that touches the surface.",
        _sphere,
    ),
    Entry(
        "figure-tracking",
        "Homotopy continuation",
        "One predictor–corrector step, and the paths from x³ − 1 to the roots of x³ − 4x² + 8x − 8.",
        _tracking,
        random=False,
    ),
    Entry(
        "table1",
        "Table 1: deep networks",
        "ED degrees of networks whose widths lie between the wide and the bottleneck case of the theorems.",
        _table1,
    ),
    Entry(
        "figure-discriminant",
        "ED discriminant",
        "A hyperbola from a network (2, 2, 2), its ED discriminant of degree six, and the regions with two and four real "
        "critical points.",
        _discriminant,
        random=False,
    ),
    Entry(
        "figure-conics",
        "Strata of conics",
        "A slice of the space of conics: where the ED degree drops from 4 to 3 (parabolas) and 2 (circles, singular conics).",
        _conics,
        random=False,
    ),
    Entry(
        "figure-xor",
        "XOR with and without the regulariser",
        "A quadratic network on XOR data: ED degree 4, and 2 with the penalty λ (det M)², λ = 0.1.",
        _xor,
    ),
    Entry(
        "table2",
        "Table 2: lightning self-attention",
        "ED degrees of attention modules (t, d, d′, a) with a linear read-out.",
        _table2,
    ),
    Entry(
        "figure-chambers",
        "Chambers of self-attention",
        "Three slices of the data space of the attention module (2, 2, 1, 1), coloured by the number of real critical points.",
        _chambers,
        random=False,
    ),
    Entry(
        "table3",
        "Table 3: soundness benchmark",
        "Networks with planted counterexamples: the share of instances falsified, and the time for each.",
        _table3,
    ),
    Entry(
        "figure-kac-rice",
        "Real zeros of random networks",
        "Numbers of real zeros of random shallow networks in one variable, and the expectation d/√(2d − 1).",
        _kac_rice,
    ),
)


def entry(name: str) -> Entry:
    """Return the entry of that name.

    >>> entry("table1").title
    'Table 1: deep networks'
    """
    for found in ENTRIES:
        if found.name == name:
            return found
    raise InputError(f"{name!r}: expected one of {', '.join(one.name for one in ENTRIES)}, all")
