"""Networks that multiply different expressions: gates, Π-nets, residual sums, stacked attention without softmax.

    v⁰ = x,      vᵏ = (vᵏ⁻¹, stage_k(vᵏ⁻¹)),      logits = C vᴷ + c.

Every stage multiplies or activates affine forms of *all* values computed so far (`program/stages.py`), so a residual sum or a
skipped layer is a row of weights and nothing has to be carried. Layers, gates and attention are all programs of this kind:
boundaries, exact logits, files, the checker and bounds are derived from the stages, not from the architecture.
Weights are stored as float64; the network a margin speaks of is the real polynomial with exactly these coefficients.
"""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.networks.forms import Forms
from polymargin.networks.network import Network
from polymargin.networks.polynomial_network import PolynomialNetwork
from polymargin.networks.protocols import AnyNetwork, Layered
from polymargin.networks.readers.npz import names_to_write, with_names
from polymargin.networks.readers.npz_products import PARTS, flat, read_products, write_products
from polymargin.networks.rounding import EPSILON
from polymargin.networks.squares import layers_of_squares
from polymargin.networks.stages import Polynomial, Product

Array = NDArray[np.float64]


class ProductNetwork(Network):
    """A classifier made of products and polynomials of forms.

    >>> both = Forms.of([[1.0, 1.0], [1.0, -1.0]]), Forms.of([[0.0, 1.0], [2.0, 0.0]], [1.0, 0.0])
    >>> net = ProductNetwork([Product(*both)], Forms.of([[0.0, 0.0, 1.0, 0.0], [1.0, 0.0, 0.0, 1.0]]))
    >>> net([1.0, 2.0])                          # (1 + 2)·(2 + 1), and 1 + (1 − 2)·2
    array([ 9., -1.])
    """

    kind = "product-network"

    @property
    def hidden_layers(self) -> int:
        """Number of stages."""
        return len(self.stages)

    @property
    def is_affine(self) -> bool:
        """Whether the logits are affine because no stage makes them bend."""
        return self.degree <= 1

    @property
    def forms(self) -> Any:
        return self.input_forms

    def __repr__(self) -> str:
        sizes = "-".join(map(str, self.widths))
        origin = f"; {self.origin}" if self.origin else ""
        return f"ProductNetwork({sizes}, logits of degree {self.degree}{origin})"

    def precompose(self, matrix: Array, offset: Array) -> ProductNetwork:
        """The network y ↦ f(offset + matrix @ y)."""
        moved = super().precompose(matrix, offset)
        return ProductNetwork(moved.stages, moved.readout)

    def active_subspace(self, label: int, rival: int) -> None:
        """Nothing is known beyond the forms."""
        return

    # Roundings are counted in `term_sizes`.
    rounding_steps = 0

    def term_sizes(self, points: Array) -> Array:
        """Bounds of the errors of the logits in units of roundoff, carried along from the inputs."""
        return self.rounding_errors(points) / EPSILON

    def layered(self, label: int, rival: int) -> Layered:
        """The same logits as a network of squares, for any pair of classes (docs/networks.md)."""
        return self._layered

    @cached_property
    def _layered(self) -> Layered:
        return layers_of_squares(self.stages, self.readout)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the exact weights."""
        digest = hashlib.sha256(b"polymargin products 1")
        for stage in self.stages:
            if isinstance(stage, Polynomial):
                digest.update(repr((stage.basis, [c.hex() for c in stage.coefficients])).encode())
            for forms in stage.forms:
                _update(digest, forms)
        _update(digest, self.readout)
        return digest.hexdigest()

    def save(self, path: Any) -> None:
        """Write the network as one .npz file."""
        write_products(path, self.stages, self.readout, names_to_write(self))

    @classmethod
    def load(cls, path: Any) -> ProductNetwork:
        """Read a network written by `save`."""
        stages, readout, names = read_products(path)
        return with_names(cls(stages, readout), names, path)


def quadratic_layers(network: AnyNetwork) -> PolynomialNetwork | None:
    """A network of degree two in layers of degree two, up to the rounding of their weights; None for any other."""
    layers = network.layered(0, 1).network if isinstance(network, ProductNetwork) and network.degree == 2 else network
    return layers if isinstance(layers, PolynomialNetwork) and layers.degree == 2 else None


def _update(digest: Any, forms: Forms) -> None:
    digest.update(repr((len(forms), forms.width)).encode())
    arrays = flat(forms)
    for part in PARTS:
        digest.update(np.ascontiguousarray(arrays[part], dtype="<i8" if part in PARTS[:2] else "<f8").tobytes())


__all__ = ["Forms", "Polynomial", "Product", "ProductNetwork"]
