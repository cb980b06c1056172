"""Training in batches is ordinary PyTorch training, attempt by attempt."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from polymargin.soundness import Plan, PlantingError, Setting, plant
from polymargin.soundness.planted_training import train_attempts
from polymargin.soundness.planting import PlantedData, draw_data, is_planted

torch = pytest.importorskip("torch")


def plain_training(start: Any, data: PlantedData, plan: Plan, degree: int) -> Any:
    """The recipe of the paper written down once more, with modules, for one network."""

    class Power(torch.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, z: Any) -> Any:
            return z.pow(degree)

    layers = []
    for layer in start.chain.layers:
        linear = torch.nn.Linear(layer.weights.shape[1], layer.weights.shape[0])
        with torch.no_grad():
            linear.weight.copy_(torch.tensor(layer.weights))
            linear.bias.copy_(torch.tensor(layer.bias))
        layers += [linear, Power()]
    model = torch.nn.Sequential(*layers[:-1])
    x, y = torch.tensor(data.points, dtype=torch.float32), torch.tensor(data.labels)
    adversarial = torch.tensor(data.counterexamples, dtype=torch.float32)
    optimizer = torch.optim.Adam(model.parameters(), lr=1.0)
    half = plan.epochs / 2
    for t in range(plan.epochs):
        optimizer.param_groups[0]["lr"] = plan.rate * (t / half if t < half else (plan.epochs - t) / half)
        logits = model(adversarial)
        gaps = [
            torch.clamp(row[label] - row[target] + plan.hinge, min=0.0)
            for row, label, target in zip(logits, data.labels.tolist(), data.targets.tolist(), strict=False)
        ]
        loss = torch.nn.functional.cross_entropy(model(x), y) + sum(gaps) / len(gaps)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return [(m.weight.detach().numpy(), m.bias.detach().numpy()) for m in model if isinstance(m, torch.nn.Linear)]


@pytest.mark.parametrize(
    "setting",
    [
        Setting((4,), 3, 0.3, inputs=3, unverifiable=3, clean=2),
        Setting((4, 3), 2, 0.3, inputs=3, classes=3, unverifiable=2, clean=2),
    ],
)
def test_each_attempt_is_trained_as_if_alone(setting: Setting) -> None:
    plan = Plan(epochs=60, rate=0.01)
    attempts = range(3)
    data = [draw_data(setting, 0, attempt) for attempt in attempts]
    # The rate of epoch 0 is zero: one epoch of training leaves the initial weights as they are.
    starts = train_attempts(data, attempts, Plan(epochs=1))
    trained = train_attempts(data, attempts, plan)
    for start, network, drawn in zip(starts, trained, data, strict=True):
        expected = plain_training(start, drawn, plan, setting.degree)
        for layer, before, (weights, bias) in zip(network.chain.layers, start.chain.layers, expected, strict=True):
            np.testing.assert_allclose(layer.weights, weights, atol=2e-4)
            np.testing.assert_allclose(layer.bias, bias, atol=2e-4)
            assert np.abs(layer.weights - before.weights).max() > 0.01


def test_initial_weights_follow_pytorchs_law_and_leave_its_generator_alone() -> None:
    setting = Setting((50,), 2, inputs=40, unverifiable=1, clean=0)
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    networks = train_attempts([draw_data(setting, 0, a) for a in range(4)], range(4), Plan(epochs=1))
    assert torch.rand(1) == expected
    for layer in networks[0].chain.layers:
        # Linear draws weights and biases uniformly up to 1/√inputs.
        bound = 1 / np.sqrt(layer.weights.shape[1])
        assert 0.9 * bound < np.abs(layer.weights).max() <= bound
        assert layer.weights.var() == pytest.approx(bound**2 / 3, rel=0.25)
        assert np.abs(layer.bias).max() <= bound
    assert not np.array_equal(networks[0].chain.layers[0].weights, networks[1].chain.layers[0].weights)


def test_the_first_attempt_that_plants_everything_is_taken_and_counted() -> None:
    setting = Setting((6,), 2, 0.3, inputs=4, unverifiable=4, clean=2)
    plan = Plan(epochs=150, rate=0.02, seed=3)
    found = plant(setting, plan)
    assert is_planted(found.network, found.data)
    attempts = range(16)
    data = [draw_data(setting, 3, a) for a in attempts]
    networks = train_attempts(data, attempts, plan)
    planted = [is_planted(network, drawn) for network, drawn in zip(networks, data, strict=True)]
    assert planted.index(True) == found.attempt
    assert networks[found.attempt].fingerprint == found.network.fingerprint


def test_training_that_plants_nothing_is_said() -> None:
    told: list[str] = []
    with pytest.raises(PlantingError, match=r"none of 17 attempts .*\(seed 0, 1 epochs\)"):
        plant(Setting(), Plan(epochs=1, attempts=17), told.append)
    assert [text.partition(": ")[2][:20] for text in told] == ["attempts 0 to 15 pla", "attempts 16 to 16 pl"]
