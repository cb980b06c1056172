"""The common form of model readers: what becomes stages is the same polynomial."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import polymargin as pm
from polymargin.networks.tape.alike import changed
from polymargin.networks.tape.arithmetic import add, concatenate, divide, multiply, power, subtract
from polymargin.networks.tape.einsum import matmul
from polymargin.networks.tape.fold import fold
from polymargin.networks.tape.operations import LARGEST_DEGREE, OperationTape

GENERATOR = np.random.default_rng(0)
W1, B1 = GENERATOR.normal(size=(4, 5)), GENERATOR.normal(size=5)
W2, B2 = GENERATOR.normal(size=(5, 4)), GENERATOR.normal(size=4)
W3, B3 = GENERATOR.normal(size=(4, 3)), GENERATOR.normal(size=3)
CHANNELS = GENERATOR.normal(size=(4, 5))


def affine(x: Any, weights: np.ndarray, bias: np.ndarray) -> Any:
    return add(matmul(x, weights), bias)


def residual(degree: int) -> Callable[[Any], Any]:
    def run(x: Any) -> Any:
        y = add(x, affine(power(affine(x, W1, B1), degree), W2, B2))
        return affine(power(y, degree), W3, B3)

    return run


def horner(z: Any) -> Any:
    return add(multiply(add(multiply(add(multiply(z, 0.3), -0.7), z), 0.2), z), 1.5)


# Every formula runs on tensors and on plain arrays; widths are those of the stages that are expected.
FORMULAS: dict[str, tuple[Callable[[Any], Any], tuple[int, ...]]] = {
    "power": (lambda x: affine(power(affine(x, W1, B1), 3), W2, B2), (5,)),
    "products": (lambda x: affine(multiply(multiply(z := affine(x, W1, B1), z), z), W2, B2), (5,)),
    "horner": (lambda x: affine(horner(affine(x, W1, B1)), W2, B2), (5,)),
    "scaled, then cubed": (lambda x: affine(power(add(multiply(affine(x, W1, B1), CHANNELS[0]), CHANNELS[1]), 3), W2, B2), (5,)),
    "scaled, then horner": (lambda x: affine(horner(add(multiply(affine(x, W1, B1), CHANNELS[0]), CHANNELS[1])), W2, B2), (5,)),
    "quadratics per channel": (
        lambda x: affine(add(multiply(add(multiply(z := affine(x, W1, B1), CHANNELS[0]), CHANNELS[1]), z), CHANNELS[2]), W2, B2),
        (5,),
    ),
    "residual square": (residual(2), (5, 4)),
    "residual cube": (residual(3), (5, 4)),
    "residual to the end": (lambda x: add(x, affine(power(affine(x, W1, B1), 2), W2, B2)), (5,)),
    "z + z^2": (lambda x: affine(add(z := affine(x, W1, B1), power(z, 2)), W2, B2), (5,)),
    "degrees side by side": (
        lambda x: matmul(concatenate([power(affine(x, W1, B1), 2), power(affine(x, W3, B3), 3)], 1), np.vstack([W2, W2[:3]])),
        (3, 5),
    ),
    "powers of powers": (lambda x: affine(power(power(affine(x, W1, B1), 2), 2), W2, B2), (5,)),
    "two linear maps": (lambda x: affine(power(affine(affine(x, W1, B1), W2, B2), 2), W3, B3), (4,)),
    "ends in an activation": (lambda x: power(affine(x, W1, B1), 2), (5,)),
    "affine only": (lambda x: divide(subtract(affine(x, W1, B1), 1.0), CHANNELS[3]), ()),
    "multiples of one form": (lambda x: multiply(affine(x, W1, B1), affine(x, -2.0 * W1, B1)), (5,)),
    "skips two layers": (
        lambda x: add(affine(power(affine(power(affine(x, W1, B1), 2), W2, B2), 2), W3, B3), matmul(x, W3)),
        (5, 4),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMULAS)
def test_folded_formulas_keep_their_values_and_stay_small(name: str) -> None:
    formula, hidden = FORMULAS[name]
    net = fold(formula(OperationTape().input((1, 4))))
    points = np.random.default_rng(1).normal(size=(1000, 4))
    expected = formula(points)
    assert np.abs(net(points) - expected).max() <= 1e-13 * np.abs(expected).max()
    assert net.widths[1:-1] == hidden


def test_weights_that_need_no_rewriting_are_taken_as_they_are() -> None:
    net = fold(affine(power(affine(OperationTape().input((1, 4)), W1, B1), 3), W2, B2))
    direct = pm.PolynomialNetwork([(W1.T, B1), (W2.T, B2)], degree=3)
    assert net.fingerprint == direct.fingerprint


def test_residual_squares_are_exact_in_rational_arithmetic() -> None:
    """Weights with few bits: nothing is rounded, so the folded network is the same polynomial, not nearly the same."""
    w1, b1 = np.round(W1 * 8) / 8, np.round(B1 * 8) / 8
    w2, b2 = np.round(W2 * 8) / 8, np.round(B2 * 8) / 8
    net = fold(add(x := OperationTape().input((1, 4)), affine(power(affine(x, w1, b1), 2), w2, b2)))
    point = [0.5, -1.25, 3.0, 0.125]
    exact = [Fraction(v) for v in point]
    hidden = [(sum(Fraction(w1[i, j]) * exact[i] for i in range(4)) + Fraction(b1[j])) ** 2 for j in range(5)]
    expected = [exact[k] + sum(Fraction(w2[j, k]) * hidden[j] for j in range(5)) + Fraction(b2[k]) for k in range(4)]
    assert net.exact_logits(point) == expected


coefficients = st.integers(-40, 40).map(lambda n: n / 8)


@settings(max_examples=200, deadline=None)
@given(
    function=st.lists(coefficients, min_size=3, max_size=6).filter(lambda row: row[-1] != 0),
    change=st.tuples(*[coefficients.filter(bool)] * 2, coefficients, coefficients),
)
def test_a_polynomial_after_affine_changes_is_written_with_the_one_before(
    function: list[float], change: tuple[float, float, float, float]
) -> None:
    scale, factor, shift, constant = change
    wanted = factor * np.polynomial.Polynomial(function)(np.polynomial.Polynomial([shift, scale])) + constant
    found = changed(tuple(function), tuple(wanted.coef.tolist()))
    if found is None:  # too many digits would be lost in float64; never so for a plain power
        assert any(function[:-1])
        return
    for z in (-2.0, -0.5, 0.0, 0.3, 1.0, 4.0):
        value = found.factor * np.polynomial.Polynomial(function)(found.scale * z + found.shift) + found.constant
        assert value == pytest.approx(wanted(z), rel=1e-7, abs=1e-7 * (1 + np.abs(wanted.coef).sum()))


def test_polynomials_that_no_change_reaches_are_stages_of_their_own() -> None:
    assert changed((0.0, 0.0, 0.0, 1.0), (0.0, 1.0, 0.0, 1.0)) is None
    assert changed((0.0, 0.0, 1.0), (0.0, 1.0)) is None


def test_a_quadratic_that_is_nearly_linear_does_not_lose_digits() -> None:
    """Completing the square of 1e-12 z² + z would shift by 5e11 and lose everything; a stage of its own does not."""
    net = fold(
        affine(
            add(
                multiply(power(z := affine(OperationTape().input((1, 4)), W1, B1), 2), np.array([1e-12, 1, 1, 1, 1])), z
            ),
            W2,
            B2,
        )
    )
    points = np.random.default_rng(2).normal(size=(50, 4))
    inner = affine(points, W1, B1)
    expected = (inner**2 * [1e-12, 1, 1, 1, 1] + inner) @ W2 + B2
    assert np.abs(net(points) - expected).max() <= 1e-12 * np.abs(expected).max()


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        (lambda x: power(x, 0.5), "power 0.5 is not polynomial"),
        (lambda x: power(x, LARGEST_DEGREE + 1), "is not polynomial; expected one whole number"),
        (lambda x: power(power(x, 40), 2), "degree 80"),
        (lambda x: power(2.0, x), "exponent that depends"),
        (lambda x: divide(1.0, x), "division by something"),
        (lambda x: divide(x, 0.0), "division by zero"),
        (lambda x: add(x, np.inf), "not finite"),
        (lambda x: matmul(x, W2), "cannot be multiplied"),
        (lambda x: add(x, np.ones(7)), "do not broadcast"),
        (lambda x: x.take(np.zeros((5000, 500), dtype=int)), "at most"),
        (lambda x: x.take(np.zeros((2, 2), dtype=int)), "one vector of logits"),
    ],
)
def test_what_is_not_polynomial_or_too_large_is_refused(formula: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(pm.InputError, match=message):
        fold(formula(OperationTape().input((1, 4))))


def test_a_single_output_becomes_two_logits() -> None:
    net = fold(matmul(power(matmul(OperationTape().input((1, 4)), W1), 2), W2[:, :1]))
    point = np.array([0.1, 0.2, -0.3, 0.4])
    assert net(point)[0] == 0.0
    assert net(point)[1] == pytest.approx(((point @ W1) ** 2 @ W2[:, :1])[0])
