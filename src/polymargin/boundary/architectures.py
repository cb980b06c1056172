"""Architectures: networks without their weights.

The boundary polynomial of an architecture is written once, on whatever scalars: `weight(size)` supplies the next weight,
whose natural magnitude is `size`, and may be a parameter of a program, a residue modulo a prime or a random number. The constant
term, the difference of the last biases, is left out; callers add it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from math import sqrt
from operator import add
from typing import Any

from polymargin.boundary.degree import generic_critical_count
from polymargin.errors import InputError

SHARED = ("", "KQ", "KV", "KQV")
Weight = Callable[[float], Any]


@dataclass(frozen=True)
class NetworkArchitecture:
    """A fully connected network: (inputs, hidden widths…, classes) and the degree of its activation x^d.

    >>> NetworkArchitecture((3, 3, 2, 2), 2).total_degree
    4
    """

    widths: tuple[int, ...]
    degree: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "widths", tuple(self.widths))
        if len(self.widths) < 3 or not all(_is_size(width) for width in self.widths):
            raise InputError(
                f"architecture {self.widths}: expected inputs, at least one hidden width, and classes, such as (3, 3, 2, 2)"
            )
        if self.widths[-1] < 2:
            raise InputError(
                f"architecture {self.widths}: one class has no boundary; the last number counts the classes"
            )
        if not _is_size(self.degree):
            raise InputError(f"activation degree {self.degree!r}: expected an integer >= 1")

    @property
    def inputs(self) -> int:
        """Return the number of inputs."""
        return self.widths[0]

    @property
    def hidden(self) -> tuple[int, ...]:
        """Return the widths of the hidden layers."""
        return self.widths[1:-1]

    @property
    def total_degree(self) -> int:
        """Return the degree of the boundary polynomial."""
        return int(self.degree ** len(self.hidden))

    @property
    def active_inputs(self) -> int:
        """Return the dimension of the active subspace: the first layer sees no more directions than it has rows."""
        return min(self.inputs, self.hidden[0])

    @property
    def bound(self) -> int:
        """Return ED degree of a generic hypersurface of this degree in this many active variables."""
        return generic_critical_count(self.active_inputs, self.total_degree)

    def reduced(self) -> NetworkArchitecture:
        """Return the same boundaries in their active subspace."""
        return NetworkArchitecture((self.active_inputs, *self.widths[1:]), self.degree)

    def polynomial(self, variables: Sequence[Any], weight: Weight) -> Any:
        """Return the boundary polynomial; the difference of two rows of the last layer is one generic row."""
        values = list(variables)
        for width in self.hidden:
            size = 1 / sqrt(len(values))
            values = [(_form(values, weight, size) + weight(0.5)) ** self.degree for _ in range(width)]
        return _form(values, weight, 1 / sqrt(len(values)))

    def __str__(self) -> str:
        return f"({self.inputs}, [{', '.join(map(str, self.hidden))}]), d = {self.degree}"


@dataclass(frozen=True)
class AttentionArchitecture:
    """Lightning self-attention: t tokens of dimension d, values of dimension d′, attention matrix of rank at most a.

    `shared` names weights that are the same matrix: "KQ" (a symmetric attention matrix), "KV" or "KQV", the last two for d′ = a.

    >>> AttentionArchitecture(2, 2, 1, 1).bound
    45
    """

    t: int
    d: int
    d_prime: int
    a: int
    shared: str = ""

    def __post_init__(self) -> None:
        if not all(_is_size(size) for size in (self.t, self.d, self.d_prime, self.a)):
            raise InputError(f"attention {self}: expected four integers >= 1, t, d, d' and a")
        if self.shared not in SHARED:
            raise InputError(f"shared={self.shared!r}: expected one of {', '.join(map(repr, SHARED))}")
        if "V" in self.shared and self.d_prime != self.a:
            raise InputError(f"attention {self}: values that are keys have their dimension; expected d' = a")

    @property
    def inputs(self) -> int:
        """Return the number of inputs."""
        return self.t * self.d

    @property
    def total_degree(self) -> int:
        """Return the degree of the boundary polynomial, three."""
        return 3

    @property
    def bound(self) -> int:
        """Return ED degree of a generic cubic in all t·d inputs."""
        return generic_critical_count(self.inputs, 3)

    def reduced(self) -> AttentionArchitecture:
        """Return the smallest architecture with the same boundaries.

        Values beyond min(t, d) add nothing, nor does a rank of A above d, nor a direction of tokens that V, K and Q ignore.
        """
        values, rank = min(self.d_prime, self.t, self.d), min(self.a, self.d)
        if "V" in self.shared:
            return AttentionArchitecture(self.t, min(self.d, 2 * self.a), self.a, self.a, self.shared)
        seen = values + (1 if self.shared else 2) * rank
        return AttentionArchitecture(self.t, min(self.d, seen), values, rank, self.shared)

    def polynomial(self, variables: Sequence[Any], weight: Weight) -> Any:
        """Return tr(Cᵀ V X Xᵀ K Qᵀ X) = Σ_rp (Σ_τ v_r·x_τ k_p·x_τ) (Σ_τ c_rτ q_p·x_τ) for consecutive tokens x_τ."""
        tokens = [variables[i : i + self.d] for i in range(0, self.inputs, self.d)]
        size = 1 / sqrt(self.d)

        def forms(count: int) -> list[list[Any]]:
            rows = [[weight(size) for _ in range(self.d)] for _ in range(count)]
            return [[_dot(row, token) for token in tokens] for row in rows]

        keys = forms(self.a)
        queries = keys if "Q" in self.shared else forms(self.a)
        values = keys if "V" in self.shared else forms(self.d_prime)
        read_out = [[weight(1 / sqrt(self.t)) for _ in tokens] for _ in values]
        terms = [
            _dot(value, key) * _dot(row, query)
            for value, row in zip(values, read_out, strict=True)
            for key, query in zip(keys, queries, strict=True)
        ]
        return reduce(add, terms)

    def __str__(self) -> str:
        shared = f", {' = '.join(self.shared)}" if self.shared else ""
        return f"({self.t}, {self.d}, {self.d_prime}, {self.a}{shared})"


Architecture = NetworkArchitecture | AttentionArchitecture


def _is_size(number: Any) -> bool:
    return isinstance(number, int) and number >= 1


def _form(values: Sequence[Any], weight: Weight, size: float) -> Any:
    return _dot([weight(size) for _ in values], values)


def _dot(left: Sequence[Any], right: Sequence[Any]) -> Any:
    return reduce(add, (a * b for a, b in zip(left, right, strict=True)))
