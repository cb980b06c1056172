"""The network in a model file: weights, biases and activation coefficients as exact doubles, and their SHA-256.

Keys are weight_1, bias_1, …, activation_1, … and format. Every layer has its bias; zeros at the end of an activation
are dropped. Other keys are not part of the network, but a weight, bias or activation that no layer uses is refused.
Models of another kind (`attention`) are turned into such layers, with rationals in place of doubles.
"""

from __future__ import annotations

import hashlib
import math
import re
import sys
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from polymargin_checker import npy
from polymargin_checker.refusal import Unusable
from polymargin_checker.words import shown

if TYPE_CHECKING:
    from polymargin_checker.attention import Attention
    from polymargin_checker.products import Products
    from polymargin_checker.stages import Network

FORMAT = "polymargin-network-1"
LARGEST_DEGREE = 64
"""Of one activation."""


@dataclass(frozen=True)
class Matrix:
    """Entries in C order, doubles or rationals; every one is an exact number."""

    rows: int
    columns: int
    values: Sequence[Any]

    def row(self, index: int) -> list[Any]:
        return list(self.values[index * self.columns : (index + 1) * self.columns])


@dataclass(frozen=True)
class Model:
    """z¹ = W¹x + b¹, aˡ = σˡ(zˡ), zˡ⁺¹ = Wˡ⁺¹aˡ + bˡ⁺¹; the last z are the logits."""

    weights: tuple[Matrix, ...]
    biases: tuple[Sequence[Any], ...]
    activations: tuple[tuple[float, ...], ...]
    forms: int | None = None

    kind = "polynomial-network"

    @property
    def dimension(self) -> int:
        return self.weights[0].columns

    @property
    def class_count(self) -> int:
        return self.weights[-1].rows

    @property
    def hidden_layers(self) -> int:
        return len(self.activations)

    @property
    def variables(self) -> int:
        """Linear forms of the input that the logits depend on at most: the first layer, or fewer where that is known."""
        first = self.weights[0].rows if self.hidden_layers else self.dimension
        return min(self.dimension, first if self.forms is None else self.forms)

    @property
    def degree(self) -> int:
        """An upper bound on the degree of the logits: the product of the degrees of the activations."""
        return math.prod(len(coefficients) - 1 for coefficients in self.activations)

    def fingerprint(self) -> str:
        digest = hashlib.sha256(b"polymargin network 1")
        for weights, bias in zip(self.weights, self.biases, strict=True):
            digest.update(repr((weights.rows, weights.columns)).encode())
            digest.update(little_endian(weights.values))
            digest.update(little_endian(bias))
        digest.update(repr([[c.hex() for c in coefficients] for coefficients in self.activations]).encode())
        return digest.hexdigest()


def read_model(source: Any) -> Model | Attention | Products | Network:
    """Read an .npz file of any known format, or the bytes of one."""
    from polymargin_checker import attention, products, stages  # which are made of the classes above

    entries = npy.read_entries(source)
    path = "the model" if isinstance(source, bytes) else source
    if "header" in entries:
        return stages.network_of(entries, str(path))
    if "format" not in entries:
        raise Unusable(f"{path}: not a polymargin network, the entry 'format' is missing")
    name = npy.text(entries["format"], "format")
    if name == attention.FORMAT:
        return attention.read_attention(entries)
    if name == products.FORMAT:
        return products.read_products(entries)
    if name != FORMAT:
        raise Unusable(f"{path}: not a polymargin network (format {shown(name)}, expected {FORMAT!r})")
    return _read_layers(path, entries)


def _read_layers(path: Any, entries: Mapping[str, bytes]) -> Model:
    depth = 0
    while f"weight_{depth + 1}" in entries:
        depth += 1
    if depth == 0:
        raise Unusable(f"{path}: the entry 'weight_1' is missing")
    layers = range(1, depth + 1)
    known = {f"{part}_{layer}" for layer in layers for part in ("weight", "bias", "activation")}
    known.discard(f"activation_{depth}")
    for entry in entries:
        if re.match("(weight|bias|activation)_", entry) and entry not in known:
            raise Unusable(f"{path}: the entry {shown(entry)} belongs to no layer, or to the last one")
    weights = tuple(_weights(entries[f"weight_{layer}"], f"weight_{layer}") for layer in layers)
    biases = tuple(_bias(entries.get(f"bias_{layer}"), f"bias_{layer}", weights[layer - 1].rows) for layer in layers)
    activations = tuple(_activation(entries.get(f"activation_{layer}"), f"activation_{layer}") for layer in layers[:-1])
    for layer, (before, after) in enumerate(pairwise(weights), start=2):
        if after.columns != before.rows:
            raise Unusable(f"weight_{layer} takes {after.columns} values, but the layer before it gives {before.rows}")
    if weights[-1].rows < 2:
        raise Unusable("the network has one class; a margin needs at least two")
    return Model(weights, biases, activations)


def _weights(content: bytes, name: str) -> Matrix:
    loaded = npy.numbers(content, name, 2)
    rows, columns = loaded.shape
    if rows == 0 or columns == 0:
        raise Unusable(f"{name}: shape {loaded.shape}; every layer needs inputs and outputs")
    return Matrix(rows, columns, loaded.values)


def _bias(content: bytes | None, name: str, length: int) -> array[float]:
    if content is None:
        raise Unusable(f"the entry {name!r} is missing; every layer needs its bias")
    loaded = npy.numbers(content, name, 1)
    if loaded.shape != (length,):
        raise Unusable(f"{name}: shape {loaded.shape} for a layer with {length} outputs")
    return loaded.values


def _activation(content: bytes | None, name: str) -> tuple[float, ...]:
    if content is None:
        raise Unusable(f"the entry {name!r} is missing; every hidden layer needs its activation")
    coefficients = npy.numbers(content, name, 1).values.tolist()
    while coefficients and coefficients[-1] == 0.0:
        coefficients.pop()
    if len(coefficients) > LARGEST_DEGREE + 1:
        raise Unusable(f"{name}: degree {len(coefficients) - 1}; this checker accepts up to {LARGEST_DEGREE}")
    return tuple(coefficients) or (0.0,)


def little_endian(values: Sequence[float]) -> bytes:
    """The doubles as they are hashed."""
    doubles = array("d", values)
    if sys.byteorder == "little":
        return doubles.tobytes()
    doubles.byteswap()
    return doubles.tobytes()
