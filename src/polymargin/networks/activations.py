"""What stands between linear layers: 'square', 'relu', a degree, coefficients, or a series in another basis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.arguments import real_array
from polymargin.errors import InputError
from polymargin.networks.layers import Function, Layer, checked_layers, stages_of_layers
from polymargin.networks.network import Network
from polymargin.networks.recurrences import BASES, POWERS
from polymargin.networks.stages import LARGEST_DEGREE, RELU
from polymargin.networks.tape.series import WINDOW

EXPECTED = (
    "expected 'square', 'relu', a degree, coefficients (c_0, c_1, …), or a basis with its coefficients "
    "('legendre', (c_0, c_1, …))"
)
# The classes of numpy.polynomial.
_NUMPY = {
    "Polynomial": "powers",
    "Chebyshev": "chebyshev",
    "Legendre": "legendre",
    "Hermite": "hermite",
    "HermiteE": "hermite_e",
}


@dataclass(frozen=True)
class LayerActivation:
    """Σ c_k P_k(z), z = (2x − a − b) / (b − a) on the domain (a, b)."""

    coefficients: tuple[float, ...]
    basis: str = POWERS.name  # or 'relu', without coefficients
    domain: tuple[float, float] = WINDOW

    @classmethod
    def of(cls, coefficients: NDArray[np.float64], basis: str, domain: Any = None) -> LayerActivation:
        """Return the activation of one layer from checked coefficients."""
        low, high = WINDOW if domain is None else (float(end) for end in domain)
        if not (np.isfinite([low, high]).all() and low < high):
            raise InputError(
                f"a series on the domain ({low}, {high}); expected two finite numbers, the lower one first"
            )
        if basis == POWERS.name and (low, high) != WINDOW:
            raise InputError("coefficients of powers with a domain; expected a domain for other bases alone")
        return cls(tuple(coefficients.tolist()), basis, (low, high))


def activations_of(activation: Any, hidden: int) -> list[LayerActivation]:
    """Return one for each hidden layer, from one description for all or one each.

    >>> activations_of("square", 2)[0].coefficients
    (0.0, 0.0, 1.0)
    >>> activations_of([3, [0.5, 1.0]], 2) == activations_of([[0, 0, 0, 1], (0.5, 1.0)], 2)
    True
    >>> activations_of(np.polynomial.Legendre([0.0, 1.0], domain=(-4, 4)), 1)
    [LayerActivation(coefficients=(0.0, 1.0), basis='legendre', domain=(-4.0, 4.0))]
    """
    if not hidden and (activation is None or (isinstance(activation, list) and not activation)):
        return []
    if isinstance(activation, (list, tuple)) and not _is_one(activation):
        if len(activation) != hidden:
            raise InputError(
                f"{len(activation)} activations for {hidden} hidden layers; expected one for each, or one for all"
            )
        return [_activation(entry) for entry in activation]
    return [_activation(activation)] * hidden


def network_of_layers(pairs: Sequence[tuple[Any, Any]], activations: Sequence[LayerActivation]) -> Network:
    """Return the network of linear layers (weights, bias or None) with activations between them."""
    layers, functions = list(checked_layers(pairs)), list[Function]()
    for place, one in enumerate(activations):
        low, high = one.domain
        if one.domain != WINDOW:  # z = (2x − low − high) / (high − low)
            weights, bias = layers[place]
            layers[place] = Layer(2.0 * weights / (high - low), (2.0 * bias - (low + high)) / (high - low))
        row = np.trim_zeros(np.array(one.coefficients), "b").tolist() or [0.0]
        functions.append(RELU if one.basis == "relu" else (tuple(row), one.basis))
    return Network(*stages_of_layers(layers, functions))


def _activation(given: Any) -> LayerActivation:
    if isinstance(given, (list, tuple)) and len(given) == 2 and isinstance(given[0], str) and given[0] in BASES:
        return LayerActivation.of(_row(given[1], given), given[0])
    if type(given).__module__.startswith("numpy.polynomial") and type(given).__name__ in _NUMPY:
        window, domain = tuple(map(float, given.window)), tuple(map(float, given.domain))
        if window != WINDOW and window != domain:
            raise InputError(f"a {type(given).__name__} series with the window {window}; expected (-1, 1)")
        basis = _NUMPY[type(given).__name__]
        return LayerActivation.of(_row(given.coef, given), basis, WINDOW if window == domain else domain)
    if isinstance(given, str):
        if given not in ("square", "relu"):
            raise InputError(f"activation {given!r}; {EXPECTED}")
        return LayerActivation((0.0, 0.0, 1.0)) if given == "square" else LayerActivation((), "relu")
    if isinstance(given, (int, np.integer)) and not isinstance(given, bool):
        if not 1 <= given <= LARGEST_DEGREE:
            raise InputError(f"activation of degree {given}; expected a degree from 1 to {LARGEST_DEGREE}")
        return LayerActivation((*[0.0] * int(given), 1.0))
    return LayerActivation.of(_row(given, given), POWERS.name)


def _row(coefficients: Any, given: Any) -> NDArray[np.float64]:
    try:
        row = real_array(coefficients, "the coefficients of the activation")
    except InputError:
        row = np.zeros(0)
    if row.ndim != 1 or not row.size or not np.isfinite(row).all():
        raise InputError(f"activation {str(given)[:60]}; {EXPECTED}")
    return row


def _is_one(entries: Sequence[Any]) -> bool:
    """Return whether it is one activation, coefficients or a basis with them, and not one for each layer."""
    named = len(entries) == 2 and isinstance(entries[0], str) and entries[0] in BASES
    return named or all(_is_number(entry) for entry in entries)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
