"""What a case says about the outputs, as networks for which `verify` answers it.

A linear condition g(Y) = Σ a_j Y_j + t ≥ 0 is the question whether a rival logit ties with or beats a label logit. Where g
compares two outputs, or an output with a number, the two logits are rows of the network's last layer; otherwise g becomes a
layer of its own, with whole numbers for the a_j. No weight is rounded. A number t that is no float is rounded upwards: the
condition becomes weaker and its refutation stays a proof.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from polymargin.networks.attention import LightningAttention
from polymargin.networks.polynomial_network import PolynomialNetwork
from polymargin.networks.product_network import Forms, ProductNetwork
from polymargin.vnnlib.expressions import Case, ConstraintComparison
from polymargin.vnnlib.regions import float_above

Array = NDArray[np.float64]
Classifier = PolynomialNetwork | LightningAttention | ProductNetwork

# Whole numbers below this are floats.
LARGEST_FACTOR = 1 << 53


def compares_classes(comparison: ConstraintComparison) -> tuple[int, int] | None:
    """Return (label, rival) of a condition Y_rival ≥ Y_label or Y_rival > Y_label."""
    terms = comparison.polynomial.terms
    if len(terms) != 2 or comparison.polynomial.degree != 1 or comparison.polynomial.kinds != {"Y"} or () in terms:
        return None
    ((first, a), (second, b)) = terms.items()
    if a + b != 0:
        return None
    label, rival = (first, second) if a < 0 else (second, first)
    return label[0].index, rival[0].index


def against_classes(network: Classifier, label: int, rivals: Sequence[int]) -> Classifier:
    """Return a network whose class 0 is the label and whose other classes are the rivals."""
    weights, bias = _readout(network)
    chosen = [label, *rivals]
    return _with_readout(network, weights[chosen], bias[chosen])


def linear_condition(network: Classifier, comparison: ConstraintComparison) -> Classifier | None:
    """Return a network with two classes, the second of which ties or wins wherever the condition holds.

    None if the condition is not linear, or cannot be written with exact weights.
    """
    polynomial = comparison.polynomial
    if polynomial.kinds != {"Y"} or polynomial.degree != 1:
        return None
    slopes = {monomial[0].index: value for monomial, value in polynomial.terms.items() if monomial}
    scale = math.lcm(*(value.denominator for value in slopes.values())) / Fraction(
        math.gcd(*(value.numerator for value in slopes.values()))
    )
    factors = {index: value * scale for index, value in slopes.items()}
    constant = polynomial.coefficient() * scale
    positive = [index for index, factor in factors.items() if factor == 1]
    negative = [index for index, factor in factors.items() if factor == -1]
    if len(positive) <= 1 and len(negative) <= 1 and len(positive) + len(negative) == len(factors):
        return _rows_compared(network, negative, positive, constant)
    return _outputs_compared(network, factors, constant)


def output_conditions(case: Case) -> list[ConstraintComparison]:
    """Return the comparisons of a case that involve outputs only."""
    return [comparison for comparison in case if comparison.polynomial.kinds == {"Y"}]


def _rows_compared(network: Classifier, label: list[int], rival: list[int], constant: Fraction) -> Classifier:
    """Compare Y_label with Y_rival + constant; an empty list stands for the number 0."""
    rows, constants = _readout(network)
    weights = np.zeros((2, rows.shape[1]))
    biases = [Fraction(0), constant]
    for row, chosen in enumerate((label, rival)):
        for index in chosen:
            weights[row] = rows[index]
            biases[row] += Fraction(float(constants[index]))
    return _with_readout(network, weights, np.array([float(biases[0]), float_above(biases[1])]))


def _outputs_compared(network: Classifier, factors: dict[int, Fraction], constant: Fraction) -> Classifier | None:
    """Compare 0 with Σ factor · Y + constant in an additional layer; None if a factor is no float."""
    if not isinstance(network, PolynomialNetwork) or any(abs(factor) >= LARGEST_FACTOR for factor in factors.values()):
        return None
    weights = np.zeros((2, network.class_count))
    for index, factor in factors.items():
        weights[1, index] = float(factor)
    layers = [(layer.weights, layer.bias) for layer in network.layers]
    activations = [*network.activations, (0.0, 1.0)]
    return PolynomialNetwork([*layers, (weights, [0.0, float_above(constant)])], activations=activations)


def _readout(network: Classifier) -> tuple[Array, Array]:
    """Return weights and bias of the last affine map."""
    if isinstance(network, LightningAttention):
        return network.readout, network.bias
    if isinstance(network, ProductNetwork):
        return np.asarray(network.readout.matrix.toarray()), network.readout.bias
    return network.layers[-1].weights, network.layers[-1].bias


def _with_readout(network: Classifier, weights: Array, bias: Array) -> Classifier:
    """Return the network with another last affine map."""
    if isinstance(network, LightningAttention):
        return LightningAttention(network.V, network.K, network.Q, weights, bias)
    if isinstance(network, ProductNetwork):
        return ProductNetwork(network.stages, Forms.of(weights, bias, network.readout.widths))
    layers = [(layer.weights, layer.bias) for layer in network.layers[:-1]]
    return PolynomialNetwork([*layers, (weights, bias)], activations=network.activations)
