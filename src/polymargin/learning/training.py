"""A small training loop: Adam on the cross entropy, full batch, with the cyclic rate of the paper.

    η(t) = η · t / (T/2)  for t < T/2,     η · (T − t) / (T/2)  after.

The loop draws random numbers only for mini-batches, from an explicit seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from polymargin.errors import InputError
from polymargin.learning.extra import torch_package


@dataclass(frozen=True)
class Training:
    """The outcome of a training: loss without penalty and penalty of the last step, accuracy on the training data."""

    steps: int
    loss: float
    penalty: float
    accuracy: float

    def __repr__(self) -> str:
        return (
            f"Training({self.steps} steps, loss {self.loss:.4g}, penalty {self.penalty:.4g}, "
            f"accuracy {self.accuracy:.4f})"
        )


def cyclic_rate(step: int, steps: int, rate: float) -> float:
    """Return η(t), which rises linearly during the first half and falls during the second.

    >>> [cyclic_rate(t, 4, 1.0) for t in range(5)]
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """
    half = steps / 2
    return rate * (step / half if step < half else (steps - step) / half)


def train(
    network: Any,
    points: Any,
    labels: Any,
    *,
    steps: int = 5000,
    rate: float = 1e-3,
    penalty: Callable[[Any], Any] | None = None,
    before_step: Callable[[Any], object] | None = None,
    after_step: Callable[[Any], object] | None = None,
    batch: int | None = None,
    seed: int = 0,
    decay: float = 0.0,
    progress: bool = False,
) -> Training:
    """Train a module in place.

    Parameters
    ----------
    network, points, labels
        A torch module with logits as output; points (m, n) and labels (m,), arrays or tensors.
    penalty
        Added to the cross entropy, such as a `Regulariser`; called with the network.
    before_step, after_step
        Called with the network before and after every step of the optimiser, such as `remove_normal` and `correct`.
    batch, seed
        Rows per step (all by default), drawn without replacement from a generator with this seed.
    decay
        Weight decay, decoupled from the gradient as in AdamW.
    """
    torch = torch_package()
    if steps < 1 or not rate > 0:
        raise InputError(f"steps {steps} and rate {rate}: expected at least one step and a positive rate")
    parameters = [parameter for parameter in network.parameters() if parameter.requires_grad]
    if not parameters:
        raise InputError("no parameter of the network requires a gradient; set requires_grad on those to be trained")
    inputs = torch.as_tensor(points, dtype=parameters[0].dtype)
    targets = torch.as_tensor(labels, dtype=torch.int64)
    if inputs.ndim != 2 or targets.shape != inputs.shape[:1] or not len(inputs):
        raise InputError(
            f"points of shape {tuple(inputs.shape)} and labels of shape {tuple(targets.shape)}: expected "
            f"(m, n) and (m,) with m >= 1"
        )
    if batch is not None and not 1 <= batch <= len(inputs):
        raise InputError(f"batch {batch}: expected 1 to {len(inputs)} rows")
    optimizer = torch.optim.AdamW(parameters, lr=rate, weight_decay=decay)
    draws = _batches(len(inputs), batch, seed)
    loss = extra = torch.zeros(())
    for step in _steps(steps, progress):
        for group in optimizer.param_groups:
            group["lr"] = cyclic_rate(step, steps, rate)
        rows = next(draws)
        loss = torch.nn.functional.cross_entropy(network(inputs[rows]), targets[rows])
        extra = torch.zeros(()) if penalty is None else penalty(network)
        optimizer.zero_grad()
        (loss + extra).backward()
        if before_step is not None:
            before_step(network)
        optimizer.step()
        if after_step is not None:
            after_step(network)
    with torch.no_grad():
        accuracy = float((network(inputs).argmax(dim=1) == targets).double().mean())
    return Training(steps, float(loss.detach()), float(extra.detach()), accuracy)


def _batches(count: int, batch: int | None, seed: int) -> Any:
    """Yield index sets without end: all points, or consecutive parts of one random order after the other."""
    torch = torch_package()
    generator = torch.Generator().manual_seed(seed)
    while batch is None:
        yield slice(None)
    while True:
        order = torch.randperm(count, generator=generator)
        yield from order[: count - count % batch].split(batch)


def _steps(steps: int, progress: bool) -> Iterable[int]:
    if not progress:
        return range(steps)
    from rich.progress import track

    return track(range(steps), description="training")
