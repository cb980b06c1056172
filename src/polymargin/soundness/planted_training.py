"""Training with two goals: right on every point, wrong on every planted counterexample.

    loss = cross entropy on x₀ + mean of max(0, f_y(x_cex) − f_target(x_cex) + hinge)

Not every attempt plants everything (for h = 6, d = 2, ε = 0.2 about one in eight does), and an attempt is so small that a
batched product with sixteen of them costs little more than with one. So sixteen attempts, each with data and initial weights of
its own, are trained at once, and the first that plants everything is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from time import perf_counter
from typing import Any

import numpy as np

from polymargin.errors import PolymarginError
from polymargin.learning.extra import torch_package
from polymargin.learning.training import cyclic_rate
from polymargin.networks import Network, PolynomialNetwork
from polymargin.soundness.planting import PlantedData, attempt_seeds, draw_data, is_planted
from polymargin.soundness.settings import Plan, Setting

ATTEMPTS_AT_ONCE = 16


class PlantingError(PolymarginError):
    """No attempt planted every counterexample."""


@dataclass(frozen=True, eq=False)
class PlantedNetwork:
    """A trained network whose counterexamples are all in place, proved in exact arithmetic.

    attempt   the one that worked; those before it failed to plant everything
    seconds   spent on training, failed attempts included
    """

    data: PlantedData
    network: Network
    attempt: int
    seconds: float

    @property
    def setting(self) -> Setting:
        """Return the setting of the network."""
        return self.data.setting


def plant(setting: Setting, plan: Plan, progress: Callable[[str], None] | None = None) -> PlantedNetwork:
    """Train until every counterexample is planted; `progress` is called for attempts that failed."""
    started = perf_counter()
    for first in range(0, plan.attempts, ATTEMPTS_AT_ONCE):
        attempts = range(first, min(first + ATTEMPTS_AT_ONCE, plan.attempts))
        data = [draw_data(setting, plan.seed, attempt) for attempt in attempts]
        for attempt, drawn, network in zip(attempts, data, train_attempts(data, attempts, plan), strict=True):
            if is_planted(network, drawn):
                return PlantedNetwork(drawn, network, attempt, perf_counter() - started)
        if progress is not None:
            progress(
                f"{setting.name}: attempts {attempts[0]} to {attempts[-1]} planted not every counterexample; more seeds"
            )
    raise PlantingError(
        f"{setting.name}: none of {plan.attempts} attempts planted every counterexample; give more epochs, attempts or neurons, "
        f"or another seed (seed {plan.seed}, {plan.epochs} epochs)"
    )


def train_attempts(data: Sequence[PlantedData], attempts: Sequence[int], plan: Plan) -> list[Network]:
    """Train one network per attempt, side by side in float32 with one thread."""
    torch = torch_package()
    setting = data[0].setting
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # the products are far too small to share
    try:
        parameters = _initial(torch, setting, attempts, plan.seed)
        points = torch.as_tensor(
            np.stack([np.vstack([d.points, d.counterexamples]) for d in data]), dtype=torch.float32
        )
        labels = torch.as_tensor(np.stack([d.labels for d in data]))
        targets = torch.as_tensor(np.stack([d.targets for d in data]))
        optimizer = torch.optim.Adam(parameters, lr=plan.rate)
        for epoch in range(plan.epochs):
            for group in optimizer.param_groups:
                group["lr"] = cyclic_rate(epoch, plan.epochs, plan.rate)
            logits = _forward(torch, parameters, points, setting.degree)
            loss = _loss(torch, logits, labels, targets, plan.hinge)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        arrays = [parameter.detach().double().numpy() for parameter in parameters]
    finally:
        torch.set_num_threads(threads)
    weights, biases = arrays[0::2], arrays[1::2]
    return [
        PolynomialNetwork([(w[index], b[index]) for w, b in zip(weights, biases, strict=True)], degree=setting.degree)
        for index in range(len(data))
    ]


def _initial(torch: Any, setting: Setting, attempts: Sequence[int], seed: int) -> list[Any]:
    """Return W₁, b₁, W₂, b₂, … stacked over the attempts, initialised like PyTorch's linear layers."""
    drawn = []
    with torch.random.fork_rng(devices=[]):
        for attempt in attempts:
            # A stream of its own: the same words followed by 1 are not those of the data.
            words = np.random.SeedSequence([*attempt_seeds(setting, seed, attempt), 1]).generate_state(2)
            torch.manual_seed(int(words[0]) << 31 | int(words[1]) >> 1)
            layers = [torch.nn.Linear(before, after) for before, after in pairwise(setting.widths)]
            drawn.append([part.detach() for layer in layers for part in (layer.weight, layer.bias)])
    return [torch.stack(parts).requires_grad_() for parts in zip(*drawn, strict=True)]


def _forward(torch: Any, parameters: list[Any], values: Any, degree: int) -> Any:
    last = len(parameters) - 2
    for position in range(0, len(parameters), 2):
        weights, bias = parameters[position : position + 2]
        values = torch.baddbmm(bias.unsqueeze(1), values, weights.transpose(1, 2))
        if position < last:
            values = values**degree
    return values


def _loss(torch: Any, logits: Any, labels: Any, targets: Any, hinge: float) -> Any:
    """Return the sum of the losses of the attempts, which share no parameters."""
    count = labels.shape[1]
    entropy = (
        torch.nn.functional.cross_entropy(logits[:, :count].flatten(0, 1), labels.flatten(), reduction="sum") / count
    )
    planted = logits[:, count:]
    original = labels[:, : targets.shape[1]].unsqueeze(2)
    gap = planted.gather(2, original) - planted.gather(2, targets.unsqueeze(2))
    return entropy + torch.relu(gap.squeeze(2) + hinge).mean(1).sum()
