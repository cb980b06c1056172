"""Lightning self-attention with an affine read-out: logits of degree three.

    φ(X) = V X (Xᵀ A X),     A = K Qᵀ,     logits = C vec(φ) + b.

X is d × t, t tokens of d numbers; V is d' × d, K and Q are d × a. Everything flat goes token by token: a point is
(x_1, …, x_t), as a PyTorch tensor of shape (t, d) flattens, and entry τd' + i of vec(φ) is φ_iτ. With the linear forms
v_σ = V x_σ, k_σ = Kᵀx_σ and q_τ = Qᵀx_τ

    φ_iτ = Σ_j (Σ_σ v_σi k_σj) q_τj,

which is attention without softmax, scores k_σ·q_τ applied to the values, summed in the order that needs fewer products.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymargin.errors import InputError
from polymargin.networks.layers import finite_array
from polymargin.networks.network import Network
from polymargin.networks.structures import Attention

Array = NDArray[np.float64]


def LightningAttention(
    V: ArrayLike, K: ArrayLike, Q: ArrayLike, readout: ArrayLike, bias: ArrayLike | None = None
) -> Network:
    """Return a classifier made of one lightning self-attention module and an affine read-out.

    Parameters
    ----------
    V, K, Q
        Of shape (d', d), (d, a) and (d, a); A = K Qᵀ has rank at most a.
    readout, bias
        Of shape (classes, d'·t) and (classes,); the number t of tokens is read off.

    >>> net = LightningAttention([[1.0]], [[1.0]], [[2.0]], [[1.0, 0.0], [0.0, 1.0]], [0.0, 0.5])
    >>> net([1.0, 3.0])                    # (1 + 9)·2·(1, 3) + (0, 0.5)
    array([20. , 60.5])
    >>> net.structure
    Attention(t=2, d=1, d_prime=1, a=1)
    """
    value, key, query = (
        finite_array(matrix, f"the weights {name}", 2) for matrix, name in ((V, "V"), (K, "K"), (Q, "Q"))
    )
    top = finite_array(readout, "the weights of the read-out", 2)
    classes = top.shape[0]
    shift = np.zeros(classes) if bias is None else finite_array(bias, "the bias of the read-out", 1)
    if 0 in (*value.shape, *key.shape, *top.shape):
        raise InputError("a weight matrix of the attention module is empty; t, d, d', a and classes are at least 1")
    if key.shape != query.shape or key.shape[0] != value.shape[1]:
        raise InputError(
            f"V, K, Q have shapes {value.shape}, {key.shape}, {query.shape}; expected (d', d), (d, a), (d, a)"
        )
    if top.shape[1] % len(value):
        raise InputError(
            f"the read-out takes {top.shape[1]} numbers; expected a multiple of d' = {len(value)}, token by token"
        )
    if classes < 2:
        raise InputError("the read-out has one class; a margin needs at least two logits to compare")
    if shift.shape != (classes,):
        raise InputError(f"the read-out has {classes} classes but a bias of length {len(shift)}")
    structure = Attention(value, key, query, top, shift)
    return Network(*structure.stages(), structure=structure)


def random_attention(t: int, d: int, d_prime: int, a: int, classes: int = 2, seed: int = 0) -> Network:
    """Return lightning attention with normal weights, scaled so that normal points have logits of order one."""
    if min(t, d, d_prime, a) < 1 or classes < 2:
        raise InputError(f"t={t}, d={d}, d_prime={d_prime}, a={a}, classes={classes}: expected >= 1, and two classes")
    generator = np.random.default_rng(seed)

    def normal(rows: int, columns: int, terms: int) -> Array:
        return np.asarray(generator.normal(size=(rows, columns)) / np.sqrt(terms))

    V, K, Q = normal(d_prime, d, d), normal(d, a, d), normal(d, a, d * a)
    return LightningAttention(V, K, Q, normal(classes, d_prime * t, d_prime * t * t), generator.normal(size=classes))
