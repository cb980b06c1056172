"""The part of a constraint in a program.

A constraint is q(ξ) ≥ 0, or q(ξ) = 0, on the region. Each unknown multiplier y adds −y q, scaled to size one, to the form

    Z(y) = functional − γ − Σ y q = functional − γ + Σ y (squares of rows + a linear row + a diagonal + a dense part).

A constraint class turns a `Space` into such unknowns, and the scaled unknowns back into the multipliers of a certificate. It
knows neither the network nor the norm nor the solver.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Entry: TypeAlias = "str | dict[str, str | list[int]]"
"""A part of a certificate: a number in hexadecimal, doubles in base64, or several of them."""


@dataclass(frozen=True, eq=False)
class Squares:
    """weights (n, h) of the squares of rows (h, size), for n unknowns; rows with the same key are stored once.

    A vector of weights (n,) is a diagonal: unknown i has the square of row i alone.
    """

    key: tuple[str, int]
    rows: Array
    weights: Array


@dataclass(frozen=True, eq=False)
class Unknowns:
    """n unknown multipliers.

    free      any sign is allowed: q = 0
    squares   parts with squares of rows, each for all n
    linear    (n, size): rows ℓ, of which 1·ℓ is added
    diagonal  places (n,) in ξ with 1 on the diagonal for each unknown, or a full diagonal (n, size)
    corner    (n,) added to the constant term
    dense     one symmetric matrix (size, size), for n = 1
    start     (n,) first values, relative to the size of the functional
    """

    count: int
    free: bool = False
    squares: list[Squares] = field(default_factory=list)
    linear: Array | None = None
    places: NDArray[np.int64] | None = None
    diagonal: Array | None = None
    corner: Array | None = None
    dense: Array | None = None
    start: float = 0.1


class Constraint(Protocol):
    """One kind of constraint in a space."""

    name: str

    def unknowns(self) -> Unknowns:
        """Return what the multipliers add to the form."""
        ...

    def entry(self, y: Array) -> Entry | None:
        """Return the multipliers of a certificate; None if all are zero."""
        ...
