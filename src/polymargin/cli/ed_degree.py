"""`polymargin ed-degree`: one way to count, or all of them side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from polymargin.cli.options import AsJson, CountLimit, Seed, Threads, spread
from polymargin.cli.subjects import SubjectOptions
from polymargin.errors import InputError, PolymarginError
from polymargin.times import readable_time

if TYPE_CHECKING:
    from polymargin.geometry import EDDegree


@spread
def ed_degree(
    subject: SubjectOptions,
    architecture: Annotated[str | None, typer.Option(help="Inputs, hidden widths, classes: 3,3,2,2.")] = None,
    degree: Annotated[int | None, typer.Option(min=1, help="Degree of the activation, with --architecture.")] = None,
    attention: Annotated[str | None, typer.Option(help="Lightning self-attention t,d,d',a: 2,2,1,1.")] = None,
    method: Annotated[str, typer.Option(help="auto, formula, numeric, symbolic or all.")] = "auto",
    seed: Seed = 0,
    threads: Threads = None,
    limit: CountLimit = 200_000,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds for the symbolic method.")] = 600.0,
    as_json: AsJson = False,
) -> int:
    """Count the critical points of the distance to a boundary for a generic point: a measure of the work for margins."""
    from polymargin import __version__
    from polymargin.cli.printing import print_json
    from polymargin.geometry import EDDegree
    from polymargin.geometry import ed_degree as ed_degree_of
    from polymargin.geometry.ed_degrees.ed_degree import METHODS

    source, name = _source(subject, architecture, degree, attention)
    if method not in (*METHODS, "all"):
        raise InputError(f"--method {method}: expected one of {', '.join(METHODS)}, all")
    answers: dict[str, EDDegree | str] = {}
    for way in [m for m in METHODS if m != "auto"] if method == "all" else [method]:
        try:
            answers[way] = ed_degree_of(
                source,
                method=way,
                label=subject.label,
                rival=subject.rival,
                seed=seed,
                threads=threads,
                limit=limit,
                timeout=timeout,
                metric=subject.measured(),
            )
        except PolymarginError as refusal:
            if method != "all":
                raise
            answers[way] = str(refusal)
    found = [answer for answer in answers.values() if isinstance(answer, EDDegree)]
    values = {answer.value for answer in found if answer.standing.name != "BRACKETED"}
    if as_json:
        print_json({"version": __version__, "source": name, "seed": seed, **_as_data(answers, found, values)})
    else:
        _print_table(name, answers)
        print(_summary(found, values))
    return 0 if len(values) == 1 else 2


def _source(
    subject: SubjectOptions, architecture: str | None, degree: int | None, attention: str | None
) -> tuple[Any, str]:
    from polymargin.boundary import AttentionArchitecture, NetworkArchitecture
    from polymargin.cli.points import whole_numbers

    options = {
        "MODEL": subject.model,
        "--expression": subject.expression,
        "--architecture": architecture,
        "--attention": attention,
    }
    given = [name for name, value in options.items() if value]
    if len(given) != 1:
        raise InputError(
            f"{' and '.join(given) or 'nothing'} given: expected one of MODEL, --expression, --architecture or --attention"
        )
    if attention is not None:
        expected = "four numbers t,d,d',a such as 2,2,1,1"
        sizes = whole_numbers(attention, "--attention", expected)
        if len(sizes) != 4:
            raise InputError(f"--attention {attention!r}: expected {expected}")
        t, d, d_prime, a = sizes
        module = AttentionArchitecture(t, d, d_prime, a)
        return module, f"lightning self-attention {module}"
    if architecture is None:
        return subject.source(), subject.name
    if degree is None:
        raise InputError("--architecture needs --degree, the degree of the activation")
    widths = whole_numbers(architecture, "--architecture", "inputs, hidden widths, classes such as 3,3,2,2")
    network = NetworkArchitecture(tuple(widths), degree)
    return network, f"architecture {'-'.join(map(str, widths))}, activation of degree {degree}"


def _as_data(answers: dict[str, EDDegree | str], found: list[EDDegree], values: set[int]) -> dict[str, Any]:
    methods = {way: {"refused": a} if isinstance(a, str) else a.to_dict() for way, a in answers.items()}
    if len(answers) == 1 and found:
        return found[0].to_dict()
    return {"ed_degree": next(iter(values)) if len(values) == 1 else None, "methods": methods}


def _summary(found: list[EDDegree], values: set[int]) -> str:
    if not values:
        return "no method gave a number" if not found else "no method gave more than bounds"
    if len(values) > 1:
        return f"the methods disagree: {', '.join(map(str, sorted(values)))}"
    agree = f", {len(found)} methods agree" if len(found) > 1 else ""
    return f"ED degree {next(iter(values))}{agree}; {readable_time(sum(answer.seconds for answer in found))}"


def _print_table(name: str, answers: dict[str, EDDegree | str]) -> None:
    from polymargin.cli.printing import plain_table, wide_console

    table = plain_table(name, "method", ">ED degree", "standing", "trace test", ">time", "how")
    for way, answer in answers.items():
        if isinstance(answer, str):
            table.add_row(way, "–", "refused", "", "", answer, style="dim")
            continue
        notes = list(answer.notes)
        if answer.components is not None and len(answer.components) > 1:
            notes.insert(0, f"components {' + '.join(map(str, answer.components))}")
        if answer.lower != answer.upper:
            notes.insert(0, f"between {answer.lower} and {answer.upper}")
        trace = "" if answer.trace is None else str(answer.trace)
        time = readable_time(answer.seconds)
        table.add_row(answer.method, str(answer.value), answer.standing.name, trace, time, "; ".join(notes))
    wide_console().print(table)
