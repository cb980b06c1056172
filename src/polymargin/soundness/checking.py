"""The checker as what it is: another program. It gets the model, the certificates, and nothing else."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from polymargin.errors import PolymarginError


def proved(model: Path, certificates: Sequence[Path]) -> list[bool]:
    """Return for each certificate whether the checker accepts it for the model."""
    if not certificates:
        return []
    command = [sys.executable, "-m", "polymargin_checker", str(model), *map(str, certificates)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = run.stdout.splitlines()
    if len(lines) != len(certificates):
        raise PolymarginError(
            f"the checker gave {len(lines)} answers for {len(certificates)} certificates: {run.stderr}"
        )
    return [line.startswith("PROVED: ") for line in lines]
