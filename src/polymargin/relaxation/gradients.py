"""Values, gradients and Hessians of functionals of a network, at many points at once and one functional for each point.

A functional is a form of the inputs and the values of all stages, as f_label − f_rival is. Forward the values; backward the
adjoints y = ∂/∂values, stage by stage:

    product v = l r      y_l += y r,  y_r += y l        ∇² += Jₗᵀ diag(y) Jᵣ + Jᵣᵀ diag(y) Jₗ
    v = σ(z)             y_z += y σ'(z)                 ∇² += J_zᵀ diag(y σ''(z)) J_z

with Jacobians J in a subspace of the inputs. Points are of shape (S, d), Hessians (S, k, k). A piecewise polynomial has the slope
and the curvature of the piece to the right of a breakpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, TypeAlias

import numpy as np
from numpy.polynomial import chebyshev, hermite, hermite_e, legendre, polynomial
from numpy.typing import NDArray
from scipy import sparse

from polymargin.networks.forms import Forms, Operator, dense
from polymargin.networks.network import Network
from polymargin.networks.stages import Piecewise, Polynomial, Product, Stage

Array = NDArray[np.float64]
Rows = NDArray[np.int64]
Derivative: TypeAlias = Callable[[Array], Array]

# Coefficients of a derivative in the basis of the series.
DERIVATIVES: dict[str, Callable[[Any, int], Any]] = {
    "powers": polynomial.polyder,
    "chebyshev": chebyshev.chebder,
    "legendre": legendre.legder,
    "hermite": hermite.hermder,
    "hermite_e": hermite_e.hermeder,
}


@dataclass(frozen=True, eq=False)
class Functionals:
    """Forms of all values behind some stages; the inputs may be replaced by coordinates of them.

    stages     the stages of a network, or the first of them
    forms      for each stage its forms, and last the functionals, one row for each
    """

    stages: tuple[Stage, ...]
    forms: tuple[tuple[LocalForms, ...], ...]

    @classmethod
    def of(cls, stages: Sequence[Stage], functionals: Forms) -> Functionals:
        """Return the functionals behind the stages, in the coordinates of the inputs."""
        forms = [tuple(LocalForms(form.blocks, form.bias) for form in stage.forms) for stage in stages]
        rows = LocalForms(tuple((source, dense(block)) for source, block in functionals.blocks), functionals.bias)
        return cls(tuple(stages), (*forms, (rows,)))

    @classmethod
    def leads(cls, network: Network, label: int, rivals: Sequence[int], abstain: float = 0.0) -> Functionals:
        """Return f_label − f_rival − abstain for each rival."""
        readout, chosen = network.readout, list(rivals)
        blocks = ((source, dense(block[[label]]) - dense(block[chosen])) for source, block in readout.blocks)
        bias = readout.bias[label] - readout.bias[chosen] - abstain
        return cls.of(network.stages, Forms(readout.widths, tuple(blocks), bias))

    def __len__(self) -> int:
        return len(self._rows.bias)

    def along(self, directions: Operator | None) -> Functionals:
        """Return the functionals of z, at the inputs directions @ z; None is the identity."""
        if directions is None:
            return self
        return Functionals(self.stages, tuple(tuple(form.along(directions) for form in group) for group in self.forms))

    def around(self, origin: Array) -> Functionals:
        """Return the functionals of δ, at the inputs origin + δ."""
        return Functionals(self.stages, tuple(tuple(form.around(origin) for form in group) for group in self.forms))

    def at(self, origins: Functionals, origin: Array) -> Functionals:
        """Return these functionals of z at the inputs origin + directions @ z; `origins` are those of the inputs."""
        moved = (
            tuple(LocalForms(own.blocks, form.around(origin).bias) for own, form in zip(group, others, strict=True))
            for group, others in zip(self.forms, origins.forms, strict=True)
        )
        return Functionals(self.stages, tuple(moved))

    @cached_property
    def input_rows(self) -> list[Operator]:
        """Return the blocks through which the inputs matter."""
        return [block for group in self.forms for form in group for source, block in form.blocks if source == 0]

    @cached_property
    def _derivatives(self) -> dict[int, tuple[Derivative, Derivative]]:
        return {i: derivatives(stage) for i, stage in enumerate(self.stages) if not isinstance(stage, Product)}

    @property
    def _rows(self) -> LocalForms:
        return self.forms[-1][0]

    def all_values(self, points: Array) -> Array:
        """Return the values (S, R) of all functionals at points (S, d)."""
        return self._rows(self._forward(points)[0])

    def values(self, points: Array, rows: Rows) -> Array:
        """Return the values (S,) of the functionals with these row numbers (S,) at points (S, d)."""
        return self._total(self._forward(points)[0], rows)

    def gradients(self, points: Array, rows: Rows) -> tuple[Array, Array]:
        """Return values (S,) and gradients (S, d)."""
        values, arguments = self._forward(points)
        return self._total(values, rows), self._backward(values, arguments, rows)[0]

    def hessians(self, points: Array, rows: Rows, basis: Array) -> tuple[Array, Array, Array]:
        """Return values (S,), gradients (S, k) and Hessians (S, k, k) along the columns of a basis (d, k)."""
        values, arguments = self._forward(points)
        adjoints = self._backward(values, arguments, rows)
        result = np.zeros((len(points), basis.shape[1], basis.shape[1]))
        jacobians = [basis.T[None]]
        for number, (stage, z) in enumerate(zip(self.stages, arguments, strict=True)):
            inner = [form.linear(jacobians, (1, basis.shape[1])) for form in self.forms[number]]
            bend = adjoints[number + 1][:, None]
            if isinstance(stage, Product):
                half = (inner[0] * bend) @ np.swapaxes(inner[1], 1, 2)
                result += half + np.swapaxes(half, 1, 2)
                jacobians.append(inner[0] * z[1][:, None] + inner[1] * z[0][:, None])
            else:
                if stage.degree > 1:
                    curvature = bend * self._derivatives[number][1](z[0])[:, None]
                    result += (inner[0] * curvature) @ np.swapaxes(inner[0], 1, 2)
                jacobians.append(inner[0] * self._derivatives[number][0](z[0])[:, None])
        return self._total(values, rows), adjoints[0] @ basis, result

    def _forward(self, points: Array) -> tuple[list[Array], list[list[Array]]]:
        """Return the inputs and values of all stages, and the values of the forms of each stage."""
        values, arguments = [points], []
        for stage, forms in zip(self.stages, self.forms[:-1], strict=True):
            z = [form(values) for form in forms]
            arguments.append(z)
            values.append(z[0] * z[1] if isinstance(stage, Product) else stage.activate(z[0]))
        return values, arguments

    def _total(self, values: list[Array], rows: Rows) -> Array:
        total = self._rows.bias[rows]
        for source, block in self._rows.blocks:
            total = total + np.einsum("ij,ij->i", block[rows], values[source])
        return np.asarray(total)

    def _backward(self, values: list[Array], arguments: list[list[Array]], rows: Rows) -> list[Array]:
        """Return the adjoints of the inputs and of the values of all stages."""
        adjoints = [np.zeros((1, value.shape[1])) for value in values]
        for source, block in self._rows.blocks:
            adjoints[source] = adjoints[source] + block[rows]
        for number in reversed(range(len(self.stages))):
            stage, z, own = self.stages[number], arguments[number], adjoints[number + 1]
            slopes = [z[1], z[0]] if isinstance(stage, Product) else [self._derivatives[number][0](z[0])]
            for form, slope in zip(self.forms[number], slopes, strict=True):
                inner = own * slope
                for source, block in form.transposed:
                    adjoints[source] = adjoints[source] + applied(block, inner)
        return [
            own + np.zeros(v.shape) if own.shape != v.shape else own for own, v in zip(adjoints, values, strict=True)
        ]


@dataclass(frozen=True, eq=False)
class LocalForms:
    """bias + Σ block @ values[source], with coordinates for source 0 that are not those of the inputs."""

    blocks: tuple[tuple[int, Operator], ...]
    bias: Array

    def __call__(self, values: Sequence[Array]) -> Array:
        """Return the forms of the values, bias included."""
        return np.asarray(self.linear(values, values[0].shape[:-1]) + self.bias)

    def linear(self, values: Sequence[Array], shape: tuple[int, ...]) -> Array:
        """Return the forms without bias; zeros of this shape if no block is there."""
        total: Array | None = None
        for source, block in self.blocks:
            part = applied(block, values[source])
            total = part if total is None else total + part
        return np.zeros((*shape, len(self.bias))) if total is None else total

    @cached_property
    def transposed(self) -> list[tuple[int, Operator]]:
        """Return the transposed operators with their sources."""
        return [(source, sparse.csr_array(b.T) if sparse.issparse(b) else b.T) for source, b in self.blocks]

    def along(self, directions: Operator) -> LocalForms:
        """Return the forms with inputs directions @ z."""
        return LocalForms(tuple((s, b @ directions if s == 0 else b) for s, b in self.blocks), self.bias)

    def around(self, origin: Array) -> LocalForms:
        """Return the forms with inputs origin + δ."""
        return LocalForms(self.blocks, sum((b @ origin for s, b in self.blocks if s == 0), self.bias))


def applied(block: Operator, values: Array) -> Array:
    """Return block @ value for values (…, width)."""
    if not sparse.issparse(block):
        return np.asarray(values @ block.T)
    flat = values.reshape(-1, values.shape[-1])
    return np.asarray((block @ flat.T).T.reshape(*values.shape[:-1], block.shape[0]))


def derivatives(stage: Stage) -> tuple[Derivative, Derivative]:
    """Return the first and the second derivative of the activation of a stage, as functions of many arguments."""
    if isinstance(stage, Product):
        raise TypeError("a product has no activation")
    if isinstance(stage, Piecewise):
        first = partial(_of_pieces, stage, _derived(stage.table.T))
        return _steps if stage.is_relu else first, partial(_of_pieces, stage, _derived(_derived(stage.table.T)))
    rows = (np.atleast_1d(DERIVATIVES[stage.basis](np.array(stage.coefficients), order)) for order in (1, 2))
    first, second = (partial(_series, stage, tuple(row.tolist())) for row in rows)
    return first, second


def _series(stage: Polynomial, coefficients: tuple[float, ...], z: Array) -> Array:
    return np.asarray(stage.recurrence.sum(coefficients, z))


def _steps(z: Array) -> Array:
    return np.asarray(z >= 0, dtype=np.float64)


def _of_pieces(stage: Piecewise, table: Array, z: Array) -> Array:
    return np.asarray(polynomial.polyval(z, table[:, stage.numbers(z)], tensor=False))


def _derived(table: Array) -> Array:
    """Return the derivatives of polynomials: a row for each power, a column for each piece."""
    return np.asarray(polynomial.polyder(table) if len(table) > 1 else 0.0 * table)
