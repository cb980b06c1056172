"""Modules that multiply different expressions, as people write them; shared by the tests of readers, margins and the checker."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.polynomial import chebyshev

from polymargin.networks.forms import Forms
from polymargin.networks.network import Network
from polymargin.networks.stages import Polynomial

torch = pytest.importorskip("torch")
nn = torch.nn


class Gate(nn.Module):
    """(Ax + a)∘(Bx + b): GLU without the sigmoid."""

    def __init__(self, n: int = 3, h: int = 4, classes: int = 2) -> None:
        super().__init__()
        self.value, self.gate, self.head = nn.Linear(n, h), nn.Linear(n, h), nn.Linear(h, classes)

    def forward(self, x: Any) -> Any:
        return self.head(self.value(x) * self.gate(x))


class HalvedGate(nn.Module):
    """One linear map whose halves are multiplied, as GLU layers are written."""

    def __init__(self) -> None:
        super().__init__()
        self.both, self.head = nn.Linear(3, 8), nn.Linear(4, 3)

    def forward(self, x: Any) -> Any:
        value, gate = self.both(x).chunk(2, dim=-1)
        return self.head(value * gate)


class CCP(nn.Module):
    """o₁ = U₁x, o_k = (U_k x)∘o_{k−1} + o_{k−1}."""

    def __init__(self, n: int = 2, h: int = 4, degree: int = 3) -> None:
        super().__init__()
        self.factors = nn.ModuleList(nn.Linear(n, h, bias=False) for _ in range(degree))
        self.head = nn.Linear(h, 3)

    def forward(self, x: Any) -> Any:
        first, *rest = self.factors
        out = first(x)
        for factor in rest:
            out = factor(x) * out + out
        return self.head(out)


class NCP(nn.Module):
    """o₁ = (A₁x)∘b₁, o_k = (A_k x)∘(S_k o_{k−1} + b_k)."""

    def __init__(self, n: int = 2, h: int = 3, degree: int = 3) -> None:
        super().__init__()
        self.factors = nn.ModuleList(nn.Linear(n, h, bias=False) for _ in range(degree))
        self.mixing = nn.ModuleList(nn.Linear(h, h, bias=False) for _ in range(degree - 1))
        self.shifts = nn.ParameterList(torch.randn(h) for _ in range(degree))
        self.head = nn.Linear(h, 3)

    def forward(self, x: Any) -> Any:
        out = self.factors[0](x) * self.shifts[0]
        for factor, mix, shift in zip(list(self.factors)[1:], self.mixing, list(self.shifts)[1:], strict=True):
            out = factor(x) * (mix(out) + shift)
        return self.head(out)


class QuadraticNeurons(nn.Module):
    """xᵀUVᵀx + w·x + b per neuron, by factors of rank two."""

    def __init__(self) -> None:
        super().__init__()
        self.left, self.right, self.straight = nn.Linear(3, 8, bias=False), nn.Linear(3, 8, bias=False), nn.Linear(3, 4)
        self.head = nn.Linear(4, 2)

    def forward(self, x: Any) -> Any:
        products = (self.left(x) * self.right(x)).reshape(-1, 4, 2).sum(-1)
        return self.head(products + self.straight(x))


class Branches(nn.Module):
    """Two branches of different degree, multiplied, and a residual sum past the product."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.two, self.head = nn.Linear(2, 3), nn.Linear(2, 3), nn.Linear(3, 2)

    def forward(self, x: Any) -> Any:
        bent = self.one(x)
        return self.head((bent**3 + 0.5 * bent) * self.two(x) + bent)


class ConvolutionalGate(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.value, self.gate, self.head = nn.Conv2d(1, 2, 2), nn.Conv2d(1, 2, 2), nn.Linear(18, 3)

    def forward(self, x: Any) -> Any:
        return self.head((self.value(x) * self.gate(x) + x[:, :, 1:, 1:]).flatten(1))


class AttentionBlock(nn.Module):
    """x + (q kᵀ) v / √d, with several heads where asked for."""

    def __init__(self, d: int, heads: int = 1) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(d, d, bias=False) for _ in range(3))
        self.heads = heads

    def forward(self, x: Any) -> Any:
        n, t, d = x.shape
        q, k, v = (
            f(x).view(n, t, self.heads, d // self.heads).transpose(1, 2) for f in (self.query, self.key, self.value)
        )
        mixed = (q @ k.transpose(-1, -2)) @ v / d**0.5
        return x + mixed.transpose(1, 2).reshape(n, t, d)


class StackedAttention(nn.Module):
    def __init__(self, layers: int = 2, t: int = 2, d: int = 2, heads: int = 1) -> None:
        super().__init__()
        self.blocks = nn.Sequential(*(AttentionBlock(d, heads) for _ in range(layers)))
        self.head = nn.Linear(t * d, 2)

    def forward(self, x: Any) -> Any:
        return self.head(self.blocks(x).flatten(1))


def examples() -> dict[str, tuple[Any, tuple[int, ...]]]:
    """Modules in float64 with the shapes of their inputs."""
    torch.manual_seed(7)
    return {
        "gate": (Gate().double(), (3,)),
        "halved gate": (HalvedGate().double(), (3,)),
        "ccp": (CCP().double(), (2,)),
        "ncp": (NCP().double(), (2,)),
        "quadratic neurons": (QuadraticNeurons().double(), (3,)),
        "branches": (Branches().double(), (2,)),
        "convolutional gate": (ConvolutionalGate().double(), (1, 4, 4)),
        "attention with residual": (StackedAttention(1).double(), (2, 2)),
        "stacked attention": (StackedAttention(2, t=3, d=4, heads=2).double(), (3, 4)),
    }


def chebyshev_network(degree: int, seed: int = 0) -> tuple[Network, Any]:
    """Two neurons with a series each, and the same logits by NumPy."""
    generator = np.random.default_rng(seed)
    weights, coefficients = (
        generator.normal(size=(2, 2)) / 4,
        generator.normal(size=degree + 1) / (1 + np.arange(degree + 1)),
    )
    top = generator.normal(size=(2, 2))
    stage = Polynomial(Forms.of(weights, [0.1, -0.2]), tuple(coefficients.tolist()), "chebyshev")
    made = Network([stage], Forms.of(np.hstack([np.zeros((2, 2)), top])))
    return made, lambda x: chebyshev.chebval(x @ weights.T + [0.1, -0.2], coefficients) @ top.T
