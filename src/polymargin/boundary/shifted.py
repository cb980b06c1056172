"""A boundary that has to be crossed by more than zero: B − lead."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.boundary.sources import EPSILON, Array, Source
from polymargin.polynomials import Expression


@dataclass(frozen=True, eq=False)
class ShiftedSource:
    """B − lead for a B that some other source knows."""

    inner: Source
    lead: float

    @property
    def dimension(self) -> int:
        """Return the number of variables."""
        return self.inner.dimension

    @property
    def fingerprint(self) -> str:
        """Return a hash that changes with every coefficient."""
        return hashlib.sha256(f"{self.inner.fingerprint} - {self.lead.hex()}".encode()).hexdigest()

    @property
    def radicands(self) -> tuple[int, ...]:
        """Return the numbers under square roots among the coefficients."""
        return self.inner.radicands

    def polynomial(self, variables: list[Expression]) -> Expression:
        """Return B on symbolic scalars."""
        return self.inner.polynomial(variables) - self.lead

    def values(self, points: NDArray[Any]) -> NDArray[Any]:
        """Return B at points (…, n) in floating point."""
        return np.asarray(self.inner.values(points) - self.lead)

    def noise(self, points: Array) -> Array:
        """Return a bound for the rounding errors of `values` at real points (…, n)."""
        size = np.abs(self.inner.values(points)) + abs(self.lead)
        return np.asarray(self.inner.noise(points) + EPSILON * size)

    def forms(self) -> tuple[Array, Array] | None:
        """Return the affine forms through which the polynomial depends on x; None if unknown."""
        return self.inner.forms()

    def active_subspace(self) -> tuple[Array, Source] | None:
        """Return an orthonormal basis of the active subspace and the polynomial on it; None if unknown."""
        known = self.inner.active_subspace()
        return None if known is None else (known[0], ShiftedSource(known[1], self.lead))

    def centre(self) -> Array:
        """Return a point around which the polynomial is well scaled."""
        return self.inner.centre()

    def on_subspace(self, matrix: Array, offset: Array) -> Source:
        """Return the polynomial y ↦ B(offset + matrix @ y)."""
        return ShiftedSource(self.inner.on_subspace(matrix, offset), self.lead)
