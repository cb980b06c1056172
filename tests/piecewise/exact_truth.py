"""Nearest ties of small piecewise networks in rational arithmetic, sharing no code with the package.

`on_a_line` takes one input and any spline: between neighbouring breakpoints the difference of two logits is one rational
polynomial, whose roots are isolated. `in_the_plane` takes two inputs and piecewise linear activations: the nearest tie is the
point itself, its projection to a line or where two lines meet, the lines being those of the breakpoints and, region by region,
of the ties; all are tried in exact arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, pairwise, product

import flint
import numpy as np

from polymargin.networks import Network

Line = tuple[Fraction, Fraction, Fraction]  # a x + b y = c
Polynomial = list[Fraction]


def _rational(array: np.ndarray) -> list:
    return [_rational(row) for row in array] if array.ndim else Fraction(float(array))


class ExactNetwork:
    """Weights, breakpoints and pieces as fractions."""

    def __init__(self, network: Network) -> None:
        (self.first, self.shift), (self.last, self.bias) = [
            (_rational(layer.weights), _rational(layer.bias)) for layer in network.chain.layers
        ]
        self.breaks = [Fraction(value) for value in network.stages[0].breakpoints]
        self.pieces = [[Fraction(value) for value in piece] for piece in network.stages[0].pieces]

    def piece(self, value: Fraction) -> Polynomial:
        return self.pieces[sum(value >= place for place in self.breaks)]

    def hidden(self, point: list[Fraction]) -> list[Fraction]:
        return [
            sum((w * x for w, x in zip(row, point, strict=True)), shift)
            for row, shift in zip(self.first, self.shift, strict=True)
        ]

    def logits(self, point: list[Fraction]) -> list[Fraction]:
        values = [sum(c * z**k for k, c in enumerate(self.piece(z))) for z in self.hidden(point)]
        return [
            sum((w * value for w, value in zip(row, values, strict=True)), bias)
            for row, bias in zip(self.last, self.bias, strict=True)
        ]


def on_a_line(network: Network, u: float) -> float:
    """The distance from u to the nearest input at which another class ties or wins; inf if there is none."""
    exact, centre = ExactNetwork(network), Fraction(u)
    logits = exact.logits([centre])
    label = logits.index(max(logits))
    walls = sorted(
        {
            (place - shift) / row[0]
            for row, shift in zip(exact.first, exact.shift, strict=True)
            if row[0]
            for place in exact.breaks
        }
    )
    best: Fraction | None = None
    ends = [None, *walls, None]
    for left, right in pairwise(ends):
        middle = _between(left, right)
        for rival in range(len(logits)):
            if rival != label:
                for place in _ties(_difference(exact, middle, label, rival), left, right, centre):
                    best = abs(place - centre) if best is None else min(best, abs(place - centre))
    return math.inf if best is None else float(best)


def _between(left: Fraction | None, right: Fraction | None) -> Fraction:
    if left is None or right is None:
        return right - 1 if right is not None else left + 1 if left is not None else Fraction(0)
    return (left + right) / 2


def _difference(exact: ExactNetwork, middle: Fraction, label: int, rival: int) -> flint.fmpq_poly:
    """f_label − f_rival as a polynomial in x on the interval around `middle`."""
    x = flint.fmpq_poly([0, 1])
    total = flint.fmpq_poly([_q(exact.bias[label] - exact.bias[rival])])
    for j, value in enumerate(exact.hidden([middle])):
        z = _q(exact.first[j][0]) * x + _q(exact.shift[j])
        inner = flint.fmpq_poly([0])
        for coefficient in reversed(exact.piece(value)):
            inner = inner * z + _q(coefficient)
        total += _q(exact.last[label][j] - exact.last[rival][j]) * inner
    return total


def _ties(
    difference: flint.fmpq_poly, left: Fraction | None, right: Fraction | None, centre: Fraction
) -> Iterator[Fraction]:
    """Candidates for the nearest place in [left, right] where the difference is not positive, irrational ones to 60 digits."""
    nearest = centre
    nearest = nearest if left is None else max(nearest, left)
    nearest = nearest if right is None else min(nearest, right)
    if _at(difference, nearest) <= 0:
        yield nearest
        return
    for root in _real_roots(difference):
        if (left is None or root >= left) and (right is None or root <= right):
            yield root


def _real_roots(polynomial: flint.fmpq_poly) -> Iterator[Fraction]:
    if polynomial.degree() < 1:
        return
    before, flint.ctx.prec = flint.ctx.prec, 300
    try:
        for factor, _ in flint.fmpz_poly(polynomial.numer()).factor()[1]:
            if factor.degree() == 1:
                yield Fraction(-int(factor[0]), int(factor[1]))
                continue
            for root, _ in factor.complex_roots():
                if root.imag == 0:
                    mantissa, exponent = root.real.mid().man_exp()
                    yield Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
    finally:
        flint.ctx.prec = before


def _at(polynomial: flint.fmpq_poly, place: Fraction) -> Fraction:
    value = polynomial(_q(place))
    return Fraction(int(value.p), int(value.q))


def _q(value: Fraction) -> flint.fmpq:
    return flint.fmpq(value.numerator, value.denominator)


def in_the_plane(network: Network, u: np.ndarray) -> float:
    """As `on_a_line` for two inputs and pieces of degree at most one."""
    exact, centre = ExactNetwork(network), [Fraction(value) for value in u.tolist()]
    logits = exact.logits(centre)
    label = logits.index(max(logits))
    walls = [
        (row[0], row[1], place - shift)
        for row, shift in zip(exact.first, exact.shift, strict=True)
        if any(row)
        for place in exact.breaks
    ]
    best: Fraction | None = None
    for rival in range(len(logits)):
        if rival == label:
            continue
        for point in _candidates(exact, walls, centre, label, rival):
            found = exact.logits(point)
            if found[rival] >= found[label]:
                square = sum(((a - b) ** 2 for a, b in zip(point, centre, strict=True)), Fraction(0))
                best = square if best is None else min(best, square)
    return math.inf if best is None else math.sqrt(best)


def _candidates(
    exact: ExactNetwork, walls: list[Line], centre: list[Fraction], label: int, rival: int
) -> Iterator[list[Fraction]]:
    corners = [point for pair in combinations(walls, 2) if (point := _meet(*pair)) is not None]
    yield centre
    yield from (_foot(line, centre) for line in walls)
    yield from corners
    for line in _tie_lines(exact, label, rival):
        yield _foot(line, centre)
        yield from (point for wall in walls if (point := _meet(line, wall)) is not None)


def _tie_lines(exact: ExactNetwork, label: int, rival: int) -> set[Line]:
    """The lines {B = 0} of all combinations of pieces; those of combinations that occur nowhere do no harm."""
    lines = set()
    factors = [a - b for a, b in zip(exact.last[label], exact.last[rival], strict=True)]
    for choice in product(exact.pieces, repeat=len(factors)):
        a = b = Fraction(0)
        c = exact.bias[label] - exact.bias[rival]
        for factor, piece, row, shift in zip(factors, choice, exact.first, exact.shift, strict=True):
            constant, slope = (*piece, Fraction(0))[:2]
            a, b, c = a + factor * slope * row[0], b + factor * slope * row[1], c + factor * (constant + slope * shift)
        if a or b:
            lines.add((a, b, -c))
    return lines


def _foot(line: Line, centre: list[Fraction]) -> list[Fraction]:
    a, b, c = line
    step = (c - a * centre[0] - b * centre[1]) / (a * a + b * b)
    return [centre[0] + step * a, centre[1] + step * b]


def _meet(first: Line, second: Line) -> list[Fraction] | None:
    (a, b, c), (d, e, f) = first, second
    determinant = a * e - b * d
    return None if determinant == 0 else [(c * e - b * f) / determinant, (a * f - c * d) / determinant]
