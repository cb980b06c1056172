"""Networks from named arrays: state dicts, parameters of flax and Keras, plain NumPy, .safetensors.

Arrays hold the weights of the linear layers but not what is between them, so the activation has to be given. Which way round the
matrices are stored, (outputs, inputs) as in PyTorch or (inputs, outputs) as in flax and Keras, is decided by the shapes: the
layers must fit each other and their biases. Where both ways fit, the question is passed on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.arguments import real_array
from polymargin.errors import InputError
from polymargin.networks.activations import LayerActivation, activations_of, network_of_layers
from polymargin.networks.network import Network
from polymargin.networks.recurrences import BASES

Array = NDArray[np.float64]
Layers = list[tuple[str, Array, Array | None]]

ROWS, COLUMNS = "rows", "columns"
_SHAPES = {ROWS: "(outputs, inputs)", COLUMNS: "(inputs, outputs)"}
_WEIGHTS, _BIASES = ("weight", "kernel", "w"), ("bias", "b")
_COEFFICIENTS = {"coefficients": "powers", "coeffs": "powers"} | {f"{name}_coefficients": name for name in BASES}
MOST_ARRAYS = 10_000


def from_arrays(arrays: Mapping[str, Any], activation: Any = None, *, outputs: str | None = None) -> Network:
    """Return the network of linear layers whose weights and biases are given by name.

    Parameters
    ----------
    arrays
        Matrices and vectors by name, nested or with dots or slashes: 'fc1.weight' and 'fc1.bias', 'W1' and 'b1', or
        {'Dense_0': {'kernel': …, 'bias': …}}. Layers come in the order of the mapping, numbered ones by their numbers.
    activation
        What stands between the layers: 'square', a degree d for z^d, coefficients (c_0, c_1, …), or a series in another basis:
        ('legendre', (c_0, c_1, …)) or an object of `numpy.polynomial`; a list of such things that are not plain numbers gives
        one for each hidden layer. Not needed where the arrays hold coefficients themselves, by names such as 'act.coefficients'
        for powers, 'act.legendre_coefficients' and 'act.domain' for other bases.
    outputs
        Where the outputs are in a matrix: 'rows' (PyTorch) or 'columns' (flax, Keras); by default the shapes decide.

    >>> import numpy as np
    >>> net = from_arrays({"W1": np.ones((3, 4)), "b1": np.zeros(4), "W2": np.ones((4, 2))}, "square")
    >>> net
    Network(3-4-2, x², logits of degree 2; matrices are (inputs, outputs))
    """
    if outputs not in (None, ROWS, COLUMNS):
        raise InputError(f"outputs {outputs!r}; expected 'rows' or 'columns', where a matrix has its outputs")
    layers, coefficients = _collected(arrays)
    given = coefficients if activation is None else activations_of(activation, len(layers) - 1)
    if activation is not None and coefficients:
        raise InputError("the arrays hold coefficients of activations; leave activation= out")
    if len(given) != len(layers) - 1:
        raise InputError(
            f"{len(layers)} linear layers and {len(given)} activations; the weights alone do not say what the network computes: "
            "say activation='square', a degree, or coefficients (--activation)"
        )
    where = _orientation(layers, outputs)
    pairs = [(weight if where == ROWS else weight.T, bias) for _, weight, bias in layers]
    network = network_of_layers(pairs, given)
    network.origin = f"matrices are {_SHAPES[where]}"
    return network


def _collected(arrays: Mapping[str, Any]) -> tuple[Layers, list[LayerActivation]]:
    """Return layers by the names of their owners, and coefficients where there are any."""
    found: dict[str, dict[str, Any]] = {}
    bases: dict[str, str] = {}
    for name, values in _flat(arrays, ""):
        owner, part = _owner(name)
        array = real_array(values, name)
        if not np.isfinite(array).all():
            raise InputError(f"{name} contains {array[~np.isfinite(array)][0]}: expected finite numbers")
        if part in _COEFFICIENTS and array.ndim == 1:
            kind = "coefficients"
            bases[owner] = _COEFFICIENTS[part]
        elif part == "domain" and array.shape == (2,):
            kind = "domain"
        elif part in _WEIGHTS and array.ndim == 2:
            kind = "weight"
        elif part in _BIASES and array.ndim <= 2 and array.size == max(array.shape, default=0):
            kind, array = "bias", array.reshape(-1)
        else:
            raise InputError(
                f"{name} of shape {array.shape} belongs neither to a linear layer (weight, kernel or W with two axes; bias or b) "
                "nor to an activation (coefficients); give the model itself to from_torch, or export it to ONNX"
            )
        if kind in found.setdefault(owner, {}):
            raise InputError(f"{name}: two arrays for the {kind} of one layer")
        found[owner][kind] = array
    owners = _ordered([owner for owner, parts in found.items() if "coefficients" not in parts])
    missing = [owner for owner in owners if "weight" not in found[owner]]
    if missing or not owners:
        raise InputError(f"{missing[0]!r} has no weight" if missing else "no weights among the arrays")
    rows = _ordered([owner for owner, parts in found.items() if "coefficients" in parts])
    layers = [(owner, found[owner]["weight"], found[owner].get("bias")) for owner in owners]
    return layers, [LayerActivation.of(found[o]["coefficients"], bases[o], found[o].get("domain")) for o in rows]


def _flat(arrays: Mapping[str, Any], prefix: str) -> list[tuple[str, Any]]:
    if not isinstance(arrays, Mapping):
        raise InputError(f"{type(arrays).__name__}: expected arrays by name")
    result: list[tuple[str, Any]] = []
    for name, value in arrays.items():
        path = f"{prefix}{name}"
        result += _flat(value, f"{path}.") if isinstance(value, Mapping) else [(path, value)]
        if len(result) > MOST_ARRAYS:
            raise InputError(f"more than {MOST_ARRAYS} arrays")
    return result


def _owner(name: str) -> tuple[str, str]:
    """Return the layer an array belongs to and what it is in it: 'fc1', 'weight' for fc1.weight; '1', 'w' for W1 and W_1."""
    tidy = re.sub(r":\d+$", "", name).replace("/", ".")
    owner, _, part = tidy.rpartition(".")
    short = re.fullmatch(r"([a-zA-Z]+)_?(\d+)", part)
    if short and short[1].lower() in (*_WEIGHTS, *_BIASES):
        return f"{owner}.{short[2]}".strip("."), short[1].lower()
    return owner, part.lower()


def _ordered(owners: Sequence[str]) -> list[str]:
    """Return names in their order; names that differ in their numbers alone in the order of these."""
    plain = {re.sub(r"\d+", "", owner) for owner in owners}
    if len(plain) > 1:
        return list(owners)
    return sorted(owners, key=lambda owner: [int(digits) for digits in re.findall(r"\d+", owner)])


def _orientation(layers: Layers, wanted: str | None) -> str:
    fitting = [where for where in (ROWS, COLUMNS) if _fits(layers, where)]
    shapes = ", ".join(f"{owner or 'weight'} {weight.shape}" for owner, weight, _ in layers)
    if wanted is not None:
        if wanted not in fitting:
            raise InputError(f"layers {shapes} do not fit each other and their biases with outputs in {wanted}")
        return wanted
    if not fitting:
        raise InputError(f"layers {shapes} fit each other and their biases neither with outputs in rows nor in columns")
    if len(fitting) > 1:
        raise InputError(
            f"layers {shapes} fit either way; say outputs='rows' (PyTorch) or outputs='columns' (flax, Keras), --outputs on the "
            "command line"
        )
    return fitting[0]


def _fits(layers: Layers, where: str) -> bool:
    before: int | None = None
    for _, weight, bias in layers:
        taken, given = weight.shape[::-1] if where == ROWS else weight.shape
        if (before is not None and taken != before) or (bias is not None and len(bias) != given):
            return False
        before = given
    return True
