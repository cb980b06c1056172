"""Sources of boundary polynomials: networks, expressions, affine substitutions.

A source can write its polynomial on symbolic scalars, evaluate it on points, and say which directions
it can depend on at most. That is all the later stages ask.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from polymargin.errors import InputError
from polymargin.networks.network import Network
from polymargin.polynomials import Expression, Graph, evaluate, flatten, parse_polynomial, variable_names
from polymargin.polynomials.roots import radicands
from polymargin.polynomials.steps import LinearStep

Array = NDArray[np.float64]
Matrix: TypeAlias = tuple[tuple[Fraction, ...], ...]

EPSILON = float(np.finfo(np.float64).eps)
# Directions in which the first layer is this much weaker than in its strongest one do not draw the centre: it would go far away.
WEAK_DIRECTION = 1e-3


class Source(Protocol):
    """A polynomial in `dimension` variables."""

    @property
    def dimension(self) -> int:
        """Return the number of variables."""
        ...

    @property
    def fingerprint(self) -> str:
        """Return a hash that changes whenever a coefficient changes by one ulp."""
        ...

    @property
    def radicands(self) -> tuple[int, ...]:
        """Return the numbers under square roots among the coefficients; empty if all of them are rational."""
        ...

    def polynomial(self, variables: list[Expression]) -> Expression:
        """Return the polynomial on symbolic scalars."""
        ...

    def values(self, points: NDArray[Any]) -> NDArray[Any]:
        """Return the polynomial at points (…, n) in floating point."""
        ...

    def noise(self, points: Array) -> Array:
        """Return a bound for the rounding errors of `values` at real points (…, n); infinite where none is known."""
        ...

    def forms(self) -> tuple[Array, Array] | None:
        """Return weights (h, n) and bias (h,) of affine forms through which the polynomial sees x; None if unknown."""
        ...

    def active_subspace(self) -> tuple[Array, Source] | None:
        """Return an orthonormal basis (n, m) of the active subspace and the polynomial on it; None if unknown."""
        ...

    def centre(self) -> Array:
        """Return a point around which the polynomial is well scaled."""
        ...

    def on_subspace(self, matrix: Array, offset: Array) -> Source:
        """Return the polynomial y ↦ B(offset + matrix @ y)."""
        ...


@dataclass(frozen=True, eq=False)
class NetworkSource:
    """B = f_label − f_rival."""

    network: Network
    label: int
    rival: int

    def __post_init__(self) -> None:
        if not self.network.is_polynomial:
            raise InputError(f"{self.network!r} is piecewise; a boundary polynomial needs polynomial activations")
        for name, index in (("label", self.label), ("rival", self.rival)):
            if not 0 <= index < self.network.class_count:
                raise InputError(f"{name} {index}: the network has classes 0 to {self.network.class_count - 1}")
        if self.label == self.rival:
            raise InputError(f"label and rival are both {self.label}; a boundary lies between two classes")

    @property
    def dimension(self) -> int:
        """Return the number of variables."""
        return self.network.dimension

    @property
    def fingerprint(self) -> str:
        """Return a hash that changes with every coefficient."""
        return f"{self.network.fingerprint}:{self.label}:{self.rival}"

    @property
    def radicands(self) -> tuple[int, ...]:
        """Return the numbers under square roots among the coefficients."""
        return ()

    def polynomial(self, variables: list[Expression]) -> Expression:
        """Return B on symbolic scalars."""
        both = self.network.logits(np.array(variables, dtype=object))
        difference: Expression = both[self.label] - both[self.rival]
        return difference

    def values(self, points: NDArray[Any]) -> NDArray[Any]:
        """Return B at points (…, n) in floating point."""
        logits = self.network.logits(points)
        return np.asarray(logits[..., self.label] - logits[..., self.rival])

    def noise(self, points: Array) -> Array:
        """Return a bound for the rounding errors of `values` at real points (…, n)."""
        with np.errstate(over="ignore", invalid="ignore"):
            errors = self.network.rounding_errors(points)
            # Each logit is off by its error, and their difference is rounded once more.
            return np.asarray((1 + EPSILON) * (errors[..., self.label] + errors[..., self.rival]))

    def forms(self) -> tuple[Array, Array] | None:
        """Return the affine forms through which the polynomial depends on x; None if unknown."""
        forms = self.network.input_forms
        return forms.weights, forms.bias

    def active_subspace(self) -> tuple[Array, Source] | None:
        """Return an orthonormal basis of the active subspace and the polynomial on it; None if unknown."""
        known = self.network.active_subspace(self.label, self.rival)
        return None if known is None else (known[0], NetworkSource(known[1], self.label, self.rival))

    def centre(self) -> Array:
        """Return a point around which the polynomial is well scaled."""
        # Where the forms have the smallest values: W x + b ≈ 0, as far as strong directions can make them so.
        forms = self.network.input_forms
        return np.asarray(np.linalg.lstsq(forms.weights, -forms.bias, rcond=WEAK_DIRECTION)[0])

    def on_subspace(self, matrix: Array, offset: Array) -> NetworkSource:
        """Return the polynomial y ↦ B(offset + matrix @ y)."""
        return NetworkSource(self.network.precompose(matrix, offset), self.label, self.rival)


class PlainSource(Protocol):
    """A source without knowledge of the structure of its polynomial."""

    @property
    def dimension(self) -> int:
        """Return the number of variables."""
        ...

    def forms(self) -> tuple[Array, Array] | None:
        """Return the affine forms through which the polynomial depends on x; None if unknown."""
        return None

    def active_subspace(self) -> tuple[Array, Source] | None:
        """Return None: the active subspace is unknown."""
        return None

    def centre(self) -> Array:
        """Return a point around which the polynomial is well scaled."""
        return np.zeros(self.dimension)


class ExpressionSource(PlainSource):
    """A polynomial given as text or as a SymPy expression; `fixed` has exact values for some of its names."""

    def __init__(self, source: Any, variables: Any = None, fixed: Mapping[str, Fraction] | None = None) -> None:
        self.text = str(source)
        self.fixed = dict(fixed or {})
        self.names = variable_names(source, variables)
        self._source = source
        graph = Graph()
        polynomial = self.polynomial(graph.inputs(len(self.names)))
        self._degree = max(graph.degree(polynomial), 1)
        self._program = flatten(graph, [polynomial])

    @property
    def dimension(self) -> int:
        """Return the number of variables."""
        return len(self.names)

    @property
    def fingerprint(self) -> str:
        """Return a hash that changes with every coefficient."""
        program = self._program
        exact = repr((program.steps, program.constants, program.values, program.input_count))
        return hashlib.sha256(exact.encode()).hexdigest()

    @property
    def radicands(self) -> tuple[int, ...]:
        """Return the numbers under square roots among the coefficients."""
        return radicands(self._program.constants)

    def polynomial(self, variables: list[Expression]) -> Expression:
        """Return B on symbolic scalars."""
        graph = variables[0].graph
        names = {name: graph.constant(value) for name, value in self.fixed.items()}
        return parse_polynomial(self._source, graph, names | dict(zip(self.names, variables, strict=True)))

    def values(self, points: NDArray[Any]) -> NDArray[Any]:
        """Return B at points (…, n) in floating point."""
        value = evaluate(self._program, list(np.moveaxis(points, -1, 0)))[0]
        return np.broadcast_to(value, points.shape[:-1])

    def noise(self, points: Array) -> Array:
        """Return a bound for the rounding errors of `values` at real points (…, n)."""
        program = self._program
        sizes = evaluate(program, list(np.moveaxis(np.abs(points), -1, 0)), lift=lambda number: abs(float(number)))[0]
        # Every result has passed through at most this many roundings, counted for each of the factors it consists of.
        roundings = self._degree * sum(
            len(step.arguments) + 2 if isinstance(step, LinearStep) else 2 for step in program.steps
        )
        return np.broadcast_to((roundings + 1) * EPSILON * np.asarray(sizes), points.shape[:-1])

    def on_subspace(self, matrix: Array, offset: Array) -> Source:
        """Return the polynomial y ↦ B(offset + matrix @ y)."""
        return AffineSource.of(self, matrix, offset)


@dataclass(frozen=True, eq=False)
class AffineSource(PlainSource):
    """Another source after an affine change of variables that is exact: rational numbers, not floats."""

    inner: Source
    matrix: Matrix
    offset: tuple[Fraction, ...]

    @classmethod
    def of(cls, inner: Source, matrix: Array, offset: Array) -> AffineSource:
        """Return the polynomial y ↦ B(offset + matrix @ y) with exact entries."""
        rows = tuple(tuple(Fraction(entry) for entry in row) for row in matrix.tolist())
        return cls(inner, rows, tuple(Fraction(entry) for entry in offset.tolist()))

    @property
    def dimension(self) -> int:
        """Return the number of variables."""
        return len(self.matrix[0])

    @property
    def fingerprint(self) -> str:
        """Return a hash that changes with every coefficient."""
        return hashlib.sha256(repr((self.inner.fingerprint, self.matrix, self.offset)).encode()).hexdigest()

    @property
    def radicands(self) -> tuple[int, ...]:
        """Return the numbers under square roots among the coefficients."""
        return self.inner.radicands

    @cached_property
    def _floats(self) -> tuple[Array, Array]:
        return np.array(self.matrix, dtype=np.float64), np.array(self.offset, dtype=np.float64)

    def polynomial(self, variables: list[Expression]) -> Expression:
        """Return B on symbolic scalars."""
        graph = variables[0].graph
        rows = zip(self.matrix, self.offset, strict=True)
        return self.inner.polynomial([graph.linear(row, variables, constant) for row, constant in rows])

    def values(self, points: NDArray[Any]) -> NDArray[Any]:
        """Return B at points (…, n) in floating point."""
        matrix, offset = self._floats
        return self.inner.values(points @ matrix.T + offset)

    def noise(self, points: Array) -> Array:
        """Return a bound for the rounding errors of `values` at real points (…, n)."""
        return np.full(points.shape[:-1], np.inf)

    def on_subspace(self, matrix: Array, offset: Array) -> Source:
        """Return the polynomial y ↦ B(offset + matrix @ y)."""
        after = AffineSource.of(self, matrix, offset)
        columns = tuple(zip(*after.matrix, strict=True))
        product = tuple(tuple(_dot(row, column) for column in columns) for row in self.matrix)
        moved = tuple(o + _dot(row, after.offset) for row, o in zip(self.matrix, self.offset, strict=True))
        return AffineSource(self.inner, product, moved)


def _dot(first: tuple[Fraction, ...], second: tuple[Fraction, ...]) -> Fraction:
    return sum((a * b for a, b in zip(first, second, strict=True) if a and b), Fraction(0))
