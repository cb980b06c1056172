"""From atoms to layers: the network that computes a tensor made without products of different forms.

Atoms of level l become hidden layer l. All neurons of a layer share one activation σ, so every polynomial p that the layer
has to compute is written with it:

    p(z) = α σ(a z + c) + β                      one neuron, where p is σ up to affine changes (any two quadratics are),
    p(z) = Σ_j α_j σ(z + δ_j) + β,  δ_j = 0, ±1, …   otherwise: d translates of σ span all polynomials up to degree d.

The same identities carry a value past a layer (residual sums): z = ((z + 1)² − (z − 1)²)/4 for squares, exactly. The layers are
made from the last to the first; a layer carries either the values that later layers use or the sums they need, whichever are
fewer. Weights that are products are rounded to float64; where nothing has to be rewritten they are taken as they are.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import sparse

from polymargin.errors import InputError
from polymargin.networks.polynomial_network import PolynomialNetwork
from polymargin.networks.tape.linear import dense
from polymargin.networks.tape.operations import Array, OperationTape

ROUNDING = 16 * float(np.finfo(np.float64).eps)
# One neuron instead of several is not worth more than three decimal digits lost by cancellation.
LARGEST_LOSS = 1e3
# Different activations in one layer, times the cube of their degree: each one may need a linear system of that size.
MOST_REWRITING = 1 << 20

Polynomial = tuple[float, ...]


def layers(tape: OperationTape, rows: Any, constants: Array) -> PolynomialNetwork:
    """The network whose logits are rows @ atoms + constants, where no atom is a product."""
    made: list[tuple[Array, Array]] = []
    activations: list[Polynomial] = []
    levels = np.array(tape.levels)
    while (level := _top_level(rows, levels)) > 0:
        hidden = _HiddenLayer(tape, rows, levels, level)
        made.insert(0, (dense(hidden.outer), constants + hidden.constants))
        activations.insert(0, hidden.activation)
        rows, constants = hidden.rows, hidden.shifts
    made.insert(0, (dense(rows[:, : tape.input_count]), constants))
    return PolynomialNetwork(made, activations=activations)


def _top_level(rows: Any, levels: Any) -> int:
    return int(levels[rows.indices].max(initial=0))


class _HiddenLayer:
    """rows @ atoms = outer @ σ(self.rows @ atoms of lower levels + self.shifts) + self.constants."""

    def __init__(self, tape: OperationTape, rows: Any, levels: Any, level: int) -> None:
        used = np.flatnonzero(np.bincount(rows.indices, minlength=len(levels)))
        own, lower = used[levels[used] == level], used[levels[used] < level]
        described = [tape.atoms[atom - tape.input_count] for atom in own]
        forms = tape.rows(np.array([direction for direction, _, _ in described]))
        shifts = [shift for _, shift, _ in described]
        wanted = [coefficients for _, _, coefficients in described]
        weights = rows[:, own]
        if len(lower):
            carried, carrying = _carried(rows, lower)
            forms = sparse.vstack([forms, carried], format="csr")
            shifts += [0.0] * carried.shape[0]
            wanted += [(0.0, 1.0)] * carried.shape[0]
            weights = sparse.hstack([weights, carrying], format="csr")
        self.activation = _activation(wanted)
        neurons = _Neurons(self.activation)
        forms.sort_indices()
        names = [_name(forms, place) for place in range(len(wanted))]
        parts = [neurons.compute(*target) for target in zip(names, shifts, wanted, strict=True)]
        plain = [([(place, 1.0)], 0.0) for place in range(len(wanted))]
        if parts == plain and all(scale == 1.0 for _, scale, _ in neurons.keys):  # every value is a neuron of its own
            self.outer, self.constants, self.rows = weights, np.zeros(weights.shape[0]), forms
        else:
            entries = [(number, row, factor) for row, (terms, _) in enumerate(parts) for number, factor in terms]
            numbers, places, factors = zip(*entries, strict=True)
            mixing = sparse.csr_matrix((factors, (places, numbers)), shape=(len(wanted), len(neurons.keys)))
            self.outer = weights @ mixing
            self.constants = weights @ np.array([constant for _, constant in parts])
            place_of = dict(zip(names, range(len(names)), strict=True))
            chosen = forms[[place_of[name] for name, _, _ in neurons.keys]]
            self.rows = sparse.csr_matrix(sparse.diags([scale for _, scale, _ in neurons.keys]) @ chosen)
        self.shifts = np.array([shift for _, _, shift in neurons.keys])


def _carried(rows: Any, lower: Any) -> tuple[Any, Any]:
    """Values to carry past the layer and the weights with which they enter `rows`: sums or single atoms."""
    part = rows[:, lower]
    spread = sparse.csr_matrix((np.ones(len(lower)), (np.arange(len(lower)), lower)), shape=(len(lower), rows.shape[1]))
    needing = np.flatnonzero(np.diff(part.indptr)).tolist()
    part.sort_indices()
    names = [_name(part, row) for row in needing]
    first = dict(zip(reversed(names), reversed(needing), strict=True))
    sums = {name: number for number, name in enumerate(first)}
    if len(sums) > len(lower):
        return spread, part
    places = [sums[name] for name in names]
    entering = sparse.csr_matrix((np.ones(len(needing)), (needing, places)), shape=(rows.shape[0], len(sums)))
    return part[list(first.values())] @ spread, entering


def _name(forms: Any, row: int) -> bytes:
    """Equal for equal rows of a matrix with sorted indices."""
    part = slice(forms.indptr[row], forms.indptr[row + 1])
    return bytes(forms.indices[part].tobytes() + b"|" + forms.data[part].tobytes())


class _Neurons:
    """The neurons of a layer, each one a form, a scale and a shift."""

    def __init__(self, activation: Polynomial) -> None:
        self.activation = activation
        self.keys: dict[tuple[bytes, float, float], int] = {}

    def compute(self, form: bytes, shift: float, wanted: Polynomial) -> tuple[list[tuple[int, float]], float]:
        """Which neurons, with which factors, and which constant give wanted(form + shift)."""
        written = written_with(self.activation, wanted)
        terms = []
        for term in written.terms:
            key = (form, term.scale, term.scale * shift + term.shift)
            terms.append((self.keys.setdefault(key, len(self.keys)), term.factor))
        return terms, written.constant


def _activation(wanted: Sequence[Polynomial]) -> Polynomial:
    """The polynomial of highest degree that needs the fewest neurons: the most common one, or the plain power."""
    degree = max(len(polynomial) for polynomial in wanted) - 1
    counts = Counter(wanted)
    if len(counts) * degree**3 > MOST_REWRITING:
        raise InputError(
            f"a layer with {len(counts)} different activations of degree up to {degree} is not "
            "read; give all neurons of a layer the same activation"
        )
    common = max((p for p in counts if len(p) == degree + 1), key=lambda p: counts[p])
    plain = (*[0.0] * degree, 1.0)
    candidates = (common, plain) if counts[common] * 2 > len(wanted) else (plain, common)
    return min(candidates, key=lambda sigma: _cost(sigma, counts))


def _cost(activation: Polynomial, counts: Counter[Polynomial]) -> float:
    """The number of neurons; infinite where something cannot be written with the activation."""
    try:
        return sum(number * len(written_with(activation, p).terms) for p, number in counts.items())
    except InputError:
        return math.inf


@dataclass(frozen=True)
class Term:
    """factor · σ(scale · z + shift)."""

    scale: float
    shift: float
    factor: float


@dataclass(frozen=True)
class Written:
    """A polynomial as a sum of terms and a constant."""

    terms: tuple[Term, ...]
    constant: float

    def size(self, activation: Polynomial) -> float:
        """The sum of the absolute values of all that is added up for |z| = 1."""
        reaches = [(abs(term.factor), abs(term.scale) + abs(term.shift)) for term in self.terms]
        return abs(self.constant) + sum(f * abs(a) * reach**k for f, reach in reaches for k, a in enumerate(activation))


@lru_cache(maxsize=4096)
def written_with(activation: Polynomial, wanted: Polynomial) -> Written:
    """A polynomial in terms of the activation, whose degree is at least as high.

    >>> written_with((0.0, 0.0, 1.0), (0.0, 1.0)).terms
    (Term(scale=1.0, shift=-1.0, factor=-0.25), Term(scale=1.0, shift=1.0, factor=0.25))
    """
    if wanted == activation:
        return Written((Term(1.0, 0.0, 1.0),), 0.0)
    degree = len(activation) - 1
    if len(wanted) == degree + 1:
        for found in (_multiple(activation, wanted), _rescaled(activation, wanted)):
            if found is not None and found.size(activation) <= LARGEST_LOSS * sum(map(abs, wanted)):
                return found
    for count in (*range(1, min(degree, 4)), degree):
        half = count // 2
        shifts = [*range(-half, 0), *([0] if count % 2 else []), *range(1, half + 1)]
        solved = _translates(activation, wanted, shifts)
        if solved is not None and solved.size(activation) <= LARGEST_LOSS**2 * sum(map(abs, wanted)):
            return solved
    raise InputError(
        f"a value beside an activation of degree {degree} cannot be computed with that activation without losing more than "
        "six digits"
    )


def _multiple(activation: Polynomial, wanted: Polynomial) -> Written | None:
    """wanted = α σ + β."""
    factor = wanted[-1] / activation[-1]
    if not all(_close(factor * a, w) for a, w in zip(activation[1:], wanted[1:], strict=True)):
        return None
    return Written((Term(1.0, 0.0, factor),), wanted[0] - factor * activation[0])


def _rescaled(activation: Polynomial, wanted: Polynomial) -> Written | None:
    """wanted(z) = α σ(a z + c) + β, compared after moving both so that the second highest coefficient vanishes."""
    degree = len(wanted) - 1
    centres = [-p[-2] / (degree * p[-1]) for p in (activation, wanted)]
    base, goal = (_translated(p, centre) for p, centre in zip((activation, wanted), centres, strict=True))
    ratios = [
        (degree - k, goal[-1] * base[k] / (base[-1] * goal[k]))
        for k in range(1, degree - 1)
        if base[k] != 0.0 and goal[k] != 0.0
    ]
    scales = [1.0]
    if ratios:
        order, value = ratios[0]
        if value < 0.0 and order % 2 == 0:
            return None
        root = math.copysign(abs(value) ** (1 / order), value)
        scales = [root] if order % 2 else [root, -root]
    for scale in scales:
        factor = goal[-1] / (base[-1] * scale**degree)
        if all(_close(factor * base[k] * scale**k, goal[k]) for k in range(1, degree - 1)):
            term = Term(scale, centres[0] - scale * centres[1], factor)
            return Written((term,), goal[0] - factor * base[0])
    return None


def _translates(activation: Polynomial, wanted: Polynomial, shifts: Sequence[int]) -> Written | None:
    """Factors of the translates of the activation, found in exact arithmetic; None if these do not suffice."""
    degree = len(activation) - 1
    exact = [Fraction(value) for value in activation]
    moved = [
        [
            sum((exact[i] * math.comb(i, k) * shift ** (i - k) for i in range(k, degree + 1)), Fraction(0))
            for shift in shifts
        ]
        for k in range(degree + 1)
    ]
    goal = [Fraction(value) for value in wanted] + [Fraction(0)] * (degree + 1 - len(wanted))
    factors = _solved([[*row, right] for row, right in zip(moved[1:], goal[1:], strict=True)], len(shifts))
    if factors is None:
        return None
    constant = goal[0] - sum((a * b for a, b in zip(factors, moved[0], strict=True)), Fraction(0))
    pairs = zip(shifts, factors, strict=True)
    return Written(tuple(Term(1.0, float(s), float(f)) for s, f in pairs if f), float(constant))


def _solved(rows: list[list[Fraction]], unknowns: int) -> list[Fraction] | None:
    """Gauss's elimination for a system with at least as many equations as unknowns."""
    for column in range(unknowns):
        pivot = next((row for row in range(column, len(rows)) if rows[row][column]), None)
        if pivot is None:
            return None
        rows[column], rows[pivot] = rows[pivot], rows[column]
        rows[column] = [entry / rows[column][column] for entry in rows[column]]
        for row in range(len(rows)):
            if row != column and rows[row][column]:
                factor = rows[row][column]
                rows[row] = [a - factor * b for a, b in zip(rows[row], rows[column], strict=True)]
    if any(row[-1] for row in rows[unknowns:]):
        return None
    return [row[-1] for row in rows[:unknowns]]


def _translated(polynomial: Polynomial, centre: float) -> list[float]:
    """Coefficients of p(z + centre); the second highest is zero by the choice of the centre."""
    degree = len(polynomial) - 1
    result = [
        sum(polynomial[i] * math.comb(i, k) * centre ** (i - k) for i in range(k, degree + 1))
        for k in range(degree + 1)
    ]
    result[-2] = 0.0
    return result


def _close(first: float, second: float) -> bool:
    return abs(first - second) <= ROUNDING * max(abs(first), abs(second))
