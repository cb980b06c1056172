"""`rival_margins`: signed distances to the ties with every rival, for networks with one layer of squares.

The nearest tie alone is a poor teacher: a step that moves it away may bring another one near. Here all rivals of the true class
are answered at once, the quadric of each pair of classes with one diagonalisation for all points.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from polymargin.errors import InputError
from polymargin.learning.extra import torch_package
from polymargin.learning.tie_derivatives import with_derivatives
from polymargin.networks import PolynomialNetwork
from polymargin.networks.readers.from_torch import from_torch
from polymargin.quadric import NetworkSolvers


def rival_margins(module: Any, points: Any, labels: Any) -> Any:
    """Signed distances (m, k − 1) of points (m, n) to the ties of their class with each other class, in the order of the classes.

    Positive where the true class beats the rival; ±∞ where the two never tie. Differentiable in weights and points, as
    `exact_margin` is; unlike there, what rounding may have decided is not looked at twice.

    >>> import torch
    >>> from polymargin.learning import shallow_network
    >>> module = shallow_network(2, 3, 4, seed=0, dtype=torch.float64)
    >>> rival_margins(module, torch.tensor([[0.3, 0.2]], dtype=torch.float64), torch.tensor([1])).shape
    torch.Size([1, 3])
    """
    torch = torch_package()
    x, network = torch.as_tensor(points), from_torch(module)
    if not isinstance(network, PolynomialNetwork):
        raise InputError(f"a {type(network).__name__}: expected a network with one layer of squares; use exact_margin")
    inputs = x.detach().cpu().double().numpy()
    chosen = np.asarray(torch.as_tensor(labels).cpu(), dtype=np.int64)
    if inputs.ndim != 2 or chosen.shape != inputs.shape[:1]:
        raise InputError(f"points {inputs.shape} and labels {chosen.shape}: expected (m, n) and (m,)")
    solvers = NetworkSolvers(network)
    classes = len(solvers.squares.constants)
    rows = np.arange(len(inputs))
    rivals = np.array([[k for k in range(classes) if k != label] for label in chosen]).reshape(len(rows), classes - 1)
    lengths, ties = np.empty(rivals.shape), np.empty((*rivals.shape, inputs.shape[1]))
    for first, second in combinations(range(classes), 2):
        rows_of = np.flatnonzero((chosen == first) | (chosen == second))
        column = np.where(chosen[rows_of] == first, second - 1, first)
        found = solvers.pair(first, second).nearest_batch(inputs[rows_of])
        lengths[rows_of, column] = found.distances
        ties[rows_of, column] = np.where(np.isfinite(found.distances)[:, None], found.points, inputs[rows_of])
    logits = network.logits(inputs)
    ahead = logits[rows, chosen][:, None] >= np.take_along_axis(logits, rivals, axis=1)
    repeats = classes - 1
    flat = with_derivatives(
        module,
        x.repeat_interleave(repeats, dim=0),
        np.repeat(chosen, repeats),
        rivals.ravel(),
        np.where(ahead, lengths, -lengths).ravel(),
        ties.reshape(-1, inputs.shape[1]),
        2.0,
    )
    return flat.reshape(-1, repeats)
