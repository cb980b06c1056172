"""A small benchmark of the paper's kind, trained once, and a small exactly labelled one."""

from __future__ import annotations

from pathlib import Path

import pytest

from polymargin.soundness import (
    ExactPlan,
    Plan,
    Setting,
    generate_benchmark,
    generate_exact_edition,
    train_benchmark,
    verify_benchmark,
)

SMALL = {"inputs": 5, "unverifiable": 3, "clean": 3, "epsilon": 0.5}
SETTINGS = [
    Setting((6,), 2, **SMALL),
    Setting((6,), 3, **SMALL),
    Setting((4, 3), 2, classes=3, inputs=3, unverifiable=2, clean=1, epsilon=0.5),
]
# A larger rate makes up for few epochs.
PLAN = Plan(epochs=400, rate=0.02, seed=1)


@pytest.fixture(scope="session")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trained and verified folder."""
    for module in ("torch", "onnx", "vnnlib"):
        pytest.importorskip(module)
    folder = generate_benchmark(tmp_path_factory.mktemp("planted") / "benchmark", SETTINGS, PLAN)
    train_benchmark(folder)
    verify_benchmark(folder)
    return folder


@pytest.fixture(scope="session")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The exactly labelled edition: shallow, deep and attention."""
    for module in ("onnx", "vnnlib"):
        pytest.importorskip(module)
    folder = tmp_path_factory.mktemp("exact") / "benchmark"
    layered = (((4, 5, 2), 3), ((3, 3, 2, 2), 2), ((5, 4, 3), 2))
    generate_exact_edition(folder, ExactPlan(layered=layered, attention=((2, 2, 1, 1),), points=2))
    return folder
