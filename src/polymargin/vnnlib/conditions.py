"""The output conditions of a case, as networks for which `verify` answers them.

A linear condition g(Y) = Σ a_j Y_j + t ≥ 0 is the question whether a rival logit ties with or beats a label logit. Where g
compares two outputs, or an output with a number, the two logits are rows of the network's read-out; otherwise g becomes a
layer of its own, with whole numbers for the a_j. No weight is rounded. A number t that is no float is rounded upwards: the
condition becomes weaker and its refutation stays a proof.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from polymargin.networks.forms import Forms
from polymargin.networks.network import Network
from polymargin.networks.stages import Polynomial
from polymargin.vnnlib.expressions import Case, ConstraintComparison
from polymargin.vnnlib.regions import float_above

Array = NDArray[np.float64]

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


def against_classes(network: Network, label: int, rivals: Sequence[int]) -> Network:
    """Return a network whose class 0 is the label and whose other classes are the rivals."""
    weights, bias = _readout(network)
    chosen = [label, *rivals]
    return _with_readout(network, weights[chosen], bias[chosen])


def linear_condition(network: Network, comparison: ConstraintComparison) -> Network | None:
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


def _rows_compared(network: Network, label: list[int], rival: list[int], constant: Fraction) -> Network:
    """Y_label against Y_rival + constant; an empty list stands for the number 0."""
    rows, constants = _readout(network)
    weights = np.zeros((2, rows.shape[1]))
    biases = [Fraction(0), constant]
    for row, chosen in enumerate((label, rival)):
        for index in chosen:
            weights[row] = rows[index]
            biases[row] += Fraction(float(constants[index]))
    return _with_readout(network, weights, np.array([float(biases[0]), float_above(biases[1])]))


def _outputs_compared(network: Network, factors: dict[int, Fraction], constant: Fraction) -> Network | None:
    """0 against Σ factor · Y + constant, by a layer of its own behind the outputs; None if a factor is no float."""
    if any(abs(factor) >= LARGEST_FACTOR for factor in factors.values()):
        return None
    weights = np.zeros((2, network.class_count))
    for index, factor in factors.items():
        weights[1, index] = float(factor)
    outputs = Polynomial(network.readout, (0.0, 1.0))
    widths = (*network.readout.widths, len(outputs))
    readout = Forms(widths, ((len(widths) - 1, weights),), np.array([0.0, float_above(constant)]))
    return Network([*network.stages, outputs], readout)


def _readout(network: Network) -> tuple[Array, Array]:
    """Weights of all values, and the bias, of the logits."""
    return np.asarray(network.readout.matrix.toarray()), network.readout.bias


def _with_readout(network: Network, weights: Array, bias: Array) -> Network:
    return network.with_readout(Forms.of(weights, bias, network.readout.widths))
