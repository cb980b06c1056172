"""Value, gradient and Hessian of a boundary: against exact polynomials along lines, and enclosed on whole boxes."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flint import acb, arb, fmpq, fmpq_poly

import polymargin as pm
from polymargin_checker.arithmetic import working_precision
from polymargin_checker.boundary import Boundary, Jet
from polymargin_checker.stages import read_network

# The last one has no dependencies that would widen its enclosures.
SHAPES = [
    ([2, 3, 2], [[0, 0, 1]]),
    ([3, 4, 2, 3], [[0, 0.5, 1], [1, 0, 0, 2]]),
    ([2, 3, 3, 2, 2], [[0, 0, 1]] * 3),
    ([1, 1, 2], [[0, 0, 0, 1]]),
]


def network_of(shape: int) -> pm.Network:
    widths, activations = SHAPES[shape]
    generator = np.random.default_rng(shape)
    layers = [(generator.integers(-8, 9, (b, a)) / 4, generator.integers(-8, 9, b) / 8) for a, b in pairwise(widths)]
    return pm.PolynomialNetwork(layers, activations=activations)


def along(network: pm.Network, point: list[Fraction], direction: list[int]) -> fmpq_poly:
    """B(x + t d) = f₀ − f₁ as an exact polynomial in t."""
    values = [fmpq_poly([fmpq(p.numerator, p.denominator), d]) for p, d in zip(point, direction, strict=True)]
    for number, layer in enumerate(network.chain.layers):
        rows = zip(layer.weights.tolist(), layer.bias.tolist(), strict=True)
        values = [
            sum((rational(w) * v for w, v in zip(row, values, strict=True)), fmpq_poly([rational(bias)]))
            for row, bias in rows
        ]
        if number < len(network.chain.activations):
            sigma = fmpq_poly([rational(c) for c in network.chain.activations[number]])
            values = [sigma(value) for value in values]
    return values[0] - values[1]


def rational(value: float) -> fmpq:
    return fmpq(*float(value).as_integer_ratio())


def truth(network: pm.Network, point: list[Fraction]) -> tuple[fmpq, list[fmpq], dict[tuple[int, int], fmpq]]:
    """B, ∇B and the Hessian, by polarisation of second derivatives along lines."""
    n = network.dimension
    unit = [[int(i == j) for j in range(n)] for i in range(n)]
    lines = [along(network, point, direction) for direction in unit]
    curved: dict[tuple[int, int], fmpq] = {}
    for i, j in combinations_with_replacement(range(n), 2):
        both = along(network, point, [a + b for a, b in zip(unit[i], unit[j], strict=True)])
        curved[i, j] = 2 * lines[i][2] if i == j else both[2] - lines[i][2] - lines[j][2]
    return lines[0][0], [line[1] for line in lines], curved


def assert_contains(jet: Jet, network: pm.Network, point: list[Fraction]) -> None:
    value, gradient, curved = truth(network, point)
    assert jet.value.contains(acb(arb(value)))
    for i, slope in enumerate(gradient):
        assert jet.gradient[0, i].contains(acb(arb(slope)))
    for (i, j), entry in curved.items():
        assert jet.hessian[i, j].contains(acb(arb(entry)))
        assert jet.hessian[j, i].contains(acb(arb(entry)))


def boundary_of(network: Any, folder: Path) -> Boundary:
    network.save(folder / "model.npz")
    return Boundary(read_network(folder / "model.npz"), 0, 1)


@pytest.mark.parametrize("shape", range(len(SHAPES)))
@pytest.mark.parametrize("width", [Fraction(0), Fraction(1, 64), Fraction(1, 2)])
def test_jets_enclose_what_exact_polynomials_say(shape: int, width: Fraction, tmp_path: Path) -> None:
    network = network_of(shape)
    generator = np.random.default_rng(7)
    with working_precision(256):
        boundary = boundary_of(network, tmp_path)
        centre = [Fraction(int(k), 16) for k in generator.integers(-16, 17, network.dimension)]
        box = [acb(arb(fmpq(c.numerator, c.denominator), float(width))) for c in centre]
        jet = boundary.jet(box, hessian=True)
        for _ in range(6):  # corners and points within
            shares = [Fraction(int(k), 4) for k in generator.choice([-4, -4, 4, 4, 0, 1], network.dimension)]
            assert_contains(jet, network, [c + s * width for c, s in zip(centre, shares, strict=True)])
        if width == 0:
            assert float(jet.hessian[0, 0].real.rad()) < 1e-60
        assert boundary.jet(box, hessian=False).hessian.nrows() == 0
