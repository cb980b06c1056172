"""B = f_c − f_c' of a network of stages in ball arithmetic: value, gradient and Hessian on a complex box.

Forward, J_z = Σ W_s J_s is the Jacobian of the forms z = b + Σ W_s v_s of a stage. Backward, α_s is the derivative of B by the
values of source s, and what a stage makes of its own α goes back through its forms. With them

    ∇²B = Σ_products (J_pᵀ diag(α) J_q + J_qᵀ diag(α) J_p) + Σ_polynomials J_zᵀ diag(α ∘ σ''(z)) J_z,

for the forms are affine in the values before them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from flint import acb, acb_mat, acb_poly, arb

from polymargin_checker.refusal import Refused
from polymargin_checker.series import LETTERS, in_chebyshev
from polymargin_checker.stages import Forms, Network, Polynomial

Function = Callable[[acb], acb]


@dataclass(frozen=True)
class Jet:
    """Enclosures over a box: B, ∇B as a row, and the Hessian (empty unless asked for)."""

    value: acb
    gradient: acb_mat
    hessian: acb_mat


class Boundary:
    """f_label − f_rival; built and used under one working precision."""

    def __init__(self, network: Network, label: int, rival: int) -> None:
        if not network.is_polynomial:
            raise Refused("a proof about critical points speaks of polynomials, and this network has piecewise stages")
        self.network, self.dimension = network, network.dimension
        self._forms = [[_matrices(forms) for forms in stage.forms] for stage in network.stages]
        self._functions = [_functions(stage) if isinstance(stage, Polynomial) else None for stage in network.stages]
        readout, bias = network.readout, network.readout.bias
        self._output: dict[int, acb_mat] = {}
        for source, block in readout.blocks:
            row = [arb(a) - arb(b) for a, b in zip(*(block.dense[k].tolist() for k in (label, rival)), strict=True)]
            self._output[source] = acb_mat(1, len(row), row)
        self._constant = acb(arb(bias[label]) - arb(bias[rival]))

    def work(self) -> int:
        """Return products for one jet with its Hessian, on real numbers."""
        n, total = self.dimension, 0
        for stage in self.network.stages:
            for forms in stage.forms:
                weights = sum(block.shape[0] * block.shape[1] for _, block in forms.blocks)
                total += (weights + 2 * len(forms) * n) * (n + 1)
            degree = len(stage.coefficients) if isinstance(stage, Polynomial) else 1
            total += 8 * len(stage.forms[0]) * degree
        return 4 * total

    def jet(self, x: Sequence[acb], hessian: bool) -> Jet:
        values = [acb_mat(len(x), 1, list(x))]
        jacobians: list[acb_mat | None] = [None]  # of the inputs: the identity
        passed: list[tuple[list[acb_mat], list[list[acb]], list[acb]]] = []
        for parts, functions in zip(self._forms, self._functions, strict=True):
            z = [_applied(part, values).entries() for part in parts]
            own = [_jacobian(part, jacobians, self.dimension) for part in parts] if hessian else []
            if functions is None:
                new, factors, bends = [a * b for a, b in zip(*z, strict=True)], [z[1], z[0]], list[acb]()
            else:
                sigma, first, second = functions
                new, factors = [sigma(entry) for entry in z[0]], [[first(entry) for entry in z[0]]]
                bends = [second(entry) for entry in z[0]] if hessian else []
            values.append(acb_mat(len(new), 1, new))
            if hessian:
                jacobians.append(
                    sum((_scaled(f, j) for f, j in zip(factors, own, strict=True)), _zeros(len(new), self))
                )
            passed.append((own, factors, bends))
        value = sum(((row * values[source])[0, 0] for source, row in self._output.items()), self._constant)
        alphas = dict(self._output)
        total = acb_mat(self.dimension, self.dimension)
        for place in range(len(passed), 0, -1):
            if place not in alphas:
                continue
            alpha, (own, factors, bends) = alphas[place].entries(), passed[place - 1]
            if hessian:
                total += _bent(alpha, own, bends)
            for part, factor in zip(self._forms[place - 1], factors, strict=True):
                row = acb_mat(1, len(alpha), [a * f for a, f in zip(alpha, factor, strict=True)])
                for source, weights in part.weights:
                    alphas[source] = alphas[source] + row * weights if source in alphas else row * weights
        gradient = alphas.get(0, acb_mat(1, self.dimension))
        return Jet(value, gradient, total if hessian else acb_mat(0, 0))


@dataclass(frozen=True)
class _Matrices:
    """The blocks of forms, and their bias as a column."""

    weights: list[tuple[int, acb_mat]]
    bias: acb_mat


def _matrices(forms: Forms) -> _Matrices:
    weights = []
    for source, block in forms.blocks:
        entries = [arb(value) for value in block.dense.ravel().tolist()]
        weights.append((source, acb_mat(*block.shape, entries)))
    return _Matrices(weights, acb_mat(len(forms), 1, [arb(value) for value in forms.bias.tolist()]))


def _applied(part: _Matrices, values: list[acb_mat]) -> acb_mat:
    return sum((weights * values[source] for source, weights in part.weights), part.bias)


def _jacobian(part: _Matrices, jacobians: list[acb_mat | None], inputs: int) -> acb_mat:
    total = acb_mat(part.bias.nrows(), inputs)
    for source, weights in part.weights:
        inner = jacobians[source]
        total += weights if inner is None else weights * inner
    return total


def _bent(alpha: list[acb], own: list[acb_mat], bends: list[acb]) -> acb_mat:
    if len(own) == 1:
        (z,) = own
        return z.transpose() * _scaled([a * b for a, b in zip(alpha, bends, strict=True)], z)
    left, right = own
    half = left.transpose() * _scaled(alpha, right)
    return half + half.transpose()


def _zeros(rows: int, boundary: Boundary) -> acb_mat:
    return acb_mat(rows, boundary.dimension)


def _scaled(factors: list[acb], matrix: acb_mat) -> acb_mat:
    columns, entries = matrix.ncols(), matrix.entries()
    scaled = [factor * entries[i * columns + j] for i, factor in enumerate(factors) for j in range(columns)]
    return acb_mat(len(factors), columns, scaled)


def _functions(stage: Polynomial) -> tuple[Function, Function, Function]:
    """Return σ, σ' and σ'' of a ball."""
    if stage.basis == "powers":
        sigma: Any = acb_poly([acb(value) for value in stage.coefficients.tolist()])
        return sigma, sigma.derivative(), sigma.derivative().derivative()
    rows = [[arb(value) for value in in_chebyshev(LETTERS[stage.basis], stage.coefficients.tolist())]]
    for _ in range(2):
        rows.append(_chebyshev_derivative(rows[-1]))
    first, second, third = (lambda z, row=row: _clenshaw(row, z) for row in rows)
    return first, second, third


def _chebyshev_derivative(coefficients: list[arb]) -> list[arb]:
    """Return d_(k−1) = d_(k+1) + 2 k c_k from the highest order down, and half of that for d_0."""
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
