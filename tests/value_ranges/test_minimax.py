"""Approximations of activations against a fine grid, and errors that are known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import erf

from polymargin.errors import InputError
from polymargin.value_ranges.minimax import approximation

TRUTHS = {
    "relu": lambda x: np.maximum(x, 0),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "tanh": np.tanh,
    "silu": lambda x: x / (1 + np.exp(-x)),
    "gelu": lambda x: x * (1 + erf(x / np.sqrt(2))) / 2,
    "softplus": lambda x: np.log1p(np.exp(x)),
}


@pytest.mark.parametrize("name", TRUTHS)
@pytest.mark.parametrize(("low", "high", "degree"), [(-3.0, 4.0, 5), (-1.5, -0.5, 2), (0.5, 2.0, 3)])
def test_errors_hold_and_are_sharp(name: str, low: float, high: float, degree: int) -> None:
    found = approximation(name, degree, low, high)
    x = np.linspace(low, high, 20001)
    seen = np.abs(TRUTHS[name](x) - found.polynomial(x)).max()
    assert seen <= found.error * (1 + 1e-9) + 1e-12
    assert found.error <= 1.01 * seen + 1e-9
    interpolated = np.polynomial.Chebyshev.interpolate(TRUTHS[name], degree, domain=[low, high])
    assert found.error <= 1.01 * np.abs(TRUTHS[name](x) - interpolated(x)).max() + 1e-9


def test_the_error_of_relu_by_a_parabola_is_a_sixteenth() -> None:
    assert approximation("relu", 2, -1, 1).error == pytest.approx(1 / 16, rel=2e-3)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(("sine", 2, 0, 1), "expected one of relu"), (("relu", 2, 1, 0), "low < high"), (("relu", -1, 0, 1), "0 to 127")],
)
def test_wrong_values(arguments: tuple, words: str) -> None:
    with pytest.raises(InputError, match=words):
        approximation(*arguments)
