"""Logits without rounding: the values of every source as integers over one power of two.

Doubles are dyadic, and sums and products of dyadic numbers are dyadic, so ties are decided for certain. The integers grow with
the degree of the network; their size is estimated before every step, so that no file can ask for more memory than there is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from flint import fmpq, fmpz, fmpz_mat

from polymargin_checker import series
from polymargin_checker.refusal import Refused
from polymargin_checker.stages import Block, Floats, Forms, Network, Piecewise, Polynomial, Product
from polymargin_checker.work import spend

_LONGEST = 1 << 20
"""Bits of one integer; enough for degrees in the thousands."""
_MOST_BITS = 1 << 30
"""Of all integers of one source together."""
_TOUCHED = 64
"""Products that a weight counts for when it becomes an integer."""
_WORK = "the exact logits"


@dataclass(frozen=True)
class Fixed:
    """Integers times 2^(−exponent)."""

    entries: list[Any]
    exponent: int

    @property
    def bits(self) -> int:
        return max(int(entry.bit_length()) for entry in self.entries)


def exact_logits(network: Network, point: Sequence[fmpq]) -> list[fmpq]:
    """Return f(point) as exact rationals; the point is dyadic."""
    exponent = max(int(entry.q).bit_length() - 1 for entry in point)
    values = [Fixed([entry.p * ((fmpz(1) << exponent) // entry.q) for entry in point], exponent)]
    for stage in network.stages:
        arguments = [_form(forms, values) for forms in stage.forms]
        if isinstance(stage, Product):
            values.append(_multiplied(*arguments))
        elif isinstance(stage, Polynomial):
            values.append(_polynomial(stage, arguments[0]))
        else:
            values.append(_piecewise(stage, arguments[0]))
    logits = _form(network.readout, values)
    return [fmpq(entry, fmpz(1) << logits.exponent) for entry in logits.entries]


def slope(network: Network, label: int, rival: int) -> list[fmpq]:
    """Return w with f_label(x) − f_rival(x) = w·x + constant; every polynomial is of degree at most one."""
    rows: dict[int, list[fmpq]] = {}
    constant = _constant(network)
    for source, block in network.readout.blocks:
        difference = _sum_of_rows(block, [(label, fmpq(1)), (rival, fmpq(-1))])
        rows[source] = difference
    for place in range(len(network.stages), 0, -1):
        stage, above = network.stages[place - 1], rows.get(place)
        if above is None or place in constant:
            continue
        if not isinstance(stage, Polynomial) or len(stage.coefficients) > 2:
            raise Refused("a hyperplane proof for a network with an activation of degree above one")
        powers = series.in_powers(series.LETTERS[stage.basis], stage.coefficients.tolist())
        factor = powers[1] if len(powers) > 1 else fmpq(0)
        for source, block in stage.form.blocks:
            part = _sum_of_rows(block, [(row, factor * entry) for row, entry in enumerate(above)])
            own = rows.get(source)
            rows[source] = part if own is None else [a + b for a, b in zip(own, part, strict=True)]
    return rows.get(0, [fmpq(0)] * network.dimension)


def _constant(network: Network) -> set[int]:
    """Return the places of polynomial stages that are constant: of degree zero, or of constant stages alone."""
    found: set[int] = set()
    for place, stage in enumerate(network.stages, 1):
        if isinstance(stage, Polynomial):
            sources = {source for source, _ in stage.form.blocks}
            if len(stage.coefficients) <= 1 or sources <= found:
                found.add(place)
    return found


def _sum_of_rows(block: Block, factors: Sequence[tuple[int, fmpq]]) -> list[fmpq]:
    """Return Σ factor · row of the block."""
    total = [fmpq(0)] * block.shape[1]
    bits = max((int(f.p).bit_length() + int(f.q).bit_length() for _, f in factors), default=0)
    spend(_TOUCHED * len(block.weights), bits, _WORK)
    for row, factor in factors:
        for place in range(int(block.starts[row]), int(block.starts[row + 1])):
            weight = fmpq(*float(block.weights[place]).as_integer_ratio())
            total[int(block.columns[place])] += factor * weight
    return total


def _form(forms: Forms, values: Sequence[Fixed]) -> Fixed:
    """Return bias + Σ block @ values."""
    bias, exponent = dyadic(forms.bias)
    parts = [Fixed(bias, exponent)]
    for source, block in forms.blocks:
        parts.append(_image(block, values[source]))
    common = max(part.exponent for part in parts)
    _afford(max(part.bits + common - part.exponent for part in parts), len(forms))
    shifted = [[entry << (common - part.exponent) for entry in part.entries] for part in parts]
    return Fixed([sum(column, fmpz(0)) for column in zip(*shifted, strict=True)], common)


def _image(block: Block, values: Fixed) -> Fixed:
    weights, exponent = dyadic(block.weights)
    rows, columns = block.shape
    length = values.bits + max(int(weight.bit_length()) for weight in weights)
    _afford(length + columns.bit_length(), rows)
    spend(_TOUCHED * len(weights), length, _WORK)
    if 4 * len(weights) > rows * columns:
        entries = [fmpz(0)] * (rows * columns)
        for place, weight in zip((block.rows * columns + block.columns).tolist(), weights, strict=True):
            entries[place] = weight
        image = fmpz_mat(rows, columns, entries) * fmpz_mat(columns, 1, values.entries)
        return Fixed(image.entries(), values.exponent + exponent)
    starts, places = block.starts.tolist(), block.columns.tolist()
    sums = []
    for first, last in pairwise(starts):
        sums.append(sum((weights[k] * values.entries[places[k]] for k in range(first, last)), fmpz(0)))
    return Fixed(sums, values.exponent + exponent)


def _multiplied(left: Fixed, right: Fixed) -> Fixed:
    _afford(left.bits + right.bits, len(left.entries))
    spend(len(left.entries), left.bits + right.bits, _WORK)
    pairs = zip(left.entries, right.entries, strict=True)
    return Fixed([a * b for a, b in pairs], left.exponent + right.exponent)


def _polynomial(stage: Polynomial, z: Fixed) -> Fixed:
    """Evaluate a polynomial by Horner's rule for powers, by the recurrence of the basis for others."""
    letter, (coefficients, own) = series.LETTERS[stage.basis], dyadic(stage.coefficients)
    degree, each = len(coefficients) - 1, series.bits_each(letter, z.exponent)
    growth = max(series.steps(letter, degree)).bit_length()
    length = (z.bits + each + growth) * degree + max(int(c.bit_length()) for c in coefficients)
    _afford(length, len(z.entries))
    spend((1 if letter == "A" else 3) * degree * len(z.entries), length, _WORK)
    if letter == "A":
        return Fixed([_horner(coefficients, entry, z.exponent) for entry in z.entries], each * degree + own)
    results = [series.value(letter, coefficients, entry, z.exponent) for entry in z.entries]
    return Fixed(results, each * degree + own)


def _piecewise(stage: Piecewise, z: Fixed) -> Fixed:
    """Evaluate a piecewise polynomial; at a breakpoint the piece to the right counts."""
    rows, columns = stage.pieces.shape
    table, own = dyadic(stage.pieces.ravel())
    points, scale = dyadic(stage.breakpoints)
    degree, common = columns - 1, max(scale, z.exponent)
    length = (z.bits + z.exponent) * degree + max(int(c.bit_length()) for c in table)
    _afford(max(length, z.bits + common), len(z.entries))
    spend((degree + rows) * len(z.entries), max(length, z.bits + common), _WORK)
    limits, results = [point << (common - scale) for point in points], []
    for entry in z.entries:
        shifted = entry << (common - z.exponent)
        piece = sum(shifted >= limit for limit in limits)
        results.append(_horner(table[piece * columns : (piece + 1) * columns], entry, z.exponent))
    return Fixed(results, z.exponent * degree + own)


def _horner(coefficients: Sequence[Any], z: Any, exponent: int) -> Any:
    """Return Σ c_k (z 2^(−e))^k times 2^(e·degree)."""
    total = coefficients[-1]
    for step, c in enumerate(coefficients[-2::-1], start=1):
        total = total * z + (c << (exponent * step))
    return total


def dyadic(values: Floats) -> tuple[list[Any], int]:
    """Return doubles as integers over one power of two."""
    ratios = [value.as_integer_ratio() for value in values.tolist()]
    exponent = max((q.bit_length() - 1 for _, q in ratios), default=0)
    longest = int(np.frexp(np.abs(values).max(initial=0.0))[1])
    _afford(max(exponent + longest, 1), len(ratios))
    return [fmpz(p << (exponent + 1 - q.bit_length())) for p, q in ratios], exponent


def _afford(bits: int, count: int) -> None:
    if bits > _LONGEST or bits * count > _MOST_BITS:
        raise Refused("the exact logits need more memory than this checker allows; the degree is too high")
