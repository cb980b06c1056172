"""A polynomial in several variables from its values.

The nodes are the points offset + i with i₁ + … + i_n ≤ degree: as many as a polynomial of that degree has coefficients. Newton's
divided differences along one axis after another give the coefficients in the basis ∏ (u_k − x_0)…(u_k − x_{i_k − 1}), and going
backwards through the nodes turns that into powers, again axis by axis. All in rational arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import flint

Exponents = tuple[int, ...]


def interpolate(values: Mapping[Exponents, Any], degree: int, offset: Sequence[Any]) -> dict[Exponents, Any]:
    """Return the exponents and coefficients of the polynomial with values[i] at offset + i for all i in the simplex.

    >>> values = {(i, j): flint.fmpq(3 * i * j - 2 * j**2 + 5) for i, j in simplex(2, 2)}
    >>> interpolate(values, 2, [flint.fmpq(0)] * 2)
    {(0, 0): 5, (0, 2): -2, (1, 1): 3}
    """
    table = dict(values)
    for change in (_divided_differences, _to_powers):
        for axis, start in enumerate(offset):
            for line in _lines(len(offset), axis, degree):
                entries = [table[index] for index in line]
                change(entries, start)
                table.update(zip(line, entries, strict=True))
    return {index: coefficient for index, coefficient in table.items() if coefficient != 0}


def simplex(dimension: int, degree: int) -> Iterator[Exponents]:
    """Yield all exponents of total degree at most `degree`."""
    if dimension == 0:
        yield ()
        return
    for first in range(degree + 1):
        for rest in simplex(dimension - 1, degree - first):
            yield (first, *rest)


def _lines(dimension: int, axis: int, degree: int) -> Iterator[list[Exponents]]:
    """Yield the simplex cut into lines along an axis."""
    for rest in simplex(dimension - 1, degree):
        yield [(*rest[:axis], i, *rest[axis:]) for i in range(degree - sum(rest) + 1)]


def _divided_differences(entries: list[Any], _: Any) -> None:
    """Replace values by divided differences, for nodes one apart."""
    for order in range(1, len(entries)):
        for i in range(len(entries) - 1, order - 1, -1):
            entries[i] = (entries[i] - entries[i - 1]) / order


def _to_powers(entries: list[Any], start: Any) -> None:
    """Replace coefficients in Newton's basis with nodes start, start + 1, … by those of powers."""
    for k in range(len(entries) - 2, -1, -1):
        node = start + flint.fmpq(k)
        for i in range(k, len(entries) - 1):
            entries[i] = entries[i] - node * entries[i + 1]
