"""`exact_margin`: the distance to the nearest tie as a PyTorch function, with gradients for weights and inputs.

The sign says on which side the point is: positive where the true class wins, negative where it loses; then the tie is the
nearest one of the true class with the class that wins. The values where derivatives say nothing:

    no tie exists            s = ±∞, gradient zero
    ∇B(x*) = 0 (singular)    gradient zero for the weights, that of the distance to x* for the inputs
    several nearest ties     the gradient of one of them
    no answer (BRACKETED)    s is the upper bound, its tie the one that was found

Networks of degree two in many inputs are solved in the span of their first layer (`span_ties`), without a retry.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.errors import InputError
from polymargin.learning.extra import torch_package
from polymargin.learning.span_ties import Span
from polymargin.learning.tie_derivatives import with_derivatives
from polymargin.margins import Margin, PairMargin, Settings, Verifier
from polymargin.networks.network import Network
from polymargin.networks.readers.from_torch import from_torch
from polymargin.quadric import MOST_VARIABLES
from polymargin.regions import Region, ThreatModel
from polymargin.work import Workers

Array = NDArray[np.float64]


def exact_margin(
    module: Any,
    points: Any,
    labels: Any = None,
    *,
    within: Region | None = None,
    rivals: Sequence[int] | None = None,
    seed: int = 0,
    device: str | None = None,
    workers: int | Workers | None = None,
    settings: Settings | None = None,
) -> Any:
    """Return signed distances (m,) of points (m, n) to the nearest tie, differentiable in the module's weights and in the points.

    labels      the true classes (m,); the module's own predictions if None, and then no distance is negative
    within, rivals    as in `margin`
    seed, device, workers, settings    as in `Verifier`; start solutions are not kept on disk by default

    >>> import torch
    >>> from polymargin.learning import shallow_network
    >>> module = shallow_network(2, 3, 2, seed=0, dtype=torch.float64)
    >>> distance = exact_margin(module, torch.tensor([[0.3, 0.2]], dtype=torch.float64))
    >>> distance.backward()
    >>> module[0].weight.grad.shape
    torch.Size([3, 2])
    """
    torch = torch_package()
    x = torch.as_tensor(points)
    if x.ndim != 2:
        raise InputError(f"points of shape {tuple(x.shape)}: expected a batch (m, n)")
    inputs, network = x.detach().cpu().double().numpy(), from_torch(module)
    asked = ThreatModel.of(network.dimension, within, rivals, classes=network.class_count)
    if asked.is_plain and _is_large_quadratic(network, inputs) and settings is None and device is None:
        span = Span(network, inputs)
        chosen = _labels(labels, span.logits.argmax(axis=1))
        distances, moves, others = span.nearest_ties(chosen)
        ties = inputs + moves @ span.basis.T
    else:
        options: dict[str, Any] = {"seed": seed, "device": device, "workers": workers}
        verifier = Verifier(
            network, within=within, rivals=rivals, settings=settings or Settings(cache=False), **options
        )
        found = verifier.margin(inputs, proof=False)
        chosen = _labels(labels, _predicted(found))
        distances, ties, others = _nearest_ties(found, chosen, inputs)
    return with_derivatives(module, x, chosen, others, distances, ties, asked.region)


def _is_large_quadratic(network: Network, inputs: Array) -> bool:
    """Return True if `margin` has only doubles either, so that bounds are of no use in training."""
    return (
        network.chain is not None
        and network.chain.in_powers
        and network.degree == 2
        and network.dimension > MOST_VARIABLES
        and inputs.shape[1] == network.dimension
        and bool(np.isfinite(inputs).all())
    )


def _predicted(found: Sequence[Margin]) -> NDArray[np.int64]:
    failures = [row.error for row in found if row.error is not None]
    if failures:
        raise InputError(f"{len(failures)} of {len(found)} points have no margin; the first says: {failures[0]}")
    return np.array([row.label for row in found], dtype=np.int64)


def _labels(labels: Any, predicted: NDArray[np.int64]) -> NDArray[np.int64]:
    if labels is None:
        return predicted
    chosen = np.asarray(torch_package().as_tensor(labels).cpu(), dtype=np.int64)
    if chosen.shape != predicted.shape:
        raise InputError(f"labels of shape {chosen.shape}: expected one for each of the {len(predicted)} points")
    return chosen


def _nearest_ties(
    found: Sequence[Margin], labels: NDArray[np.int64], inputs: Array
) -> tuple[Array, Array, NDArray[np.int64]]:
    """Return signed distances, the ties themselves (the point where there is none), and the other class of each tie."""
    distances, rivals, ties = np.empty(len(found)), np.empty(len(found), dtype=np.int64), inputs.copy()
    for row, (one, label) in enumerate(zip(found, labels.tolist(), strict=True)):
        if one.label == label:
            distances[row], rivals[row], tie = one.radius, label if one.rival is None else one.rival, one.point
        else:
            distances[row], tie, rivals[row] = _behind(one, label, row)
        if tie is not None:
            ties[row] = tie
    return distances, ties, rivals


def _behind(found: Margin, label: int, row: int) -> tuple[float, Array | None, int]:
    """Return distance, tie and winner where the true class is behind."""
    pair = _against(found, label)
    if found.label is not None and pair is not None:
        return -pair.radius, pair.point, found.label
    if found.label is not None and found.rival == label and found.radius == 0:
        return 0.0, found.point, found.label
    why = found.error or ("; ".join(found.notes) if found.method == "tie" else "rivals= leaves it out; name it")
    raise InputError(f"row {row} has no distance to the ties of its class {label}: {why}")


def _against(found: Margin, rival: int) -> PairMargin | None:
    """Return the answer against one rival, which is usually at its own position in the list."""
    place = rival - (found.label is not None and rival > found.label)
    if place < len(found.pairs) and found.pairs[place].rival == rival:
        return found.pairs[place]
    return next((pair for pair in found.pairs if pair.rival == rival), None)
