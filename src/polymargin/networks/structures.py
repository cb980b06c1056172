"""What a constructor knows about an architecture beyond its stages, attached to a network as `structure`.

A structure is a remark, and never a second truth: it is written to files as a few numbers, and what they say is compared with
the stages before it is believed. Packages that know nothing of a structure lose nothing but speed.

Attention: B = Σ_στ (m_τ·x_σ)(x_σᵀ A x_τ) + β, where m_τ are the rows of M = D V for the read-out difference D (t × d'). Let S be
an orthonormal basis of the span of all m_τ and of the columns of A, S₂ one of what the rows of A have beyond it, and U one of
the columns of M. Then B depends on

    y_σ = Sᵀx_σ for every token,   and   z = Σ_τ U_τ (S₂ᵀx_τ)ᵀ,

and it is again an attention boundary, in the tokens (y_σ, Uᵀ_σ z). A basis of the same subspace from sampled gradients would
not do as well: it rounds every token differently, and attention has fewer critical points than a cubic nearby. The
difference would turn up as solutions far out, where nothing can be decided any more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polymargin.errors import InputError
from polymargin.networks.forms import Forms
from polymargin.networks.stages import Polynomial, Product, Stage

Array = NDArray[np.float64]

# Singular values below this share of the largest one are rounding errors.
RANK_TOLERANCE = 64 * np.finfo(np.float64).eps


class Structure(Protocol):
    """What later packages may ask of an annotation."""

    def active_subspace(self, label: int, rival: int) -> tuple[Array, list[Stage], Forms] | None:
        """Return an orthonormal basis (n, m) of what f_label − f_rival depends on, and stages and read-out on it."""
        ...

    def with_readout(self, readout: Forms) -> Structure | None:
        """Return the structure of the same stages with another read-out, if it has it too."""
        ...

    def to_json(self) -> dict[str, Any]:
        """Return what a file says about it."""
        ...


@dataclass(frozen=True, eq=False, repr=False)
class Attention:
    """Lightning attention: V (d', d), K (d, a), Q (d, a), the read-out (classes, t·d') and its bias (classes,)."""

    V: Array
    K: Array
    Q: Array
    readout: Array
    bias: Array

    @property
    def t(self) -> int:
        """Number of tokens."""
        return int(self.readout.shape[1]) // self.d_prime

    @property
    def d(self) -> int:
        """Return the number of values per token."""
        return int(self.V.shape[1])

    @property
    def d_prime(self) -> int:
        """Return the number of values per token after attention."""
        return int(self.V.shape[0])

    @property
    def a(self) -> int:
        """Return the rank that A = K Qᵀ can have."""
        return int(self.K.shape[1])

    @property
    def class_count(self) -> int:
        """Return the number of classes."""
        return len(self.bias)

    def __repr__(self) -> str:
        return f"Attention(t={self.t}, d={self.d}, d_prime={self.d_prime}, a={self.a})"

    def with_readout(self, readout: Forms) -> Attention | None:
        """Return the same structure with another read-out; None if it is not of the kind."""
        return _attention(self.stages()[0], readout, self.t, self.d, self.d_prime, self.a)

    def to_json(self) -> dict[str, Any]:
        """Return the numbers that a file keeps."""
        return {"kind": "attention", "t": self.t, "d": self.d, "d_prime": self.d_prime, "a": self.a}

    def stages(self) -> tuple[list[Stage], Forms]:
        """Return φ_iτ = Σ_j (Σ_σ v_σi k_σj) q_τj: values times keys, then their sums over tokens times queries."""
        t, a, pairs = self.t, self.a, self.d_prime * self.a
        n, each = t * self.d, sparse.eye_array(t)
        first = Product(
            _linear((n,), 0, sparse.kron(each, np.repeat(self.V, a, axis=0))),  # (σ, i, j)
            _linear((n,), 0, sparse.kron(each, np.tile(self.K.T, (self.d_prime, 1)))),
        )
        widths = (n, t * pairs)
        second = Product(
            _linear(widths, 1, sparse.kron(np.ones((t, t)), sparse.eye_array(pairs))),  # (τ, i, j) sees all (σ, i, j)
            _linear(widths, 0, sparse.kron(each, np.tile(self.Q.T, (self.d_prime, 1)))),
        )
        rows = np.repeat(self.readout, a, axis=1)  # entry τd' + i of the outputs is the sum of (τ, i, j) over j
        return [first, second], Forms((*widths, t * pairs), ((2, rows),), self.bias)

    def active_subspace(self, label: int, rival: int) -> tuple[Array, list[Stage], Forms]:
        """Return the basis that the head of this file derives, and the module on it."""
        t, d, d_prime = self.t, self.d, self.d_prime
        M = (self.readout[label] - self.readout[rival]).reshape(t, d_prime) @ self.V
        left, rows = _singular_vectors(M)
        columns, last = _singular_vectors(self.K @ self.Q.T)
        S = _orthonormal(np.concatenate([rows, columns.T]))
        beyond = last - (last @ S) @ S.T
        S2 = _orthonormal(beyond - (beyond @ S) @ S.T)
        U = np.eye(t) if left.shape[1] == t else left
        own, shared = S.shape[1], U.shape[1] * S2.shape[1]
        if t * own + shared in (0, t * d):
            return np.eye(t * d), *self.stages()
        basis = np.concatenate([np.kron(np.eye(t), S), np.kron(U, S2)], axis=1)
        # Token σ of the smaller module is (y_σ, Σ_a U_σa z_a): exact but for the rounding of U.
        tokens = np.zeros((t, own + S2.shape[1], t * own + shared))
        for token in range(t):
            tokens[token, :own, token * own : (token + 1) * own] = np.eye(own)
            tokens[token, own:, t * own :] = np.kron(U[token], np.eye(S2.shape[1]))
        flat = tokens.reshape(-1, tokens.shape[-1])
        V, K, Q = (
            np.concatenate([rows @ S, np.zeros((len(rows), S2.shape[1]))], axis=1)
            for rows in (self.V, self.K.T, self.Q.T)
        )
        Q[:, own:] = self.Q.T @ S2
        stages, readout = Attention(V, K.T, Q.T, self.readout, self.bias).stages()
        entry = Polynomial(_linear((flat.shape[1],), 0, flat), (0.0, 1.0))
        return basis, [entry, *(_behind(stage, flat.shape[1]) for stage in stages)], readout.after(flat.shape[1])


def structure_of(described: dict[str, Any] | None, stages: Sequence[Stage], readout: Forms) -> Structure | None:
    """Return the structure that a file describes; refuse one that the stages do not have."""
    if described is None:
        return None
    sizes = [described.get(name) for name in ("t", "d", "d_prime", "a")]
    if described.get("kind") != "attention" or len(described) != 5 or any(type(size) is not int for size in sizes):
        raise InputError(
            f"a structure {str(described)[:80]} that is not known; expected attention with t, d, d_prime and a"
        )
    t, d, d_prime, a = (int(size) for size in sizes if size is not None)
    found = _attention(stages, readout, t, d, d_prime, a) if min(t, d, d_prime, a) > 0 else None
    if found is None:
        raise InputError(
            f"the header says attention with t={t}, d={d}, d_prime={d_prime}, a={a}, but the stages are others"
        )
    return found


def _attention(stages: Sequence[Stage], readout: Forms, t: int, d: int, d_prime: int, a: int) -> Attention | None:
    widths = (t * d, t * d_prime * a, t * d_prime * a)
    if readout.widths != widths or not all(isinstance(stage, Product) for stage in stages):
        return None
    first, second = stages
    V, K = (forms.block(0)[: d_prime * a, :d] for forms in first.forms)
    Q, top = second.forms[1].block(0)[: d_prime * a, :d], readout.block(2)
    found = Attention(V[::a], K[:a].T, Q[:a].T, top[:, ::a], readout.bias)
    own, last = found.stages()
    pairs = [
        *zip([f for s in own for f in s.forms], [f for s in stages for f in s.forms], strict=True),
        (last, readout),
    ]
    return found if all(_same(one, other) for one, other in pairs) else None


def _same(one: Forms, other: Forms) -> bool:
    return (
        one.widths == other.widths
        and np.array_equal(one.bias, other.bias)
        and [source for source, _ in one.blocks] == [source for source, _ in other.blocks]
        and not (one.matrix != other.matrix).nnz
    )


def _linear(widths: tuple[int, ...], source: int, matrix: Any) -> Forms:
    """Return the forms of one source without bias."""
    return Forms(widths, ((source, matrix),), np.zeros(matrix.shape[0]))


def _behind(stage: Stage, inputs: int) -> Stage:
    left, right = stage.forms
    return Product(left.after(inputs), right.after(inputs))


def _singular_vectors(matrix: Array) -> tuple[Array, Array]:
    """Return orthonormal columns and rows that span those of the matrix."""
    left, sizes, right = np.linalg.svd(matrix, full_matrices=False)
    rank = int((sizes > RANK_TOLERANCE * max(matrix.shape) * sizes[:1]).sum())
    return left[:, :rank], right[:rank]


def _orthonormal(rows: Array) -> Array:
    """Return orthonormal columns that span the rows, which are parts of unit vectors; the axes where that is everything."""
    _, sizes, directions = np.linalg.svd(rows, full_matrices=False)
    rank = int((sizes > RANK_TOLERANCE * max(rows.shape)).sum())
    return np.eye(rows.shape[1]) if rank == rows.shape[1] else np.asarray(directions[:rank].T)
