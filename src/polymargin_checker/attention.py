"""A lightning attention module from a model file, and its boundaries as sums of cubes.

The logits are C vec(V X (Xᵀ K Qᵀ X)) + b for t tokens of d numbers, flat vectors going token by token. For the read-out
difference D (t × d') of two classes write D V = L W with W of r = min(d', t, d) rows, and K Qᵀ as a product through
s = min(a, d) dimensions. An exclusion proof names invertible matrices R (r × r) and T (s × s), and scales α, β, γ for
every i < r, j < s. L R⁻¹ · R W and K T⁻¹ · T Qᵀ are the same matrices, and in these factors, p_ij(X) = Σ_τ L_τi q_j·x_τ,

    f_label − f_rival = β₀ + Σ_ij Σ_σ p_ij(X) (w_i·x_σ) (k_j·x_σ).

With f = αw_i·x_σ, g = βk_j·x_σ, h = γp_ij and 24 f g h = (f + g + h)³ − (f + g − h)³ − (f − g + h)³ − (−f + g + h)³ this is one
hidden layer of cubes. All of it is rational arithmetic without rounding: the layers are the model.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from flint import fmpq, fmpq_mat

from polymargin_checker import npy
from polymargin_checker.document import fields, items
from polymargin_checker.dyadics import number
from polymargin_checker.model import Matrix, Model, little_endian
from polymargin_checker.refusal import Refused, Unusable
from polymargin_checker.words import shown
from polymargin_checker.work import spend

FORMAT = "polymargin-attention-1"

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
class Attention:
    """V (d', d), K (d, a), Q (d, a), C (classes, t·d'), b."""

    value: Matrix
    key: Matrix
    query: Matrix
    readout: Matrix
    bias: Sequence[float]

    kind = "lightning-attention"

    @property
    def tokens(self) -> int:
        return self.readout.columns // self.value.rows

    @property
    def dimension(self) -> int:
        return self.tokens * self.value.columns

    @property
    def class_count(self) -> int:
        return self.readout.rows

    def fingerprint(self) -> str:
        digest = hashlib.sha256(b"polymargin attention 1")
        for matrix in (self.value, self.key, self.query, self.readout):
            digest.update(repr((matrix.rows, matrix.columns)).encode())
            digest.update(little_endian(matrix.values))
        digest.update(repr((len(self.bias),)).encode())
        digest.update(little_endian(self.bias))
        return digest.hexdigest()

    def exact_logits(self, point: Sequence[fmpq]) -> list[fmpq]:
        """By the definition, as exact rationals."""
        x = fmpq_mat(self.tokens, self.value.columns, list(point)).transpose()
        value, key, query, readout = map(_rational, (self.value, self.key, self.query, self.readout))
        lengths = 3 * _length(x), *map(_length, (value, key, query, readout))
        spend(_PRODUCT * self._products(), sum(lengths), "the exact logits of the attention module")
        v, k, q = value * x, key.transpose() * x, query.transpose() * x
        flat = (v * k.transpose() * q).transpose().entries()
        image = readout * fmpq_mat(len(flat), 1, flat)
        return [value + fmpq(*b.as_integer_ratio()) for value, b in zip(image.entries(), self.bias, strict=True)]

    def _products(self) -> int:
        """For the logits at one point."""
        forms = self.dimension * (self.value.rows + 2 * self.key.columns)
        inner = 2 * self.value.rows * self.key.columns * self.tokens
        return forms + inner + self.readout.rows * self.readout.columns

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
        forms = self.tokens * (self.value.rows + 2 * self.key.columns)
        return cubes.model(constants, forms)


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

    def model(self, constants: list[Any], forms: int) -> Model:
        dimension = self.outer.nrows() * len(self.values[0])
        weights, factors = self.weights, self.factors
        if not weights:  # the difference is constant, and a layer is not empty
            weights, factors = [[fmpq(0)] * dimension], [fmpq(0)]
        hidden = len(weights)
        first = Matrix(hidden, dimension, [entry for row in weights for entry in row])
        top = Matrix(2, hidden, factors + [fmpq(0)] * hidden)
        return Model((first, top), ([fmpq(0)] * hidden, constants), (_CUBE,), forms)


def read_attention(entries: Mapping[str, bytes]) -> Attention:
    """From the entries of an .npz file."""
    known = {"format", "value", "key", "query", "readout", "bias"}
    for name in sorted(known - set(entries)):
        raise Unusable(f"the entry {name!r} is missing; an attention module needs it")
    for name in entries:
        if name not in known and name != "class_names":  # which say nothing about the logits
            raise Unusable(f"the entry {shown(name)} is not part of an attention module")
    value, key, query, readout = (_matrix(entries[name], name) for name in ("value", "key", "query", "readout"))
    bias = npy.numbers(entries["bias"], "bias", 1)
    if (key.rows, key.columns) != (query.rows, query.columns) or key.rows != value.columns:
        raise Unusable("value, key and query do not fit together; expected shapes (d', d), (d, a) and (d, a)")
    if readout.columns % value.rows:
        raise Unusable(f"the readout takes {readout.columns} numbers; expected a multiple of {value.rows}")
    if readout.rows < 2:
        raise Unusable("the module has one class; a margin needs at least two")
    if bias.shape != (readout.rows,):
        raise Unusable(f"bias: shape {bias.shape} for {readout.rows} classes")
    return Attention(value, key, query, readout, bias.values)


def _rational(matrix: Matrix) -> Any:
    return _mat(matrix.rows, matrix.columns, matrix.values)


def _mat(rows: int, columns: int, values: Sequence[float]) -> Any:
    return fmpq_mat(rows, columns, [fmpq(*value.as_integer_ratio()) for value in values])


def _matrix(content: bytes, name: str) -> Matrix:
    loaded = npy.numbers(content, name, 2)
    if 0 in loaded.shape:
        raise Unusable(f"{name}: shape {loaded.shape}; every matrix needs rows and columns")
    return Matrix(loaded.shape[0], loaded.shape[1], loaded.values)


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
