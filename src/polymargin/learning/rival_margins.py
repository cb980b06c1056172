"""`rival_margins`: signed distances to the ties with every rival, for networks with one layer of squares.

The nearest tie alone is a poor teacher: a step that moves it away may bring another one near. Here all rivals of the true class
are answered at once (`span_ties`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polymargin.errors import InputError
from polymargin.learning.extra import torch_package
from polymargin.learning.span_ties import Span
from polymargin.learning.tie_derivatives import with_derivatives
from polymargin.networks.readers.from_torch import from_torch
from polymargin.regions import L2


def rival_margins(module: Any, points: Any, labels: Any, *, nearest: int | None = None) -> Any:
    """Return signed distances (m, k − 1) of points (m, n) to the ties of their class with each other class, ascending.

    Positive where the true class beats the rival; ±∞ where the two never tie. Differentiable in weights and points, as
    `exact_margin` is; unlike there, what rounding may have decided is not looked at twice.

    nearest    how many columns, counted from the smallest distance; all if None

    >>> import torch
    >>> from polymargin.learning import shallow_network
    >>> module = shallow_network(2, 3, 4, seed=0, dtype=torch.float64)
    >>> rival_margins(module, torch.tensor([[0.3, 0.2]], dtype=torch.float64), torch.tensor([1])).shape
    torch.Size([1, 3])
    """
    torch = torch_package()
    x, network = torch.as_tensor(points), from_torch(module)
    if network.chain is None or network.degree > 2:
        raise InputError(f"{network!r}: expected one layer of squares; use exact_margin")
    inputs = x.detach().cpu().double().numpy()
    chosen = np.asarray(torch.as_tensor(labels).cpu(), dtype=np.int64)
    if inputs.ndim != 2 or chosen.shape != inputs.shape[:1]:
        raise InputError(f"points {inputs.shape} and labels {chosen.shape}: expected (m, n) and (m,)")
    span = Span(network, inputs)
    distances, rivals, moves = span.moves_to_ties(chosen)
    order = np.argsort(distances, axis=1, kind="stable")[:, :nearest]
    columns = order.shape[1]
    chosen_moves = np.take_along_axis(moves, order[:, :, None], axis=1).reshape(-1, moves.shape[2])
    kind = x.detach().cpu().numpy().dtype  # the module sees the ties in the precision of the points
    ties = chosen_moves.astype(kind) @ span.basis.T.astype(kind)
    ties.reshape(len(inputs), columns, -1)[:] += inputs[:, None].astype(kind)
    flat = with_derivatives(
        module,
        x.repeat_interleave(columns, dim=0),
        np.repeat(chosen, columns),
        np.take_along_axis(rivals, order, axis=1).ravel(),
        np.take_along_axis(distances, order, axis=1).ravel(),
        ties,
        L2().in_dimension(network.dimension),
    )
    return flat.reshape(-1, columns)
