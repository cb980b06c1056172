"""A network as steps, for bounds on regions: products and activations of affine forms of all values computed so far.

The stages of a network are such steps already, but for attention, which is written in layers for one pair of classes. Products
stay products: nothing is squared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.polynomial import polynomial
from numpy.typing import NDArray
from scipy import sparse

from polymargin.bounds.layered.layers import layered
from polymargin.networks.layers import stages_of_layers
from polymargin.networks.network import Network
from polymargin.networks.recurrences import POWERS, rounded
from polymargin.networks.stages import Polynomial
from polymargin.networks.structures import Attention

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class AffineForm:
    """bias + Σ operator @ values[source]; source 0 are the inputs, source k the values of step k."""

    blocks: tuple[tuple[int, Any], ...]
    bias: Array

    def __call__(self, values: Sequence[Array]) -> Array:
        """At points (S, ·), one row each."""
        total = np.broadcast_to(self.bias, (len(values[0]), len(self.bias)))
        for source, operator in self.blocks:
            total = total + (operator @ values[source].T).T
        return np.asarray(total)

    @cached_property
    def _absolute(self) -> AffineForm:
        return AffineForm(tuple((source, abs(operator)) for source, operator in self.blocks), np.abs(self.bias))

    def term_sizes(self, sizes: Sequence[Array]) -> Array:
        """|bias| + Σ |operator| @ sizes[source]: what is added up, where values are of these sizes."""
        return np.asarray(self._absolute([size[None] for size in sizes])[0])

    def along(self, directions: Array, origin: Array) -> AffineForm:
        """As a form of z instead of the inputs origin + directions @ z."""
        bias = self.bias + sum(operator @ origin for source, operator in self.blocks if source == 0)
        blocks = ((source, operator @ directions if source == 0 else operator) for source, operator in self.blocks)
        return AffineForm(tuple(blocks), bias)


@dataclass(frozen=True, eq=False)
class NetworkStep:
    """The product of two forms, or σ of one form with the coefficients of σ, lowest power first."""

    forms: tuple[AffineForm, ...]
    coefficients: Array | None

    def __len__(self) -> int:
        return len(self.forms[0].bias)

    @property
    def is_product(self) -> bool:
        return self.coefficients is None

    def parts(self, results: list[Array]) -> tuple[Array, list[Array]]:
        """The new values, and their derivatives by each form."""
        if self.coefficients is None:
            left, right = results
            return left * right, [right, left]
        (z,) = results
        values, slopes = (
            np.asarray(polynomial.polyval(z, c), dtype=np.float64) for c in (self.coefficients, self._slope)
        )
        return values, [slopes]

    def term_sizes(self, results: list[Array], terms: list[Array]) -> Array:
        """What is added up for the new values, where the forms have these values and these terms.

        To first order a value errs by the unit of roundoff times its terms, and passes on what its forms err by.
        """
        sizes = [np.abs(result) for result in results]
        if self.coefficients is None:
            return sizes[0] * terms[1] + sizes[1] * terms[0]
        coefficients = np.abs(self.coefficients)
        slopes = polynomial.polyval(sizes[0], polynomial.polyder(coefficients))
        return np.asarray(polynomial.polyval(sizes[0], coefficients) + slopes * terms[0])

    @cached_property
    def _slope(self) -> Array:
        assert self.coefficients is not None
        return np.asarray(polynomial.polyder(self.coefficients))


@dataclass(frozen=True, eq=False)
class NetworkSteps:
    """All steps, and the logits as a form of all values; `lowering` as in `Layered`."""

    inputs: int
    steps: tuple[NetworkStep, ...]
    readout: AffineForm
    lowering: dict[str, Array] | None = None

    @classmethod
    def of(cls, network: Network, label: int, rival: int) -> NetworkSteps:
        """The steps of a network, made once; for attention those of the pair."""
        if isinstance(network.structure, Attention):
            found = layered(network, label, rival)
            chain = found.chain
            made = NetworkSteps.of(
                Network(*stages_of_layers(chain.layers, [(c, POWERS.name) for c in chain.activations])), 0, 1
            )
            return NetworkSteps(made.inputs, made.steps, made.readout, found.lowering)
        if network not in _known:
            _known[network] = _of_stages(network)
        return _known[network]

    def along(self, directions: Array, origin: Array) -> NetworkSteps:
        """The network as a function of z, at the inputs origin + directions @ z."""
        steps = tuple(
            NetworkStep(tuple(form.along(directions, origin) for form in step.forms), step.coefficients)
            for step in self.steps
        )
        return NetworkSteps(directions.shape[1], steps, self.readout.along(directions, origin), self.lowering)

    def difference(self, label: int, rivals: Sequence[int]) -> tuple[list[Array], Array]:
        """f_label − f_rival for every rival: weights (rivals, ·) on each source, and constants."""
        chosen = list(rivals)
        sizes = [self.inputs, *map(len, self.steps)]
        weights = [np.zeros((len(chosen), size)) for size in sizes]
        for source, operator in self.readout.blocks:
            rows = operator.toarray() if sparse.issparse(operator) else operator
            weights[source] = rows[label] - rows[chosen]
        return weights, self.readout.bias[label] - self.readout.bias[chosen]

    def values(self, points: Array) -> list[Array]:
        """Inputs and the values of every step at points (S, n)."""
        values = [points]
        for step in self.steps:
            values.append(step.parts([form(values) for form in step.forms])[0])
        return values

    def slopes(self, points: Array, weights: list[Array], constants: Array) -> tuple[Array, Array]:
        """Σ weights·values + constant and its gradient at points (S, n), one functional for each point."""
        values, derivatives = [points], []
        for step in self.steps:
            new, by_form = step.parts([form(values) for form in step.forms])
            values.append(new)
            derivatives.append(by_form)
        total = constants + sum((w * v).sum(axis=1) for w, v in zip(weights, values, strict=True))
        return np.asarray(total), self.adjoints(weights, derivatives)[0]

    def adjoints(self, weights: list[Array], derivatives: list[list[Array]]) -> list[Array]:
        """∂/∂values of every source, for functionals with these weights; `derivatives` (·, h) by step and form."""
        result = [w.copy() for w in weights]
        for number in reversed(range(len(self.steps))):
            for form, slope in zip(self.steps[number].forms, derivatives[number], strict=True):
                inner = result[number + 1] * slope
                for source, operator in form.blocks:
                    result[source] += np.asarray((operator.T @ inner.T).T)
        return result


_known: WeakKeyDictionary[Any, NetworkSteps] = WeakKeyDictionary()


def _of_stages(network: Network) -> NetworkSteps:
    steps = []
    for stage in network.stages:
        coefficients = None
        if isinstance(stage, Polynomial):
            coefficients = np.array([rounded(c) for c in stage.recurrence.in_powers(stage.coefficients)])
        steps.append(NetworkStep(tuple(AffineForm(forms.blocks, forms.bias) for forms in stage.forms), coefficients))
    return NetworkSteps(network.dimension, tuple(steps), AffineForm(network.readout.blocks, network.readout.bias))
