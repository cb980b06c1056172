"""B and its gradient at many points at once, in coordinates of the row space of W¹.

With adjoints v^L = W_c − W_c' and v^{l−1} = Wˡᵀ(vˡ ∘ σ'(zˡ)), ∇B = Cᵀ(v¹ ∘ σ'(z¹)).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polymargin.bounds.products.view import ProductView
from polymargin.bounds.view import View

Array = NDArray[np.float64]


def evaluate(view: View | ProductView, places: Array, label: int, rivals: NDArray[np.int64]) -> tuple[Array, Array]:
    """B and ∇B with respect to η at x = u + Qη, for places (S, m) and a rival for each."""
    if isinstance(view, ProductView):
        return view.evaluate(places, label, rivals)
    last, factor = view.layered.layers[-1], view.first_operator
    z = view.shift + places @ factor.T
    states = [z]
    for layer in range(2, view.depth + 1):
        z = _value(view.activation(layer - 1), z) @ view.operator(layer).T + view.bias(layer)
        states.append(z)
    adjoint = last.weights[label] - last.weights[rivals]
    activated = _value(view.activation(view.depth), z)
    values = (adjoint * activated).sum(axis=-1) + (last.bias[label] - last.bias[rivals])
    for layer in range(view.depth, 0, -1):
        adjoint = adjoint * _value(view.activation(layer, 1), states[layer - 1])
        adjoint = adjoint @ (view.operator(layer) if layer > 1 else factor)
    return values, adjoint


def _value(coefficients: Array, z: Array) -> Array:
    """Horner, leaving out what is zero."""
    total = np.full_like(z, coefficients[-1])
    for coefficient in coefficients[-2::-1].tolist():
        total *= z
        if coefficient:
            total += coefficient
    return total
