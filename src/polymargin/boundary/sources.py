"""Where a boundary polynomial comes from.

A source can write its polynomial on symbolic scalars, evaluate it on points, and say which directions
it can depend on at most. That is all the later stages ask.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from polymargin.errors import InputError
from polymargin.networks.network import LogitMap
from polymargin.polynomials import Expression, Graph, evaluate, flatten, parse_polynomial, variable_names

Array = NDArray[np.float64]


class Source(Protocol):
    """A polynomial in `dimension` variables."""

    @property
    def dimension(self) -> int: ...

    @property
    def fingerprint(self) -> str:
        """Changes whenever a coefficient changes by one ulp."""
        ...

    def polynomial(self, variables: list[Expression]) -> Expression:
        """The polynomial on symbolic scalars."""
        ...

    def values(self, points: NDArray[Any]) -> NDArray[Any]:
        """The polynomial at points (…, n) in floating point."""
        ...

    def directions(self) -> Array | None:
        """Rows that span every direction the polynomial can depend on; None where nothing is known."""
        ...

    def active_subspace(self) -> tuple[Array, Source] | None:
        """An orthonormal basis (n, m) of what the polynomial depends on, and the polynomial on it, where its maker knows."""
        ...

    def center(self) -> Array:
        """A point around which the polynomial is well scaled."""
        ...

    def on_subspace(self, matrix: Array, offset: Array) -> Source:
        """The polynomial y ↦ B(offset + matrix @ y)."""
        ...


@dataclass(frozen=True, eq=False)
class NetworkSource:
    """B = f_label − f_rival."""

    network: LogitMap
    label: int
    rival: int

    def __post_init__(self) -> None:
        for name, index in (("label", self.label), ("rival", self.rival)):
            if not 0 <= index < self.network.class_count:
                raise InputError(f"{name} {index}: the network has classes 0 to {self.network.class_count - 1}")
        if self.label == self.rival:
            raise InputError(f"label and rival are both {self.label}; a boundary lies between two classes")

    @property
    def dimension(self) -> int:
        return self.network.dimension

    @property
    def fingerprint(self) -> str:
        return f"{self.network.fingerprint}:{self.label}:{self.rival}"

    def polynomial(self, variables: list[Expression]) -> Expression:
        both = self.network.logits(np.array(variables, dtype=object))
        return both[self.label] - both[self.rival]  # type: ignore[no-any-return]

    def values(self, points: NDArray[Any]) -> NDArray[Any]:
        logits = self.network.logits(points)
        return np.asarray(logits[..., self.label] - logits[..., self.rival])

    def directions(self) -> Array | None:
        return self.network.forms.weights

    def active_subspace(self) -> tuple[Array, Source] | None:
        known = self.network.active_subspace(self.label, self.rival)
        return None if known is None else (known[0], NetworkSource(known[1], self.label, self.rival))

    def center(self) -> Array:
        # Where the forms have the smallest values: W x + b ≈ 0.
        forms = self.network.forms
        return np.asarray(np.linalg.lstsq(forms.weights, -forms.bias, rcond=None)[0])

    def on_subspace(self, matrix: Array, offset: Array) -> NetworkSource:
        return NetworkSource(self.network.precompose(matrix, offset), self.label, self.rival)


class ExpressionSource:
    """A polynomial given as text or as a SymPy expression."""

    def __init__(self, source: Any, variables: Any = None) -> None:
        self.text = str(source)
        self.names = variable_names(source, variables)
        self._source = source
        graph = Graph()
        inputs = graph.inputs(len(self.names))
        self._program = flatten(graph, [self.polynomial(inputs)])

    @property
    def dimension(self) -> int:
        return len(self.names)

    @property
    def fingerprint(self) -> str:
        program = self._program
        exact = repr((program.steps, program.constants, program.values, program.input_count))
        return hashlib.sha256(exact.encode()).hexdigest()

    def polynomial(self, variables: list[Expression]) -> Expression:
        return parse_polynomial(self._source, variables[0].graph, dict(zip(self.names, variables, strict=True)))

    def values(self, points: NDArray[Any]) -> NDArray[Any]:
        value = evaluate(self._program, list(np.moveaxis(points, -1, 0)))[0]
        return np.broadcast_to(value, points.shape[:-1])

    def directions(self) -> Array | None:
        return None

    def active_subspace(self) -> None:
        return None

    def center(self) -> Array:
        return np.zeros(self.dimension)

    def on_subspace(self, matrix: Array, offset: Array) -> Source:
        return AffineSource(self, matrix, offset)


@dataclass(frozen=True, eq=False)
class AffineSource:
    """Another source after an affine change of variables."""

    inner: Source
    matrix: Array
    offset: Array

    @property
    def dimension(self) -> int:
        return int(self.matrix.shape[1])

    @property
    def fingerprint(self) -> str:
        digest = hashlib.sha256(self.inner.fingerprint.encode())
        digest.update(np.ascontiguousarray(self.matrix, dtype="<f8").tobytes())
        digest.update(np.ascontiguousarray(self.offset, dtype="<f8").tobytes())
        return digest.hexdigest()

    def polynomial(self, variables: list[Expression]) -> Expression:
        graph = variables[0].graph
        rows = zip(self.matrix.tolist(), self.offset.tolist(), strict=True)
        return self.inner.polynomial([graph.linear(row, variables, constant) for row, constant in rows])

    def values(self, points: NDArray[Any]) -> NDArray[Any]:
        return self.inner.values(points @ self.matrix.T + self.offset)

    def directions(self) -> Array | None:
        inner = self.inner.directions()
        return None if inner is None else inner @ self.matrix

    def active_subspace(self) -> None:
        return None

    def center(self) -> Array:
        return np.zeros(self.dimension)

    def on_subspace(self, matrix: Array, offset: Array) -> Source:
        return AffineSource(self.inner, self.matrix @ matrix, self.offset + self.matrix @ offset)
