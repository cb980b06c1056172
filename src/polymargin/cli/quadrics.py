"""The `discriminant --parameters` command, for boundaries of degree two."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.table import Table

from polymargin import __version__
from polymargin.boundary import Boundary
from polymargin.cli.model_options import ModelOptions
from polymargin.cli.models import read_polynomial
from polymargin.cli.printing import plain_table, print_json, wide_console
from polymargin.errors import InputError
from polymargin.geometry import parameter_discriminant


def run_discriminant(model: Path, reading: ModelOptions, *, label: int, rival: int, exact: bool, as_json: bool) -> int:
    """The parameter discriminant of one boundary and the stratum it lies in."""
    boundary = _boundary(model, reading, label, rival)
    found = parameter_discriminant(boundary, exact=exact)
    if as_json:
        asked = {"version": __version__, "model": str(model), "label": label, "rival": rival}
        print_json({**asked, **found.to_dict()})
        return 0
    table = _two_columns(f"{model.name}: {boundary.name}")
    rows: list[tuple[str, Any]] = [
        ("stratum", found.stratum),
        ("det A", found.rank_factor),
        ("det M", found.singular_factor),
        ("discriminant of the characteristic polynomial", found.eigenvalue_factor),
        ("rank of A, of M", f"{found.rank}, {found.augmented_rank}"),
        ("ED degree", f"{found.ed_degree} (generic {found.generic_ed_degree})"),
        ("arithmetic", "exact" if found.exact else f"doubles, relative tolerance {found.tolerance:g}"),
    ]
    if found.conic is not None:
        rows.insert(1, ("conic", found.conic.name))
    for name, value in rows:
        table.add_row(name, f"{float(value):.10g}" if not isinstance(value, (str, int)) else str(value))
    wide_console().print(table)
    return 0


def _boundary(model: Path, reading: ModelOptions, label: int, rival: int) -> Boundary:
    network = read_polynomial(model, reading)
    if network.degree > 2:
        raise InputError(
            f"{model}: the logits have degree {network.degree}; this needs a network of degree at most two"
        )
    return Boundary.from_network(network, label, rival)


def _two_columns(title: str) -> Table:
    table = plain_table(title, header=False)
    table.add_column(style="dim")
    table.add_column()
    return table
