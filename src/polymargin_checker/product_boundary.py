"""B = f_c − f_c' of a program of products in ball arithmetic: value, gradient and Hessian on a complex box.

Forward, every value v has its row of derivatives ∇v. Backward, α_v is the derivative of B by v. With them

    ∇²B = Σ_products α_v (∇p ∇qᵀ + ∇q ∇pᵀ) + Σ_activations α_v σ''(z) ∇z ∇zᵀ,

for the forms p, q and z are affine in the values before them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from flint import acb, acb_mat, acb_poly, arb

from polymargin_checker.network import Jet
from polymargin_checker.products import Form, Products, Stage
from polymargin_checker.series import in_chebyshev


@dataclass(frozen=True)
class _Passed:
    """What a stage did: the values of its forms, their derivatives, and what α_v of each value becomes on each form."""

    slopes: list[list[list[acb]]]
    factors: list[list[acb]]
    bends: list[acb] | None


class ProductBoundary:
    """f_label − f_rival; built and used under one working precision."""

    def __init__(self, model: Products, label: int, rival: int) -> None:
        self.model, self.dimension = model, model.dimension
        self.output: dict[int, arb] = {}
        for sign, index in ((1, label), (-1, rival)):
            for column, weight in model.readout.row(index):
                self.output[column] = self.output.get(column, arb(0)) + sign * arb(weight)
        bias = model.readout.bias
        self.constant = arb(bias[label]) - arb(bias[rival])

    def work(self) -> int:
        """Products for one jet with its Hessian, on real numbers."""
        n = self.dimension
        terms = sum(len(form.weights) + 2 * len(form) * (n + 1) for stage in self.model.stages for form in stage.forms)
        chains = sum(len(stage) * 3 * len(stage.coefficients) for stage in self.model.stages)
        return 32 * (n + 1) * (terms + len(self.model.readout.weights)) + 16 * chains

    def jet(self, x: Sequence[acb], hessian: bool) -> Jet:
        n = self.dimension
        values: list[acb] = list(x)
        slopes = [[acb(int(i == j)) for j in range(n)] for i in range(n)]
        passed: list[_Passed] = []
        for number, stage in enumerate(self.model.stages):
            results = [_apply(form, values, slopes) for form in stage.forms]
            if stage.letter == "P":
                (p, _), (q, _) = results
                new = [a * b for a, b in zip(p, q, strict=True)]
                factors, bends = [q, p], None
            else:
                z, _ = results[0]
                polynomial, first, second = self._series[number]
                new = [polynomial(entry) for entry in z]
                factors, bends = [[first(entry) for entry in z]], [second(entry) for entry in z]
            rows = []
            for index in range(len(stage)):
                parts = [(factor[index], part[1][index]) for factor, part in zip(factors, results, strict=True)]
                rows.append([sum((f * row[j] for f, row in parts), acb(0)) for j in range(n)])
            passed.append(_Passed([part[1] for part in results], factors, bends))
            values, slopes = values + new, slopes + rows
        value, gradient = acb(self.constant), [acb(0)] * n
        for column, weight in self.output.items():
            value += values[column] * weight
            gradient = [g + s * weight for g, s in zip(gradient, slopes[column], strict=True)]
        total = self._hessian(passed, len(values)) if hessian else acb_mat(0, 0)
        return Jet(value, acb_mat(1, n, gradient), total)

    def _hessian(self, passed: list[_Passed], count: int) -> acb_mat:
        n = self.dimension
        total = acb_mat(n, n)
        alpha = [acb(self.output.get(place, arb(0))) for place in range(count)]
        end = count
        for stage, done in zip(reversed(self.model.stages), reversed(passed), strict=True):
            own = alpha[end - len(stage) : end]
            end -= len(stage)
            for form, factors in zip(stage.forms, done.factors, strict=True):
                for index, a in enumerate(own):
                    for column, weight in form.row(index):
                        alpha[column] += a * factors[index] * arb(weight)
            if done.bends is None:
                left, right = done.slopes
                half = _matrix(left).transpose() * _matrix(
                    [[a * e for e in row] for a, row in zip(own, right, strict=True)]
                )
                total += half + half.transpose()
            else:
                bent = [[a * b * e for e in row] for a, b, row in zip(own, done.bends, done.slopes[0], strict=True)]
                total += _matrix(done.slopes[0]).transpose() * _matrix(bent)
        return total

    @cached_property
    def _series(self) -> list[Any]:
        return [_derivatives(stage) if stage.letter != "P" else None for stage in self.model.stages]


def _apply(form: Form, values: list[acb], slopes: list[list[acb]]) -> tuple[list[acb], list[list[acb]]]:
    results, rows = [], []
    for index, bias in enumerate(form.bias):
        total, row = acb(bias), [acb(0)] * len(slopes[0])
        for column, weight in form.row(index):
            factor = arb(weight)
            total += values[column] * factor
            row = [entry + slope * factor for entry, slope in zip(row, slopes[column], strict=True)]
        results.append(total)
        rows.append(row)
    return results, rows


def _matrix(rows: list[list[acb]]) -> acb_mat:
    return acb_mat(len(rows), len(rows[0]), [entry for row in rows for entry in row])


def _derivatives(stage: Stage) -> tuple[Any, Any, Any]:
    """σ, σ' and σ'' as functions of a ball."""
    if stage.letter == "A":
        sigma = acb_poly([acb(value) for value in stage.coefficients])
        return sigma, sigma.derivative(), sigma.derivative().derivative()
    rows = [[arb(value) for value in in_chebyshev(stage.letter, stage.coefficients)]]
    for _ in range(2):
        rows.append(_chebyshev_derivative(rows[-1]))
    first, second, third = (lambda z, row=row: _clenshaw(row, z) for row in rows)
    return first, second, third


def _chebyshev_derivative(coefficients: list[arb]) -> list[arb]:
    """d_(k−1) = d_(k+1) + 2 k c_k from the highest order down, and half of that for d_0."""
    degree = len(coefficients) - 1
    result = [arb(0)] * (degree + 2)
    for k in range(degree, 0, -1):
        result[k - 1] = result[k + 1] + 2 * k * coefficients[k]
    return [result[0] / 2, *result[1:degree]] if degree else [arb(0)]


def _clenshaw(coefficients: list[arb], z: acb) -> acb:
    later, last = acb(0), acb(0)
    for c in coefficients[:0:-1]:
        later, last = last, 2 * z * last - later + c
    return z * last - later + coefficients[0]
