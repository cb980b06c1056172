"""Ranges of the rests beyond the second layer from their curvatures.

To second order wˡ_i is a quadratic form: wˡ_i = δᵀM_iδ + e_i, M_i = Σ_k a^kᵀ diag(d^k_i) a^k over the layers k < l, where
d^{l−1}_i = c Wˡ_i and, below, what Wˡ_i ∘ σ'(p) becomes on its way down. A proof states Λ, and for every neuron λ⁻ ≤ 0 ≤ λ⁺ and
σ ≥ 0; proved here are

    Λ − Σ Q_i² ≻ 0,      λ⁺ − M_i ≻ 0,      M_i − λ⁻ ≻ 0,      σ² − aᵀ diag(c² W_ij²) a ≻ 0      (a, c of layer l − 1).

With ω ≥ ‖wˡ⁻¹‖ and ε ≥ ‖eˡ⁻¹‖, which are r²√Λ and 0 for l = 3, then |e_i| ≤ ‖W_i ∘ σ'(p)‖ ε + 2rσω + max_j |c W_ij| ω²
(docs/theorems.md, section 9). What is proved does not depend on the rival or the radius, and is not proved again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce
from typing import Any

from flint import arb, fmpq

from polymargin_checker.document import fields, items
from polymargin_checker.dyadics import ball, number
from polymargin_checker.lifted_expansion import HiddenLayers, Range, Surroundings
from polymargin_checker.model import Model
from polymargin_checker.refusal import Refused

Row = tuple[fmpq, fmpq, fmpq]


@dataclass(frozen=True)
class Known:
    """What is proved about a model at a point, for every rival and radius.

    curvatures   per second-layer neuron and side: the least multiple of the identity known to dominate ±Q_i
    spectra      per deeper layer and neuron: (λ⁻, λ⁺, σ)
    together     values of Λ
    around       the model, and its layers around the point (one pair or none)
    products     a network of products around the point (one or none), with what is proved of its curvatures
    """

    curvatures: dict[tuple[int, str], fmpq] = field(default_factory=dict)
    spectra: dict[tuple[int, int], Row] = field(default_factory=dict)
    together: set[str] = field(default_factory=set)
    around: list[tuple[Model, Surroundings]] = field(default_factory=list)
    products: list[Any] = field(default_factory=list)


class ProvedSpectra:
    """The stated numbers, proved; asked for one layer after the other."""

    def __init__(self, expansion: HiddenLayers, value: Any, known: Known) -> None:
        fields(value, "spectra", ("together", "layers"))
        self._expansion = expansion
        self._together = number(value["together"], "spectra, together")
        entries = items(value["layers"], "spectra, layers", len(expansion.layers) - 2)
        self._rows = [self._read(entry, layer) for layer, entry in enumerate(entries, start=3)]
        self._prove_together(known)
        for layer, rows in enumerate(self._rows, start=3):
            self._prove_layer(layer, rows, known)
        self._length = ball(expansion.radius) ** 2 * ball(self._together).sqrt()
        self._remainder = arb(0)

    def _read(self, value: Any, layer: int) -> list[Row]:
        rows: list[Row] = []
        for neuron, entry in enumerate(items(value, "spectra", len(self._expansion.layers[layer - 1].value))):
            where = f"spectra of layer {layer}, neuron {neuron}"
            low, high, spread = (number(part, where) for part in items(entry, where, 3))
            if not low <= 0 <= high or spread < 0:
                raise Refused(f"{where}: expected a number up to 0, one from 0 on, and a spread that is not negative")
            rows.append((low, high, spread))
        return rows

    def _prove_together(self, known: Known) -> None:
        if str(self._together) in known.together:
            return
        expansion = self._expansion
        total = expansion.around.sum_of_squared_curvatures
        if not total.shifted(self._together, None, -1).positive_definite():
            raise Refused("spectra, together: not shown to dominate the squared curvatures of the second layer")
        known.together.add(str(self._together))

    def _prove_layer(self, layer: int, rows: list[Row], known: Known) -> None:
        if all(known.spectra.get((layer, neuron)) == row for neuron, row in enumerate(rows)):
            return
        expansion, below = self._expansion, self._expansion.layers[layer - 2]
        factors = _factors(expansion, layer)
        for neuron, (low, high, spread) in enumerate(rows):
            parts = [
                under.slopes.form(factor.row(neuron)) for under, factor in zip(expansion.layers, factors, strict=False)
            ]
            curvature = reduce(lambda one, other: one + other, parts)
            last = factors[-1].row(neuron)
            wide = below.slopes.form(last.entrywise(last))
            proved = (
                curvature.shifted(high, None, -1).positive_definite()
                and curvature.shifted(-low, None, 1).positive_definite()
                and wide.shifted(spread * spread, None, -1).positive_definite()
            )
            if not proved:
                raise Refused(f"spectra of layer {layer}, neuron {neuron}: not shown to dominate its curvature")
            known.spectra[layer, neuron] = (low, high, spread)

    def ranges(self, layer: int) -> list[tuple[arb, arb]]:
        """Ends that the rests of this layer do not leave; the layers are asked for in order, each after `settle`."""
        expansion, below = self._expansion, self._expansion.layers[layer - 2]
        source, radius, bend = expansion.layers[layer - 1].source, ball(expansion.radius), abs(ball(below.bend))
        turned = expansion.layers[layer - 1].weights.transpose.entrywise(below.rise).transpose
        result, errors = [], []
        for neuron, ((low, high, spread), steep) in enumerate(
            zip(self._rows[layer - 3], turned.row_norms(), strict=True)
        ):
            largest = arb(max(abs(weight) for weight in source.row(neuron)))
            error = steep * self._remainder + 2 * radius * ball(spread) * self._length
            error += bend * largest * self._length**2
            errors.append(error)
            result.append((radius**2 * ball(low) - error, radius**2 * ball(high) + error))
        self._remainder = sum((error**2 for error in errors), arb(0)).sqrt()
        return result

    def settle(self, ranges: list[Range]) -> None:
        """The ranges of the layer are proved: the length of its vector of rests follows."""
        squares = (ball(max(-low, high)) ** 2 for low, high in ranges)
        self._length = sum(squares, arb(0)).sqrt()


def _factors(expansion: HiddenLayers, layer: int) -> list[Any]:
    """d^k for the layers k = 1 … layer − 1, one row per neuron."""
    factor = expansion.layers[layer - 1].weights
    result: list[Any] = []
    for k in reversed(range(layer - 1)):
        under = expansion.layers[k]
        result.insert(0, factor.times(under.bend))
        if k:
            factor = factor.transpose.entrywise(under.rise).transpose @ under.weights
    return result
