"""The `discriminant --parameters` command, for boundaries of degree two."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from polymargin import __version__
from polymargin.cli.printing import plain_table, print_json, wide_console
from polymargin.cli.subjects import GivenModel
from polymargin.errors import InputError
from polymargin.geometry import parameter_discriminant


def run_discriminant(subject: GivenModel, *, as_json: bool) -> int:
    """The parameter discriminant of one boundary and the stratum it lies in."""
    if subject.expressions and subject.variables is not None:
        return _of_family(subject, as_json)
    boundary = subject.boundary()
    if boundary.degree > 2:
        raise InputError(f"{subject.name}: the boundary has degree {boundary.degree}; this needs degree at most two")
    found = parameter_discriminant(boundary)
    if as_json:
        asked = {"version": __version__, "model": subject.name, "label": subject.label, "rival": subject.rival}
        print_json({**asked, **found.to_dict()})
        return 0
    table = _two_columns(subject.title(boundary))
    rows: list[tuple[str, Any]] = [
        ("stratum", found.stratum),
        ("det A", found.rank_factor),
        ("det M", found.singular_factor),
        ("discriminant of the characteristic polynomial", found.eigenvalue_factor),
        ("rank of A, of M", f"{found.rank}, {found.augmented_rank}"),
        ("ED degree", f"{found.ed_degree} (generic {found.generic_ed_degree})"),
    ]
    if found.dimension == 2:
        rows.insert(1, ("conic", found.name))
    for name, value in rows:
        table.add_row(name, f"{float(value):.10g}" if not isinstance(value, (str, int)) else str(value))
    wide_console().print(table)
    return 0


def _of_family(subject: GivenModel, as_json: bool) -> int:
    """An expression with parameters: polynomials in them."""
    found = parameter_discriminant(subject.family())
    factors = [str(factor) for factor in found.factors]
    if as_json:
        print_json({"version": __version__, "model": subject.name, "factors": factors})
        return 0
    print(f"{subject.name}: the ED degree drops where one of these vanishes")
    for factor in factors:
        print(f"  {factor}")
    return 0


def _two_columns(title: str) -> Table:
    table = plain_table(title, header=False)
    table.add_column(style="dim")
    table.add_column()
    return table
