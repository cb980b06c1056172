"""B, its gradient and its Hessian at many points at once, in coordinates of the row space of W¹.

With adjoints v^L = W_c − W_c', v^{l−1} = Wˡᵀ(vˡ ∘ σ'(zˡ)) and Jacobians Jˡ = ∂zˡ/∂η,

    ∇B = Cᵀ(v¹ ∘ σ'(z¹)),      ∇²B = Σ_l Jˡᵀ diag(vˡ ∘ σ''(zˡ)) Jˡ.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polymargin.bounds.products.view import ProductView
from polymargin.bounds.view import View

Array = NDArray[np.float64]


def evaluate(view: View | ProductView, places: Array, label: int, rivals: NDArray[np.int64]) -> tuple[Array, Array]:
    """B and ∇B with respect to η at x = u + Qη, for places (S, m) and a rival for each."""
    if isinstance(view, ProductView):
        return view.evaluate(places, label, rivals)
    values, slopes, _ = _passes(view, view.first_operator, places, label, rivals, second=False)
    return values, slopes


def evaluate_twice(
    view: View | ProductView, places: Array, label: int, rivals: NDArray[np.int64], factor: Array | None = None
) -> tuple[Array, Array, Array]:
    """B, ∇B and ∇²B; with `factor` = view.in_subspace(V) in the coordinates of a subspace η = V ξ."""
    if isinstance(view, ProductView):
        return view.evaluate_twice(places, label, rivals, factor)
    return _passes(view, view.first_operator if factor is None else factor, places, label, rivals, second=True)


def _passes(
    view: View, factor: Any, places: Array, label: int, rivals: NDArray[np.int64], *, second: bool
) -> tuple[Array, Array, Array]:
    last = view.layered.layers[-1]
    z = view.shift + places @ factor.T
    states = [z]
    for layer in range(2, view.depth + 1):
        z = _value(view.activation(layer - 1), z) @ view.operator(layer).T + view.bias(layer)
        states.append(z)
    adjoint = last.weights[label] - last.weights[rivals]
    activated = _value(view.activation(view.depth), z)
    values = (adjoint * activated).sum(axis=-1) + (last.bias[label] - last.bias[rivals])
    adjoints = []
    for layer in range(view.depth, 0, -1):
        adjoints.append(adjoint)
        adjoint = adjoint * _value(view.activation(layer, 1), states[layer - 1])
        adjoint = adjoint @ (view.operator(layer) if layer > 1 else factor)
    hessian = np.zeros((len(places), 0, 0))
    if second:
        factor = factor.toarray() if sparse.issparse(factor) else factor
        jacobian = np.broadcast_to(factor, (len(places), *factor.shape))
        for layer in range(1, view.depth + 1):
            bend = adjoints[view.depth - layer] * _value(view.activation(layer, 2), states[layer - 1])
            term = np.swapaxes(jacobian, 1, 2) @ (bend[..., None] * jacobian)
            hessian = term if layer == 1 else hessian + term
            if layer < view.depth:
                rise = _value(view.activation(layer, 1), states[layer - 1])
                jacobian = _applied(view.operator(layer + 1), rise[..., None] * jacobian)
    return values, adjoint, hessian


def _applied(operator: Any, stack: Array) -> Array:
    """operator @ each of the matrices; sparse ones take one at a time."""
    return np.stack([operator @ one for one in stack]) if sparse.issparse(operator) else operator @ stack


def _value(coefficients: Array, z: Array) -> Array:
    """Horner, leaving out what is zero."""
    total = np.full_like(z, coefficients[-1])
    for coefficient in coefficients[-2::-1].tolist():
        total *= z
        if coefficient:
            total += coefficient
    return total
