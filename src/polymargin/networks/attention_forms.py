"""The attention map on tokens that are affine functions of the variables, and the subspace that one boundary depends on.

B = Σ_στ (m_τ·x_σ)(x_σᵀ A x_τ) + β, where m_τ are the rows of M = D V for the read-out difference D (t × d'). Let S be an
orthonormal basis of the span of all m_τ and of the columns of A, S₂ one of what the rows of A have beyond it, and U one of
the columns of M. Then B depends on

    y_σ = Sᵀx_σ for every token,   and   z = Σ_τ U_τ (S₂ᵀx_τ)ᵀ,

and it is again an attention boundary, in the tokens (y_σ, Uᵀ_σ z). A basis of the same subspace from sampled gradients would
not do as well: it rounds every token differently, and attention has fewer critical points than a cubic nearby. The
difference would turn up as solutions far out, where nothing can be decided any more.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.networks.layers import Layer

Array = NDArray[np.float64]

# Singular values below this share of the largest one are rounding errors.
RANK_TOLERANCE = 64 * np.finfo(np.float64).eps


@dataclass(frozen=True, eq=False)
class AttentionForms:
    """C vec(V X (Xᵀ K Qᵀ X)) + b, where the t columns of X are affine functions of the variables.

    tokens              from the variables to (x_1, …, x_t)
    value, key, query   V, Kᵀ and Qᵀ, without bias
    readout             C and b
    """

    tokens: Layer
    value: Layer
    key: Layer
    query: Layer
    readout: Layer

    @property
    def dimension(self) -> int:
        return int(self.tokens.weights.shape[1])

    @property
    def class_count(self) -> int:
        return len(self.readout.bias)

    @property
    def t(self) -> int:
        """Number of tokens."""
        return len(self.tokens.bias) // int(self.value.weights.shape[1])

    @cached_property
    def fingerprint(self) -> str:
        layers = (self.tokens, self.value, self.key, self.query, self.readout)
        return digest("polymargin attention forms 1", [part for one in layers for part in (one.weights, one.bias)])

    @property
    def forms(self) -> Layer:
        """The logits depend on the variables through these forms alone."""
        rows = np.concatenate([self.value.weights, self.key.weights, self.query.weights])
        every = np.asarray(np.kron(np.eye(self.t), rows), dtype=np.float64)
        return Layer(every @ self.tokens.weights, every @ self.tokens.bias)

    def logits(self, values: NDArray[Any]) -> NDArray[Any]:
        """The logits along the last axis; floats, symbolic scalars or Fractions (as object arrays)."""
        x = self.tokens(values)
        x = x.reshape(*x.shape[:-1], self.t, -1)
        v, k, q = (
            np.stack([layer(x[..., token, :]) for token in range(self.t)], axis=-2)
            for layer in (self.value, self.key, self.query)
        )
        phi = q @ np.swapaxes(np.swapaxes(v, -1, -2) @ k, -1, -2)
        return self.readout(phi.reshape(*phi.shape[:-2], -1))

    def precompose(self, matrix: Array, offset: Array) -> AttentionForms:
        """The map y ↦ f(offset + matrix @ y)."""
        tokens = Layer(self.tokens.weights @ matrix, self.tokens.bias + self.tokens.weights @ offset)
        return AttentionForms(tokens, self.value, self.key, self.query, self.readout)

    @cached_property
    def without_signs(self) -> AttentionForms:
        """The same with every weight replaced by its absolute value."""
        layers = (self.tokens, self.value, self.key, self.query, self.readout)
        return AttentionForms(*(Layer(np.abs(one.weights), np.abs(one.bias)) for one in layers))

    def term_sizes(self, points: Array) -> Array:
        """Bounds of all terms of the logits: what the weights without signs make of |x|."""
        return np.asarray(self.without_signs.logits(np.abs(points)))

    @property
    def rounding_steps(self) -> int:
        """Roundings on the way from a variable to a logit: three factors, two sums of products, the read-out."""
        factor = self.dimension + int(self.value.weights.shape[1]) + 4
        return 3 * factor + self.t + len(self.key.bias) + len(self.readout.weights[0]) + 6

    def active_subspace(self, label: int, rival: int) -> tuple[Array, AttentionForms]:
        """An orthonormal basis (n, m) of what f_label − f_rival depends on, and the map on it.

        The tokens have to be the variables themselves.
        """
        t, (d_prime, d) = self.t, self.value.weights.shape
        M = (self.readout.weights[label] - self.readout.weights[rival]).reshape(t, d_prime) @ self.value.weights
        left, rows = _singular_vectors(M)
        columns, last = _singular_vectors(self.key.weights.T @ self.query.weights)
        S = _orthonormal(np.concatenate([rows, columns.T]))
        beyond = last - (last @ S) @ S.T
        S2 = _orthonormal(beyond - (beyond @ S) @ S.T)
        U = np.eye(t) if left.shape[1] == t else left
        own, shared = S.shape[1], U.shape[1] * S2.shape[1]
        if t * own + shared in (0, t * d):
            return np.eye(t * d), self
        basis = np.concatenate([np.kron(np.eye(t), S), np.kron(U, S2)], axis=1)
        # Token σ of the smaller module is (y_σ, Σ_a U_σa z_a): exact but for the rounding of U.
        tokens = np.zeros((t, own + S2.shape[1], t * own + shared))
        for token in range(t):
            tokens[token, :own, token * own : (token + 1) * own] = np.eye(own)
            tokens[token, own:, t * own :] = np.kron(U[token], np.eye(S2.shape[1]))
        flat = tokens.reshape(-1, tokens.shape[-1])
        value, key, query = (
            np.concatenate([layer.weights @ S, np.zeros((len(layer.weights), S2.shape[1]))], axis=1)
            for layer in (self.value, self.key, self.query)
        )
        query[:, own:] = self.query.weights @ S2
        return basis, AttentionForms(linear(flat), linear(value), linear(key), linear(query), self.readout)


def linear(weights: Array) -> Layer:
    """A layer without bias."""
    return Layer(weights, np.zeros(len(weights)))


def digest(name: str, arrays: Sequence[Array]) -> str:
    """SHA-256 of a name and of exact numbers."""
    result = hashlib.sha256(name.encode())
    for array in arrays:
        result.update(repr(array.shape).encode())
        result.update(np.ascontiguousarray(array, dtype="<f8").tobytes())
    return result.hexdigest()


def _singular_vectors(matrix: Array) -> tuple[Array, Array]:
    """Orthonormal columns and rows that span those of the matrix."""
    left, sizes, right = np.linalg.svd(matrix, full_matrices=False)
    rank = int((sizes > RANK_TOLERANCE * max(matrix.shape) * sizes[:1]).sum())
    return left[:, :rank], right[:rank]


def _orthonormal(rows: Array) -> Array:
    """Orthonormal columns that span the rows, which are parts of unit vectors; the axes where that is everything."""
    _, sizes, directions = np.linalg.svd(rows, full_matrices=False)
    rank = int((sizes > RANK_TOLERANCE * max(rows.shape)).sum())
    return np.eye(rows.shape[1]) if rank == rows.shape[1] else np.asarray(directions[:rank].T)
