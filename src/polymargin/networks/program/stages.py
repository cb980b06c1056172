"""The steps of a program: each computes a block of new values from affine forms of all earlier ones.

A `Product` multiplies two forms entry by entry. An `Activation` puts one polynomial on every form, written in powers of z or in
another basis with a three-term recurrence (`recurrences.py`); a series stays in the basis it came in. A Chebyshev polynomial T_k
is of size one on [−1, 1] where its coefficients of powers are as large as 2^(k−1): expanded, a degree of 60 has no digit left.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.errors import InputError
from polymargin.networks.program.forms import Forms
from polymargin.networks.program.recurrences import POWERS, Recurrence, basis_named
from polymargin.polynomials import exact

LARGEST_DEGREE = 127


@dataclass(frozen=True, eq=False)
class Product:
    """left(v) · right(v), entry by entry."""

    left: Forms
    right: Forms

    def __post_init__(self) -> None:
        if len(self.left) != len(self.right) or self.left.width != self.right.width:
            raise InputError(
                f"a product of {len(self.left)} forms of {self.left.width} values and {len(self.right)} forms of "
                f"{self.right.width} values; expected as many of each"
            )

    def __len__(self) -> int:
        return len(self.left)

    @property
    def forms(self) -> tuple[Forms, ...]:
        return self.left, self.right

    def __call__(self, values: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(self.left(values) * self.right(values))

    def degrees(self, before: NDArray[np.int64]) -> NDArray[np.int64]:
        """Degrees of the new values in the input, if nothing cancels."""
        return degrees_of(self.left, before) + degrees_of(self.right, before)


@dataclass(frozen=True, eq=False)
class Activation:
    """σ(form(v)), entry by entry, with σ = Σ c_k P_k(z) in one of the bases: powers, chebyshev, legendre, hermite, hermite_e."""

    form: Forms
    coefficients: tuple[float, ...]
    basis: str = POWERS.name

    def __post_init__(self) -> None:
        basis_named(self.basis)
        if not 2 <= len(self.coefficients) <= LARGEST_DEGREE + 1 or self.coefficients[-1] == 0.0:
            raise InputError(
                f"an activation with {len(self.coefficients)} coefficients; expected 2 to {LARGEST_DEGREE + 1}, the last not 0"
            )
        if not np.isfinite(self.coefficients).all():
            raise InputError("a coefficient of an activation is not finite; every one must be a finite number")

    def __len__(self) -> int:
        return len(self.form)

    @property
    def recurrence(self) -> Recurrence:
        return basis_named(self.basis)

    @property
    def degree(self) -> int:
        return len(self.coefficients) - 1

    @property
    def forms(self) -> tuple[Forms, ...]:
        return (self.form,)

    def __call__(self, values: NDArray[Any]) -> NDArray[Any]:
        z = self.form(values)
        numbers = self.coefficients if z.dtype != object else tuple(exact(c) for c in self.coefficients)
        return self.recurrence.sum(numbers, z)

    def degrees(self, before: NDArray[np.int64]) -> NDArray[np.int64]:
        return self.degree * degrees_of(self.form, before)


Stage = Product | Activation


def degrees_of(forms: Forms, before: NDArray[np.int64]) -> NDArray[np.int64]:
    """The degree of each form: that of its highest value."""
    result = np.zeros(len(forms), dtype=np.int64)
    rows = np.repeat(np.arange(len(forms)), np.diff(forms.starts))
    np.maximum.at(result, rows, before[forms.columns])
    return result
