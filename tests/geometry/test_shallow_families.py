"""Polynomials in the weights, against the numbers and against the paper's formulas."""

from __future__ import annotations

from typing import Any

import pytest
from problems import random_network

import polymargin as pm
from polymargin.geometry import parameter_discriminant, shallow_family


def weights_of(network: pm.Network) -> dict[str, Any]:
    """The weights by the names of `shallow_family`."""
    values: dict[str, Any] = {}
    for number, layer in enumerate(network.expect_chain().layers, start=1):
        for i, (row, bias) in enumerate(zip(layer.weights.tolist(), layer.bias.tolist(), strict=True), start=1):
            values |= {f"w{number}_{i}{j}": weight for j, weight in enumerate(row, start=1)}
            values[f"b{number}_{i}"] = bias
    return values


@pytest.mark.parametrize("widths", [(1, 1), (1, 3), (2, 1), (2, 2), (2, 3), (3, 2)], ids=str)
def test_factors_at_a_network(widths: tuple[int, int]) -> None:
    delta = parameter_discriminant(shallow_family(*widths))
    for seed in range(2):
        network = random_network([*widths, 2], 2, seed)
        found = parameter_discriminant(network)
        expected = (found.rank_factor, found.singular_factor, found.eigenvalue_factor)
        assert delta.at(**weights_of(network)) == expected


def test_two_inputs_two_neurons() -> None:
    delta = parameter_discriminant(shallow_family(2, 2))
    s = dict(zip(delta.parameters, delta.rank_factor.context().gens(), strict=True))
    assert len(s) == 12
    v1, v2 = s["w2_11"] - s["w2_21"], s["w2_12"] - s["w2_22"]
    a = s["w1_11"] ** 2 * v1 + s["w1_21"] ** 2 * v2
    b = 2 * s["w1_11"] * s["w1_12"] * v1 + 2 * s["w1_21"] * s["w1_22"] * v2
    c = s["w1_12"] ** 2 * v1 + s["w1_22"] ** 2 * v2
    assert delta.eigenvalue_factor == (a - c) ** 2 + b**2
    square = (s["w1_11"] * s["w1_22"] - s["w1_12"] * s["w1_21"]) ** 2
    assert delta.rank_factor == v1 * v2 * square
    assert delta.singular_factor == delta.rank_factor * (s["b2_1"] - s["b2_2"])


def test_fewer_neurons_than_inputs() -> None:
    delta = parameter_discriminant(shallow_family(2, 1))
    assert delta.rank_factor.is_zero()
    assert delta.singular_factor.is_zero()
    assert not delta.eigenvalue_factor.is_zero()


def test_refusals() -> None:
    with pytest.raises(pm.InputError, match="1 to 9"):
        shallow_family(0, 2)
    with pytest.raises(pm.InputError, match="at most 5"):
        parameter_discriminant(shallow_family(6, 1))
