"""Lightning self-attention with an affine read-out: logits of degree three.

    φ(X) = V X (Xᵀ A X),     A = K Qᵀ,     logits = C vec(φ) + b.

X is d × t, t tokens of d numbers; V is d' × d, K and Q are d × a. Everything flat goes token by token: a point is
(x_1, …, x_t), as a PyTorch tensor of shape (t, d) flattens, and entry τd' + i of vec(φ) is φ_iτ. With the linear forms
v_σ = V x_σ, k_σ = Kᵀx_σ and q_τ = Qᵀx_τ

    φ_iτ = Σ_j (Σ_σ v_σi k_σj) q_τj,

which is attention without softmax, scores k_σ·q_τ applied to the values, summed in the order that needs fewer products.
Weights are stored as float64; the network a margin speaks of is the real polynomial with exactly these coefficients.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymargin.arguments import real_array
from polymargin.errors import InputError
from polymargin.networks.attention_forms import AttentionForms, digest, linear
from polymargin.networks.cubes import sum_of_cubes
from polymargin.networks.exact import whole_numbers
from polymargin.networks.layers import Layer, finite_array
from polymargin.networks.protocols import Layered
from polymargin.networks.readers.npz import names_to_write, read_attention, with_names, write_attention
from polymargin.polynomials import exact

Array = NDArray[np.float64]


class LightningAttention:
    """A classifier: one lightning self-attention module and an affine read-out.

    Parameters
    ----------
    V, K, Q
        Of shape (d', d), (d, a) and (d, a); A = K Qᵀ has rank at most a.
    readout, bias
        Of shape (classes, d'·t) and (classes,); the number t of tokens is read off.

    >>> net = LightningAttention([[1.0]], [[1.0]], [[2.0]], [[1.0, 0.0], [0.0, 1.0]], [0.0, 0.5])
    >>> net
    LightningAttention(t=2, d=1, d_prime=1, a=1, classes=2)
    >>> net([1.0, 3.0])                    # (1 + 9)·2·(1, 3) + (0, 0.5)
    array([20. , 60.5])
    """

    kind = "lightning-attention"
    degree = 3
    hidden_layers = 1
    is_affine = False
    # What its classes are called, if that is known.
    class_names: tuple[str, ...] | None = None

    def __init__(
        self, V: ArrayLike, K: ArrayLike, Q: ArrayLike, readout: ArrayLike, bias: ArrayLike | None = None
    ) -> None:
        self.V, self.K, self.Q = (
            finite_array(matrix, f"the weights {name}", 2) for matrix, name in ((V, "V"), (K, "K"), (Q, "Q"))
        )
        self.readout = finite_array(readout, "the weights of the read-out", 2)
        classes = self.readout.shape[0]
        self.bias = np.zeros(classes) if bias is None else finite_array(bias, "the bias of the read-out", 1)
        if 0 in (*self.V.shape, *self.K.shape, *self.readout.shape):
            raise InputError("a weight matrix of the attention module is empty; t, d, d', a and classes are at least 1")
        if self.K.shape != self.Q.shape or self.K.shape[0] != self.d:
            raise InputError(
                f"V, K, Q have shapes {self.V.shape}, {self.K.shape}, {self.Q.shape}; expected (d', d), (d, a), (d, a)"
            )
        if self.readout.shape[1] % self.d_prime:
            raise InputError(
                f"the read-out takes {self.readout.shape[1]} numbers; expected a multiple of d' = {self.d_prime}, token by token"
            )
        if classes < 2:
            raise InputError("the read-out has one class; a margin needs at least two logits to compare")
        if self.bias.shape != (classes,):
            raise InputError(f"the read-out has {classes} classes but a bias of length {len(self.bias)}")
        for array in self._arrays:
            array.setflags(write=False)
        self._layered: dict[tuple[int, int], Layered] = {}

    @classmethod
    def random(cls, t: int, d: int, d_prime: int, a: int, classes: int = 2, seed: int = 0) -> LightningAttention:
        """Normal weights, scaled so that normal points have logits of order one."""
        if min(t, d, d_prime, a) < 1 or classes < 2:
            raise InputError(
                f"t={t}, d={d}, d_prime={d_prime}, a={a}, classes={classes}: expected >= 1, and two classes"
            )
        generator = np.random.default_rng(seed)

        def normal(rows: int, columns: int, terms: int) -> Array:
            return np.asarray(generator.normal(size=(rows, columns)) / np.sqrt(terms))

        V, K, Q = normal(d_prime, d, d), normal(d, a, d), normal(d, a, d * a)
        return cls(V, K, Q, normal(classes, d_prime * t, d_prime * t * t), generator.normal(size=classes))

    @classmethod
    def from_torch(cls, module: Any) -> LightningAttention:
        """From a PyTorch module with values, keys, queries and a linear read-out (docs/networks.md)."""
        from polymargin.networks.readers.torch_attention import attention_from_torch

        found = attention_from_torch(module)
        if found is None:
            raise InputError(
                f"{type(module).__name__}: not recognised as lightning attention; expected value, key, query (nn.Linear without "
                "bias, or matrices V, K, Q), one nn.Linear as read-out, and logits read-out(flatten(q kᵀ v))"
            )
        return found

    # -- shape ---------------------------------------------------------------------------------

    @property
    def t(self) -> int:
        """Number of tokens."""
        return int(self.readout.shape[1]) // self.d_prime

    @property
    def d(self) -> int:
        """Numbers per token."""
        return int(self.V.shape[1])

    @property
    def d_prime(self) -> int:
        """Numbers per token after attention."""
        return int(self.V.shape[0])

    @property
    def a(self) -> int:
        """The rank that A = K Qᵀ can have."""
        return int(self.K.shape[1])

    @property
    def dimension(self) -> int:
        """Number of inputs, t·d."""
        return self.t * self.d

    @property
    def class_count(self) -> int:
        return len(self.bias)

    def __repr__(self) -> str:
        shape = f"t={self.t}, d={self.d}, d_prime={self.d_prime}, a={self.a}, classes={self.class_count}"
        return f"LightningAttention({shape})"

    # -- evaluation ----------------------------------------------------------------------------

    @cached_property
    def _forms(self) -> AttentionForms:
        tokens = linear(np.eye(self.dimension))
        return AttentionForms(
            tokens, linear(self.V), linear(self.K.T), linear(self.Q.T), Layer(self.readout, self.bias)
        )

    @property
    def forms(self) -> Layer:
        """The logits depend on the input through these forms alone."""
        return self._forms.forms

    def logits(self, values: NDArray[Any]) -> NDArray[Any]:
        """The logits along the last axis; floats, symbolic scalars or Fractions (as object arrays)."""
        return self._forms.logits(values)

    def __call__(self, points: ArrayLike) -> Array:
        """The logits at one point (t·d,) or a batch (m, t·d)."""
        return self.logits(real_array(points, "the points"))

    def predict(self, points: ArrayLike) -> NDArray[np.int64]:
        """The class of the largest logit."""
        return np.asarray(np.argmax(self(points), axis=-1))

    def exact_logits(self, point: ArrayLike) -> list[Fraction]:
        """The logits at one point in exact arithmetic."""
        whole, exponent = whole_numbers(point)
        values = np.array([Fraction(value, 1 << exponent) for value in whole], dtype=object)
        return [exact(value) for value in self.logits(values)]

    def precompose(self, matrix: Array, offset: Array) -> AttentionForms:
        """The map y ↦ f(offset + matrix @ y)."""
        return self._forms.precompose(matrix, offset)

    def active_subspace(self, label: int, rival: int) -> tuple[Array, AttentionForms]:
        """An orthonormal basis (t·d, m) of what f_label − f_rival depends on, and the logits on it."""
        return self._forms.active_subspace(label, rival)

    def layered(self, label: int, rival: int) -> Layered:
        """f_label − f_rival as a sum of cubes of linear forms."""
        if (label, rival) not in self._layered:
            self._layered[label, rival] = sum_of_cubes(self, label, rival)
        return self._layered[label, rival]

    @cached_property
    def without_signs(self) -> LightningAttention:
        """The module with every weight replaced by its absolute value: it bounds all terms."""
        return LightningAttention(*(np.abs(array) for array in self._arrays))

    def term_sizes(self, points: Array) -> Array:
        """Bounds of all terms of the logits: what the weights without signs make of |x|."""
        return np.asarray(self.without_signs.logits(np.abs(points)))

    @property
    def rounding_steps(self) -> int:
        return self._forms.rounding_steps

    # -- files ---------------------------------------------------------------------------------

    @property
    def _arrays(self) -> tuple[Array, Array, Array, Array, Array]:
        return self.V, self.K, self.Q, self.readout, self.bias

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the exact weights."""
        return digest("polymargin attention 1", self._arrays)

    def save(self, path: Any) -> None:
        """Write the module as one .npz file."""
        write_attention(path, self._arrays, names_to_write(self))

    @classmethod
    def load(cls, path: Any) -> LightningAttention:
        """Read a module written by `save`."""
        arrays, names = read_attention(path)
        return with_names(cls(*arrays), names, path)
