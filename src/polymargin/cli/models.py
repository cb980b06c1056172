"""The model and the points of a command, read and fitted to each other before any work begins."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from polymargin.cli.points import read_points
from polymargin.errors import InputError
from polymargin.networks import load
from polymargin.networks.network import Network
from polymargin.piecewise import ReLUNetwork, has_relu, relu_from_onnx


def read_model(model: Path, trust: bool) -> Network | ReLUNetwork:
    """The network of a file; ONNX files with Relu nodes are piecewise linear, all others polynomial."""
    if model.suffix == ".onnx" and model.is_file() and has_relu(model):
        return relu_from_onnx(model)
    return load(model, trust=trust)


def read_both(model: Path, points: Path, trust: bool) -> tuple[Network | ReLUNetwork, NDArray[np.float64]]:
    """A network and points (m, n) of its dimension."""
    network = read_model(model, trust)
    array = read_points(points)
    if array.shape[1] != network.dimension:
        raise InputError(
            f"{points}: points of {array.shape[1]} numbers for a network with {network.dimension} inputs; "
            f"expected {network.dimension} numbers per row"
        )
    return network, array


def how_to_go_on(checkpoint: Path | None, done: int, count: int) -> str:
    if checkpoint is None:
        return f"{done} of {count} rows were done and are not kept; with --checkpoint FILE a run can be continued"
    return f"{done} of {count} rows are in {checkpoint}: the same command continues"
