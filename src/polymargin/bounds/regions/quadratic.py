"""A quadratic below a functional on a region, in δ = x − centre and the rests w of the forms that have one.

    B = B(c) + ∇B·δ + Σ β_v ρ_v,        ρ = t t' or c t²: quadratic,  or a parabola below β_v ρ_v for higher degrees.

With t = a·δ + w there are two ways with w. Ranges alone: what w adds to ρ is replaced by its least value, and δ stays the only
variable. Lifted: w is a variable, and its definition w = Σ M ρ enters with multipliers Δ of any sign,

    B = B(c) + ∇B·δ + Σ (β_v − Σ Δ M_v) ρ_v + Σ Δ w,

which changes nothing for the true w, and everything for a relaxation that knows w by its range only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polymargin.bounds.minorants import taylor
from polymargin.bounds.regions.expansion import FormAround, RegionExpansion, StepAround, polynomial_range

Array = NDArray[np.float64]

# Parabolas are lowered by this fraction of the terms that were added up: the checker needs room where they touch.
LOWERED = 1e-9
# And hold on ranges that are this much wider.
WIDER = 1e-7


@dataclass(frozen=True, eq=False)
class Functional:
    """B(c), ∇B(c) on the moving coordinates, β by step."""

    value: float
    slope: Array
    adjoints: list[Array]


@dataclass(frozen=True, eq=False)
class QuadraticBelow:
    """corner + border·v + vᵀ inner v below the functional, v = (δ, w).

    minorants   by step: rows (a, b, c) of parabolas below βρ for activations of degree above two, None for the others
    """

    corner: float
    border: Array
    inner: Array
    minorants: list[Array | None]


def lifted_forms(expansion: RegionExpansion) -> list[tuple[int, int]]:
    """(step, form) of all forms that have a rest, in order."""
    return [(k, j) for k, at in enumerate(expansion.at) for j, form in enumerate(at.forms) if form.rest is not None]


def by_ranges(expansion: RegionExpansion, functional: Functional, touch: list[list[Array]]) -> QuadraticBelow:
    """With rests replaced by their least effect; `touch` are values of t by step and form at which parabolas touch."""
    corner, border = functional.value, functional.slope.copy()
    inner = np.zeros((len(border), len(border)))
    minorants: list[Array | None] = []
    for at, beta, places in zip(expansion.at, functional.adjoints, touch, strict=True):
        minorant = None
        if at.taylor is None:
            left, right = at.forms
            term = left.slopes.T @ (beta[:, None] * right.slopes)
            inner += (term + term.T) / 2
            corner += float(_least_product(left, right, beta).sum())
        else:
            (form,) = at.forms
            square, linear, free, minorant = parabolas(at, beta, places[0])
            inner += form.slopes.T @ (square[:, None] * form.slopes)
            border += form.slopes.T @ linear
            corner += float((free + _least_rest(form, square, linear)).sum())
        minorants.append(minorant)
    return QuadraticBelow(corner, border, inner, minorants)


def lifted(
    expansion: RegionExpansion, functional: Functional, touch: list[list[Array]], shifts: Sequence[Array]
) -> QuadraticBelow:
    """With rests as variables after δ, and multipliers Δ (`shifts`) of their definitions, form by form."""
    forms = lifted_forms(expansion)
    first = len(functional.slope)
    starts = np.cumsum([first, *(len(shift) for shift in shifts)])
    where = dict(zip(forms, starts[:-1], strict=True))
    side = int(starts[-1])
    corner, border, inner = functional.value, np.zeros(side), np.zeros((side, side))
    border[:first] = functional.slope
    border[first:] = np.concatenate([*shifts, np.zeros(0)])
    minorants: list[Array | None] = []
    for number, (at, beta, places) in enumerate(
        zip(expansion.at, effective(expansion, functional, shifts), touch, strict=True)
    ):
        minorant = None
        if at.taylor is None:
            left, right = at.forms
            term = left.slopes.T @ (beta[:, None] * right.slopes)
            inner[:first, :first] += (term + term.T) / 2
            rows = np.arange(len(beta))
            for j, other in ((0, right), (1, left)):
                if (number, j) in where:
                    place = where[number, j] + rows
                    inner[:first, place] += (beta[:, None] * other.slopes).T / 2
            if (number, 0) in where and (number, 1) in where:
                inner[where[number, 0] + rows, where[number, 1] + rows] += beta / 2
        else:
            (form,) = at.forms
            square, linear, free, minorant = parabolas(at, beta, places[0])
            inner[:first, :first] += form.slopes.T @ (square[:, None] * form.slopes)
            border[:first] += form.slopes.T @ linear
            corner += float(free.sum())
            if (number, 0) in where:
                place = where[number, 0] + np.arange(len(beta))
                inner[:first, place] += (square[:, None] * form.slopes).T
                inner[place, place] += square
                border[place] += linear
        minorants.append(minorant)
    inner[first:, :first] = inner[:first, first:].T
    block = inner[first:, first:]
    inner[first:, first:] = np.triu(block) + np.triu(block, 1).T
    return QuadraticBelow(corner, border, inner, minorants)


def effective(expansion: RegionExpansion, functional: Functional, shifts: Sequence[Array]) -> list[Array]:
    """β_v − Σ Δ M_v by step."""
    result = [beta.copy() for beta in functional.adjoints]
    for (k, j), shift in zip(lifted_forms(expansion), shifts, strict=True):
        for source, block in expansion.at[k].forms[j].reached.items():
            result[source - 1] -= block.T @ shift
    return result


def parabolas(at: StepAround, beta: Array, touch: Array) -> tuple[Array, Array, Array, Array | None]:
    """Squares, slopes and constants of parabolas below βρ on the range of t, and the same as rows where they are a choice."""
    series, size = at.taylor, len(beta)
    assert series is not None
    if series.shape[1] <= 3:
        square = beta * series[:, 2] if series.shape[1] == 3 else np.zeros(size)
        return square, np.zeros(size), np.zeros(size), None
    low, high = at.forms[0].range
    reach = WIDER * (high - low)
    low, high = low - reach, high + reach
    place = np.clip(touch, low, high)
    remainder = series.copy()
    remainder[:, :2] = 0.0
    moved = np.zeros_like(remainder)  # in powers of t − place
    for k in range(2, remainder.shape[1]):
        unit = np.zeros(k + 1)
        unit[k] = 1.0
        moved[:, : k + 1] += remainder[:, k, None] * taylor(unit, place, np.ones(size))
    moved *= beta[:, None]
    square = polynomial_range(moved[:, 2:], low - place, high - place)[0]
    largest = np.maximum(np.abs(low), np.abs(high))
    terms = np.abs(beta) * sum(np.abs(series[:, k]) * (2 * largest) ** k for k in range(2, series.shape[1]))
    terms = terms + (np.abs(square) * largest + np.abs(moved[:, 1])) * largest
    linear = moved[:, 1] - 2 * square * place
    free = moved[:, 0] - moved[:, 1] * place + square * place**2 - LOWERED * terms
    return square, linear, free, np.stack([square, linear, free], axis=1)


def _least_product(left: FormAround, right: FormAround, beta: Array) -> Array:
    """The least value of β (t t' − (a·δ)(a'·δ)) = β (w' t + w a'·δ)."""
    total = np.zeros(len(beta))
    for rest, other in ((right.rest, left.range), (left.rest, right.linear)):
        if rest is not None:
            total += np.stack([beta * a * b for a in rest for b in other]).min(axis=0)
    return total


def _least_rest(form: FormAround, square: Array, linear: Array) -> Array:
    """The least value of w (square (a·δ + t) + linear)."""
    if form.rest is None:
        return np.zeros(len(square))
    ends = np.stack([square * (a + b) for a, b in zip(form.linear, form.range, strict=True)])
    low, high = ends.min(axis=0) + linear, ends.max(axis=0) + linear
    return np.asarray(np.stack([a * b for a in form.rest for b in (low, high)]).min(axis=0))
