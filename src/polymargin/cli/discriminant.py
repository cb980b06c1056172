"""`polymargin discriminant`: the ED discriminant of one boundary, or with --parameters that of the weights of a quadric."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from polymargin.cli.options import AsJson, Plots, Threads, spread
from polymargin.cli.subjects import SubjectOptions
from polymargin.errors import InputError, PolymarginError, printable

# Samples of the picture's regions.
SAMPLES = 8_000
# Longer polynomials are described, not printed.
MOST_CHARACTERS = 2_000


@spread
def discriminant(
    subject: SubjectOptions,
    parameters: Annotated[
        bool,
        typer.Option("--parameters", help="In the space of weights instead: where the ED degree of a quadric drops."),
    ] = False,
    window: Annotated[str, typer.Option(help="Window left,right,bottom,top of the picture.")] = "-3,3,-3,3",
    plot: Plots = None,
    timeout: Annotated[float, typer.Option(help="Seconds for the exact polynomial.")] = 120.0,
    threads: Threads = None,
    as_json: AsJson = False,
) -> int:
    """Compute the ED discriminant, where the number of real critical points changes, as a polynomial and a picture."""
    from polymargin import __version__
    from polymargin.cli.points import check_pictures, parse_window
    from polymargin.cli.printing import print_json
    from polymargin.geometry import Plane, chambers, ed_discriminant
    from polymargin.geometry.algebra import EngineError

    if parameters:
        return _of_weights(subject, as_json=as_json)
    boundary, metric = subject.boundary(), subject.measured()
    corners, pictures = parse_window(window), check_pictures(plot)
    if pictures and boundary.dimension != 2:
        raise InputError(
            f"the boundary has {boundary.dimension} inputs; draw slices with: polymargin chambers … --plot …"
        )
    found = reason = None
    try:
        found = ed_discriminant(boundary, timeout=timeout, metric=metric)
    except (EngineError, PolymarginError) as error:
        if not pictures:
            raise
        reason = str(error)
    if pictures:
        from polymargin.plots.chambers import draw_chambers

        regions = chambers(boundary, Plane.of_two_inputs(corners), SAMPLES, threads=threads, metric=metric)
        for file in pictures:
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
            "plots": [str(file) for file in pictures],
            "plots_show": "chambers" if pictures else None,
        }
        print_json(data)
        return 0
    for file in pictures:
        print(
            f"wrote {printable(str(file))}: the regions in which the number of real critical points is constant, from {SAMPLES} "
            "samples; the discriminant runs between them"
        )
    if found is None:
        print(f"no polynomial: {reason}")
        return 0
    count = "1 generator" if len(polynomials) == 1 else f"{len(polynomials)} generators"
    print(f"ED discriminant of degree {found.degree} by {found.method}, {count} in u1, u2, …")
    for text in polynomials:
        terms = text.count(" + ") + text.count(" - ") + 1
        print(f"  {text}" if len(text) <= MOST_CHARACTERS else f"  a polynomial with {terms} terms; --json prints it")
    return 0


def _of_weights(subject: SubjectOptions, *, as_json: bool) -> int:
    """Print the parameter discriminant of one boundary of degree two and its stratum."""
    from polymargin import __version__
    from polymargin.cli.printing import print_facts, print_json
    from polymargin.geometry import parameter_discriminant

    asked = {"version": __version__, "model": subject.name}
    if subject.expression and subject.variables is not None:
        factors = [str(factor) for factor in parameter_discriminant(subject.family()).factors]
        if as_json:
            print_json({**asked, "factors": factors})
        else:
            print(f"{subject.name}: the ED degree drops where one of these vanishes", *factors, sep="\n  ")
        return 0
    boundary = subject.boundary()
    if boundary.degree > 2:
        raise InputError(f"{subject.name}: the boundary has degree {boundary.degree}; this needs degree at most two")
    found = parameter_discriminant(boundary)
    if as_json:
        print_json({**asked, "label": subject.label, "rival": subject.rival, **found.to_dict()})
        return 0
    facts: list[tuple[str, Any]] = [
        ("stratum", found.stratum),
        *([("conic", found.name)] if found.dimension == 2 else []),
        ("det A", found.rank_factor),
        ("det M", found.singular_factor),
        ("discriminant of the characteristic polynomial", found.eigenvalue_factor),
        ("rank of A, of M", f"{found.rank}, {found.augmented_rank}"),
        ("ED degree", f"{found.ed_degree} (generic {found.generic_ed_degree})"),
    ]
    shown = [(name, str(value) if isinstance(value, (str, int)) else f"{float(value):.10g}") for name, value in facts]
    print_facts(subject.title(boundary), shown)
    return 0
