"""Onto the locus Δ = 0 in the space of weights.

A penalty only approaches the locus. Newton's step along the gradient,

    θ ← θ − m Δ ∇Δ / ‖∇Δ‖²,

is the smallest step that puts the linearised Δ^{1/m} to zero; m is the order to which Δ vanishes on its zero set (two
for the discriminant of the characteristic polynomial, which would otherwise converge by halving only). `project` repeats
it until Δ is small; `remove_normal` and `correct` together make any optimiser walk along the locus: take the part of the
gradient along ∇Δ away before the step, and correct after it.

Far from the locus the linearisation is worth little: no step is longer than a fifth of the weights, and a step that does
not make |Δ| smaller is halved. Everything is judged by the scaled factors, for which a tolerance means something.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from polymargin.errors import InputError
from polymargin.learning.extra import torch_package
from polymargin.learning.quadratic import Factor, Quadratic
from polymargin.learning.regularisers import refuse_constant_factors

LONGEST_STEP = 0.2  # of the norm of the weights
HALVINGS = 30


@dataclass(frozen=True)
class LocusProjection:
    """The outcome of `project`: the scaled factor before and after, the steps, and how far the weights moved."""

    before: float
    after: float
    steps: int
    distance: float
    converged: bool

    def __repr__(self) -> str:
        end = "converged" if self.converged else "did not converge: try more steps or start nearer"
        return f"LocusProjection({self.before:.3g} → {self.after:.3g} in {self.steps} steps, moved {self.distance:.3g}, {end})"


def project(
    network: Any,
    factor: Factor,
    *,
    label: int = 0,
    rival: int = 1,
    steps: int = 50,
    tolerance: float | None = None,
) -> LocusProjection:
    """Move the weights, in place, to a near point with |scaled Δ| ≤ tolerance.

    The default tolerance is 64 rounding units of the weights' type, for Disc too: it is a square, so repeated
    eigenvalues are then equal to about the root of that.
    """
    torch = torch_package()
    parameters = _parameters(network)
    refuse_constant_factors(network, [factor])
    if steps < 0:
        raise InputError(f"steps {steps}: expected a number >= 0")
    limit = 64 * torch.finfo(parameters[0].dtype).eps if tolerance is None else tolerance
    start = [parameter.detach().clone() for parameter in parameters]
    before = after = _value(network, factor, label, rival)
    taken = 0
    while abs(after) > limit and taken < steps and correct(network, factor, label=label, rival=rival):
        taken += 1
        after = _value(network, factor, label, rival)
    moved = float(_norm([parameter.detach() - first for parameter, first in zip(parameters, start, strict=True)]))
    return LocusProjection(before, after, taken, moved, abs(after) <= limit)


def correct(network: Any, factor: Factor, *, label: int = 0, rival: int = 1) -> bool:
    """Do one Newton step in place; return False and move nothing if no step makes |Δ| smaller."""
    torch = torch_package()
    parameters = _parameters(network)
    value, gradient = _gradient(network, parameters, factor, label, rival)
    with torch.no_grad():
        steepness = float(_norm(gradient))
        if steepness == 0.0 or float(value) == 0.0:
            return False
        start = [parameter.clone() for parameter in parameters]
        longest = LONGEST_STEP * float(_norm(parameters))
        length = min(factor.multiplicity * abs(float(value)) / steepness, longest)
        for _ in range(HALVINGS):
            scale = math.copysign(length / steepness, float(value))
            for parameter, first, part in zip(parameters, start, gradient, strict=True):
                parameter.copy_(first - scale * part)
            if abs(_value(network, factor, label, rival)) < abs(float(value)):
                return True
            length /= 2
        for parameter, first in zip(parameters, start, strict=True):
            parameter.copy_(first)
    return False


def remove_normal(network: Any, factor: Factor, *, label: int = 0, rival: int = 1) -> None:
    """Take the part along ∇Δ out of the gradients that `backward` left in the parameters."""
    torch = torch_package()
    parameters = [parameter for parameter in _parameters(network) if parameter.grad is not None]
    if not parameters:
        return
    _, normal = _gradient(network, parameters, factor, label, rival)
    with torch.no_grad():
        square = _norm(normal) ** 2
        if float(square) == 0.0:
            return
        along = sum((parameter.grad * part).sum() for parameter, part in zip(parameters, normal, strict=True)) / square
        for parameter, part in zip(parameters, normal, strict=True):
            parameter.grad -= along * part


def _parameters(network: Any) -> list[Any]:
    torch = torch_package()
    tensors: Iterable[Any] = network.parameters() if isinstance(network, torch.nn.Module) else network
    found = [tensor for tensor in tensors if tensor is not None and tensor.requires_grad]
    if not found:
        raise InputError("no parameter of the network requires a gradient; set requires_grad on those that may move")
    return found


def _gradient(network: Any, parameters: list[Any], factor: Factor, label: int, rival: int) -> tuple[Any, list[Any]]:
    torch = torch_package()
    refuse_constant_factors(network, [factor])
    with torch.enable_grad():
        value = Quadratic.of(network, label, rival).factor(factor, scaled=True)
        parts = torch.autograd.grad(value, parameters, allow_unused=True)
    gradient = [
        torch.zeros_like(parameter) if part is None else part for parameter, part in zip(parameters, parts, strict=True)
    ]
    return value.detach(), gradient


def _norm(tensors: Iterable[Any]) -> Any:
    torch = torch_package()
    return torch.sqrt(sum((tensor * tensor).sum() for tensor in tensors))


def _value(network: Any, factor: Factor, label: int, rival: int) -> float:
    torch = torch_package()
    with torch.no_grad():
        return float(Quadratic.of(network, label, rival).factor(factor, scaled=True))
