"""minorant:  s (y − (a x² + b x + c)) ≥ 0, s = ±1, because a parabola lies on one side of the function of a neuron.

For y of a polynomial's nonlinear part x is t; for y = σ(z) of a piecewise polynomial x is z, in which breakpoints are exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from polymargin.relaxation.constraints.constraint import Array, Squares, Unknowns
from polymargin.relaxation.constraints.encoding import packed
from polymargin.relaxation.space import Space


@dataclass(frozen=True, eq=False)
class Parabolas:
    """s (y − (a x² + b x + c)) of neurons, numbered among all y."""

    neuron: NDArray[np.int64]
    sign: Array
    a: Array
    b: Array
    c: Array

    @classmethod
    def none(cls) -> Parabolas:
        """Return an empty list."""
        return cls(np.zeros(0, dtype=np.int64), *(np.zeros(0) for _ in range(4)))

    @classmethod
    def joined(cls, parts: list[Parabolas]) -> Parabolas:
        """Return several lists as one."""
        return cls(*(np.concatenate(columns) for columns in zip(*(vars(part).values() for part in parts), strict=True)))

    def __len__(self) -> int:
        return len(self.neuron)


@dataclass(frozen=True, eq=False)
class Minorant:
    """Parabolas of neurons, one unknown for each: its weight.

    Where only the functional depends on a neuron, with weight v, the weights of its parabolas add up to |v| and y disappears:

        v y ≥ |v| Σ share_k s p_k(x),    share ≥ 0,  Σ share = 1.

    One of its parabolas is the reference, whose share is what the others leave: Z gets it as the diagonal entry of y, where
    nothing else stands.

    reference   the number of that parabola for such neurons, −1 for others
    size        of the functional
    """

    space: Space
    parabolas: Parabolas
    reference: NDArray[np.int64]
    weights: Array
    size: float
    name = "minorant"

    def unknowns(self) -> Unknowns:
        space, own, other = self.space, self.chosen, self.others
        rows, _, places = self._neurons
        factor = self._factors
        neuron, mixed = own.neuron, other >= 0
        a, b, c = own.a.copy(), own.b.copy(), own.c.copy()
        for part, whole in ((a, self.parabolas.a), (b, self.parabolas.b), (c, self.parabolas.c)):
            part[mixed] -= whole[other[mixed]]
        squares = np.zeros((len(own), len(rows)))
        squares[np.arange(len(own)), neuron] = factor * a
        linear = (factor * b)[:, None] * rows[neuron]
        linear[:, 0] += factor * c
        alone = np.flatnonzero(~mixed)
        linear[alone] -= factor[alone, None] * space.of_variables(np.eye(space.variables)[places[neuron[alone]]])
        diagonal = np.zeros((len(own), space.size))
        shared = np.flatnonzero(mixed)
        diagonal[shared, space.first + places[neuron[shared]]] = -1.0
        parts = [Squares(("x", 0), rows, squares)] if squares.any() else []
        return Unknowns(len(own), squares=parts, linear=linear, diagonal=diagonal)

    def base(self) -> Array:
        """Return what replaces the values of mixed neurons in the functional, with the shares of the references."""
        space, rows, places = self.space, self._neurons[0], self._neurons[2]
        result = np.zeros((space.size, space.size))
        mixed = np.flatnonzero(self.reference >= 0)
        known, v = self.reference[mixed], self.weights[mixed]
        x, p = rows[mixed], self.parabolas
        result += x.T @ ((v * p.a[known])[:, None] * x)
        row = (v * p.b[known]) @ x
        row[0] += v @ p.c[known]
        row -= v @ space.of_variables(np.eye(space.variables)[places[mixed]])
        result[0] += row / 2
        result[:, 0] += row / 2
        result[self.mixed_places, self.mixed_places] += self.size
        return result

    def concave(self) -> dict[int, Array]:
        """Return by group how concave the references make the functional in the arguments of its forms."""
        found: dict[int, Array] = {}
        for neurons in self.space.neurons:
            own = neurons.number + np.arange(len(neurons.forms))
            known = np.flatnonzero(self.reference[own] >= 0)
            bend = self.weights[own[known]] * self.parabolas.a[self.reference[own[known]]]
            whole = np.zeros(len(self.space.expansion.groups[neurons.group]))
            whole[neurons.forms[known]] = np.maximum(0.0, -bend)
            found[neurons.group] = whole
        return found

    def shares(self, y: Array) -> Array:
        """Return the diagonal (size,) of Z that is not part of the form: the shares of the references."""
        result = np.zeros(self.space.size)
        result[self.mixed_places] = self.size
        mixed = self.others >= 0
        np.subtract.at(result, self.space.first + self._neurons[2][self.chosen.neuron[mixed]], y[mixed])
        return result

    def mixture(self, y: Array) -> Array:
        """Return the weights (parabolas,) with which the multipliers mix all parabolas."""
        mixed = np.flatnonzero(self.reference >= 0)
        weight = np.zeros(len(self.parabolas))
        alone = self.others < 0
        places = np.flatnonzero(self._is_chosen)
        weight[places[alone]] = y[alone] / self._scales[alone]
        weight[places[~alone]] = y[~alone] / self.size * np.abs(self.weights[self.chosen.neuron[~alone]])
        rest = np.abs(self.weights[mixed])
        np.subtract.at(rest, np.searchsorted(mixed, self.chosen.neuron[~alone]), weight[places[~alone]])
        weight[self.reference[mixed]] = rest
        return weight

    def entry(self, y: Array) -> dict[str, str | list[int]]:
        own, weight = self.parabolas, self.mixture(y)
        used = np.flatnonzero(weight > 0)
        return {
            "neuron": own.neuron[used].tolist(),
            "sign": own.sign[used].astype(int).tolist(),
            **{key: packed(getattr(own, key)[used]) for key in ("a", "b", "c")},
            "weight": packed(weight[used]),
        }

    @cached_property
    def chosen(self) -> Parabolas:
        """The parabolas with an unknown."""
        return Parabolas(*(part[self._is_chosen] for part in vars(self.parabolas).values()))

    @cached_property
    def others(self) -> NDArray[np.int64]:
        """For each unknown the number of the reference of its neuron, or −1."""
        return np.asarray(self.reference[self.chosen.neuron])

    @property
    def mixed_places(self) -> NDArray[np.int64]:
        """Places in ξ of the y that disappear."""
        return np.asarray(self.space.first + self._neurons[2][self.reference >= 0])

    @property
    def _is_chosen(self) -> NDArray[np.bool_]:
        result = np.ones(len(self.parabolas), dtype=bool)
        result[self.reference[self.reference >= 0]] = False
        return result

    @property
    def _scales(self) -> Array:
        """Half the ranges of y, which make unknowns comparable."""
        return np.maximum(self._neurons[1][self.chosen.neuron], 1e-200)

    @property
    def _factors(self) -> Array:
        own = self.chosen
        mixed = np.abs(self.weights[own.neuron]) / self.size
        return own.sign * np.where(self.others >= 0, mixed, 1 / self._scales)

    @cached_property
    def _neurons(self) -> tuple[Array, Array, NDArray[np.int64]]:
        """Rows x, halves and places of all y."""
        space = self.space
        rows = np.concatenate([space.inputs(neurons) for neurons in space.neurons])
        places = np.concatenate([np.arange(n.places.start, n.places.stop) for n in space.neurons])
        return rows, space.half[places], places


def closest(parabolas: Parabolas, neurons: NDArray[np.int64], x: Array, y: Array) -> NDArray[np.int64]:
    """Return for each neuron the number of the parabola that is closest to its value y at x."""
    gap = np.abs(
        y[parabolas.neuron] - (parabolas.a * x[parabolas.neuron] + parabolas.b) * x[parabolas.neuron] - parabolas.c
    )
    order = np.lexsort((gap, parabolas.neuron))
    first = np.searchsorted(parabolas.neuron[order], neurons)
    return np.asarray(order[first])
