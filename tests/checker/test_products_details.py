"""Networks of products: logits, degree and forms, by the definition."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from checker.stage_files import as_read
from explicit_polynomials import explicit
from flint import fmpq

from polymargin.networks.forms import Forms
from polymargin.networks.network import Network
from polymargin.networks.stages import Polynomial, Product
from polymargin_checker.completeness import degree_of, variables_of
from polymargin_checker.exact import exact_logits


def rationals(values: Any) -> list[fmpq]:
    return [fmpq(*float(value).as_integer_ratio()) for value in values]


def fractions(values: Any) -> list[Fraction]:
    return [Fraction(int(value.p), int(value.q)) for value in values]


def mixed(basis: str, coefficients: tuple[float, ...]) -> Network:
    """A product, an activation of it, and a product of both with an input; biases and weights are small dyadics."""
    first = Product(Forms.of([[1.0, 0.5], [0.0, -2.0]], [0.25, 1.0]), Forms.of([[0.0, 1.0], [1.5, 0.0]], [0.0, -0.5]))
    bent = Polynomial(Forms.of([[0.5, 0.0, 0.25, 0.0], [0.0, 0.0, -0.5, 1.0]], [0.125, 0.0]), coefficients, basis)
    last = Product(Forms.of([[0.0, 0.0, 0.0, 0.0, 1.0, -0.5]], [0.5]), Forms.of([[1.0, 0.0, 0.0, 1.0, 0.0, 0.25]]))
    readout = Forms.of(
        [
            [0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0],
            [1.0, 0.0, -0.5, 0.0, 1.0, 2.0, 0.0],
            [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        ],
        [0.5, 0.0, -0.25],
    )
    return Network([first, bent, last], readout)


SERIES = [
    ("powers", (0.5, -1.0)),
    ("powers", (0.0, 0.0, 0.75)),
    ("powers", (0.25, 0.0, -0.5, 0.0, 0.0, 1.5)),
    ("chebyshev", (0.5, -1.0)),
    ("chebyshev", (0.25, 0.0, 0.5)),
    ("chebyshev", (0.0, 1.0, 0.0, -0.5)),
    ("chebyshev", (0.5, 0.0, -0.25, 0.0, 1.0, 0.0, 0.125, 2.0)),
    ("legendre", (0.5, -1.0)),
    ("legendre", (0.25, 0.0, 0.5)),
    ("legendre", (0.5, 0.0, -0.25, 0.0, 1.0, 0.0, 0.125, 2.0)),
    ("hermite", (0.5, -1.0)),
    ("hermite", (0.0, 1.0, 0.0, -0.5)),
    ("hermite_e", (0.5, 0.0, -0.25, 0.0, 1.0, 0.125)),
]


def value_of(basis: str, coefficients: tuple[float, ...], z: Fraction) -> Fraction:
    return sum((Fraction(c) * explicit(basis, k, z) for k, c in enumerate(coefficients)), Fraction(0))


def by_definition(network: Network, point: list[Fraction]) -> list[Fraction]:
    def rows(forms: Forms, values: list[Fraction]) -> list[Fraction]:
        pairs = forms.rows()
        return [
            Fraction(bias) + sum(Fraction(w) * values[c] for c, w in zip(columns, weights, strict=True))
            for (columns, weights), bias in zip(pairs, forms.bias.tolist(), strict=True)
        ]

    values = list(point)
    for stage in network.stages:
        results = [rows(forms, values) for forms in stage.forms]
        if isinstance(stage, Polynomial):
            values += [value_of(stage.basis, stage.coefficients, z) for z in results[0]]
        else:
            values += [a * b for a, b in zip(*results, strict=True)]
    return rows(network.readout, values)


@pytest.mark.parametrize(("basis", "coefficients"), SERIES)
def test_exact_logits_are_the_definition(basis: str, coefficients: Any) -> None:
    network = mixed(basis, coefficients)
    model = as_read(network)
    for point in ([Fraction(3, 8), Fraction(-5, 4)], [Fraction(7), Fraction(1, 32)], [Fraction(3), Fraction(-2)]):
        truth = by_definition(network, point)
        exact = [fmpq(part.numerator, part.denominator) for part in point]
        assert fractions(exact_logits(model, exact)) == truth


def test_the_degree_is_that_of_the_highest_logit() -> None:
    for basis, coefficients in SERIES:
        order = len(coefficients) - 1
        network = mixed(basis, coefficients)
        assert degree_of(as_read(network)) == 4 * order  # the product of two activations of products
        readout = Forms.of([[1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]])
        assert degree_of(as_read(Network(network.stages, readout))) == 2


def test_the_forms_of_the_input_are_counted_once_each() -> None:
    """What a form adds of later values, or of a constant, makes no form of the input; the size of a weight neither."""
    seen, other = [5.0, 7.0, 0.0], [5.0, 7.0, 9.0]

    def variables(*rows: list[float]) -> int:
        """Of x₀, x₁, x₂, a product of the first two rows, and a product of the last two, the second of which sees it."""
        first = Product(Forms.of([rows[0]]), Forms.of([rows[1]], [3.0]))
        second = Product(Forms.of([[*rows[2], 0.0]]), Forms.of([[*rows[3], 4.0]]))
        readout = Forms.of([[0.0, 0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 0.0, 1.0]])
        return variables_of(as_read(Network([first, second], readout)))

    nothing = [0.0, 0.0, 0.0]
    assert variables(seen, seen, seen, seen) == 1
    assert variables(seen, seen, seen, nothing) == 1
    assert variables(seen, seen, seen, other) == 2
    assert variables(seen, other, [1.0, 0.0, 0.0], nothing) == 3
    assert variables(seen, other, [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]) == 3  # no more than inputs
