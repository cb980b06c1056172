"""Lightning attention from PyTorch: a module with values, keys, queries and a linear read-out.

Nothing in a module says how its forward pass combines the matrices, so every reading of them (which is the key, which way
round a matrix is stored, whether scores are divided by √a or by t) is tried out: the module's own logits in float64 at a
few random inputs must be those of the reading. Weights are taken exactly, but for a factor that goes into Q.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.networks.attention import LightningAttention
from polymargin.networks.network import Network

Array = NDArray[np.float64]

NAMES = (("V", "K", "Q"), ("value", "key", "query"), ("values", "keys", "queries"), ("v", "k", "q"))
TRIALS = 4
# Relative difference of two evaluations in float64 that are the same polynomial.
AGREEMENT = 1e-10


def attention_from_torch(module: Any) -> Network | None:
    """The module as lightning attention; None if it is something else."""
    import torch

    found = _matrices(module)
    readouts = [
        layer
        for name, layer in module.named_children()
        if isinstance(layer, torch.nn.Linear) and name not in {name for names in NAMES for name in names}
    ]
    if found is None or len(readouts) != 1:
        return None
    readout = _array(readouts[0].weight)
    bias = np.zeros(len(readout)) if readouts[0].bias is None else _array(readouts[0].bias)
    if len(readout) < 2:
        return None
    probe = copy.deepcopy(module).to(device="cpu", dtype=torch.float64).eval()
    readings = ((reading, readout.shape[1] // len(found[0][0])) for reading in _readings(*found, readout, bias))
    return next((reading for reading, t in readings if _agrees(probe, reading, t)), None)


def _matrices(module: Any) -> tuple[list[Array], list[Array], list[Array]] | None:
    """For V, K and Q the ways in which each may be stored."""
    for names in NAMES:
        parts = [getattr(module, name, None) for name in names]
        if all(part is not None for part in parts):
            stored = [_ways(part) for part in parts]
            return (stored[0], stored[1], stored[2]) if all(stored) else None
    return None


def _ways(part: Any) -> list[Array]:
    """A linear layer without bias has its outputs in rows; a bare matrix may be either way round."""
    weight = getattr(part, "weight", None)
    if weight is not None:
        return [_array(weight)] if getattr(part, "bias", None) is None and weight.ndim == 2 else []
    if getattr(part, "ndim", None) != 2:
        return []
    matrix = _array(part)
    return [matrix, matrix.T]


def _readings(
    values: list[Array], keys: list[Array], queries: list[Array], readout: Array, bias: Array
) -> Iterator[Network]:
    for V, first, second in product(values, keys, queries):
        for K, Q in ((first, second), (second, first)):
            if K.shape == Q.shape and K.shape[1] == V.shape[1] and readout.shape[1] % len(V) == 0:
                root, t = np.sqrt(len(K)), readout.shape[1] // len(V)
                for factor in (1.0, 1 / root, 1 / t, 1 / (root * t)):
                    yield LightningAttention(V, K.T, factor * Q.T, readout, bias)


def _agrees(module: Any, reading: Network, t: int) -> bool:
    """Whether both have the same logits at random inputs of shape (TRIALS, t, d)."""
    import torch

    points = np.random.default_rng(0).normal(size=(TRIALS, t, reading.dimension // t))
    with torch.no_grad():
        try:
            found = [module(torch.from_numpy(point)[None]) for point in points]
        except RuntimeError:  # PyTorch's word for shapes that do not fit
            return False
    if not all(isinstance(row, torch.Tensor) and row.numel() == reading.class_count for row in found):
        return False
    logits = np.stack([_array(row).reshape(-1) for row in found])
    ours = reading(points.reshape(TRIALS, -1))
    return bool(np.abs(logits - ours).max() <= AGREEMENT * (1 + np.abs(ours).max()))


def _array(tensor: Any) -> Array:
    return np.asarray(tensor.detach().to("cpu").double().numpy())
