"""Affine forms of the inputs and of the values of earlier stages.

    forms(v) = bias + Σ_s operator_s @ v_s,        source 0: the inputs,   source k: the values of stage k.

A block is a dense matrix, or a sparse one where at most a quarter of it is nonzero: those of convolutions and of pooling are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polymargin.errors import InputError
from polymargin.polynomials import Expression, exact

Array = NDArray[np.float64]
Operator: TypeAlias = Any
"""A dense matrix, or a scipy.sparse.csr_array, which has no types."""

# The largest share of nonzero entries of a block that is stored as a sparse matrix.
SPARSE = 0.25


@dataclass(frozen=True, eq=False)
class Forms:
    """Forms bias + Σ operator @ values[source], one for each entry of the bias.

    widths   numbers of values in the sources that the forms may use: the inputs, then each stage so far
    blocks   pairs (source, operator), operators of shape (forms, widths[source]), sources rising; zero blocks are left out
    bias     (forms,)

    >>> forms = Forms((2, 1), ((0, [[1.0, 2.0]]), (1, [[-1.0]])), [0.5])
    >>> forms([np.array([1.0, 1.0]), np.array([3.0])])
    array([0.5])
    """

    widths: tuple[int, ...]
    blocks: tuple[tuple[int, Operator], ...]
    bias: Array

    def __post_init__(self) -> None:
        widths = tuple(int(width) for width in self.widths)
        bias = _frozen(np.asarray(self.bias, dtype=np.float64))
        blocks = [(int(source), stored(block)) for source, block in self.blocks]
        sources = [source for source, _ in blocks]
        if sources != sorted(set(sources)) or not all(0 <= source < len(widths) for source in sources):
            raise InputError(f"blocks of the sources {sources}; expected rising numbers from 0 to {len(widths) - 1}")
        for source, block in blocks:
            if bias.ndim != 1 or block.shape != (len(bias), widths[source]):
                raise InputError(
                    f"{block.shape[0]} forms of {block.shape[1]} values with a bias of shape {bias.shape}; expected one number "
                    f"for each form, and the {widths[source]} values of source {source}"
                )
        if not all(np.isfinite(part).all() for part in (bias, *(entries(block) for _, block in blocks))):
            raise InputError("a weight or a bias of a form is not finite; every one must be a finite number")
        object.__setattr__(self, "widths", widths)
        object.__setattr__(self, "blocks", tuple((source, block) for source, block in blocks if count(block)))
        object.__setattr__(self, "bias", bias)

    @classmethod
    def of(cls, matrix: Any, bias: Any = None, widths: Sequence[int] | None = None) -> Forms:
        """Return the forms of one matrix (forms, all values), dense or sparse; `widths` are the sizes of the sources.

        Without widths all values are one source; a network divides it among its inputs and stages.

        >>> Forms.of([[1.0, 2.0, -1.0]], [0.5], widths=(2, 1)).blocks[1][1]
        array([[-1.]])
        """
        rows = sparse.csr_array(matrix) if sparse.issparse(matrix) else np.asarray(matrix, dtype=np.float64)
        if rows.ndim != 2:
            raise InputError(f"a matrix of shape {rows.shape}; expected one row for each form")
        parts = (rows.shape[1],) if widths is None else tuple(widths)
        if sum(parts) != rows.shape[1]:
            raise InputError(f"a matrix of {rows.shape[1]} columns for sources of {parts} values")
        starts = np.cumsum([0, *parts]).tolist()
        blocks = ((source, rows[:, starts[source] : starts[source + 1]]) for source in range(len(parts)))
        return cls(parts, tuple(blocks), np.zeros(rows.shape[0]) if bias is None else bias)

    def __len__(self) -> int:
        return len(self.bias)

    @property
    def width(self) -> int:
        """Number of values in all sources."""
        return sum(self.widths)

    def __call__(self, values: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """Return the forms at values[source] of shape (…, widths[source]).

        The values are floats, or object arrays of one axis that hold symbolic scalars or Fractions.
        """
        if values[0].dtype == object:
            return self._of_objects(values)
        total = self.linear(values)
        total += self.bias  # in place: another array of that size would take longer than the sum
        return total

    def linear(self, values: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """Return the forms without bias, at floats."""
        shape = (*values[0].shape[:-1], len(self))
        total: NDArray[Any] | None = None
        for source, block in self.blocks:
            if sparse.issparse(block):
                flat = values[source].reshape(-1, self.widths[source])
                part = (block @ flat.T).T.reshape(shape)
            else:
                part = values[source] @ block.T
            total = part if total is None else total + part
        return np.zeros(shape) if total is None else np.asarray(total)

    def _of_objects(self, values: Sequence[NDArray[Any]]) -> NDArray[Any]:
        items = [entry for source, _ in enumerate(self.widths) for entry in values[source].tolist()]
        result = np.empty(len(self), dtype=object)
        for number, (columns, weights) in enumerate(self.rows()):
            arguments, constant = [items[column] for column in columns], float(self.bias[number])
            if isinstance(items[0], Expression):
                result[number] = items[0].graph.linear(weights, arguments, constant)
            else:
                result[number] = sum((exact(w) * v for w, v in zip(weights, arguments, strict=True)), exact(constant))
        return result

    @cached_property
    def matrix(self) -> sparse.csr_array:
        """Return all blocks beside each other (forms, width), sparse, with sorted columns."""
        parts = [sparse.csr_array((len(self), width)) for width in self.widths]
        for source, block in self.blocks:
            parts[source] = sparse.csr_array(block)
        whole = sparse.csr_array(sparse.hstack(parts, format="csr"))
        whole.sort_indices()
        return whole

    def rows(self) -> list[tuple[list[int], list[float]]]:
        """Return columns and weights of each form, the columns counted through all sources."""
        starts, columns, weights = (
            part.tolist() for part in (self.matrix.indptr, self.matrix.indices, self.matrix.data)
        )
        return [(columns[first:last], weights[first:last]) for first, last in pairwise(starts)]

    def block(self, source: int) -> Array:
        """Return the operator of a source as a dense matrix, zeros if the forms do not use it."""
        for own, block in self.blocks:
            if own == source:
                return dense(block)
        return np.zeros((len(self), self.widths[source]))

    @property
    def terms(self) -> NDArray[np.int64]:
        """Number of weights of each form that are not zero."""
        return sum((row_counts(block) for _, block in self.blocks), np.zeros(len(self), dtype=np.int64))

    @cached_property
    def sizes(self) -> Forms:
        """Return the forms with the absolute values of all weights and biases."""
        return Forms(self.widths, tuple((source, abs(block)) for source, block in self.blocks), np.abs(self.bias))

    def over(self, widths: Sequence[int], subject: str) -> Forms:
        """Return the forms over sources of these widths; forms of all values in one source are divided among them."""
        if self.widths == tuple(widths):
            return self
        if len(self.widths) > 1 or self.width != sum(widths):
            given = self.widths[0] if len(self.widths) == 1 else self.widths
            raise InputError(
                f"{subject} {given} values; expected {sum(widths)}: inputs and earlier stages have {tuple(widths)}"
            )
        return Forms.of(self.matrix, self.bias, widths)

    def mixed(self, matrix: Any, offset: Any = 0.0) -> Forms:
        """Return the forms matrix @ self + offset; products are rounded."""
        weights = np.asarray(matrix, dtype=np.float64)
        blocks = tuple((source, weights @ dense(block)) for source, block in self.blocks)
        return Forms(self.widths, blocks, weights @ self.bias + offset)

    def after(self, inputs: int) -> Forms:
        """Return the same forms behind a new first stage, which computes what were the inputs."""
        return Forms((inputs, *self.widths), tuple((source + 1, block) for source, block in self.blocks), self.bias)

    def of_inputs(self, matrix: Array, offset: Array) -> Forms:
        """Return the forms with inputs offset + matrix @ y, as forms of y; products are rounded."""
        widths = (matrix.shape[1], *self.widths[1:])
        blocks = tuple((source, block @ matrix if source == 0 else block) for source, block in self.blocks)
        moved = [block @ offset for source, block in self.blocks if source == 0]
        return Forms(widths, blocks, self.bias + moved[0] if moved else self.bias)


def stored(block: Any) -> Operator:
    """Return a matrix as forms store it: read-only, sparse where at most a quarter is nonzero, without negative zeros."""
    if sparse.issparse(block):
        rows = sparse.csr_array(block, dtype=np.float64, copy=True)
        rows.sum_duplicates()
        rows.eliminate_zeros()
        rows.sort_indices()
        if rows.nnz > SPARSE * rows.shape[0] * rows.shape[1]:
            return _frozen(rows.toarray())
    else:
        array = np.asarray(block, dtype=np.float64)
        if array.ndim != 2:
            raise InputError(f"an operator of shape {array.shape}; expected a matrix (forms, values)")
        if np.count_nonzero(array) > SPARSE * array.size:
            return _frozen(array)
        rows = sparse.csr_array(array)
    for part in (rows.data, rows.indices, rows.indptr):
        part.setflags(write=False)
    return rows


def dense(block: Operator) -> Array:
    """Return an operator as a dense matrix."""
    return np.asarray(block.toarray() if sparse.issparse(block) else block)


def entries(block: Operator) -> Array:
    """Return the numbers that are stored."""
    return np.asarray(block.data if sparse.issparse(block) else block)


def count(block: Operator) -> int:
    """Return how many entries are not zero."""
    return int(np.count_nonzero(entries(block)))


def row_counts(block: Operator) -> NDArray[np.int64]:
    """Return how many entries of each row are not zero."""
    return np.asarray(
        np.diff(block.indptr) if sparse.issparse(block) else np.count_nonzero(block, axis=1), dtype=np.int64
    )


def _frozen(array: Array) -> Array:
    """Return a read-only copy; an array that nothing can change is kept as it is."""
    if array.flags.writeable or array.base is not None or not array.flags.owndata:
        array = np.ascontiguousarray(array) + 0.0  # a copy without negative zeros
    array.setflags(write=False)
    return array
