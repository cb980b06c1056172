"""Networks of stages as model files, and certificates that speak of them."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from polymargin.networks.forms import Forms
from polymargin.networks.network import Network
from polymargin.networks.stages import RELU, Piecewise, Polynomial, Product
from polymargin_checker import stages as read


def model_file(network: Network) -> bytes:
    return file_of(network.to_arrays())


def file_of(arrays: dict[str, Any]) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def as_read(network: Network) -> read.Network:
    """A network of the solver as the checker reads it from a file."""
    return read.read_network(model_file(network))


def layers_as_read(weights: Sequence[Any], biases: Sequence[Any], activations: Sequence[Any]) -> read.Network:
    """Layers with coefficients of powers for each activation, whatever they are, as the checker has them."""
    widths, forms = [np.shape(weights[0])[1]], []
    for place, (matrix, bias) in enumerate(zip(weights, biases, strict=True)):
        values = np.array(matrix, dtype=np.float64)
        rows, columns = np.nonzero(values)
        starts = np.searchsorted(rows, np.arange(len(values) + 1)).astype(np.int64)
        block = read.Block((values.shape[0], values.shape[1]), starts, columns, values[rows, columns])
        used = ((place, block),) if block.weights.size else ()
        forms.append(read.Forms(tuple(widths), used, np.array(bias, dtype=np.float64)))
        widths.append(len(values))
    stages = [
        read.Polynomial(part, np.array(row, dtype=np.float64), "powers")
        for part, row in zip(forms[:-1], activations, strict=True)
    ]
    return read.Network(tuple(stages), forms[-1])


def about_stages(network: Any, certificate: dict[str, Any]) -> tuple[bytes, bytes]:
    """The same network in a file of version 2, and the certificate about this file."""
    return model_file(network), json.dumps({**certificate, "model": {"sha256": network.fingerprint}}).encode()


def random_network(rng: np.random.Generator, inputs: int, sizes: list[int], kinds: list[str], classes: int) -> Network:
    """Stages of these sizes and kinds whose forms see all values, about half of them."""
    widths, stages = (inputs,), []
    for size, kind in zip(sizes, kinds, strict=True):
        left, right = (random_forms(rng, widths, size) for _ in range(2))
        if kind == "product":
            stages.append(Product(left, right))
        elif kind == "relu":
            stages.append(Piecewise(left, *RELU))
        elif kind == "spline":
            stages.append(Piecewise(left, (-0.5, 0.25), ((-0.5, -1.0), (0.0, 0.0), (-0.25, 1.0))))
        else:
            stages.append(Polynomial(left, tuple(rng.normal(size=4)), kind))
        widths = (*widths, size)
    return Network(stages, random_forms(rng, widths, classes))


def random_forms(rng: np.random.Generator, widths: tuple[int, ...], size: int) -> Forms:
    blocks = []
    for source, width in enumerate(widths):
        share = rng.choice([0.2, 1.0])
        blocks.append((source, rng.normal(size=(size, width)) * (rng.random(size=(size, width)) < share)))
    return Forms(widths, tuple(blocks), rng.normal(size=size))
