"""The `discriminant` command: the ED discriminant of one boundary."""

from __future__ import annotations

from pathlib import Path

from polymargin import __version__
from polymargin.cli.chambers import check_pictures, parse_window
from polymargin.cli.printing import print_json
from polymargin.cli.subjects import GivenModel
from polymargin.errors import InputError, PolymarginError, printable
from polymargin.geometry import EDDiscriminant, Plane, chambers, ed_discriminant
from polymargin.geometry.algebra import EngineError

# Samples of the picture's regions.
SAMPLES = 8_000
# Longer polynomials are described, not printed.
MOST_CHARACTERS = 2_000


def run_ed_discriminant(
    subject: GivenModel,
    *,
    window: str,
    plot: list[Path],
    timeout: float,
    threads: int | None,
    as_json: bool,
) -> int:
    """The polynomial where it can be computed in the time there is, and the picture; 2 if neither was possible."""
    boundary, metric = subject.boundary(), subject.measured()
    corners = parse_window(window)
    check_pictures(plot)
    if plot and boundary.dimension != 2:
        raise InputError(
            f"the boundary has {boundary.dimension} inputs; draw slices with: polymargin chambers … --plot …"
        )
    found: EDDiscriminant | None = None
    reason = None
    try:
        found = ed_discriminant(boundary, timeout=timeout, metric=metric)
    except (EngineError, PolymarginError) as error:
        if not plot:
            raise
        reason = str(error)
    if plot:
        from polymargin.plots.chambers import draw_chambers

        plane = Plane.of_two_inputs(corners)
        regions = chambers(boundary, plane, SAMPLES, threads=threads, metric=metric)
        for file in plot:
            draw_chambers([regions], file, title=subject.title(boundary), boundary=boundary)
    polynomials = [] if found is None else [str(generator) for generator in found.generators]
    if as_json:
        data = {
            "version": __version__,
            "model": subject.name,
            "degree": None if found is None else found.degree,
            "method": None if found is None else found.method,
            "generators": polynomials,
            "reason": reason,
            "plots": [str(file) for file in plot],
            "plots_show": "chambers" if plot else None,
        }
        print_json(data)
        return 0
    for file in plot:
        print(
            f"wrote {printable(str(file))}: the regions in which the number of real critical points is constant, from {SAMPLES} "
            "samples; the discriminant runs between them"
        )
    if found is None:
        print(f"no polynomial: {reason}")
        return 0
    print(f"ED discriminant of degree {found.degree} by {found.method}, {_count(polynomials)} in u1, u2, …")
    for text in polynomials:
        terms = text.count(" + ") + text.count(" - ") + 1
        print(f"  {text}" if len(text) <= MOST_CHARACTERS else f"  a polynomial with {terms} terms; --json prints it")
    return 0


def _count(polynomials: list[str]) -> str:
    return "1 generator" if len(polynomials) == 1 else f"{len(polynomials)} generators"
