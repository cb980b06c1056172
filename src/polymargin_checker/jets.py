"""B = f_label − f_rival of a network of stages on many discs at once: value, gradient and Hessian.

Forward, every form z of a stage has its value and its row of derivatives ∇z. Backward, α is the derivative of B by the values of
a stage. With them

    ∇²B = Σ_products α (∇l ∇rᵀ + ∇r ∇lᵀ) + Σ_polynomials α σ''(z) ∇z ∇zᵀ,

for forms are affine in the values before them. Every place has a pair of classes of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from polymargin_checker.discs import TINY, UNIT, Discs, Floats
from polymargin_checker.refusal import Refused
from polymargin_checker.series import LETTERS, in_powers
from polymargin_checker.stages import Forms, Network, Piecewise, Polynomial, Product, Stage

Classes: TypeAlias = NDArray[np.int64]
Slopes: TypeAlias = Floats | Discs
"""Derivatives of forms: (forms, n) where they are constant, else (places, forms, n)."""


@dataclass(frozen=True, eq=False)
class DiscJet:
    """B (places, 1), its gradient (places, n), and its Hessian (places, n, n) if it was asked for."""

    value: Discs
    gradient: Discs
    hessian: Discs | None


@dataclass(frozen=True, eq=False)
class _Passed:
    """The outcome at a stage: the values of its forms, and their slopes if a Hessian is asked for."""

    forms: list[Discs]
    slopes: list[Slopes]


class Jets:
    """The polynomials B of all pairs of classes of a network whose stages are products and polynomials."""

    def __init__(self, network: Network) -> None:
        if not network.is_polynomial:
            raise Refused("critical points are those of polynomials, and this network has piecewise stages")
        self.network, self.dimension = network, network.dimension

    @property
    def work(self) -> int:
        """Return the products of doubles for a jet with its Hessian at one place."""
        n, parts = self.dimension, [*self._all_forms, self.network.readout]
        entries = sum(block.shape[0] * block.shape[1] for forms in parts for _, block in forms.blocks)
        return 16 * (entries * (n + 1) + sum(len(forms) for forms in parts) * (n + 1) ** 2)

    @property
    def _all_forms(self) -> list[Forms]:
        return [forms for stage in self.network.stages for forms in stage.forms]

    def at(self, x: Discs, labels: Classes, rivals: Classes, *, hessian: bool) -> DiscJet:
        """Return the jets on discs x (places, n)."""
        values: list[Discs] = [x]
        slopes: list[Slopes | None] = [np.eye(self.dimension) if hessian else None]
        passed: list[_Passed] = []
        for number, stage in enumerate(self.network.stages):
            forms = [_form(part, values) for part in stage.forms]
            rows = [_slopes(part, slopes) for part in stage.forms] if hessian else []
            passed.append(_Passed(forms, rows))
            value, slope = self._passed_on(number, stage, passed[-1])
            values.append(value)
            slopes.append(slope)
        alphas = self._readout(labels, rivals)
        bias = self.network.readout.bias
        total = _difference(bias[labels], bias[rivals])[:, None]
        for source, alpha in alphas.items():
            total = total + _summed(alpha * values[source])
        found = self._hessian(passed, alphas, hessian=hessian)
        gradient = alphas.get(0, Discs.exact(np.zeros(x.shape)))
        return DiscJet(total, gradient, found)

    def _passed_on(self, number: int, stage: Stage, passed: _Passed) -> tuple[Discs, Slopes | None]:
        """Return the values of a stage and their slopes."""
        if isinstance(stage, Product):
            left, right = passed.forms
            if not passed.slopes:
                return left * right, None
            one, other = (_stretched(part) for part in passed.slopes)
            return left * right, left[:, :, None] * other + right[:, :, None] * one
        z, (sigma, first, _) = passed.forms[0], self._series[number]
        value = z.polynomial(sigma)
        return value, z.polynomial(first)[:, :, None] * _stretched(passed.slopes[0]) if passed.slopes else None

    def _hessian(self, passed: Sequence[_Passed], alphas: dict[int, Discs], *, hessian: bool) -> Discs | None:
        """Go back through the stages; `alphas` becomes complete."""
        stages, total = self.network.stages, None
        for number in range(len(stages) - 1, -1, -1):
            if (alpha := alphas.get(number + 1)) is None:
                continue
            stage, own = stages[number], passed[number]
            if isinstance(stage, Product):
                factors = [alpha * own.forms[1], alpha * own.forms[0]]
                bend = _bend(alpha, *own.slopes, symmetric=False) if hessian else None
            else:
                _, first, second = self._series[number]
                factors = [alpha * own.forms[0].polynomial(first)]
                bent = alpha * own.forms[0].polynomial(second) if hessian else None
                bend = None if bent is None else _bend(bent, own.slopes[0], own.slopes[0], symmetric=True)
            total = bend if total is None else total if bend is None else total + bend
            for part, factor in zip(stage.forms, factors, strict=True):
                for source, block in part.blocks:
                    more = factor.image(block.dense.T)
                    alphas[source] = alphas[source] + more if source in alphas else more
        if hessian and total is None:
            places = next(iter(alphas.values())).shape[0] if alphas else 0
            total = Discs.exact(np.zeros((places, self.dimension, self.dimension)))
        return total

    def _readout(self, labels: Classes, rivals: Classes) -> dict[int, Discs]:
        rows = {source: block.dense for source, block in self.network.readout.blocks}
        return {source: _difference(dense[labels], dense[rivals]) for source, dense in rows.items()}

    @cached_property
    def _series(self) -> dict[int, tuple[Discs, Discs, Discs]]:
        """Return the coefficients of powers of σ, σ' and σ'' for the polynomial stages."""
        return {
            number: _derivatives(stage)
            for number, stage in enumerate(self.network.stages)
            if isinstance(stage, Polynomial)
        }


def values_at(network: Network, x: Discs) -> Discs:
    """Return the logits (places, classes) of a network without piecewise stages."""
    values = [x]
    for stage in network.stages:
        forms = [_form(part, values) for part in stage.forms]
        if isinstance(stage, Product):
            values.append(forms[0] * forms[1])
        elif isinstance(stage, Piecewise):
            raise Refused("a piecewise stage has no value on a disc")
        else:
            values.append(forms[0].polynomial(_derivatives(stage)[0]))
    return _form(network.readout, values)


def _form(forms: Forms, values: Sequence[Discs]) -> Discs:
    total = Discs.exact(np.broadcast_to(forms.bias, (values[0].shape[0], len(forms))))
    for source, block in forms.blocks:
        total = total + values[source].image(block.dense)
    return total


def _slopes(forms: Forms, slopes: Sequence[Slopes | None]) -> Slopes:
    """Return rows of derivatives of forms: constant if they depend on the inputs alone."""
    total: Slopes | None = None
    for source, block in forms.blocks:
        below = slopes[source]
        if source == 0:
            total = block.dense
        elif isinstance(below, Discs):
            # The vectors that `image` maps are along the last axis.
            swapped = Discs(np.swapaxes(below.middle, 1, 2), np.swapaxes(below.radius, 1, 2)).image(block.dense)
            image = Discs(np.swapaxes(swapped.middle, 1, 2), np.swapaxes(swapped.radius, 1, 2))
            total = image if total is None else _stretched(total) + image
    return np.zeros((len(forms), forms.widths[0])) if total is None else total


def _stretched(slopes: Slopes) -> Discs:
    return slopes if isinstance(slopes, Discs) else Discs.exact(slopes[None])


def _bend(alpha: Discs, left: Slopes, right: Slopes, *, symmetric: bool) -> Discs:
    """Return Σ_i α_i l_i r_iᵀ, and its transpose with it unless it is symmetric."""
    if isinstance(left, Discs) or isinstance(right, Discs):
        one, other = _stretched(left), alpha[:, :, None] * _stretched(right)
        if one.shape[0] == 1 and other.shape[0] != 1:
            one = Discs(np.broadcast_to(one.middle, other.shape), np.broadcast_to(one.radius, other.shape))
        total = one.transposed_product(other)
    else:
        # One product with the matrix whose columns are the products of the entries; each of them is rounded once.
        places, n = alpha.shape[0], left.shape[1]
        table = (left[:, :, None] * right[:, None, :]).reshape(len(left), n * n)
        found = alpha.image(np.ascontiguousarray(table.T))
        wide = (np.abs(alpha.middle.real) + np.abs(alpha.middle.imag) + alpha.radius) @ (
            2 * UNIT * np.abs(table) + TINY
        )
        found = Discs(found.middle, found.radius + wide + TINY)
        total = Discs(found.middle.reshape(places, n, n), found.radius.reshape(places, n, n))
    if symmetric:
        return total
    return total + Discs(np.swapaxes(total.middle, 1, 2), np.swapaxes(total.radius, 1, 2))


def _summed(terms: Discs) -> Discs:
    """Return the sums (places, 1) along the last axis."""
    return terms.image(np.ones((1, terms.shape[-1])))


def _difference(left: Floats, right: Floats) -> Discs:
    """Return the differences of exact numbers."""
    middle = left - right
    return Discs(middle.astype(np.complex128), 2 * UNIT * np.abs(middle))


def _derivatives(stage: Polynomial) -> tuple[Discs, Discs, Discs]:
    exact = in_powers(LETTERS[stage.basis], stage.coefficients.tolist())
    rows = [exact, [], []]
    for order in (1, 2):
        rows[order] = [k * c for k, c in enumerate(rows[order - 1])][1:] or [fmpq(0)]
    sigma, first, second = (_enclosed(row) for row in rows)
    return sigma, first, second


def _enclosed(values: Sequence[fmpq]) -> Discs:
    try:
        middle = np.array([int(value.p) / int(value.q) for value in values])
    except OverflowError:
        raise Refused("a coefficient of an activation leaves the doubles") from None
    return Discs(middle.astype(np.complex128), 2 * UNIT * np.abs(middle) + TINY)
