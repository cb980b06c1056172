"""The `ed-degree` command: one way to count, or all of them side by side."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from polymargin import __version__
from polymargin.boundary import AttentionArchitecture, NetworkArchitecture
from polymargin.cli.printing import plain_table, print_json, wide_console
from polymargin.cli.subjects import GivenModel
from polymargin.errors import InputError, PolymarginError
from polymargin.geometry import EDDegree, ed_degree
from polymargin.geometry.ed_degrees.ed_degree import METHODS
from polymargin.times import readable_time


def run_ed_degree(
    subject: GivenModel,
    *,
    architecture: str | None,
    degree: int | None,
    attention: str | None,
    method: str,
    seed: int,
    threads: int | None,
    limit: int,
    timeout: float,
    as_json: bool,
) -> int:
    """Status 0 if every method that applies gave the same number, 2 if none did or two disagree."""
    source, name = _source(subject, architecture, degree, attention)
    if method not in (*METHODS, "all"):
        raise InputError(f"--method {method}: expected one of {', '.join(METHODS)}, all")
    wanted = [m for m in METHODS if m != "auto"] if method == "all" else [method]
    answers: dict[str, EDDegree | str] = {}
    for way in wanted:
        try:
            answers[way] = ed_degree(
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
        print_json({"version": __version__, "source": name, "seed": seed, **_as_json(answers, found, values)})
    else:
        wide_console().print(_as_table(name, answers))
        print(_summary(found, values))
    return 0 if len(values) == 1 else 2


def _source(
    subject: GivenModel, architecture: str | None, degree: int | None, attention: str | None
) -> tuple[Any, str]:
    given = [
        name
        for name, value in (
            ("MODEL", subject.model),
            ("--expression", subject.expressions),
            ("--architecture", architecture),
            ("--attention", attention),
        )
        if value
    ]
    if len(given) != 1:
        raise InputError(
            f"{' and '.join(given) or 'nothing'} given: expected one of MODEL, --expression, --architecture or --attention"
        )
    if subject.model is not None or subject.expressions:
        return subject.source(), subject.name
    if attention is not None:
        sizes = _integers(attention, "--attention", "t,d,d',a such as 2,2,1,1")
        if len(sizes) != 4:
            raise InputError(f"--attention {attention}: expected four numbers t,d,d',a such as 2,2,1,1")
        t, d, d_prime, a = sizes
        module = AttentionArchitecture(t, d, d_prime, a)
        return module, f"lightning self-attention {module}"
    assert architecture is not None
    if degree is None:
        raise InputError("--architecture needs --degree, the degree of the activation")
    widths = _integers(architecture, "--architecture", "inputs, hidden widths, classes such as 3,3,2,2")
    network = NetworkArchitecture(widths, degree)
    return network, f"architecture {'-'.join(map(str, widths))}, activation of degree {degree}"


def _integers(text: str, option: str, expected: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"{option} {text!r}: expected {expected}") from None


def _as_json(answers: dict[str, EDDegree | str], found: list[EDDegree], values: set[int]) -> dict[str, Any]:
    methods = {way: a.to_dict() if isinstance(a, EDDegree) else {"refused": a} for way, a in answers.items()}
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


def _as_table(name: str, answers: dict[str, EDDegree | str]) -> Table:
    table = plain_table(name)
    for column in ("method", "ED degree", "standing", "trace test", "time", "how"):
        table.add_column(column, justify="right" if column in ("ED degree", "time") else "left")
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
        table.add_row(
            answer.method,
            str(answer.value),
            answer.standing.name,
            trace,
            readable_time(answer.seconds),
            "; ".join(notes),
        )
    return table
