"""The strata figure: a plane through the space of conics, with the ED degree of every kind."""

from __future__ import annotations

from pathlib import Path

from polymargin.geometry import ParameterDiscriminant, parameter_discriminant
from polymargin.plots.conic_strata import EXAMPLES, conic_strata, example_boundary
from polymargin.reproduce.report_items import Comparison, Reproduced

# What the text says of every kind. Two parallel lines are degenerate too: two critical points.
PRINTED = {"ellipse": "4", "hyperbola": "4", "parabola": "3", "circle": "2", "degenerate": "≤ 2"}


def figure_conics(directory: Path) -> Reproduced:
    """Draw the slice, and compare the exact ED degrees of its examples with the text."""
    directory.mkdir(parents=True, exist_ok=True)
    files = tuple(conic_strata(directory / f"figure-conics.{kind}") for kind in ("png", "svg"))
    rows = []
    for example in EXAMPLES:
        found = parameter_discriminant(example_boundary(example))
        kind = _kind(found)
        agrees = found.ed_degree <= 2 if kind == "degenerate" else str(found.ed_degree) == PRINTED[kind]
        rows.append(
            Comparison(f"{found.name} at s = {example.s}, t = {example.t}", PRINTED[kind], str(found.ed_degree), agrees)
        )
    note = (
        "The paper's figure is a sketch, in which the curves cross. On a real slice A = [[1, s], [s, t]] the parabolas "
        "t = s² and the singular conics det M = 0 only touch, since det M = −(b₂ − s b₁)²/4 on t = s²: at parallel lines."
    )
    return Reproduced(files, tuple(rows), (note,))


def _kind(found: ParameterDiscriminant) -> str:
    """Return the item of the paper's list, by the exact factors of the discriminant."""
    if found.singular_factor == 0:
        return "degenerate"
    if found.rank_factor == 0:
        return "parabola"
    if found.eigenvalue_factor == 0:
        return "circle"
    return "ellipse" if found.rank_factor > 0 else "hyperbola"
