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
        return self.inner.dimension

    @property
    def fingerprint(self) -> str:
        return hashlib.sha256(f"{self.inner.fingerprint} - {self.lead.hex()}".encode()).hexdigest()

    @property
    def radicands(self) -> tuple[int, ...]:
        return self.inner.radicands

    def polynomial(self, variables: list[Expression]) -> Expression:
        return self.inner.polynomial(variables) - self.lead

    def values(self, points: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(self.inner.values(points) - self.lead)

    def noise(self, points: Array) -> Array:
        size = np.abs(self.inner.values(points)) + abs(self.lead)
        return np.asarray(self.inner.noise(points) + EPSILON * size)

    def forms(self) -> tuple[Array, Array] | None:
        return self.inner.forms()

    def active_subspace(self) -> tuple[Array, Source] | None:
        known = self.inner.active_subspace()
        return None if known is None else (known[0], ShiftedSource(known[1], self.lead))

    def centre(self) -> Array:
        return self.inner.centre()

    def on_subspace(self, matrix: Array, offset: Array) -> Source:
        return ShiftedSource(self.inner.on_subspace(matrix, offset), self.lead)
