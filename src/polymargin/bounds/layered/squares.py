"""A program of products as a network whose hidden layers are all squares, for bounds.

    p q = ((α p + q/α)² − (α p − q/α)²) / 4,

and a value z that only has to pass a layer is the product z · 1. Powers and Chebyshev polynomials are products as well,
z^(a+b) = z^a z^b and T_(a+b) = 2 T_a T_b − T_(a−b) with a − b ≤ 1, so every activation becomes log₂(degree) layers; series in
other bases are rewritten in Chebyshev polynomials, without rounding. Layer l
computes all products whose factors are known after layer l − 1, in their order, then carries what later factors need of
earlier values: either their sums, or the single values where these are fewer; once sums, always sums.

All of it is rational arithmetic; the weights are rounded once, at the end. The scales α, powers of two that make both
factors alike, are the only choice: with them a checker rebuilds the layers without rounding (polymargin_checker/squares.py).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

from polymargin.errors import InputError
from polymargin.networks.constructors import PolynomialNetwork
from polymargin.networks.forms import Forms
from polymargin.networks.layers import Chain
from polymargin.networks.recurrences import POWERS, rational, rounded
from polymargin.networks.stages import Polynomial, Product, Stage

# A matrix of more weights than this is not made: no bound could be computed with it.
LARGEST_LAYER = 1 << 24

Row = dict[int, Any]
Key = tuple[tuple[int, int, int], ...]
ONE, QUARTER = flint.fmpq(1), flint.fmpq(1, 4)


@dataclass(frozen=True)
class Affine:
    """constant + Σ row[i] · value i, in rationals."""

    row: Row
    constant: Any

    @property
    def size(self) -> float:
        return math.sqrt(sum(rounded(w) ** 2 for w in [self.constant, *self.row.values()]))


@dataclass
class Atoms:
    """Inputs and products, each with its level: inputs have 0, a product one more than the highest in its factors."""

    levels: list[int]
    products: list[tuple[int, Affine, Affine]] = field(default_factory=list)  # number of the atom, and its factors

    def product(self, left: Affine, right: Affine) -> int:
        used = [*left.row, *right.row]
        number = len(self.levels)
        self.levels.append(1 + max((self.levels[atom] for atom in used), default=0))
        self.products.append((number, left, right))
        return number


def layers_of_squares(stages: Sequence[Stage], readout: Forms) -> tuple[Chain, dict[str, Any]]:
    """The layers for all pairs of classes, and their scales in the order of the products."""
    inputs = stages[0].forms[0].width
    atoms, logits = expanded(stages, readout)
    lowering = _Lowering(atoms, logits)
    layers: list[tuple[Any, Any]] = []
    width = inputs
    for level in range(1, max(atoms.levels) + 1):
        neurons = lowering.layer(level)
        layers.append(_floats(neurons, width))
        width = len(neurons)
    layers.append(_floats(lowering.logits(), width))
    network = PolynomialNetwork(layers, activations=[(0.0, 0.0, 1.0)] * (len(layers) - 1))
    return network.expect_chain(), {"scales": np.array(lowering.scales)}


def expanded(stages: Sequence[Stage], readout: Forms) -> tuple[Atoms, list[Affine]]:
    """All products, activations written with them, and the logits."""
    atoms = Atoms([0] * stages[0].forms[0].width)
    values = [Affine({number: ONE}, flint.fmpq(0)) for number in range(len(atoms.levels))]
    for stage in stages:
        if isinstance(stage, Product):
            pairs = zip(_rows(stage.left, values), _rows(stage.right, values), strict=True)
            values += [Affine({atoms.product(left, right): ONE}, flint.fmpq(0)) for left, right in pairs]
        elif isinstance(stage, Polynomial):
            values += [_series(stage, z, atoms) for z in _rows(stage.form, values)]
        else:
            raise InputError("a piecewise polynomial has no expansion in products")
    return atoms, list(_rows(readout, values))


def _rows(forms: Forms, values: list[Affine]) -> Iterator[Affine]:
    for bias, (columns, weights) in zip(forms.bias.tolist(), forms.rows(), strict=True):
        yield combined([(rational(w), values[c]) for c, w in zip(columns, weights, strict=True)], rational(bias))


def combined(terms: list[tuple[Any, Affine]], constant: Any) -> Affine:
    """constant + Σ factor · form."""
    row: Row = {}
    for factor, form in terms:
        constant = constant + factor * form.constant
        for atom, weight in form.row.items():
            row[atom] = row[atom] + factor * weight if atom in row else factor * weight
    return Affine({atom: weight for atom, weight in sorted(row.items()) if weight != 0}, constant)


def _series(stage: Polynomial, z: Affine, atoms: Atoms) -> Affine:
    """Σ c_k z^k or Σ c_k T_k(z) over new products."""
    in_powers = stage.recurrence is POWERS
    row = [rational(c) for c in stage.coefficients] if in_powers else stage.recurrence.in_chebyshev(stage.coefficients)
    parts: dict[int, Affine] = {0: Affine({}, ONE), 1: z}
    for k in needed_orders([k for k, c in enumerate(row) if c != 0]):
        more, less = parts[(k + 1) // 2], parts[k // 2]
        product = Affine({atoms.product(more, less): ONE}, flint.fmpq(0))
        if not in_powers:
            product = combined([(flint.fmpq(2), product), (-ONE, parts[k % 2])], flint.fmpq(0))
        parts[k] = product
    return combined([(c, parts[k]) for k, c in enumerate(row) if c != 0], flint.fmpq(0))


def needed_orders(used: list[int]) -> list[int]:
    """The orders above one that are used, or are halves of such, from the lowest up."""
    needed: set[int] = set()
    waiting = [k for k in used if k > 1]
    while waiting:
        k = waiting.pop()
        if k > 1 and k not in needed:
            needed.add(k)
            waiting += [k // 2, (k + 1) // 2]
    return sorted(needed)


class _Lowering:
    """Layer after layer; `_own` and `_carried` say how what is known after the last one is written with its neurons."""

    def __init__(self, atoms: Atoms, logits: list[Affine]) -> None:
        self.scales: list[float] = []
        self._levels = atoms.levels
        self._names: dict[Key, int] = {}
        self._rows: list[Row] = []
        self._products = [(number, self._split(left), self._split(right)) for number, left, right in atoms.products]
        self._logits = [self._split(form) for form in logits]
        self._sums = False
        self._level = 0
        self._own: dict[int, Row] = {}
        self._carried: dict[Any, Row] = {}

    def layer(self, level: int) -> list[Affine]:
        """The neurons of a layer as forms of those of the layer below."""
        own = [product for product in self._products if self._levels[product[0]] == level]
        waiting = [form for number, *pair in self._products if self._levels[number] > level for form in pair]
        sums = dict.fromkeys(name for form in [*waiting, *self._logits] if (name := form.below(level)))
        single = sorted({atom for name in {part for name in sums for part in name} for atom in self._rows[name]})
        by_sums = self._sums or len(sums) <= len(single)  # `_sums` still speaks of the last layer
        neurons: list[Affine] = []
        reached: dict[int, Row] = {}
        passed: dict[Any, Row] = {}
        one = _Split({}, ONE, 1.0)
        for number, left, right in own:
            scale = self._scale(left.size, right.size)
            reached[number] = _squared(neurons, self._seen(left), self._seen(right), scale)
        carried: list[Any] = list(sums) if by_sums else list(single)
        for name in carried:
            parts = [self._rows[part] for part in name] if by_sums else [{name: ONE}]
            row = {atom: weight for part in parts for atom, weight in part.items()}
            form = self._split(Affine(row, flint.fmpq(0)))
            passed[name] = _squared(neurons, self._seen(form), self._seen(one), self._scale(form.size, one.size))
        self._level, self._sums, self._own, self._carried = level, by_sums, reached, passed
        return neurons

    def logits(self) -> list[Affine]:
        return [self._seen(form) for form in self._logits]

    def _split(self, form: Affine) -> _Split:
        by_level: dict[int, Row] = {}
        for atom, weight in form.row.items():
            by_level.setdefault(self._levels[atom], {})[atom] = weight
        return _Split({level: self._name(by_level[level]) for level in sorted(by_level)}, form.constant, form.size)

    def _name(self, row: Row) -> int:
        """A number that is the same for equal rows."""
        found = self._names.setdefault(tuple((atom, int(w.p), int(w.q)) for atom, w in row.items()), len(self._rows))
        if found == len(self._rows):
            self._rows.append(row)
        return found

    def _seen(self, form: _Split) -> Affine:
        """A form of atoms that are all known, as one of the neurons of the last layer."""
        if not self._level:
            return Affine(
                {atom: w for name in form.names.values() for atom, w in self._rows[name].items()}, form.constant
            )
        own = self._rows[form.names[self._level]] if self._level in form.names else {}
        parts = [(weight, self._own[atom]) for atom, weight in own.items()]
        lower = form.below(self._level)
        if self._sums:
            parts += [(ONE, self._carried[lower])] if lower else []
        else:
            parts += [(weight, self._carried[atom]) for name in lower for atom, weight in self._rows[name].items()]
        return combined([(factor, Affine(row, flint.fmpq(0))) for factor, row in parts], form.constant)

    def _scale(self, first: float, second: float) -> float:
        usable = 0.0 < first < math.inf and 0.0 < second < math.inf
        self.scales.append(2.0 ** round(math.log2(second / first) / 2) if usable else 1.0)
        return self.scales[-1]


@dataclass(frozen=True)
class _Split:
    """A form by the levels of its atoms: for each level the name of a row; its constant; its size."""

    names: dict[int, int]
    constant: Any
    size: float

    def below(self, level: int) -> tuple[int, ...]:
        return tuple(name for own, name in self.names.items() if own < level)


def _squared(neurons: list[Affine], left: Affine, right: Affine, scale: float) -> Row:
    """Add the neurons of a product, and say how it is written with them."""
    place = len(neurons)
    if left == right:
        neurons.append(left)
        return {place: ONE}
    alpha = rational(scale)
    zero = flint.fmpq(0)
    neurons += [combined([(alpha, left), (sign / alpha, right)], zero) for sign in (ONE, -ONE)]
    return {place: QUARTER, place + 1: -QUARTER}


def _floats(forms: list[Affine], width: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    if len(forms) * width > LARGEST_LAYER:
        raise InputError(
            f"bounds would need a layer of {len(forms)} by {width} weights; expected at most "
            f"{LARGEST_LAYER}: the network is too large for bounds by layers"
        )
    matrix, bias = np.zeros((len(forms), width)), np.zeros(len(forms))
    for number, form in enumerate(forms):
        matrix[number, list(form.row)] = [rounded(w) for w in form.row.values()]
        bias[number] = rounded(form.constant)
    return matrix, bias
