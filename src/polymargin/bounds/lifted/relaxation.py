"""The lifted relaxation of f_label − f_rival on a ball, as a semidefinite program.

Variables are δ and the rests w of all deeper layers (`expansion.py`); B is quadratic in them, and so is everything known:

    w_i = Σ_j W_ij (σ'(p_j) w_j + c t_j²)          a multiplier ν_i of any sign,
    (w_i − l_i)(u_i − w_i) ≥ 0                     κ_i ≥ 0,
    r² − ‖δ‖² ≥ 0                                  μ ≥ 0,
    r²‖Q_c δ‖² − (c·w²)² ≥ 0,  Q_c = Σ c_i Q_i     θ ≥ 0: Cauchy and Schwarz, for chosen combinations c of the second layer.

If B − γ minus these terms times their multipliers is a positive semidefinite form in (1, δ, w), then B ≥ γ on the ball: the
best γ is Shor's bound. All variables are scaled to the unit ball and the interval [−1, 1].
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from polymargin.bounds.lifted.expansion import Expansion
from polymargin.bounds.lifted.program import Program
from polymargin.bounds.lifted.ranges import curvature

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Multipliers:
    """What proves a bound, for the variables as they are: μ, per lifted layer ν and κ, per cut θ."""

    ball: float
    equalities: tuple[Array, ...]
    intervals: tuple[Array, ...]
    cuts: Array


@dataclass(frozen=True, eq=False)
class Relaxation:
    """γ·a^L + constant on the ball of this radius.

    ranges   (h, 2) for every lifted layer
    cuts     (k, h₂): the combinations c
    """

    expansion: Expansion
    gamma: Array
    constant: float
    radius: float
    ranges: tuple[Array, ...]
    cuts: Array

    @cached_property
    def middles(self) -> list[Array]:
        return [limits.mean(axis=1) for limits in self.ranges]

    @cached_property
    def halves(self) -> list[Array]:
        return [(limits[:, 1] - limits[:, 0]) / 2 for limits in self.ranges]

    @cached_property
    def centre_value(self) -> float:
        """The functional at the point itself."""
        sigma = self.expansion.view.activation(len(self.expansion.layers))
        last = np.polynomial.polynomial.polyval(self.expansion.layers[-1].value, sigma)
        return float(self.gamma @ last + self.constant)

    @cached_property
    def places(self) -> list[slice]:
        """Where the rests of each lifted layer are among (1, δ, w)."""
        ends = np.cumsum([1 + self.expansion.dimension, *map(len, self.ranges)])
        return [slice(int(a), int(b)) for a, b in pairwise(ends)]

    @cached_property
    def unknowns(self) -> list[tuple[slice, slice]]:
        """Where ν and κ of each lifted layer are among the unknowns γ, μ, ν, κ, …, θ."""
        result, first = [], 2
        for limits in self.ranges:
            middle, end = first + len(limits), first + 2 * len(limits)
            result.append((slice(first, middle), slice(middle, end)))
            first = end
        return result

    @cached_property
    def cut_scales(self) -> Array:
        """r⁴ times the squared Frobenius norm of Q_c."""
        return np.array([np.square(self.radius**2 * curvature(self.expansion, c)).sum() for c in self.cuts])

    @cached_property
    def program(self) -> Program:
        m, side = self.expansion.dimension, self.places[-1].stop
        count = self.unknowns[-1][1].stop + len(self.cuts)
        forms = [self.expansion.forms(k + 1, self.radius, self.middles, self.halves) for k in range(len(self.places))]
        top = self.expansion.layers[-1]
        last = self.expansion.forms(len(self.places) + 1, self.radius, self.middles, self.halves)
        base = last.T @ ((top.bend * self.gamma)[:, None] * last)
        border = (self.gamma * top.rise) @ last / 2
        base[0] += border
        base[:, 0] += border
        base[0, 0] += self.centre_value
        starts = np.cumsum([0, *map(len, forms)])
        squares = np.zeros((count, starts[-1]))
        linear, diagonal = np.zeros((count, side)), np.zeros((count, side))
        diagonal[0, 0] = -1.0
        diagonal[1, : 1 + m] = 1.0
        diagonal[1, 0] = -1.0
        for k, (place, (nu, kappa)) in enumerate(zip(self.places, self.unknowns, strict=True)):
            below, layer = self.expansion.layers[k], self.expansion.layers[k + 1]
            middle, half = self.middles[k], self.halves[k]
            each = np.arange(len(middle))
            weights = layer.weights / half[:, None]
            linear[nu.start + each, place.start + each] = 1.0
            linear[nu, 0] = middle / half
            squares[nu, starts[k] : starts[k + 1]] = -below.bend * weights
            if k:
                steep = weights * below.rise
                linear[nu, 0] -= steep @ self.middles[k - 1]
                linear[nu, self.places[k - 1]] -= steep * self.halves[k - 1]
            diagonal[kappa, 0] = -1.0
            diagonal[kappa.start + each, place.start + each] = 1.0
        first = self.unknowns[-1][1].stop
        dense = tuple((first + index, self._cut(index)) for index in range(len(self.cuts)))
        signed = [1, *(i for _, kappa in self.unknowns for i in range(kappa.start, kappa.stop)), *range(first, count)]
        return Program.build(base, np.vstack(forms), squares, linear, diagonal, np.array(signed), dense)

    def _cut(self, index: int) -> Array:
        m, place = self.expansion.dimension, self.places[0]
        result = np.zeros((self.places[-1].stop,) * 2)
        Q = self.radius**2 * curvature(self.expansion, self.cuts[index])
        result[1 : 1 + m, 1 : 1 + m] = -(Q @ Q)
        form = np.zeros(len(result))
        form[0] = self.cuts[index] @ self.middles[0]
        form[place] = self.cuts[index] * self.halves[0]
        return np.asarray((result + np.outer(form, form)) / self.cut_scales[index])

    def start(self) -> tuple[Array, float]:
        """A strictly feasible y, and the best γ that its other multipliers prove.

        ν cancels the linear terms in w; κ makes the block of w positive; μ is the best of a few for these.
        """
        program, m = self.program, self.expansion.dimension
        scale = abs(self.centre_value)
        y = np.zeros(program.unknowns)
        weight = self.gamma
        for k in reversed(range(len(self.places))):
            layer, (nu, kappa) = self.expansion.layers[k + 1], self.unknowns[k]
            bend = layer.bend * weight * self.halves[k] ** 2
            y[kappa] = 1.2 * np.maximum(0.0, -bend) + 0.1 * np.abs(bend).mean() + 1e-6 * scale
            natural = -weight * (layer.rise + 2 * layer.bend * self.middles[k])
            y[nu] = natural * self.halves[k]
            weight = -natural @ layer.weights
        y[self.unknowns[-1][1].stop :] = 0.01 * scale
        Z = program.matrix(y)
        mixed = Z[1 + m :, : 1 + m]
        rest = Z[: 1 + m, : 1 + m] - mixed.T @ linalg.solve(Z[1 + m :, 1 + m :], mixed, assume_a="pos")
        value, y[1] = _best_ball(rest, scale)
        y[0] = value - 0.3 * scale
        return y, value

    def natural(self, y: Array) -> Multipliers:
        """The multipliers in the variables as they are."""
        return Multipliers(
            ball=float(y[1]) / self.radius**2,
            equalities=tuple(y[nu] / half for (nu, _), half in zip(self.unknowns, self.halves, strict=True)),
            intervals=tuple(y[kappa] / half**2 for (_, kappa), half in zip(self.unknowns, self.halves, strict=True)),
            cuts=y[self.unknowns[-1][1].stop :] / self.cut_scales,
        )


def _best_ball(rest: Array, scale: float) -> tuple[float, float]:
    """The best of a few μ for the form `rest` in (1, δ/r) − γ, and the γ it proves."""
    inner, border, corner = rest[1:, 1:], rest[1:, 0], rest[0, 0]
    least = float(linalg.eigh(inner, eigvals_only=True, subset_by_index=[0, 0], check_finite=False)[0])
    floor = max(0.0, -least) + 1e-3 * scale
    best = (-np.inf, floor)
    for mu in floor + scale * np.array([0.02, 0.06, 0.15, 0.4, 1.0]):
        shifted = inner + mu * np.eye(len(inner))
        value = float(corner - mu - border @ linalg.solve(shifted, border, assume_a="pos", check_finite=False))
        if value < best[0]:
            break
        best = (value, float(mu))
    return best
