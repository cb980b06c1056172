"""Queries as VNN-LIB files: whether another class wins near a point.

Numbers are written out exactly: a float is a finite decimal. Balls need version 2.0; boxes can be written in both versions.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, localcontext
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from polymargin.errors import InputError
from polymargin.vnnlib.query import DeclaredTensor


def write_robustness_query(
    path: Any,
    point: ArrayLike,
    radius: float,
    *,
    label: int,
    classes: int,
    norm: float = 2,
    version: str = "2.0",
    shape: Sequence[int] | None = None,
    network: str = "f",
) -> Path:
    """Write the query "some class ties with or beats `label` within `radius` of `point`"; unsat means robust.

    norm is 2 or infinity. `shape` is the shape of the network's input, (1, n) if left out; entries are in row-major order.
    """
    centre = np.asarray(point, dtype=np.float64).reshape(-1)
    lengths = (1, centre.size) if shape is None else tuple(int(length) for length in shape)
    if not np.isfinite(centre).all() or not np.isfinite(radius) or radius < 0 or not centre.size:
        raise InputError("a query needs a finite point and a radius of at least zero")
    if int(np.prod(lengths)) != centre.size:
        raise InputError(f"shape {lengths} for a point with {centre.size} entries: expected a shape with that product")
    if not 0 <= label < classes or classes < 2:
        raise InputError(f"label {label}: expected a class from 0 to {classes - 1}")
    if (norm, version) not in ((2, "2.0"), (np.inf, "2.0"), (np.inf, "1.0")):
        raise InputError(f"norm {norm} in version {version}; expected norm 2 in 2.0, or norm infinity in 1.0 or 2.0")
    lines = _version_two(centre, radius, label, classes, norm, lengths, network) if version == "2.0" else []
    file = Path(path)
    file.write_text("\n".join(lines or _version_one(centre, radius, label, classes)) + "\n", encoding="utf-8")
    return file


def decimal(value: float | Decimal) -> str:
    """Write a float or a decimal exactly, without an exponent and with a decimal point."""
    text = f"{Decimal(value):f}"
    return text if "." in text else f"{text}.0"


def assignment_lines(assignment: Sequence[tuple[DeclaredTensor, Any]]) -> list[str]:
    """Return a witness in the standard's format: a header per variable, then one value per line."""
    lines = []
    for tensor, values in assignment:
        lines.append(f"{tensor.name} {tensor.element_type} [{','.join(map(str, tensor.shape))}]")
        lines += [decimal(value) for value in values.tolist()]
    return lines


def _version_two(
    centre: Any, radius: float, label: int, classes: int, norm: float, shape: tuple[int, ...], network: str
) -> list[str]:
    names = [f"X[{','.join(map(str, np.unravel_index(i, shape)))}]" for i in range(centre.size)]
    lines = [
        "(vnnlib-version <2.0>)",
        f"(declare-network {network}",
        f"    (declare-input X real [{','.join(map(str, shape))}])",
        f"    (declare-output Y real [1,{classes}])",
        ")",
    ]
    if norm == 2:
        offsets = [f"(- {name} {decimal(value)})" for name, value in zip(names, centre.tolist(), strict=True)]
        squares = "\n    ".join(f"(* {offset} {offset})" for offset in offsets)
        inside = f"(+\n    {squares})" if len(offsets) > 1 else squares
        lines.append(f"(assert (<= {inside}\n    {decimal(_exact(radius, radius, '*'))}))")
    else:
        lines += _bounds(names, centre, radius)
    rivals = [f"(>= Y[0,{rival}] Y[0,{label}])" for rival in range(classes) if rival != label]
    lines.append(f"(assert (or {' '.join(rivals)}))" if len(rivals) > 1 else f"(assert {rivals[0]})")
    return lines


def _version_one(centre: Any, radius: float, label: int, classes: int) -> list[str]:
    names = [f"X_{i}" for i in range(centre.size)]
    lines = [f"(declare-const {name} Real)" for name in [*names, *(f"Y_{j}" for j in range(classes))]]
    lines += _bounds(names, centre, radius)
    rivals = [f"(and (>= Y_{rival} Y_{label}))" for rival in range(classes) if rival != label]
    lines.append(f"(assert (or {' '.join(rivals)}))")
    return lines


def _bounds(names: list[str], centre: Any, radius: float) -> list[str]:
    pairs = zip(names, centre.tolist(), strict=True)
    return [
        line
        for name, value in pairs
        for line in (
            f"(assert (>= {name} {decimal(_exact(value, radius, '-'))}))",
            f"(assert (<= {name} {decimal(_exact(value, radius, '+'))}))",
        )
    ]


def _exact(first: float, second: float, operation: str) -> Decimal:
    """Sum, difference or product of two floats without rounding."""
    a, b = Decimal(first), Decimal(second)
    with localcontext() as context:
        context.prec = 5000
        return a * b if operation == "*" else a - b if operation == "-" else a + b
