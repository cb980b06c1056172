"""Distances to ties, given as numbers, with the derivatives that they have.

Let x* be the nearest tie of a point u with a rival, B = f_y − f_rival with y the true class, and s the signed distance. By the
envelope theorem

    ∂s/∂θ = (∂B/∂θ)(x*) / ‖∇B(x*)‖_dual,      ∂s/∂u = ∇B(x*) / ‖∇B(x*)‖_dual,

so no derivative of a solver is needed: the module is evaluated once more, at the constant points x*, and divided by constant
lengths. Both formulas hold on either side of the boundary and on it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.learning.extra import torch_package

Array = NDArray[np.float64]


def with_derivatives(
    module: Any,
    x: Any,
    labels: NDArray[np.int64],
    rivals: NDArray[np.int64],
    distances: Array,
    ties: Array,
    dual: float,
) -> Any:
    """The distances as constants, plus what is zero but has their derivatives."""
    torch = torch_package()
    places = torch.as_tensor(ties, dtype=x.dtype, device=x.device).requires_grad_()
    rows = torch.arange(len(labels), device=x.device)
    with torch.enable_grad():
        logits = module(places)
        values = logits[rows, torch.as_tensor(labels)] - logits[rows, torch.as_tensor(rivals)]
        (slopes,) = torch.autograd.grad(values.sum(), places, retain_graph=True)
    steepness = torch.linalg.vector_norm(slopes, ord=dual, dim=1)
    signed = torch.as_tensor(distances, dtype=x.dtype, device=x.device)
    regular = torch.isfinite(signed) & (steepness > 0) & torch.isfinite(steepness)
    weight = torch.where(regular, 1 / torch.where(regular, steepness, 1.0), 0.0)
    result = signed + torch.where(regular, weight * (values - values.detach()), 0.0)
    if not x.requires_grad:
        return result
    normals = slopes * weight[:, None]
    singular = torch.isfinite(signed) & ~regular & (signed != 0)
    length = torch.where(singular, signed, 1.0)[:, None]
    normals = torch.where(singular[:, None], (x.detach() - places.detach()) / length, normals)
    return result + (normals.detach() * (x - x.detach())).sum(dim=1)
