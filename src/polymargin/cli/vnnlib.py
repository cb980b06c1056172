"""The `vnnlib` commands, in the form of the VNN-LIB 2.0 standard, and a batch of VNN-COMP instances.

Also a program of its own, `polymargin-vnnlib verify | supports`, because the standard's commands stand at the top. Exit
status: 0 if there is an answer, whatever it is; 2 for bad input. The answer is on standard output, remarks on standard error.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer

from polymargin import __version__
from polymargin.cli.entry import run_cleanly
from polymargin.cli.group import Commands
from polymargin.cli.options import Seed, Threads, spread

if TYPE_CHECKING:
    from polymargin.vnnlib import Query, QueryAnswer
    from polymargin.vnnlib.competition import CompetitionInstance, ResultRow

_PLAIN_NAME = re.compile(r"(?!\.)[A-Za-z0-9_.-]{1,200}")
"""Of a tensor that becomes a file: nothing that could lead out of the folder."""

commands = typer.Typer(
    cls=Commands,
    help="Answer queries in VNN-LIB 2.0 or 1.0 about ONNX networks.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _printing(text: str) -> Callable[[bool], None]:
    def print_it(wanted: bool) -> None:
        if wanted:
            typer.echo(text)
            raise typer.Exit

    return print_it


@commands.callback()
def vnnlib_command(
    name: Annotated[
        bool, typer.Option("--name", help="Print the solver's name.", callback=_printing("polymargin"), is_eager=True)
    ] = False,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_printing(__version__), is_eager=True)
    ] = False,
) -> None:
    """Answer queries in VNN-LIB 2.0 or 1.0 about ONNX networks."""


@commands.command(epilog="Example: polymargin vnnlib verify query.vnnlib --network f=model.onnx --timeout 60")
@spread
def verify(
    query: Annotated[Path, typer.Argument(help="Query file (.vnnlib).")],
    network: Annotated[list[str], typer.Option(help="name=model.onnx; for 1.0 queries the name may be left out.")],
    timeout: Annotated[float, typer.Option(min=0.001, help="Seconds.")] = 60.0,
    serialise_assignments: Annotated[Path | None, typer.Option(help="Folder for the witness, as ONNX tensors.")] = None,
    as_real: Annotated[
        bool, typer.Option("--as-real", help="Answer over the reals although the query names a floating-point type.")
    ] = False,
    seed: Seed = 0,
    threads: Threads = None,
) -> int:
    """Print sat with a witness, unsat, unknown or timed-out."""
    from polymargin.networks.readers.onnx_graph import read_onnx
    from polymargin.vnnlib import read_query
    from polymargin.vnnlib.models import answer_about, check_fit, network_file
    from polymargin.vnnlib.replay import confirmed_outputs
    from polymargin.vnnlib.writing import assignment_lines

    started = perf_counter()
    asked = read_query(query)
    if serialise_assignments is not None:
        _check_names(asked)
    file = network_file(asked, network)
    model = read_onnx(file)
    check_fit(asked, model, as_real)
    left = max(timeout - (perf_counter() - started), 1e-3)
    answer = answer_about(asked, model, timeout=left, seed=seed, threads=threads)
    confirmed_outputs(file, model, answer)
    print(answer.result.value)
    print(f"{answer.standing.name}: {answer.reason}", file=sys.stderr)
    if answer.witness is not None:
        if serialise_assignments is None:
            print("\n".join(assignment_lines([(asked.input, answer.witness), (asked.output, answer.outputs)])))
        else:
            _serialise(serialise_assignments, asked, answer)
    return 0


@commands.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
@spread
def supports(context: typer.Context) -> int:
    """Print what this solver supports; with options such as --onnx-operators only that."""
    from polymargin.errors import InputError
    from polymargin.vnnlib.capabilities import capabilities

    known = capabilities()
    for option in context.args:
        if option.removeprefix("--") not in known or not option.startswith("--"):
            raise InputError(f"supports {option}: expected one of {', '.join('--' + name for name in known)}")
    for option in context.args:
        print("\n".join(known[option.removeprefix("--")]))
    if not context.args:
        print("\n".join(f"--{name}: {', '.join(lines)}" for name, lines in known.items()))
    return 0


@commands.command(epilog="Example: polymargin vnnlib batch instances.csv --category poly --results results.csv")
@spread
def batch(
    instances: Annotated[Path, typer.Argument(help="VNN-COMP instances: onnx,vnnlib,timeout per line.")],
    results: Annotated[Path, typer.Option(help="CSV file for the results.")],
    category: Annotated[str, typer.Option(help="First column of the results.")] = "polymargin",
    counterexamples: Annotated[Path | None, typer.Option(help="Folder for counterexample files.")] = None,
    seed: Seed = 0,
    threads: Threads = None,
) -> int:
    """Answer every instance of a benchmark and write the results as VNN-COMP does."""
    from polymargin.cli.printing import progress_bar
    from polymargin.errors import printable
    from polymargin.times import readable_time
    from polymargin.vnnlib.competition import read_instances, write_results

    started = perf_counter()
    listed = read_instances(instances)
    if counterexamples is not None:
        counterexamples.mkdir(parents=True, exist_ok=True)
    rows = []
    with progress_bar() as progress:
        task = progress.add_task("instances", total=len(listed))
        for instance in listed:
            rows.append(_answered(instances.parent, instance, category, counterexamples, seed, threads))
            write_results(results, rows)
            progress.advance(task)
    counts = Counter(row.result for row in rows)
    said = ", ".join(f"{count} {result}" for result, count in counts.most_common())
    many = "1 instance" if len(rows) == 1 else f"{len(rows)} instances"
    print(f"{many}: {said}; {readable_time(perf_counter() - started)}; wrote {printable(str(results))}")
    return 2 if any(row.result == "error" for row in rows) else 0


def _answered(
    base: Path,
    instance: CompetitionInstance,
    category: str,
    counterexamples: Path | None,
    seed: int,
    threads: int | None,
) -> ResultRow:
    """Return one line of the results; what cannot be answered is `error`, with the reason on standard error."""
    from polymargin.errors import PolymarginError
    from polymargin.networks.readers.onnx_graph import read_onnx
    from polymargin.vnnlib import Result, read_query
    from polymargin.vnnlib.competition import ResultRow, counterexample_name, counterexample_text
    from polymargin.vnnlib.models import answer_about, check_fit
    from polymargin.vnnlib.replay import confirmed_outputs

    started = perf_counter()
    prepared = None
    try:
        query = read_query(base / instance.vnnlib)
        model = read_onnx(base / instance.onnx)
        check_fit(query, model, as_real=True)
        prepared = perf_counter()
        answer = answer_about(query, model, timeout=instance.timeout, seed=seed, threads=threads)
        outputs = confirmed_outputs(base / instance.onnx, model, answer)
        if answer.witness is not None and outputs is not None and counterexamples is not None:
            text = counterexample_text(answer.witness, outputs)
            (counterexamples / counterexample_name(instance)).write_text(text, encoding="utf-8")
        result = "timeout" if answer.result is Result.TIMED_OUT else answer.result.value
    except PolymarginError as error:
        print(f"polymargin: {error}", file=sys.stderr)
        result = "error"
    ready = perf_counter() if prepared is None else prepared
    return ResultRow(category, instance.onnx, instance.vnnlib, ready - started, result, perf_counter() - ready)


def _check_names(query: Query) -> None:
    """Refuse names of tensors that lead out of the folder: each becomes a file."""
    from polymargin.errors import InputError

    names = [query.input.name, query.output.name]
    for name in names:
        if not _PLAIN_NAME.fullmatch(name):
            raise InputError(
                f"the tensor {name!r} cannot be written to a file of that name; use letters, digits and _.-"
            )
    if names[0] == names[1]:
        raise InputError(f"input and output are both named {names[0]!r}, and so would be their files")


def _serialise(folder: Path, query: Query, answer: QueryAnswer) -> None:
    from polymargin.networks.readers.foreign import package

    onnx = package("onnx", "onnx")
    folder.mkdir(parents=True, exist_ok=True)
    for tensor, values in ((query.input, answer.witness), (query.output, answer.outputs)):
        assert values is not None
        content = onnx.numpy_helper.from_array(values.reshape(tensor.shape), tensor.name)
        (folder / f"{tensor.name}.pb").write_bytes(content.SerializeToString())


def main() -> None:
    """Run `polymargin-vnnlib`."""
    run_cleanly(commands)
