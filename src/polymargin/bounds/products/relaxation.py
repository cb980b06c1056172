"""The relaxation of f_label − f_rival on a ball, for a network of products, as a semidefinite program.

Variables are η and the rests w of all sums (`expansion.py`); t_L = a_L·η + w_L and t_R are linear in them. Known are:

    w_s = Σ_j S_sj (p_L w_R + p_R w_L + t_L t_R)_j       ν_s of any sign,
    (w_s − l_s)(u_s − w_s) ≥ 0                           κ_s ≥ 0,
    r² − ‖η‖² ≥ 0                                        μ ≥ 0,
    ρ_L² t_R² − q² ≥ 0,   ρ_R² t_L² − q² ≥ 0             θ ≥ 0, for sums of one product, whose q = t_L t_R is linear in the rests,
    r²‖Qη‖² − q² ≥ 0,   Q = sym(a_L a_Rᵀ)                θ ≥ 0, where both factors are linear besides: Cauchy and Schwarz.

B is quadratic in (η, w) as well. If B − γ minus these terms times their multipliers is a positive semidefinite form in
(1, η, w), then B ≥ γ on the ball. A product enters as t_L t_R = (t_L + t_R)²/4 − (t_L − t_R)²/4: two rows of the program's forms,
but no variable. All variables are scaled to the unit ball and the interval [−1, 1].
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from polymargin.bounds.lifted.best_ball import best_ball
from polymargin.bounds.products.expansion import ProductExpansion
from polymargin.bounds.products.ranges import RestRanges
from polymargin.bounds.products.wiring import NO_SUM
from polymargin.deadlines import NEVER, Deadline
from polymargin.relaxation.program import SemidefiniteProgram

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

SWEEPS = 3


@dataclass(frozen=True, eq=False)
class ProductMultipliers:
    """What proves a bound, for the variables as they are: μ, ν (S,), κ (S,), θ (k, 3) for the sums `ProductExpansion.single`."""

    ball: float
    equalities: Array
    intervals: Array
    cuts: Array


@dataclass(frozen=True, eq=False)
class ProductRelaxation:
    """value + linear·η + Σ_j weights_j (rest of product j) on the ball of this radius."""

    expansion: ProductExpansion
    functional: tuple[float, Array, Array]
    radius: float
    ranges: RestRanges
    worst: Array

    @cached_property
    def middles(self) -> Array:
        return np.asarray(self.ranges.limits.mean(axis=1))

    @cached_property
    def halves(self) -> Array:
        return np.asarray(self.ranges.limits[:, 1] - self.ranges.limits[:, 0]) / 2

    @property
    def _places(self) -> slice:
        first = 1 + self.expansion.dimension
        return slice(first, first + self.expansion.sums)

    @property
    def _nu(self) -> slice:
        return slice(2, 2 + self.expansion.sums)

    @property
    def _kappa(self) -> slice:
        return slice(2 + self.expansion.sums, 2 + 2 * self.expansion.sums)

    @property
    def _theta(self) -> slice:
        first = 2 + 2 * self.expansion.sums
        return slice(first, first + 3 * len(self.expansion.single[0]))

    def _rests(self, sums: Indices) -> Array:
        """The rests of these sums as forms in (1, η/r, ω); zero for no sum."""
        result = np.zeros((len(sums), self.expansion.variables))
        rows = np.flatnonzero(sums != NO_SUM)
        result[rows, 0] = self.middles[sums[rows]]
        result[rows, self._places.start + sums[rows]] = self.halves[sums[rows]]
        return result

    @cached_property
    def factors(self) -> tuple[Array, Array]:
        """t_L and t_R of all products as such forms."""
        found = []
        for side in (self.expansion.left, self.expansion.right):
            form = self._rests(side.sums)
            form[:, 1 : 1 + self.expansion.dimension] = self.radius * side.slopes
            found.append(form)
        return found[0], found[1]

    @cached_property
    def program(self) -> SemidefiniteProgram:
        expansion, (value, slope, weights) = self.expansion, self.functional
        m, side, count = expansion.dimension, expansion.variables, self._theta.stop
        left, right = self.factors
        every = self._rests(np.arange(expansion.sums))
        passed = expansion.passing @ every
        base = left.T @ (weights[:, None] * right)
        base = (base + base.T) / 2
        border = (weights @ passed) / 2
        border[1 : 1 + m] += self.radius * slope / 2
        base[0] += border
        base[:, 0] += border
        base[0, 0] += value
        alone, products = self.expansion.single
        plus, minus = self._polarised(left, right)
        inner = expansion.wiring.sums.tocsc()
        used = np.flatnonzero(np.diff(inner.indptr) > 0)  # products that some sum has
        bilinear = (inner[:, used] / self.halves[:, None]) if expansion.sums else np.zeros((0, 0))
        bilinear = np.asarray(bilinear.toarray() if hasattr(bilinear, "toarray") else bilinear)
        q = every[alone] - passed[products]
        forms = np.vstack(
            [plus[used], minus[used], left[products], right[products], plus[products], minus[products], q]
        )
        starts = np.cumsum([0, len(used), len(used), *[len(products)] * 5])
        squares = np.zeros((count, starts[-1]))
        linear, diagonal = np.zeros((count, side)), np.zeros((count, side))
        diagonal[0, 0] = -1.0
        diagonal[1, : 1 + m] = 1.0
        diagonal[1, 0] = -1.0
        nu, kappa = self._nu, self._kappa
        linear[nu] = (every - expansion.wiring.sums @ passed) / self.halves[:, None]
        squares[nu, starts[0] : starts[1]] = -bilinear
        squares[nu, starts[1] : starts[2]] = bilinear
        each = np.arange(expansion.sums)
        diagonal[kappa, 0] = -1.0
        diagonal[kappa.start + each, self._places.start + each] = 1.0
        for row, (first, second, third) in enumerate(self._cuts(products)):
            for kind, terms in enumerate((first, second, third)):
                place = self._theta.start + 3 * row + kind
                squares[place, starts[2:6] + row] = -terms
                squares[place, starts[6] + row] = 1.0
        squares[self._theta] /= np.repeat(self.cut_scales, 3)[:, None]
        signed = np.array([1, *range(kappa.start, kappa.stop), *range(self._theta.start, count)])
        return SemidefiniteProgram.build(base, forms, squares, linear, diagonal, signed)

    def _polarised(self, left: Array, right: Array) -> tuple[Array, Array]:
        """(s t_L + t_R/s)/2 and (s t_L − t_R/s)/2, both factors made alike."""
        sizes = [np.maximum(np.linalg.norm(form, axis=1), 1e-300) for form in (left, right)]
        scale = np.sqrt(sizes[1] / sizes[0])[:, None]
        return (scale * left + right / scale) / 2, (scale * left - right / scale) / 2

    @cached_property
    def cut_scales(self) -> Array:
        """About q² on the ball."""
        bounds = self.ranges.factors[self.expansion.single[1]]
        return np.asarray(bounds[:, 0] ** 2 * bounds[:, 1] ** 2) + 1e-300

    def _cuts(self, products: Indices) -> Array:
        """(k, 3, 4): what is at least q², by weights of t_L², t_R², and of the two squares whose difference is t_L t_R."""
        expansion = self.expansion
        result = np.zeros((len(products), 3, 4))
        bounds = self.ranges.factors[products] ** 2
        result[:, 0, 1], result[:, 1, 0] = bounds[:, 0], bounds[:, 1]
        a, b = expansion.left.slopes[products], expansion.right.slopes[products]
        linear = self._both_linear(products)
        mixed = self.radius**2 * np.einsum("km,km->k", a, b) / 2
        shaped = np.stack(
            [self.radius**2 * (b * b).sum(axis=1) / 4, self.radius**2 * (a * a).sum(axis=1) / 4, mixed, -mixed], axis=1
        )
        result[:, 2] = np.where(linear[:, None], shaped, result[:, 0])
        return result

    def _both_linear(self, products: Indices) -> NDArray[np.bool_]:
        """Whether both factors are linear in the input."""
        left, right = self.expansion.left.sums[products], self.expansion.right.sums[products]
        return np.asarray((left == NO_SUM) & (right == NO_SUM))

    def start(self, enough: float = np.inf, deadline: Deadline = NEVER) -> tuple[Array, float]:
        """A strictly feasible y, and the best γ that its other multipliers prove: the first beyond `enough`, or the best."""
        best: tuple[float, Array] | None = None
        for place in (None, self.worst):
            y = self._guess(place)
            value, y[1] = best_ball(self._reduced(y), abs(self.functional[0]))
            if best is None or value > best[0]:
                best = (value, y)
            if value > enough or deadline.passed:
                break
        assert best is not None
        value, y = best
        y[0] = value - 0.3 * self.scale(value)
        return y, value

    def _guess(self, place: Array | None) -> Array:
        """ν makes the Lagrangian stationary in the rests, at the centre of their ranges or at a place; κ makes it convex."""
        expansion, program = self.expansion, self.program
        scale = abs(self.functional[0])
        y = np.zeros(program.unknowns)
        y[self._theta] = 1e-3 * scale / max(1, self._theta.stop - self._theta.start)
        state = np.zeros(expansion.variables)
        state[0] = 1.0
        if place is not None:
            state[1 : 1 + expansion.dimension] = place / self.radius
            state[self._places] = (expansion.rests(place) - self.middles) / self.halves
        for _ in range(1 if place is None else SWEEPS):
            for own in reversed(expansion.order):
                y[self._nu.start + own] = 0.0
                slope = 2 * (program.matrix(y) @ state)[self._places.start + own]
                y[self._nu.start + own] = -slope
            y[self._kappa] = 0.0
            Z = program.matrix(y)
            y[self._kappa] = self._convexity(Z[self._places, self._places], Z[self._places, 1 : self._places.start])
            y[self._kappa] += 1e-6 * scale
        return y

    def _convexity(self, inner: Array, mixed: Array) -> Array:
        """κ that makes a form convex in the rests, and weighs what it costs itself, Σκ, against what the rests then cost in η.

        That is the largest eigenvalue of Σ m_s m_sᵀ/κ_s for their mixed rows m_s; with κ_s = c‖m_s‖ the best c is known.
        """
        bend = np.diagonal(inner)
        needed = np.maximum(0.0, -bend) + np.abs(inner).sum(axis=1) - np.abs(bend)
        lengths = np.linalg.norm(mixed, axis=1)
        total = float(lengths.sum())
        if total == 0.0:
            return np.asarray(1.2 * needed)
        scaled = mixed / np.sqrt(np.maximum(lengths, 1e-12 * total))[:, None]
        largest = float(np.linalg.norm(scaled, 2)) ** 2
        return np.asarray(1.2 * needed + math.sqrt(largest / total) * np.maximum(lengths, 1e-6 * lengths.max()))

    def _reduced(self, y: Array) -> Array:
        """Z(y) as a form in (1, η/r), the rests minimised over; infinite where it is not convex in them."""
        Z = np.asarray(self.program.matrix(y))
        first = self._places.start
        inner, mixed = Z[first:, first:], Z[first:, :first]
        if not len(inner):
            return Z
        factor, info = linalg.lapack.dpotrf(inner, lower=1)
        if info:
            return np.full((first, first), np.inf)
        half = linalg.solve_triangular(factor, mixed, lower=True, check_finite=False)
        return np.asarray(Z[:first, :first] - half.T @ half)

    def scale(self, value: float) -> float:
        return max(abs(self.functional[0]), 0.01 * abs(value))

    def natural(self, y: Array) -> ProductMultipliers:
        """The multipliers in the variables as they are."""
        cuts = y[self._theta].reshape(-1, 3) / self.cut_scales[:, None]
        linear = self._both_linear(self.expansion.single[1])
        cuts[~linear, 0] += cuts[~linear, 2]  # there the third cut repeats the first
        cuts[~linear, 2] = 0.0
        return ProductMultipliers(
            float(y[1]) / self.radius**2, y[self._nu] / self.halves, y[self._kappa] / self.halves**2, cuts
        )

    def with_room(self, y: Array) -> Array:
        """Multipliers that prove the functional positive where y_0 > 0, with what y_0 leaves put to use."""
        result = y.copy()
        result[0] = 0.0
        result[1] += y[0] / 2
        result[self._kappa] += y[0] / (4 * max(1, self.expansion.sums))
        return result
