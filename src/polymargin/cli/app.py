"""`polymargin`: which commands there are. Each has a file with its options, its call and its output.

Exit status: 0 every row has an answer (`verify`: all robust; `margin --certificates`, `check`: all proved), 1 something is
not robust, not settled or not proved, 2 something could not be answered or the input is bad; see `entry` for the rest.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Annotated

import typer

import polymargin
from polymargin.cli.agree import agree
from polymargin.cli.chambers import chambers
from polymargin.cli.check import check
from polymargin.cli.critical_points import critical_points
from polymargin.cli.demo import demo
from polymargin.cli.discriminant import discriminant
from polymargin.cli.ed_degree import ed_degree
from polymargin.cli.expected import expected
from polymargin.cli.explore import explore
from polymargin.cli.group import Commands
from polymargin.cli.margin import margin
from polymargin.cli.ranges import ranges
from polymargin.cli.report import report
from polymargin.cli.reproduce import commands as reproduce_commands
from polymargin.cli.soundness import commands as soundness_commands
from polymargin.cli.verify import verify
from polymargin.cli.vnnlib import commands as vnnlib_commands

app = typer.Typer(
    cls=Commands,
    help="Exact robustness margins for polynomial neural networks.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"polymargin {polymargin.__version__}")
        if find_spec("cupy") is not None:
            from polymargin.gpu import description

            typer.echo(f"GPU: {description()}")
        raise typer.Exit


@app.callback()
def polymargin_command(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Exact robustness margins for polynomial neural networks."""


for _command, _example in (
    (margin, "margin model.npz points.csv --certificates proofs"),
    (verify, "verify model.npz points.csv --radius 0.1 --certificates proofs"),
    (check, "check proofs/model.npz proofs/point-*.json"),
    (report, "report model.onnx images.npz --labels labels.csv -o report.html"),
    (explore, "explore model.npz points.csv"),
    (ranges, "ranges model.onnx --domain 0,1 --output ranges.json"),
    (agree, "agree relu.onnx polynomial.onnx points.csv --certificates proofs"),
    (ed_degree, "ed-degree --architecture 3,3,2,2 --degree 2 --method all"),
    (discriminant, "discriminant model.npz --plot discriminant.png"),
    (chambers, "chambers model.npz --window -3,3,-3,3 --plot chambers.png"),
    (critical_points, "critical-points --expression 'x**2 + 4*y**2 = 4' --point 0.3,0.4"),
    (expected, "expected --dimension 2 --degree 3 --simulate 1000"),
    (demo, "demo --radius 0.3"),
):
    app.command(epilog=f"Example: polymargin {_example}")(_command)

app.add_typer(vnnlib_commands, name="vnnlib")
app.add_typer(soundness_commands, name="soundness")
app.add_typer(reproduce_commands, name="reproduce")
