"""`rival_margins`: signed distances to the ties with every rival, for networks with one layer of squares.

The nearest tie alone is a poor teacher: a step that moves it away may bring another one near. Here all rivals of the true class
are answered at once, the quadric of each pair of classes with one diagonalisation for all points. The first layer sees a point
only through its projection to the span of the weights, so everything is solved in there: with W = LQᵀ, a tie of u is
u + Q(z − Qᵀu), where z is the tie of Qᵀu for the network that begins with L.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.errors import InputError
from polymargin.learning.extra import torch_package
from polymargin.learning.tie_derivatives import with_derivatives
from polymargin.networks import PolynomialNetwork
from polymargin.networks.readers.from_torch import from_torch
from polymargin.quadric import NetworkSolvers

Array = NDArray[np.float64]


def rival_margins(module: Any, points: Any, labels: Any, *, nearest: int | None = None) -> Any:
    """Signed distances (m, k − 1) of points (m, n) to the ties of their class with each other class, in ascending order.

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
    if not isinstance(network, PolynomialNetwork):
        raise InputError(f"a {type(network).__name__}: expected a network with one layer of squares; use exact_margin")
    inputs = x.detach().cpu().double().numpy()
    chosen = np.asarray(torch.as_tensor(labels).cpu(), dtype=np.int64)
    if inputs.ndim != 2 or chosen.shape != inputs.shape[:1]:
        raise InputError(f"points {inputs.shape} and labels {chosen.shape}: expected (m, n) and (m,)")
    distances, rivals, moves, basis = _moves_to_ties(network, inputs, chosen)
    order = np.argsort(distances, axis=1, kind="stable")[:, :nearest]
    steps: Array = np.take_along_axis(moves, order[:, :, None], axis=1) @ basis.T
    ties = inputs[:, None] + steps
    columns = order.shape[1]
    flat = with_derivatives(
        module,
        x.repeat_interleave(columns, dim=0),
        np.repeat(chosen, columns),
        np.take_along_axis(rivals, order, axis=1).ravel(),
        np.take_along_axis(distances, order, axis=1).ravel(),
        ties.reshape(-1, inputs.shape[1]),
        2.0,
    )
    return flat.reshape(-1, columns)


def _moves_to_ties(
    network: PolynomialNetwork, inputs: Array, labels: NDArray[np.int64]
) -> tuple[Array, NDArray[np.int64], Array, Array]:
    """Signed distances (m, k − 1), the rivals, and the moves to their ties in the coordinates of the orthonormal basis."""
    first = network.layers[0]
    basis, triangle = np.linalg.qr(first.weights.T)
    later = [(layer.weights, layer.bias) for layer in network.layers[1:]]
    inner = PolynomialNetwork([(triangle.T, first.bias), *later], activations=network.activations)
    places, solvers = inputs @ basis, NetworkSolvers(inner)
    logits = inner.logits(places)
    rows, classes = np.arange(len(inputs)), logits.shape[1]
    rivals = np.array([[k for k in range(classes) if k != label] for label in labels], dtype=np.int64)
    rivals = rivals.reshape(len(rows), classes - 1)
    lengths, moves = np.empty(rivals.shape), np.zeros((*rivals.shape, places.shape[1]))
    for one, other in combinations(range(classes), 2):
        mine = np.flatnonzero((labels == one) | (labels == other))
        column = np.where(labels[mine] == one, other - 1, one)
        found = solvers.pair(one, other).nearest_batch(places[mine])
        lengths[mine, column] = found.distances
        exists = np.isfinite(found.distances)[:, None]
        moves[mine, column] = np.where(exists, found.points - places[mine], 0.0)
    ahead = logits[rows, labels][:, None] >= np.take_along_axis(logits, rivals, axis=1)
    return np.where(ahead, lengths, -lengths), rivals, moves, basis
