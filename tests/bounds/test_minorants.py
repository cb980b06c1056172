"""Quadratics below a neuron: on dense samples, and by counting roots in exact arithmetic."""

from __future__ import annotations

import flint
import numpy as np
import pytest
from bounds.exact import positive_on, rational

from polymargin.bounds.minorants import best_constants, horner, taylor
from polymargin.bounds.nonnegative import template

ACTIVATIONS = (
    [0.0, 1.0],
    [0.0, 0.0, 1.0],
    [0.0, 0.0, 0.0, 1.0],
    [0.3, -1.0, 0.5, 0.2],
    [0.0, 0.0, 0.0, 0.0, 1.0],
    [1.0, -2.0, 0.0, 0.5, 0.0, 0.1],
)


@pytest.mark.parametrize("sigma", ACTIVATIONS, ids=str)
def test_best_constants(sigma: list[float]) -> None:
    generator = np.random.default_rng(len(sigma))
    coefficients = np.array(sigma, dtype=float)
    gamma, shift, p, t = generator.normal(size=(4, 40))
    low = generator.normal(size=40)
    ranges = np.stack([low, low + np.exp(generator.uniform(-6, 1, size=40))], axis=-1)
    gamma[:3], p[3:6], t[6:9] = 0.0, 0.0, 0.0
    c = best_constants(coefficients, gamma, shift, p, t, ranges)
    y = ranges[:, :1] + np.linspace(0, 1, 2001) * (ranges[:, 1:] - ranges[:, :1])
    residual = gamma[:, None] * horner(coefficients[None], shift[:, None] + y) - p[:, None] * y**2 - t[:, None] * y
    assert np.all(residual.min(axis=1) - c > 0)
    assert np.all(residual.min(axis=1) - c < 1e-5 * (1 + np.abs(c))), "and no lower than needed"
    for i in range(40):
        line = flint.fmpq_poly([rational(shift[i]), 1])
        exact = rational(gamma[i]) * sum(rational(a) * line**k for k, a in enumerate(sigma))
        exact -= flint.fmpq_poly([rational(c[i]), rational(t[i]), rational(p[i])])
        assert positive_on(exact, rational(ranges[i, 0]), rational(ranges[i, 1]))


def test_factors_that_cancel_are_safe_for_what_they_were_summed_from() -> None:
    """γ = Σ w_i v_i with terms of order one and a sum of 1e-7: the float γ is off by far more than 1e-12 of itself."""
    generator = np.random.default_rng(4)
    for _ in range(50):
        w, v = generator.normal(size=(2, 3))
        v[2] = -(w[0] * v[0] + w[1] * v[1] - 1e-7) / w[2]
        gamma, terms = np.array([w @ v]), np.array([np.abs(w) @ np.abs(v)])
        ranges = np.array([[1.0, 2.0]])
        zero = np.zeros(1)
        (c,) = best_constants(np.array([0.0, 0.0, 1.0]), gamma, 0.0, gamma, zero, ranges, terms)
        exact = sum((rational(a) * rational(b) for a, b in zip(w, v, strict=True)), rational(0.0))
        residual = flint.fmpq_poly([-rational(c), 0, exact - rational(gamma[0])])
        assert positive_on(residual, rational(1.0), rational(2.0))


def test_an_exact_root_is_noticed() -> None:
    """The verifier of these tests can say no."""
    assert not positive_on(flint.fmpq_poly([1, -2, 1]), flint.fmpq(0), flint.fmpq(2))
    assert not positive_on(flint.fmpq_poly([-1, 0, 1]), flint.fmpq(-2), flint.fmpq(2))
    assert positive_on(flint.fmpq_poly([flint.fmpq(1, 10**9), 0, 1]), flint.fmpq(-2), flint.fmpq(2))


@pytest.mark.parametrize("degree", range(1, 8))
@pytest.mark.parametrize("width", [2, 3])
def test_gram_matrices_describe_the_residual(degree: int, width: int) -> None:
    form = template(degree, width)
    generator = np.random.default_rng(degree)
    kappa, gamma, g = generator.normal(size=form.degree + 1), 0.7, generator.normal(size=form.free)
    low, high = kappa[:width], kappa[width:]
    minorant = gamma * (low - high @ form.shift) - form.minorant @ g
    grams = [
        np.tensordot(g, u, 1) + gamma * np.tensordot(high, q, 1)
        for u, q in zip(form.units, form.particular, strict=True)
    ]
    xi = np.linspace(-1, 1, 7)
    powers = [np.stack([xi**k for k in range(len(gram))], axis=-1) for gram in grams]
    squares = [((v @ gram) * v).sum(axis=-1) for v, gram in zip(powers, grams, strict=True)]
    factors = (1, 1 - xi**2) if form.degree % 2 == 0 else (1 + xi, 1 - xi)
    residual = gamma * horner(kappa[None], xi[None])[0] - horner(minorant[None], xi[None])[0]
    assert np.allclose(factors[0] * squares[0] + factors[1] * squares[1], residual)
    inside = [np.tensordot(form.interior, units, 1) for units in form.units]
    assert all(np.linalg.eigvalsh(gram)[0] > 1e-3 for gram in inside if gram.size)
    assert np.allclose(form.minorant @ form.interior, np.eye(width)[0])


def test_taylor_is_the_shifted_polynomial() -> None:
    sigma = np.array([0.5, -1.0, 2.0, 0.25])
    xi = np.linspace(-1, 1, 9)
    series = taylor(sigma, np.array([0.7]), np.array([0.3]))
    assert np.allclose(horner(series, xi[None])[0], horner(sigma[None], 0.7 + 0.3 * xi[None])[0])
