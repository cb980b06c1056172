"""`load`: a network from a file, by the file's suffix."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from polymargin.errors import InputError
from polymargin.networks.polynomial_network import PolynomialNetwork


def load(path: Any) -> PolynomialNetwork:
    """Read a network; today from the .npz files that `PolynomialNetwork.save` writes."""
    file = Path(path)
    if not file.is_file():
        raise InputError(f"{path}: no such file")
    if file.suffix != ".npz":
        raise InputError(f"{path}: unknown kind of model file {file.suffix!r}; expected .npz")
    return PolynomialNetwork.load(file)
