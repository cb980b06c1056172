"""The form of a leaf against its formula in docs/certificates.md, evaluated in NumPy at random places."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checker.lifted_proofs import Around, deep_squares, least_over_rests
from checker.views_of_files import read_view
from flint import fmpq

import polymargin as pm
from polymargin_checker.arithmetic import working_precision
from polymargin_checker.enclosures import Balls
from polymargin_checker.float_forms import FloatForm
from polymargin_checker.floats import Floats
from polymargin_checker.lifted_expansion import HiddenLayers, Surroundings
from polymargin_checker.lifted_form import ExactMultipliers, TopMinorant, form
from polymargin_checker.lifted_leaf import _top

WIDTHS = [(3, 4, 3, 2), (4, 3, 2, 3, 3)]


def rationals(values: Any) -> list[fmpq]:
    return [fmpq(*float(value).as_integer_ratio()) for value in values]


def expansion(folder: Path, network: Any, u: Any, rival: int, radius: float, arithmetic: Any) -> HiddenLayers:
    network.save(folder / "model.npz")
    model = read_view(folder / "model.npz")
    return HiddenLayers(model, Surroundings(model, rationals(u), arithmetic), 0, rival, *rationals([radius]))


def values_of(column: Any) -> np.ndarray:
    return np.array([float(entry) for entry in column.entries()])


def matrix_of(form: Any) -> np.ndarray:
    """A form as a matrix; one of doubles is made of its lower triangle."""
    if isinstance(form, FloatForm):
        return np.tril(form.middle) + np.tril(form.middle, -1).T
    return values_of(form).reshape(form.shape)


@pytest.mark.parametrize("arithmetic", [Balls, Floats])
@pytest.mark.parametrize("widths", WIDTHS)
def test_the_network_around_the_point(widths: Any, arithmetic: Any, tmp_path: Path) -> None:
    network, u, radius = deep_squares(widths)
    rival = widths[-1] - 1
    around = Around(network, u, rival)
    with working_precision(128):
        found = expansion(tmp_path, network, u, rival, radius, arithmetic)
        for k, layer in enumerate(found.layers):
            np.testing.assert_allclose([float(p) for p in layer.value], around.p[k], rtol=1e-12)
            np.testing.assert_allclose(values_of(layer.slopes), around.a[k].ravel(), rtol=1e-11, atol=1e-13)
            np.testing.assert_allclose(values_of(layer.rise), around.d[k], rtol=1e-12)
            assert float(layer.bend) == around.c[k]
        np.testing.assert_allclose(values_of(found.output), around.v, rtol=1e-12)
        np.testing.assert_allclose([float(v) for v in found.factors], around.v, rtol=1e-12)
        assert float(found.constant.entries()[0]) == pytest.approx(around.bias, rel=1e-12)
        assert float(found.centre.entries()[0]) == pytest.approx(around.centre, rel=1e-12)
        np.testing.assert_allclose(
            values_of(found.around.gram), (around.weights[0] @ around.weights[0].T).ravel(), rtol=1e-12, atol=1e-14
        )


@pytest.mark.parametrize("sigma", [[0.5], [0.5, 0.25], [0.5, 0.25, 0.125]])
def test_activations_of_any_degree_up_to_two(sigma: list[float], tmp_path: Path) -> None:
    """What is not given of the coefficients is zero."""
    network, u, radius = deep_squares()
    layers = [(layer.weights, layer.bias) for layer in network.chain.layers]
    network = pm.PolynomialNetwork(layers, activations=[sigma, network.chain.activations[1]])
    around = Around(network, u)
    with working_precision(128):
        found = expansion(tmp_path, network, u, 1, radius, Balls)
    assert float(found.layers[0].bend) == around.c[0]
    np.testing.assert_allclose(values_of(found.layers[0].rise), around.d[0], rtol=1e-12)
    np.testing.assert_allclose([float(p) for p in found.layers[1].value], around.p[1], rtol=1e-12)


@pytest.mark.parametrize("cuts", ["all", "one", "none"])
@pytest.mark.parametrize("with_parabolas", [False, True])
@pytest.mark.parametrize("first", [{}, {2: (-0.5, 0.25), 0: (0.125, 1.5)}])
@pytest.mark.parametrize("arithmetic", [Balls, Floats])
@pytest.mark.parametrize("widths", WIDTHS)
def test_the_form_is_b_minus_what_the_multipliers_say(
    widths: Any, arithmetic: Any, first: Any, with_parabolas: bool, cuts: str, tmp_path: Path
) -> None:
    network, u, _ = deep_squares(widths)
    around, r = Around(network, u), 0.75
    generator = np.random.default_rng(3)
    sizes = [len(p) for p in around.p[1:]]
    mu, theta, eta = generator.uniform(1, 2), generator.uniform(1, 2, sizes[0]), generator.uniform(1, 2, len(first))
    theta[{"all": [], "one": range(1, sizes[0]), "none": range(sizes[0])}[cuts]] = 0
    nu, kappa = [generator.normal(size=s) for s in sizes], [generator.uniform(20, 40, s) for s in sizes]
    ranges = [np.sort(generator.normal(size=(s, 2)), axis=1) for s in sizes]
    parabolas = generator.normal(size=(sizes[-1], 3))

    def value(delta: Any, w: list[Any]) -> float:
        rests = [np.zeros(len(around.p[0])), *w]
        t = [a @ delta + rest for a, rest in zip(around.a, rests, strict=True)]
        if with_parabolas:
            total = around.bias + float(
                sum(a * z * z + b * z + c for (a, b, c), z in zip(parabolas, t[-1], strict=True))
            )
        else:
            total = around.centre + float(around.v @ (around.d[-1] * t[-1] + around.c[-1] * t[-1] ** 2))
        total += around.constraints(r, delta, rests, mu, nu, kappa, ranges, theta)
        for multiplier, (neuron, (low, high)) in zip(eta, first.items(), strict=True):
            total -= multiplier * (t[0][neuron] - low) * (high - t[0][neuron])
        return float(total)

    with working_precision(128):
        around_point = expansion(tmp_path, network, u, 1, r, arithmetic)
        given = ExactMultipliers(
            *rationals([mu]),
            [rationals(v) for v in nu],
            [rationals(v) for v in kappa],
            rationals(theta),
            rationals(eta),
        )
        top = _top(around_point, None, "leaf", [])
        if with_parabolas:
            of, (square, linear, free) = arithmetic.of, parabolas.T
            total = around_point.constant + of(1, 1, [sum(rationals(free), fmpq(0))])
            top = TopMinorant(of(len(linear), 1, rationals(linear)), of(len(square), 1, rationals(square)), total)
        stated = tuple([(*rationals([lo]), *rationals([hi])) for lo, hi in part] for part in ranges)
        pieces = {neuron: (*rationals([lo]), *rationals([hi])) for neuron, (lo, hi) in first.items()}
        frames = list(around_point.around.frames)
        assert len(frames) == 1 + (widths[1] < widths[0])
        matrices = []
        for frame in frames:
            made = form(around_point, frame, top, given, stated, pieces)
            assert made is not None
            matrices.append(matrix_of(made))
            np.testing.assert_array_equal(matrices[-1], matrices[-1].T)
    matrix = matrices[-1]
    assert matrix.shape == (1 + len(u), 1 + len(u))

    def least(delta: Any) -> float:
        ends = np.cumsum(sizes)[:-1]
        return least_over_rests(lambda flat: value(delta, np.split(flat, ends)), sum(sizes))

    for _ in range(5):
        delta = generator.normal(size=len(u))
        x = np.concatenate([[1.0], delta])
        assert x @ matrix @ x == pytest.approx(least(delta), rel=1e-9, abs=1e-7)
    if len(matrices) > 1:  # the smaller space: δ = W¹ᵀη
        for _ in range(5):
            coordinates = generator.normal(size=widths[1])
            x = np.concatenate([[1.0], coordinates])
            assert x @ matrices[0] @ x == pytest.approx(least(around.weights[0].T @ coordinates), rel=1e-9, abs=1e-7)
