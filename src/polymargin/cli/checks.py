"""The `check` command: certificates, by the checker that shares no code with the solver.

The checker reads .npz files. Any other model is read here first, by the readers of the solver, and given to it as one.
PROVED and REFUSED are words about proofs; a file that cannot be read gets a sentence on standard error and status 2.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from polymargin.cli.model_options import ModelOptions
from polymargin.cli.models import read_polynomial
from polymargin.errors import printable
from polymargin_checker.checker import check


def run_check(model: Path, certificates: Sequence[Path], reading: ModelOptions, *, exact: bool) -> int:
    """0 if every certificate is proved, 1 if one is refused, 2 if a file could not be used."""
    proved = status = 0
    with _as_npz(model, reading) as readable:
        for file in certificates:
            verdict = check(str(readable), str(file), exact)
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
def _as_npz(model: Path, reading: ModelOptions) -> Iterator[Path]:
    if model.suffix == ".npz" and not reading.of_plain_weights:
        yield model
        return
    network = read_polynomial(model, reading)
    with TemporaryDirectory(prefix="polymargin-") as folder:
        network.save(Path(folder) / "model.npz")
        yield Path(folder) / "model.npz"
