"""Programs of products: logits, layers, degree and forms, by the definition."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from checker.views_of_files import as_read, read_view, stages_of
from explicit_polynomials import explicit
from flint import fmpq

from polymargin.bounds.layered.layers import layered
from polymargin.networks.forms import Forms
from polymargin.networks.network import Network
from polymargin.networks.stages import Polynomial, Product
from polymargin_checker.completeness import degree_of, variables_of
from polymargin_checker.exact import exact_logits
from polymargin_checker.refusal import Refused
from polymargin_checker.views import Model, Products, of_layers


def model_of(network: Network, folder: Path) -> Products:
    network.save(folder / "model.npz")
    model = read_view(folder / "model.npz")
    return of_layers(model) if isinstance(model, Model) else model


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
def test_exact_logits_and_layers_are_the_definition(basis: str, coefficients: Any, tmp_path: Path) -> None:
    network = mixed(basis, coefficients)
    model = model_of(network, tmp_path)
    lowering = layered(network, 0, 1).lowering["scales"]
    layers = model.layers({"scales": [(3 * float(scale)).hex() for scale in lowering]})
    for point in ([Fraction(3, 8), Fraction(-5, 4)], [Fraction(7), Fraction(1, 32)], [Fraction(3), Fraction(-2)]):
        truth = by_definition(network, point)
        exact = [fmpq(part.numerator, part.denominator) for part in point]
        assert fractions(exact_logits(stages_of(model), exact)) == truth
        values: list[Any] = exact
        for weights, bias in zip(layers.weights, layers.biases, strict=True):
            rows = [weights.row(index) for index in range(weights.rows)]
            z = [
                sum((a * b for a, b in zip(row, values, strict=True)), fmpq(c))
                for row, c in zip(rows, bias, strict=True)
            ]
            values = [entry * entry for entry in z]
        assert fractions(z) == truth


def test_the_degree_is_that_of_the_highest_logit(tmp_path: Path) -> None:
    for basis, coefficients in SERIES:
        order = len(coefficients) - 1
        model = model_of(mixed(basis, coefficients), tmp_path)
        assert degree_of(stages_of(model)) == 4 * order  # the product of two activations of products
        network = mixed(basis, coefficients)
        readout = Forms.of([[1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]])
        assert degree_of(as_read(Network(network.stages, readout))) == 2


def test_the_forms_of_the_input_are_counted_once_each(tmp_path: Path) -> None:
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


def test_a_lowering_says_its_scales_and_nothing_else(tmp_path: Path) -> None:
    network = mixed("powers", (0.0, 0.0, 0.75))
    model = model_of(network, tmp_path)
    scales = [float(scale).hex() for scale in layered(network, 0, 1).lowering["scales"]]
    model.layers({"scales": scales})
    for wrong in ({}, {"scales": scales, "more": scales}, [scales]):
        with pytest.raises(Refused, match="lowering"):
            model.layers(wrong)
