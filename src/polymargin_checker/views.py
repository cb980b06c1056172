"""A network of stages as what the rules for layers, attention modules and programs of products take.

layers        z¹ = W¹x + b¹, aˡ = σˡ(zˡ), zˡ⁺¹ = Wˡ⁺¹aˡ + bˡ⁺¹; every form sees the stage before it alone
attention     C vec(V X Xᵀ K Qᵀ X) + b; for one pair of classes one hidden layer of cubes, without rounding
products      every stage a product or a polynomial of forms, columns counted through all sources
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
from flint import arb, arb_mat, fmpq, fmpq_mat

from polymargin_checker.document import fields, items
from polymargin_checker.dyadics import number
from polymargin_checker.refusal import Refused
from polymargin_checker.series import LETTERS
from polymargin_checker.stages import Block, Floats, Forms, Network, Polynomial, Product
from polymargin_checker.work import spend

_LARGEST_LAYER = 1 << 20
"""Weights of the layer of cubes; more would fill the memory."""

_LONGEST = 1 << 16
"""Bits of a numerator or denominator; enough for matrices of a few hundred rows."""

_PRODUCT, _COPY, _SUM, _INVERSE = 4, 8, 64, 80
"""Products of integers that an operation on rationals counts for: common divisors have to be found."""

_CUBE = (0.0, 0.0, 0.0, 1.0)
_SIGNS = ((1, 1, 1, 1), (1, 1, -1, -1), (1, -1, 1, -1), (-1, 1, 1, -1))
"""Of f, g, h and of the cube of their sum."""


@dataclass(frozen=True)
class Matrix:
    """Entries in C order, doubles or rationals; every one is an exact number."""

    rows: int
    columns: int
    values: Sequence[Any]

    def row(self, index: int) -> list[Any]:
        return list(self.values[index * self.columns : (index + 1) * self.columns])


@dataclass(frozen=True)
class Model:
    """z¹ = W¹x + b¹, aˡ = σˡ(zˡ), zˡ⁺¹ = Wˡ⁺¹aˡ + bˡ⁺¹; the last z are the logits."""

    weights: tuple[Matrix, ...]
    biases: tuple[Sequence[Any], ...]
    activations: tuple[tuple[float, ...], ...]

    @property
    def dimension(self) -> int:
        return self.weights[0].columns

    @property
    def class_count(self) -> int:
        return self.weights[-1].rows

    @property
    def hidden_layers(self) -> int:
        return len(self.activations)


def output_row(model: Model, label: int, rival: int) -> tuple[list[arb], arb]:
    """W_label − W_rival of the last layer, and the same for its bias."""
    last, bias = model.weights[-1], model.biases[-1]
    row = [arb(a) - arb(b) for a, b in zip(last.row(label), last.row(rival), strict=True)]
    return row, arb(bias[label]) - arb(bias[rival])


def real_matrix(matrix: Matrix) -> arb_mat:
    return arb_mat(matrix.rows, matrix.columns, [arb(value) for value in matrix.values])


def real_column(values: Sequence[float]) -> arb_mat:
    return arb_mat(len(values), 1, [arb(value) for value in values])


@dataclass(frozen=True)
class Attention:
    """V (d', d), K (d, a), Q (d, a), C (classes, t·d'), b."""

    value: Matrix
    key: Matrix
    query: Matrix
    readout: Matrix
    bias: Sequence[float]

    @property
    def tokens(self) -> int:
        return self.readout.columns // self.value.rows

    @property
    def dimension(self) -> int:
        return self.tokens * self.value.columns

    @property
    def class_count(self) -> int:
        return self.readout.rows

    def layers(self, label: int, rival: int, lowering: Any = None) -> Model:
        """A network of two classes with the difference f_label − f_rival; without a lowering R, T and the scales are ones."""
        rows = [self.readout.row(label), self.readout.row(rival)]
        first, second = (_mat(self.tokens, self.value.rows, row) for row in rows)
        outer, values = _shorter(first - second, _rational(self.value))
        keys, queries = _shorter(_rational(self.key), _rational(self.query).transpose())
        r, s = outer.ncols(), keys.ncols()
        if 4 * r * s * self.tokens * self.dimension > _LARGEST_LAYER:
            raise Refused("the attention module is too large for an exclusion or completeness proof in this checker")
        scales = [[[fmpq(1)] * 3 for _ in range(s)] for _ in range(r)]
        bits = sum(map(_length, (outer, values, keys, queries)))
        if lowering is not None:
            fields(lowering, "lowering", ("values", "keys", "scales"))
            bases = [
                fmpq_mat(_numbers(lowering[name], f"lowering, {name}", (size, size)))
                for name, size in (("values", r), ("keys", s))
            ]
            scales = _numbers(lowering["scales"], "lowering, scales", (r, s, 3))
            bits += sum(map(_inverse_length, bases)) + 3 * _length(fmpq_mat([list(chain(*row)) for row in scales]))
            if bits > _LONGEST:
                raise Refused("lowering: its numbers need more memory than this checker allows")
            outer, values = _in_basis(outer, values, bases[0])
            keys, queries = _in_basis(keys, queries, bases[1])
        per_neuron = _COPY * self.dimension + 2 * _SUM * self.value.columns
        spend(4 * r * s * self.tokens * per_neuron, bits, "the layer of cubes")
        cubes = _Cubes(outer, values.tolist(), keys.transpose().tolist(), queries.tolist())
        for i in range(r):
            for j in range(s):
                cubes.add(i, j, *scales[i][j])
        constants = [fmpq(*self.bias[c].as_integer_ratio()) for c in (label, rival)]
        return cubes.model(constants)


class _Cubes:
    """The layer under construction."""

    def __init__(self, outer: Any, values: list[Any], keys: list[Any], queries: list[Any]) -> None:
        self.outer, self.values, self.keys, self.queries = outer, values, keys, queries
        self.weights: list[list[Any]] = []
        self.factors: list[Any] = []

    def add(self, i: int, j: int, alpha: Any, beta: Any, gamma: Any) -> None:
        """The products of w_i, k_j and p_ij, one for every token; scales 0 leave them out if they vanish."""
        tokens, d = self.outer.nrows(), len(self.values[i])
        pull = [self.outer[token, i] for token in range(tokens)]
        if alpha == 0 or beta == 0 or gamma == 0:
            if any(self.values[i]) and any(self.keys[j]) and any(pull) and any(self.queries[j]):
                raise Refused(f"lowering: a scale of the product {i}, {j} is zero, but the product is not")
            return
        f = [alpha * entry for entry in self.values[i]]
        g = [beta * entry for entry in self.keys[j]]
        h = [gamma * share * entry for share in pull for entry in self.queries[j]]
        factor = 1 / (24 * alpha * beta * gamma)
        for token in range(tokens):
            for sign_f, sign_g, sign_h, sign in _SIGNS:
                row = [sign_h * entry for entry in h]
                for n in range(d):
                    row[token * d + n] += sign_f * f[n] + sign_g * g[n]
                self.weights.append(row)
                self.factors.append(sign * factor)

    def model(self, constants: list[Any]) -> Model:
        dimension = self.outer.nrows() * len(self.values[0])
        weights, factors = self.weights, self.factors
        if not weights:  # the difference is constant, and a layer is not empty
            weights, factors = [[fmpq(0)] * dimension], [fmpq(0)]
        hidden = len(weights)
        first = Matrix(hidden, dimension, [entry for row in weights for entry in row])
        top = Matrix(2, hidden, factors + [fmpq(0)] * hidden)
        return Model((first, top), ([fmpq(0)] * hidden, constants), (_CUBE,))


def _rational(matrix: Matrix) -> Any:
    return _mat(matrix.rows, matrix.columns, matrix.values)


def _mat(rows: int, columns: int, values: Sequence[float]) -> Any:
    return fmpq_mat(rows, columns, [fmpq(*value.as_integer_ratio()) for value in values])


def _shorter(left: Any, right: Any) -> tuple[Any, Any]:
    """The same product through the smallest dimension: the inner one, else the rows, else the columns."""
    rows, inner, columns = left.nrows(), left.ncols(), right.ncols()
    if inner <= rows and inner <= columns:
        return left, right
    if rows <= columns:
        return _identity(rows), left * right
    return left * right, _identity(columns)


def _identity(size: int) -> Any:
    return fmpq_mat(size, size, [int(i == j) for i in range(size) for j in range(size)])


def _length(matrix: Any) -> int:
    """Bits of the longest numerator and of the longest denominator together."""
    entries = matrix.entries()
    longest = max(int(entry.p).bit_length() for entry in entries), max(int(entry.q).bit_length() for entry in entries)
    return sum(longest)


def _inverse_length(matrix: Any) -> int:
    """The same of the inverse at most: its entries are ratios of determinants."""
    size = matrix.nrows()
    return int(size * (_length(matrix) + size.bit_length()))


def _in_basis(left: Any, right: Any, basis: Any) -> tuple[Any, Any]:
    spend(_INVERSE * basis.nrows() ** 3, _inverse_length(basis), "the matrices of the lowering")
    try:
        return left * basis.inv(), basis * right
    except ZeroDivisionError:
        raise Refused("lowering: a matrix is not invertible") from None


def _numbers(value: Any, name: str, shape: tuple[int, ...]) -> Any:
    """Nested lists of exact numbers of the given shape."""
    if not shape:
        return number(value, name)
    return [_numbers(entry, name, shape[1:]) for entry in items(value, name, shape[0])]


@dataclass(frozen=True)
class Form:
    """Row i is bias[i] + Σ weights[k] · value[columns[k]], starts[i] ≤ k < starts[i + 1]."""

    width: int
    starts: list[int]
    columns: list[int]
    weights: Sequence[float]
    bias: Sequence[float]

    def __len__(self) -> int:
        return len(self.bias)

    def row(self, index: int) -> list[tuple[int, float]]:
        part = slice(self.starts[index], self.starts[index + 1])
        return list(zip(self.columns[part], self.weights[part], strict=True))


@dataclass(frozen=True)
class Stage:
    """A product of two forms, or an activation of one."""

    letter: str
    forms: tuple[Form, ...]
    coefficients: tuple[float, ...]

    def __len__(self) -> int:
        return len(self.forms[0])


@dataclass(frozen=True)
class Products:
    """The program."""

    dimension: int
    stages: tuple[Stage, ...]
    readout: Form

    @property
    def class_count(self) -> int:
        return len(self.readout)

    def layers(self, lowering: Any) -> Model:
        """The same logits as layers of squares, with rationals as weights."""
        from polymargin_checker.squares import layers_of_squares

        return layers_of_squares(self, lowering)


def of_layers(model: Model) -> Products:
    """Layers with doubles as weights as such a program: every activation is a stage that sees the layer before it alone."""
    forms, seen = [], 0
    for weights, bias in zip(model.weights, model.biases, strict=True):
        forms.append(_after(seen, weights, bias))
        seen += weights.columns
    stages = tuple(Stage("A", (form,), row) for form, row in zip(forms[:-1], model.activations, strict=True))
    return Products(model.dimension, stages, forms[-1])


def _after(seen: int, weights: Matrix, bias: Sequence[float]) -> Form:
    """The rows of a layer over the values of the one before it, which come after so many others."""
    starts, columns, entries = [0], list[int](), list[float]()
    for index in range(weights.rows):
        for column, weight in enumerate(weights.row(index)):
            if weight != 0:
                columns.append(seen + column)
                entries.append(weight)
        starts.append(len(columns))
    return Form(seen + weights.columns, starts, columns, entries, bias)


View: TypeAlias = Model | Attention | Products


def view_of(network: Network) -> View | None:
    """Layers if every form sees the stage before it alone, an attention module if it has its stages, products otherwise."""
    if not network.is_polynomial:
        return None
    return _layers(network) or _attention(network) or _products(network)


def _layers(network: Network) -> Model | None:
    forms = [*(stage.forms[0] for stage in network.stages), network.readout]
    for place, (stage, form) in enumerate(zip((*network.stages, None), forms, strict=True)):
        if stage is not None and not (isinstance(stage, Polynomial) and stage.basis == "powers"):
            return None
        if any(source != place for source, _ in form.blocks):
            return None
    weights = tuple(_matrix(_dense(form, place)) for place, form in enumerate(forms))
    coefficients = tuple(tuple(stage.coefficients.tolist()) for stage in network.stages)  # type: ignore[union-attr]
    return Model(weights, tuple(array("d", form.bias.tolist()) for form in forms), coefficients)


def _matrix(matrix: Floats) -> Matrix:
    return Matrix(matrix.shape[0], matrix.shape[1], array("d", matrix.ravel().tolist()))


def _dense(forms: Forms, source: int) -> Floats:
    """The block of a source, zeros if there is none."""
    for own, block in forms.blocks:
        if own == source:
            return block.dense
    empty = np.zeros(0, dtype=np.int64)
    shape = len(forms), forms.widths[source]
    return Block(shape, np.zeros(shape[0] + 1, dtype=np.int64), empty, np.zeros(0)).dense


def _products(network: Network) -> Products:
    stages = tuple(
        Stage("P", tuple(map(_form, stage.forms)), ())
        if isinstance(stage, Product)
        else Stage(LETTERS[stage.basis], (_form(stage.form),), tuple(stage.coefficients.tolist()))  # type: ignore[union-attr]
        for stage in network.stages
    )
    return Products(network.dimension, stages, _form(network.readout))


def _form(forms: Forms) -> Form:
    """Columns are counted through all sources."""
    starts = np.cumsum([0, *forms.widths])
    rows = np.concatenate([np.zeros(0, dtype=np.int64), *(block.rows for _, block in forms.blocks)])
    parts = [block.columns + starts[source] for source, block in forms.blocks]
    columns = np.concatenate([np.zeros(0, dtype=np.int64), *parts])
    weights = np.concatenate([np.zeros(0), *(block.weights for _, block in forms.blocks)])
    order = np.lexsort((columns, rows))
    first = np.searchsorted(rows[order], np.arange(len(forms) + 1))
    return Form(int(starts[-1]), first.tolist(), columns[order].tolist(), weights[order].tolist(), forms.bias.tolist())


def _attention(network: Network) -> Attention | None:
    """φ_iτ = Σ_j (Σ_σ v_σi k_σj) q_τj, if the stages are exactly these."""
    if [stage.kind for stage in network.stages] != ["product", "product"]:
        return None
    first, second = network.stages
    assert isinstance(first, Product)
    assert isinstance(second, Product)
    used = [{source for source, _ in forms.blocks} for forms in (*first.forms, *second.forms, network.readout)]
    if not all(own <= allowed for own, allowed in zip(used, ({0}, {0}, {1}, {0}, {2}), strict=True)):
        return None
    if any(forms.bias.any() for stage in (first, second) for forms in stage.forms):
        return None
    values, keys, queries = _dense(first.left, 0), _dense(first.right, 0), _dense(second.right, 0)
    sums, readout = _dense(second.left, 1), _dense(network.readout, 2)
    tokens = int(np.count_nonzero(sums[0]))
    if not tokens or any(size % tokens for size in (*values.shape, len(sums))) or len(values) != len(sums):
        return None
    pairs, width = len(values) // tokens, values.shape[1] // tokens
    each = np.eye(tokens)
    value, key, query = (matrix[:pairs, :width] for matrix in (values, keys, queries))
    if not np.array_equal(sums, np.tile(np.eye(pairs), (tokens, tokens))) or not all(
        np.array_equal(whole, np.kron(each, part)) for whole, part in ((values, value), (keys, key), (queries, query))
    ):
        return None
    for rank in range(1, pairs + 1):
        rows, outer = value[::rank], readout[:, ::rank]
        if pairs % rank or not np.array_equal(value, np.repeat(rows, rank, axis=0)):
            continue
        key_columns, query_columns = key[:rank], query[:rank]
        repeated = (np.tile(part, (pairs // rank, 1)) for part in (key_columns, query_columns))
        if all(np.array_equal(a, b) for a, b in zip((key, query), repeated, strict=True)) and np.array_equal(
            readout, np.repeat(outer, rank, axis=1)
        ):
            matrices = [_matrix(part) for part in (rows, key_columns.T, query_columns.T, outer)]
            return Attention(matrices[0], matrices[1], matrices[2], matrices[3], network.readout.bias.tolist())
    return None
