"""`polymargin check`: certificates, by the checker that shares no code with the solver.

The checker reads .npz files. Any other model is read here first, by the readers of the solver, and given to it as one.
PROVED and REFUSED are words about proofs; a file that cannot be read gets a sentence on standard error and status 2.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from polymargin.cli.options import Model, ReadingOptions, spread


@spread
def check(
    model: Model,
    certificates: Annotated[list[Path], typer.Argument(help="Certificate files.")],
    exact: Annotated[
        bool, typer.Option("--exact", help="Trust no floating-point arithmetic, however large the matrices.")
    ] = False,
    *,
    reading: ReadingOptions,
) -> int:
    """Check certificates with the separate checker: 0 only if every one is proved."""
    from polymargin.errors import printable
    from polymargin_checker.checker import check as checked

    proved = status = 0
    with _as_npz(model, reading) as readable:
        for file in certificates:
            verdict = checked(str(readable), str(file), exact)
            name = f"{printable(str(file))}: " if len(certificates) > 1 else ""
            if not verdict.usable:
                status = 2
                print(f"polymargin: {printable(verdict.reason)}", file=sys.stderr)
                continue
            print(f"{'PROVED' if verdict.accepted else 'REFUSED'}: {name}{verdict.reason}", flush=True)
            proved += verdict.accepted
            status = status if verdict.accepted else max(status, 1)
    if len(certificates) > 1:
        print(f"{proved} of {len(certificates)} certificates proved")
    return status


@contextlib.contextmanager
def _as_npz(model: Path, reading: ReadingOptions) -> Iterator[Path]:
    if model.suffix == ".npz" and reading.activation is None and reading.outputs is None:
        yield model
        return
    from tempfile import TemporaryDirectory

    from polymargin.cli.models import read_polynomial

    network = read_polynomial(model, reading)
    with TemporaryDirectory(prefix="polymargin-") as folder:
        network.save(Path(folder) / "model.npz")
        yield Path(folder) / "model.npz"
