"""Networks of stages as model files, and certificates that speak of them."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np

from polymargin.networks.forms import Forms
from polymargin.networks.network import Network
from polymargin.networks.stages import RELU, Piecewise, Polynomial, Product


def model_file(network: Network) -> bytes:
    return file_of(network.to_arrays())


def file_of(arrays: dict[str, Any]) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


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
