"""Training on exact margins: losses of signed distances, and a loop that can be read in a minute."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from polymargin.learning.exact_margin import exact_margin
from polymargin.learning.extra import torch_package

Loss = Callable[[Any], Any]


def margin_hinge(wanted: float) -> Loss:
    """Return the loss mean max(0, wanted − s): margins beyond the wanted radius gain nothing."""
    torch = torch_package()
    return lambda distances: torch.relu(wanted - distances).mean()


def margin_softplus(wanted: float, width: float) -> Loss:
    """Return the hinge with its corner rounded over `width`."""
    torch = torch_package()
    return lambda distances: width * torch.nn.functional.softplus((wanted - distances) / width).mean()


def margin_step(radius: float, width: float) -> Loss:
    """Return a smooth version of the share of points that are not robust at the radius."""
    torch = torch_package()
    return lambda distances: torch.sigmoid((radius - distances) / width).mean()


def soft_worst(loss: Loss, width: float) -> Loss:
    """Return the loss of −width · log Σ exp(−s / width) over the rivals: a soft minimum of the distances."""
    return lambda distances: loss(-width * (-distances / width).logsumexp(dim=1))


def fine_tune(
    module: Any,
    points: Any,
    labels: Any,
    loss: Loss,
    *,
    epochs: int,
    rate: float = 1e-3,
    batch: int = 256,
    seed: int = 0,
    averaged: bool = True,
    distances: Callable[..., Any] = exact_margin,
    **options: Any,
) -> Any:
    """Minimise a loss of signed distances with Adam; return the module, with weights averaged over the last half if `averaged`.

    distances    `exact_margin`, or `rival_margins` for losses that look at all rivals (`soft_worst`)
    options      go to it
    """
    torch = torch_package()
    inputs, targets = torch.as_tensor(points), torch.as_tensor(labels)
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(module.parameters(), lr=rate)
    steps = epochs * (len(inputs) // batch)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    average = torch.optim.swa_utils.AveragedModel(module)
    for epoch in range(epochs):
        for rows in torch.randperm(len(inputs), generator=generator).split(batch)[: len(inputs) // batch]:
            found = distances(module, inputs[rows], targets[rows], **options)
            optimizer.zero_grad()
            loss(found[_has_a_say(found)]).backward()
            optimizer.step()
            schedule.step()
            if 2 * epoch >= epochs:
                average.update_parameters(module)
    return average.module if averaged else module


def _has_a_say(found: Any) -> Any:
    """Return True for rows with a finite distance and none that is −∞, which has no derivative."""
    torch = torch_package()
    table = found.detach().reshape(len(found), -1)
    return torch.isfinite(table).any(dim=1) & (table > -torch.inf).all(dim=1)
