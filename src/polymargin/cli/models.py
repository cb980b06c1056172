"""The model and the points of a command, read and fitted to each other before any work begins."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.cli.options import ReadingOptions
from polymargin.cli.points import interval, read_points
from polymargin.errors import InputError
from polymargin.networks import load
from polymargin.networks.network import Network

_SERIES: dict[str, Any] = {
    "chebyshev": np.polynomial.Chebyshev,
    "legendre": np.polynomial.Legendre,
    "hermite": np.polynomial.Hermite,
    "hermite_e": np.polynomial.HermiteE,
}


def read_model(model: Path, options: ReadingOptions) -> Network:
    """Return the network of a file."""
    return load(
        model,
        trust=options.trust,
        activation=parsed_activation(options.activation),
        outputs=options.outputs,
        input_shape=parsed_shape(options.input_shape),
    )


def read_polynomial(model: Path, options: ReadingOptions) -> Network:
    """Return the same for commands that are about polynomials alone."""
    network = read_model(model, options)
    if not network.is_polynomial:
        raise InputError(f"{model}: {network!r} is piecewise; this command is for polynomial networks")
    return network


def parsed_shape(text: str | None) -> tuple[int, ...] | None:
    """Return --input-shape as `load` takes it.

    >>> parsed_shape("1,28,28")
    (1, 28, 28)
    """
    if text is None:
        return None
    if re.fullmatch(r"[1-9]\d*([,x][1-9]\d*)*", text) is None:
        raise InputError(f"--input-shape {text!r}: expected whole numbers such as 1,28,28")
    return tuple(int(part) for part in re.split("[,x]", text))


def parsed_activation(text: str | None) -> Any:
    """Return --activation as `load` takes it.

    >>> parsed_activation("square"), parsed_activation("3"), parsed_activation("0,0.5,0.25;2")
    ('square', 3, [(0.0, 0.5, 0.25), 2])
    >>> parsed_activation("legendre:0,0.5,0.25")
    ('legendre', (0.0, 0.5, 0.25))
    >>> parsed_activation("chebyshev(-8,8):0,0.5").domain
    array([-8.,  8.])
    """
    if text is None:
        return None
    found = [_one_activation(part.strip()) for part in text.split(";")]
    return found if len(found) > 1 else found[0]


def _one_activation(text: str) -> Any:
    if text in ("square", "relu"):
        return text
    found = re.fullmatch(r"(\w+)(?:\(([^()]*)\))?:(.*)", text)
    try:
        if found is not None and found[1] in _SERIES:
            row = tuple(float(part) for part in found[3].split(","))
            return (found[1], row) if found[2] is None else _SERIES[found[1]](row, domain=interval(found[2]))
        return tuple(float(part) for part in text.split(",")) if "," in text else int(text)
    except ValueError:
        raise InputError(
            f"--activation {text!r}: expected square, relu, a degree such as 3, coefficients such as 0,0.5,0.25, or a basis "
            "with its coefficients such as legendre:0,0.5,0.25 or chebyshev(-8,8):0,0.5,0.25"
        ) from None


def read_both(model: Path, points: Path, options: ReadingOptions) -> tuple[Network, NDArray[np.float64]]:
    """Return a network and points (m, n) of its dimension."""
    network = read_model(model, options)
    array = read_points(points)
    if array.shape[1] != network.dimension:
        raise InputError(
            f"{points}: points of {array.shape[1]} numbers for a network with {network.dimension} inputs; "
            f"expected {network.dimension} numbers per row"
        )
    return network, array


def how_to_go_on(checkpoint: Path | None, done: int, count: int) -> str:
    """Return the sentence that says how to resume."""
    if checkpoint is None:
        return f"{done} of {count} rows were done and are not kept; with --checkpoint FILE a run can be continued"
    return f"{done} of {count} rows are in {checkpoint}: the same command continues"
