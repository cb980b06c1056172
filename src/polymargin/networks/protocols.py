"""What the later rooms ask of a network, whatever it is made of.

A boundary needs polynomials that can be written on symbolic scalars and moved by affine maps: `LogitMap`. Margins, bounds
and certificates need a classifier with exact answers, and for every pair of classes a form made of layers: `AnyNetwork`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from polymargin.networks.layers import Layer
    from polymargin.networks.polynomial_network import PolynomialNetwork

Array = NDArray[np.float64]


class LogitMap(Protocol):
    """Polynomial logits, and the affine forms of the input through which they see it."""

    @property
    def dimension(self) -> int:
        """Number of inputs."""
        ...

    @property
    def class_count(self) -> int: ...

    @property
    def fingerprint(self) -> str:
        """Changes whenever a weight changes by one ulp."""
        ...

    @property
    def forms(self) -> Layer:
        """The logits depend on the input through these forms alone."""
        ...

    @property
    def rounding_steps(self) -> int:
        """Floating-point logits err by at most this many units of roundoff, relative to the sizes of their terms."""
        ...

    def term_sizes(self, points: Array) -> Array:
        """Bounds of all terms that are added up for each logit, at points (…, n)."""
        ...

    def logits(self, values: NDArray[Any]) -> NDArray[Any]:
        """The logits along the last axis; floats, symbolic scalars or Fractions (as object arrays)."""
        ...

    def precompose(self, matrix: Array, offset: Array) -> LogitMap:
        """The logits at offset + matrix @ y, as functions of y."""
        ...

    def active_subspace(self, label: int, rival: int) -> tuple[Array, LogitMap] | None:
        """An orthonormal basis (n, m) of what f_label − f_rival depends on, and the logits on it.

        None where nothing is known beyond `forms`.
        """
        ...


class AnyNetwork(LogitMap, Protocol):
    """A classifier with polynomial logits."""

    @property
    def kind(self) -> str:
        """The name of this kind of model in certificates."""
        ...

    @property
    def degree(self) -> int:
        """Degree of the logits as polynomials in the input, if nothing cancels."""
        ...

    @property
    def hidden_layers(self) -> int: ...

    @property
    def is_affine(self) -> bool:
        """Whether the logits are affine because every activation is."""
        ...

    def __call__(self, points: ArrayLike) -> Array:
        """The logits at one point (n,) or a batch (m, n)."""
        ...

    def predict(self, points: ArrayLike) -> NDArray[np.int64]:
        """The class of the largest logit."""
        ...

    def exact_logits(self, point: ArrayLike) -> list[Fraction]:
        """The logits at one point of doubles, or of dyadic Fractions, in exact arithmetic."""
        ...

    def layered(self, label: int, rival: int) -> Layered:
        """f_label − f_rival in layers."""
        ...

    def save(self, path: Any) -> None:
        """Write the network as one .npz file."""
        ...


@dataclass(frozen=True, eq=False)
class Layered:
    """f_label − f_rival of some pair of classes, as that of a network made of layers.

    network    its difference of the two logits is the same polynomial, up to the rounding of its weights
    lowering   the choices from which a checker rebuilds the layers without rounding; None where the network is the model
    """

    network: PolynomialNetwork
    lowering: dict[str, Array] | None = None
