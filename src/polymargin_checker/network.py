"""B = f_c − f_c' in ball arithmetic: value, gradient and Hessian on a complex box.

Forward, J¹ = W¹ and Jˡ⁺¹ = Wˡ⁺¹ diag(σ'(zˡ)) Jˡ are the Jacobians of the pre-activations. Backward, αᴸ is the
difference of two rows of the last layer and αˡ = (αˡ⁺¹ ∘ σ'(zˡ⁺¹)) Wˡ⁺¹ is the derivative of B by the activations aˡ.
Then ∇B = (α¹ ∘ σ'(z¹)) W¹ and the Hessian is Σ_l Jˡᵀ diag(αˡ ∘ σ''(zˡ)) Jˡ: matrix products, done in C.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from flint import acb, acb_mat, acb_poly, arb, arb_mat

from polymargin_checker.model import Matrix, Model


@dataclass(frozen=True)
class Jet:
    """Enclosures over a box: B, ∇B as a row, and the Hessian (empty unless asked for)."""

    value: acb
    gradient: acb_mat
    hessian: acb_mat


class LayeredBoundary:
    """f_label − f_rival; built and used under one working precision."""

    def __init__(self, model: Model, label: int, rival: int) -> None:
        self.dimension = model.dimension
        self.weights = [acb_mat(real_matrix(weights)) for weights in model.weights[:-1]]
        self.biases = [acb_mat(real_column(bias)) for bias in model.biases[:-1]]
        self.activations = [_derivatives(coefficients) for coefficients in model.activations]
        row, constant = output_row(model, label, rival)
        self.output = acb_mat(arb_mat(1, len(row), row))
        self.constant = acb(constant)

    def work(self) -> int:
        """Products for one jet with its Hessian, on real numbers."""
        widths = [self.dimension, *(weights.nrows() for weights in self.weights)]
        return 4 * self.dimension * sum(width * (self.dimension + below) for below, width in pairwise(widths))

    def jet(self, x: Sequence[acb], hessian: bool) -> Jet:
        values = acb_mat(len(x), 1, list(x))
        firsts: list[list[acb]] = []
        seconds: list[list[acb]] = []
        for weights, bias, (sigma, first, second) in zip(self.weights, self.biases, self.activations, strict=True):
            z = (weights * values + bias).entries()
            values = acb_mat(len(z), 1, [sigma(entry) for entry in z])
            firsts.append([first(entry) for entry in z])
            if hessian:
                seconds.append([second(entry) for entry in z])
        value = (self.output * values)[0, 0] + self.constant
        alphas: list[list[acb]] = []
        gradient = self.output
        for weights, first_values in zip(reversed(self.weights), reversed(firsts), strict=True):
            alpha = gradient.entries()
            alphas.append(alpha)
            products = [a * f for a, f in zip(alpha, first_values, strict=True)]
            gradient = acb_mat(1, len(products), products) * weights
        return Jet(value, gradient, self._hessian(alphas[::-1], firsts, seconds) if hessian else acb_mat(0, 0))

    def _hessian(self, alphas: list[list[acb]], firsts: list[list[acb]], seconds: list[list[acb]]) -> acb_mat:
        total = acb_mat(self.dimension, self.dimension)
        jacobian: acb_mat | None = None
        for layer, weights in enumerate(self.weights):
            jacobian = weights if jacobian is None else weights * _scale_rows(firsts[layer - 1], jacobian)
            factors = [a * s for a, s in zip(alphas[layer], seconds[layer], strict=True)]
            total += jacobian.transpose() * _scale_rows(factors, jacobian)
        return total


def output_row(model: Model, label: int, rival: int) -> tuple[list[arb], arb]:
    """W_label − W_rival of the last layer, and the same for its bias."""
    last, bias = model.weights[-1], model.biases[-1]
    row = [arb(a) - arb(b) for a, b in zip(last.row(label), last.row(rival), strict=True)]
    return row, arb(bias[label]) - arb(bias[rival])


def real_matrix(matrix: Matrix) -> arb_mat:
    return arb_mat(matrix.rows, matrix.columns, [arb(value) for value in matrix.values])


def real_column(values: Sequence[float]) -> arb_mat:
    return arb_mat(len(values), 1, [arb(value) for value in values])


def _derivatives(coefficients: Sequence[float]) -> tuple[acb_poly, acb_poly, acb_poly]:
    sigma = acb_poly([acb(value) for value in coefficients])
    return sigma, sigma.derivative(), sigma.derivative().derivative()


def _scale_rows(factors: list[acb], matrix: acb_mat) -> acb_mat:
    columns = matrix.ncols()
    entries = matrix.entries()
    scaled = [factor * entries[i * columns + j] for i, factor in enumerate(factors) for j in range(columns)]
    return acb_mat(len(factors), columns, scaled)
