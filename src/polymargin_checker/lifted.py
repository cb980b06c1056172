"""Lifted proofs: B > 0 on the closed ball ‖x − u‖ ≤ r for deep networks of quadratic activations, the last one of any degree.

With x = u + δ every pre-activation is value + linear part + rest, zˡ = pˡ + aˡδ + wˡ, tˡ = aˡδ + wˡ, w¹ = 0 and

    wˡ_i = Σ_j Wˡ_ij (σ'(p_j) w_j + c t_j²)      over layer l − 1, c the coefficient of z² in its activation.

The form that the multipliers of a leaf make of B and of what is known about δ and w is rebuilt from the weights; if it is
positive definite in (1, δ, w), then B > 0 on the leaf (docs/theorems.md, section 9). Ranges of w², where w_i = δᵀQ_iδ, are proved
by positive definite matrices as well, deeper ones and those of leaves with splits of the first layer by interval arithmetic.
A last activation of higher degree is replaced by parabolas below it, each proved by one inequality in one variable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from flint import arb, arb_mat, arb_poly, fmpq

from polymargin_checker.arithmetic import working_precision
from polymargin_checker.document import fields, integer, items
from polymargin_checker.dyadics import ball, number
from polymargin_checker.enclosures import Balls, Enclosure
from polymargin_checker.model import Matrix, Model
from polymargin_checker.refusal import Refused
from polymargin_checker.univariate import nonnegative

PRECISION = 128
LARGEST_EXACT = 48
"""Variables (1, δ, w) up to which ball arithmetic is used without being asked for."""
LARGEST_SPACE = 6000
"""Variables at most: the matrix is stored in full, and the test costs their cube."""

Range = tuple[fmpq, fmpq]


Curvatures = dict[tuple[int, str], fmpq]
"""Per neuron and side of its range: the least multiple of the identity that was proved to dominate its curvature."""


def check_lifted(
    model: Model,
    point: Sequence[fmpq],
    label: int,
    rival: int,
    proof: Any,
    curvatures: Curvatures,
    exact: bool = False,
) -> fmpq:
    """Prove B > 0 on the ball and return its radius, or refuse.

    What is proved about the curvatures Q_i, which depend on the model alone, is added to `curvatures` and need not be
    proved again for other rivals.
    """
    fields(proof, "lifted proof", ("kind", "radius", "ranges", "tree"))
    radius = number(proof["radius"], "radius of the lifted proof")
    if radius <= 0:
        raise Refused("the radius of the lifted proof is not positive")
    if model.hidden_layers < 2 or any(len(coefficients) > 3 for coefficients in model.activations[:-1]):
        raise Refused(
            "a lifted proof needs at least two hidden layers, with activations of degree two at most but for the last"
        )
    variables = 1 + model.dimension + sum(weights.rows for weights in model.weights[1:-1])
    if variables > LARGEST_SPACE:
        raise Refused(f"a lifted proof in {variables} variables; this checker accepts up to {LARGEST_SPACE}")
    arithmetic = _arithmetic(exact or variables <= LARGEST_EXACT)
    with working_precision(PRECISION):
        problem = Problem(model, point, label, rival, radius, arithmetic)
        root = Part(problem.root_ranges(proof["ranges"], curvatures), {})
        waiting: list[tuple[Any, Part]] = [(proof["tree"], root)]
        count = 0
        while waiting:
            node, part = waiting.pop()
            if isinstance(node, dict) and "split" in node:
                waiting += _parts(problem, node, part)
            else:
                problem.check_leaf(node, f"leaf {count}", part)
                count += 1
    return radius


def _arithmetic(exact: bool) -> type[Enclosure]:
    if exact:
        return Balls
    from polymargin_checker.floats import Floats  # NumPy is loaded only where it is needed

    return Floats


@dataclass(frozen=True)
class Part:
    """Ranges of the rests per lifted layer, and of the first-layer neurons that were split, in the order of their splits."""

    rests: tuple[list[Range], ...]
    first: dict[int, Range]


def _parts(problem: Problem, node: Any, part: Part) -> list[tuple[Any, Part]]:
    """The two sides of a split; the low one is looked at first."""
    fields(node, "a split of the tree", ("split", "low", "high"))
    layer_entry, neuron_entry, value_entry = items(node["split"], "split", 3)
    layer = integer(layer_entry, "split, layer", 1, len(problem.layers))
    neuron = integer(neuron_entry, "split, neuron", 0, len(problem.layers[layer - 1].value) - 1)
    value = number(value_entry, "split, value")
    if layer == 1:
        low, high = part.first.get(neuron) or problem.first_range(neuron)
    else:
        low, high = part.rests[layer - 2][neuron]
    if not low < value < high:
        raise Refused(f"a split value lies outside the range of neuron {neuron} of layer {layer}")
    sides = []
    for ends in ((value, high), (low, value)):
        if layer == 1:
            sides.append(replace(part, first={**part.first, neuron: ends}))
        else:
            changed = [*part.rests[layer - 2][:neuron], ends, *part.rests[layer - 2][neuron + 1 :]]
            sides.append(replace(part, rests=(*part.rests[: layer - 2], changed, *part.rests[layer - 1 :])))
    return [(node["high"], sides[0]), (node["low"], sides[1])]


@dataclass(frozen=True)
class Expanded:
    """p as balls, a (h, n), σ'(p) as a column, c, and the weights of the layer."""

    value: list[arb]
    slopes: Any
    rise: Any
    bend: fmpq
    weights: Any
    source: Matrix


@dataclass(frozen=True)
class Top:
    """B ≥ constant + linear·t + square·t² for the t of the last layer; columns and a number."""

    linear: Any
    square: Any
    constant: Any


class Problem:
    """The network around the point, and everything that the leaves share."""

    def __init__(
        self, model: Model, point: Sequence[fmpq], label: int, rival: int, radius: fmpq, arithmetic: type[Any]
    ) -> None:
        self.arithmetic, self.radius, self.dimension = arithmetic, radius, model.dimension
        self.layers: list[Expanded] = []
        values = arithmetic.of(len(point), 1, list(point))
        for number_, (matrix, bias, coefficients) in enumerate(
            zip(model.weights[:-1], model.biases[:-1], model.activations, strict=True)
        ):
            weights = arithmetic.of(matrix.rows, matrix.columns, matrix.values)
            z = weights @ values + arithmetic.of(len(bias), 1, list(bias))
            c0, c1, c2 = (fmpq(*c.as_integer_ratio()) for c in (*coefficients, 0.0, 0.0)[:3])
            rise = z.times(2 * c2) + self._constant(matrix.rows, c1)
            slopes = weights
            if number_:
                below = self.layers[-1]
                slopes = weights @ below.slopes.entrywise(below.rise)
            self.layers.append(Expanded(z.entries(), slopes, rise, c2, weights, matrix))
            values = z.entrywise(z).times(c2) + z.times(c1) + self._constant(matrix.rows, c0)
        last, bias = model.weights[-1], model.biases[-1]
        difference = [_rational(a) - _rational(b) for a, b in zip(last.row(label), last.row(rival), strict=True)]
        self.output = arithmetic.of(len(difference), 1, difference)
        self.factors = [ball(factor) for factor in difference]
        self.constant = arithmetic.of(1, 1, [_rational(bias[label]) - _rational(bias[rival])])
        self.centre = self.output.transpose @ values + self.constant
        self.last = arb_poly([arb(c) for c in model.activations[-1]])

    def _constant(self, rows: int, value: fmpq) -> Any:
        return self.arithmetic.of(rows, 1, [value] * rows)

    # -- ranges ----------------------------------------------------------------------------------

    def root_ranges(self, value: Any, curvatures: Curvatures) -> tuple[list[Range], ...]:
        """The stated ranges of the rests on the whole ball, proved layer by layer."""
        entries = items(value, "ranges", len(self.layers) - 1)
        ranges = [self._read_ranges(entry, k + 2) for k, entry in enumerate(entries)]
        self._check_curvatures(ranges[0], curvatures)
        for layer in range(3, len(self.layers) + 1):
            self._check_intervals(ranges[layer - 2], layer, self._intervals(layer, {}, ranges[layer - 3]), None)
        return tuple(ranges)

    def _read_ranges(self, value: Any, layer: int) -> list[Range]:
        result = []
        for neuron, entry in enumerate(items(value, f"ranges of layer {layer}", len(self.layers[layer - 1].value))):
            where = f"ranges of layer {layer}, neuron {neuron}"
            low, high = (number(end, where) for end in items(entry, where, 2))
            if not low < high:
                raise Refused(f"{where}: the range is empty")
            result.append((low, high))
        return result

    def _check_curvatures(self, ranges: list[Range], curvatures: Curvatures) -> None:
        """lo ≤ δᵀQ_iδ ≤ hi on the ball: lo < 0 < hi, and Q_i − lo/r² and hi/r² − Q_i are positive definite."""
        square = self.radius * self.radius
        for neuron, (low, high) in enumerate(ranges):
            for side, shift in (("lower", -low / square), ("upper", high / square)):
                if (neuron, side) in curvatures and shift >= curvatures[neuron, side]:
                    continue
                # A little more is proved than is claimed, so that the same range at another radius needs no proof.
                tighter = shift * (1 - fmpq(1, 1 << 40))
                if shift <= 0 or not self._dominates(neuron, side, tighter):
                    raise Refused(f"ranges of layer 2, neuron {neuron}: the {side} end is not proved")
                curvatures[neuron, side] = tighter

    def _dominates(self, neuron: int, side: str, shift: fmpq) -> bool:
        """Whether shift + Q_i ('lower') or shift − Q_i ('upper') is positive definite, with Q_i = c W¹ᵀ D_i W¹.

        With fewer rows than columns δ = W¹ᵀη + δ⊥ and G = W¹W¹ᵀ it is enough that shift·G ± c G D_i G is.
        """
        first, second = self.layers[0], self.layers[1]
        sign = fmpq(1 if side == "lower" else -1)
        row = self.arithmetic.of(first.source.rows, 1, second.source.row(neuron)).times(sign * first.bend)
        if first.source.rows < self.dimension:
            small = self._gram @ self._gram.entrywise(row) + self._gram.times(shift)
            if small.positive_definite():
                return True
        curvature = first.weights.transpose @ first.weights.entrywise(row)
        return bool((curvature + self.arithmetic.identity(self.dimension).times(shift)).positive_definite())

    @cached_property
    def _gram(self) -> Any:
        """W¹W¹ᵀ."""
        return self.layers[0].weights @ self.layers[0].weights.transpose

    def first_range(self, neuron: int) -> Range:
        """|t¹| ≤ r‖w‖, rounded outward."""
        row = self.layers[0].source.row(neuron)
        end = _upper(ball(self.radius) * sum((arb(w) * arb(w) for w in row), arb(0)).sqrt())
        return -end, end

    def _intervals(self, layer: int, first: dict[int, Range], below: list[Range]) -> list[tuple[arb, arb]]:
        """Interval arithmetic for the rests of a layer, from the ranges of the layer below."""
        under, own = self.layers[layer - 2], self.layers[layer - 1]
        reach = [ball(self.radius) * norm for norm in under.slopes.row_norms()]
        rests = [(ball(low), ball(high)) for low, high in below] or [(arb(0), arb(0))] * len(reach)
        rise, bend = under.rise.entries(), ball(under.bend)
        lows: list[arb] = []
        highs: list[arb] = []
        for k, (length, (low, high)) in enumerate(zip(reach, rests, strict=True)):
            start, end = low - length, high + length
            if layer == 2 and k in first:
                start, end = (ball(value) for value in first[k])
            inner = low.union(high) * rise[k] + _square(start, end) * bend
            lows.append(inner.lower())
            highs.append(inner.upper())
        weights = own.source
        positive = arb_mat(weights.rows, weights.columns, [arb(max(w, 0)) for w in weights.values])
        negative = arb_mat(weights.rows, weights.columns, [arb(min(w, 0)) for w in weights.values])
        low_column, high_column = (arb_mat(len(ends), 1, ends) for ends in (lows, highs))
        least = (positive * low_column + negative * high_column).entries()
        most = (positive * high_column + negative * low_column).entries()
        return list(zip(least, most, strict=True))

    def _check_intervals(
        self, ranges: list[Range], layer: int, intervals: list[tuple[arb, arb]], known: list[Range] | None
    ) -> None:
        """Each stated end is one of the known range, or follows from interval arithmetic."""
        for neuron, ((low, high), (least, most)) in enumerate(zip(ranges, intervals, strict=True)):
            low_known = known is not None and low <= known[neuron][0]
            high_known = known is not None and high >= known[neuron][1]
            if not (low_known or ball(low) <= least) or not (high_known or ball(high) >= most):
                raise Refused(f"ranges of layer {layer}, neuron {neuron}: interval arithmetic does not prove them")

    # -- a leaf ----------------------------------------------------------------------------------

    def check_leaf(self, leaf: Any, name: str, part: Part) -> None:
        fields(leaf, name, ("ball", "equalities", "intervals", "cuts", "first", "minorants", "ranges"))
        sizes = [len(layer.value) for layer in self.layers[1:]]
        mu = number(leaf["ball"], f"{name}, ball")
        nu = [
            _numbers(e, f"{name}, equalities", s) for e, s in _layers(leaf["equalities"], f"{name}, equalities", sizes)
        ]
        kappa = [
            _numbers(e, f"{name}, intervals", s) for e, s in _layers(leaf["intervals"], f"{name}, intervals", sizes)
        ]
        theta = _numbers(leaf["cuts"], f"{name}, cuts", sizes[0])
        eta = _numbers(leaf["first"], f"{name}, first", len(part.first))
        for what, values in (("ball", [mu]), ("cuts", theta), ("first", eta), *(("intervals", k) for k in kappa)):
            if any(value < 0 for value in values):
                raise Refused(f"{name}, {what}: a multiplier is negative")
        ranges = part.rests if leaf["ranges"] is None else self._leaf_ranges(leaf["ranges"], name, part)
        top = self._top(leaf["minorants"], name, ranges[-1])
        if not self._form(top, mu, nu, kappa, theta, eta, ranges, part.first).positive_definite():
            raise Refused(f"{name}: the form of the multipliers is not shown to be positive definite")

    def _leaf_ranges(self, value: Any, name: str, part: Part) -> tuple[list[Range], ...]:
        entries = items(value, f"{name}, ranges", len(self.layers) - 1)
        ranges: list[list[Range]] = []
        for k, entry in enumerate(entries):
            ranges.append(self._read_ranges(entry, k + 2))
            intervals = self._intervals(k + 2, part.first, ranges[k - 1] if k else [])
            self._check_intervals(ranges[k], k + 2, intervals, part.rests[k])
        return tuple(ranges)

    def _top(self, value: Any, name: str, rests: list[Range]) -> Top:
        """B as a quadratic in the t of the last layer: as it is, or with the stated parabolas below γσ."""
        layer = self.layers[-1]
        if self.last.degree() <= 2:
            if value is not None:
                raise Refused(f"{name}, minorants: an activation of degree two needs none")
            return Top(self.output.entrywise(layer.rise), self.output.times(layer.bend), self.centre)
        rows = [_numbers(row, f"{name}, minorants", 3) for row in items(value, f"{name}, minorants", len(layer.value))]
        reach = [ball(self.radius) * norm for norm in layer.slopes.row_norms()]
        for neuron, (row, (low, high)) in enumerate(zip(rows, rests, strict=True)):
            gap = self.last(arb_poly([layer.value[neuron], 1])) * self.factors[neuron]
            gap -= arb_poly([ball(entry) for entry in reversed(row)])
            ends = ((ball(low) - reach[neuron]).lower(), (ball(high) + reach[neuron]).upper())
            if not nonnegative(gap, ends):
                raise Refused(f"{name}, minorants: that of neuron {neuron} is not shown to lie below its activation")
        squares, linear, free = zip(*rows, strict=True)
        of, size = self.arithmetic.of, len(rows)
        constant = self.constant + of(1, 1, [sum(free, fmpq(0))])
        return Top(of(size, 1, list(linear)), of(size, 1, list(squares)), constant)

    def _form(
        self,
        top: Top,
        mu: fmpq,
        nu: list[list[fmpq]],
        kappa: list[list[fmpq]],
        theta: list[fmpq],
        eta: list[fmpq],
        ranges: tuple[list[Range], ...],
        first: dict[int, Range],
    ) -> Any:
        """B minus all constraints times their multipliers, as a matrix over (1, δ, w², …, wᴸ)."""
        of, r2 = self.arithmetic.of, self.radius * self.radius
        depth = len(self.layers)
        weights = [of(len(values), 1, values) for values in nu]  # ν per lifted layer, as columns
        # What multiplies tˡ_j² and wˡ_j: −Wᵀν of the layer above times c and σ'(p), or what the last layer says.
        outer = [(self.layers[k + 1].weights.transpose @ weights[k]).times(fmpq(-1)) for k in range(depth - 1)]
        squares = [factor.times(layer.bend) for factor, layer in zip(outer, self.layers, strict=False)] + [top.square]
        slopes = [factor.entrywise(layer.rise) for factor, layer in zip(outer, self.layers, strict=False)] + [
            top.linear
        ]
        if first:
            extra = [fmpq(0)] * len(self.layers[0].value)
            for multiplier, neuron in zip(eta, first, strict=True):
                extra[neuron] = multiplier
            squares[0] = squares[0] + of(len(extra), 1, extra)
        corner = -mu * r2
        corner += sum(
            (k * lo * hi for ks, part in zip(kappa, ranges, strict=True) for k, (lo, hi) in zip(ks, part, strict=True)),
            fmpq(0),
        )
        corner += sum((e * lo * hi for e, (lo, hi) in zip(eta, first.values(), strict=True)), fmpq(0))
        border = self.layers[-1].slopes.transpose @ top.linear
        if first:
            pull = [fmpq(0)] * len(self.layers[0].value)
            for multiplier, (neuron, (lo, hi)) in zip(eta, first.items(), strict=True):
                pull[neuron] = -multiplier * (lo + hi)
            border = border + self.layers[0].weights.transpose @ of(len(pull), 1, pull)
        inner = self.arithmetic.identity(self.dimension).times(mu)
        for layer, square in zip(self.layers, squares, strict=True):
            inner = inner + layer.slopes.transpose @ layer.slopes.entrywise(square)
        if any(theta):
            inner = inner + self._squared_curvatures(theta).times(-r2)
        lines = [[top.constant + of(1, 1, [corner])], [border.times(fmpq(1, 2)), inner]]
        for k in range(depth - 1):
            layer, square, size = self.layers[k + 1], squares[k + 1], len(nu[k])
            linear = weights[k] + slopes[k + 1]
            linear = linear + of(size, 1, [-q * (lo + hi) for q, (lo, hi) in zip(kappa[k], ranges[k], strict=True)])
            own = square + of(size, 1, [q + (theta[i] if k == 0 else 0) for i, q in enumerate(kappa[k])])
            zeros = [of(size, len(nu[j]), [0.0] * (size * len(nu[j]))) for j in range(k)]
            diagonal = self.arithmetic.identity(size).entrywise(own)
            lines.append([linear.times(fmpq(1, 2)), layer.slopes.entrywise(square), *zeros, diagonal])
        return self.arithmetic.symmetric(lines)

    def _squared_curvatures(self, theta: list[fmpq]) -> Any:
        """Σ θ_i Q_i² = c² W¹ᵀ (W¹W¹ᵀ ∘ W²ᵀ diag(θ) W²) W¹."""
        first, second = self.layers[0], self.layers[1]
        mixed = second.weights.transpose @ second.weights.entrywise(self.arithmetic.of(len(theta), 1, theta))
        result = first.weights.transpose @ (self._gram.entrywise(mixed) @ first.weights)
        return result.times(first.bend * first.bend)


def _layers(value: Any, name: str, sizes: list[int]) -> list[tuple[Any, int]]:
    return list(zip(items(value, name, len(sizes)), sizes, strict=True))


def _numbers(value: Any, name: str, length: int) -> list[fmpq]:
    return [number(entry, name) for entry in items(value, name, length)]


def _square(low: arb, high: arb) -> arb:
    """An enclosure of t² for t from low to high."""
    interval = low.union(high)
    largest = interval.abs_upper()
    smallest = interval.abs_lower()
    return (smallest * smallest).union(largest * largest)


def _upper(value: arb) -> fmpq:
    """A rational that is not below the ball."""
    mantissa, exponent = value.upper().man_exp()
    return fmpq(mantissa) * (fmpq(2) ** int(exponent))


def _rational(value: Any) -> fmpq:
    return fmpq(*value.as_integer_ratio()) if isinstance(value, float) else fmpq(value)
