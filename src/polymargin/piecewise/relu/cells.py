"""Cells of a ReLU network: the signs of some neurons are fixed, the others are open.

On a cell, necessary conditions for a tie with the rival within reach are linear inequalities in y (see `relu_view`): those of
the fixed neurons, and B ≤ 0 with a linear lower bound in place of B = f_label − f_rival. The nearest point y* that satisfies
them gives the bound of the cell, and lines that are exact at y* give the next inequality. Everything in the cell lies in the
cap between the tangent plane at y* and the sphere through the incumbent; on it the ranges of all neurons are computed anew,
and most signs become known without branching. Where all are known, the inequalities are exact: the quadratic program of a
region.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from polymargin.piecewise.incumbents import Incumbent
from polymargin.piecewise.linear_bounds import Cap, PreactivationRanges, losses, lower_bounds
from polymargin.piecewise.projection import Projection, project_origin
from polymargin.piecewise.relu.attack import nearer_tie, walk
from polymargin.piecewise.relu.view import ReLUView

Array = NDArray[np.float64]

# Walks of the first attack per rival.
# See `far`.
FAR = 1e9
# Inequalities are renewed at most this often per cell, and only while the bound grows by this share.
ROUNDS = 4
PROGRESS = 1e-3
# PreactivationRanges that miss each other by less than this share of their size touch.
TOUCH = 1e-12
# Steps of the walk to a tie that every cell may take.
QUICK_STEPS = 6
# A tie farther out than this, in units of the best one known, is not worth improving.
WORTH_POLISHING = 1.5
# Below −B ≥ this share of B(u) a tie is looked for when the tie itself is not confirmed.
DEEPER = (1e-13, 1e-11, 1e-9)


@dataclass(frozen=True, eq=False)
class ReLUCell:
    """Signs that are fixed (per layer, 0 where open), ranges, inequalities that hold for every tie in the cell, the bound.

    rows @ y ≤ limits are the inequalities that mattered, `weights` their multipliers, `normal` the direction of the tangent
    plane at depth `lower`, `split` the neuron (layer, index) to branch on; None for a single region.
    """

    rival: int
    lower: float
    signs: tuple[NDArray[np.int8], ...]
    ranges: tuple[PreactivationRanges, ...]
    rows: Array
    limits: Array
    weights: Array
    normal: Array
    split: tuple[int, int] | None

    @property
    def single(self) -> bool:
        """Return whether the cell is one region."""
        return self.split is None


class ReLUCells:
    """The cells around one point; implements `best_first.Problem`."""

    def __init__(self, view: ReLUView) -> None:
        self.view = view
        self.programs = 0

    @property
    def far(self) -> float:
        """Return a distance beyond everything: 10⁹ times the largest of u, the way to a neuron's hyperplane, and 1."""
        weights, bias = self.view.hidden[0] if self.view.hidden else (self.view.last, self.view.last_bias)
        sizes = np.linalg.norm(weights, axis=1)
        lengths = np.abs(bias[sizes > 0]) / sizes[sizes > 0]
        return FAR * max(float(lengths.max(initial=0.0)), float(np.linalg.norm(self.view.u)), 1.0)

    # -- best_first.Problem --------------------------------------------------------------------

    def roots(self) -> Iterable[ReLUCell]:
        """Yield cells that cover everything, one for each rival."""
        widths = [len(bias) for _, bias in self.view.hidden]
        for rival in self.view.rivals:
            yield ReLUCell(
                rival=rival,
                lower=0.0,
                signs=tuple(np.zeros(width, dtype=np.int8) for width in widths),
                ranges=tuple(
                    PreactivationRanges(np.full(width, -math.inf), np.full(width, math.inf)) for width in widths
                ),
                rows=np.zeros((0, self.view.size)),
                limits=np.zeros(0),
                weights=np.zeros(0),
                normal=np.zeros(self.view.size),
                split=None,
            )

    def branch(self, cell: ReLUCell) -> Iterable[ReLUCell]:
        """Yield the parts of a cell on both sides of its split."""
        if cell.split is None:
            return
        layer, index = cell.split
        for sign in (1, -1):
            signs = list(cell.signs)
            signs[layer] = signs[layer].copy()
            signs[layer][index] = sign
            yield replace(cell, signs=tuple(signs))

    def examine(self, cell: ReLUCell, incumbent: Incumbent, reach: float) -> ReLUCell:
        """Return the cell with a better bound, narrower ranges and the next split."""
        point = None
        for _ in range(ROUNDS):
            before = cell.lower
            ranges = self._ranges(cell, Cap(cell.normal, cell.lower, reach))
            if ranges is None:
                return replace(cell, lower=math.inf, split=None)
            rows, limits, warm = self._inequalities(cell, ranges)
            found = project_origin(rows, limits, reach=reach, warm=warm)
            self.programs += 1
            cell, point = self._improved(cell, ranges, rows, limits, found), found.point
            if cell.lower >= reach or point is None or cell.single or cell.lower <= before * (1 + PROGRESS):
                break
        if point is not None and cell.lower < reach:
            self._offer_tie(cell, point, incumbent)
        return cell

    # -- one round -----------------------------------------------------------------------------

    def _ranges(self, cell: ReLUCell, cap: Cap) -> list[PreactivationRanges] | None:
        """Return the ranges of all neurons on the cap, layer by layer; None if a fixed sign is impossible there."""
        if cap.depth > cap.radius:
            return None
        known: list[PreactivationRanges] = []
        slopes: list[Array] = []
        for layer, (weights, bias) in enumerate(self.view.hidden):
            if layer == 0:
                high, low = bias + cap.largest(weights), bias - cap.largest(-weights)
            else:
                both = np.concatenate([weights, -weights])
                bounds = lower_bounds(self.view.hidden, known, slopes, both, np.concatenate([bias, -bias]))
                least = bounds.constants - cap.largest(-bounds.rows)
                low, high = least[: len(bias)], -least[len(bias) :]
            before, signs = cell.ranges[layer], cell.signs[layer]
            low, high = np.maximum(low, before.low), np.minimum(high, before.high)
            low = np.where(signs > 0, np.maximum(low, 0.0), low)
            high = np.where(signs < 0, np.minimum(high, 0.0), high)
            size = np.maximum(np.abs(low), np.abs(high))
            if (low > high + TOUCH * (size + np.abs(bias))).any():
                return None
            known.append(PreactivationRanges(np.minimum(low, high), np.maximum(low, high)))
            slopes.append(known[-1].lower_slopes())
        return known

    def _inequalities(self, cell: ReLUCell, ranges: list[PreactivationRanges]) -> tuple[Array, Array, Array]:
        """Return inherited inequalities, those of the fixed neurons, and B ≤ 0; with known multipliers."""
        # The lower lines are made exact where the nearest point is expected.
        values = self.view.values(cell.lower * cell.normal)
        slopes = [known.lower_slopes(value) for known, value in zip(ranges, values, strict=True)]
        rows, limits = [cell.rows], [cell.limits]
        for layer, (weights, bias) in enumerate(self.view.hidden):
            fixed = np.flatnonzero(cell.signs[layer])
            if not fixed.size:
                continue
            # z ≥ 0 is kept as: an upper bound of z is ≥ 0; that is −(lower bound of −z) ≥ 0, and so for z ≤ 0.
            signs = -cell.signs[layer][fixed].astype(np.float64)
            bounds = lower_bounds(
                self.view.hidden, ranges[:layer], slopes[:layer], signs[:, None] * weights[fixed], signs * bias[fixed]
            )
            rows.append(bounds.rows)
            limits.append(-bounds.constants)
        coefficients, constant = self.view.difference(cell.rival)
        cut = lower_bounds(self.view.hidden, ranges, slopes, coefficients[None], np.array([constant]))
        rows.append(cut.rows)
        limits.append(-cut.constants)
        every = np.concatenate(rows)
        warm = np.zeros(len(every))
        warm[: len(cell.weights)] = cell.weights
        return every, np.concatenate(limits), warm

    def _improved(
        self, cell: ReLUCell, ranges: list[PreactivationRanges], rows: Array, limits: Array, found: Projection
    ) -> ReLUCell:
        """Return the cell with what the projection showed, and the neuron whose sign would help most."""
        mattered = found.weights > 0
        better = found.lower >= cell.lower
        return replace(
            cell,
            lower=max(found.lower, cell.lower),
            ranges=tuple(ranges),
            rows=rows[mattered],
            limits=limits[mattered],
            weights=found.weights[mattered],
            normal=found.normal if better else cell.normal,
            split=self._split(cell.rival, ranges, found),
        )

    def _split(self, rival: int, ranges: list[PreactivationRanges], found: Projection) -> tuple[int, int] | None:
        """Return the open neuron that loses most at the nearest point, None if none is open."""
        if not any(known.undecided.any() for known in ranges):
            return None
        y = np.zeros(self.view.size) if found.point is None else found.point
        values = self.view.values(y)
        slopes = [known.lower_slopes(value) for known, value in zip(ranges, values, strict=True)]
        coefficients, constant = self.view.difference(rival)
        cut = lower_bounds(self.view.hidden, ranges, slopes, coefficients[None], np.array([constant]))
        best, place = -1.0, (0, 0)
        for layer, known in enumerate(ranges):
            loss = losses(cut.factors[layer][0], known, slopes[layer], values[layer])
            loss = np.where(known.undecided, loss, -2.0)
            if loss.max(initial=-2.0) > best:
                best, place = float(loss.max()), (layer, int(loss.argmax()))
        return place

    # -- ties ----------------------------------------------------------------------------------

    def _offer_tie(self, cell: ReLUCell, y: Array, incumbent: Incumbent) -> None:
        """Offer the nearest point of a single region as a tie; from that of another cell, walk a few steps towards one."""
        if cell.single:
            self._settle_region(cell, y, incumbent)
            return
        end = walk(self.view, cell.rival, y, QUICK_STEPS)
        if end is not None and np.linalg.norm(end) < WORTH_POLISHING * incumbent.distance:
            tie = nearer_tie(self.view, cell.rival, end)
            if np.linalg.norm(tie) < incumbent.distance:
                incumbent.offer(self.view.lift(tie), cell.rival)

    def _settle_region(self, cell: ReLUCell, y: Array, incumbent: Incumbent) -> None:
        if incumbent.offer(self.view.lift(y), cell.rival):
            return
        # The ray misses a narrow corner: look for a point where B is a little below zero, in the same region.
        size = abs(float(self.view.boundary(cell.rival, np.zeros(self.view.size))))
        rows, limits, warm = self._inequalities(cell, list(cell.ranges))
        for share in DEEPER:
            limits[-1] -= share * size
            deeper = project_origin(rows, limits, warm=warm)
            self.programs += 1
            if deeper.point is not None and incumbent.offer(self.view.lift(deeper.point), cell.rival):
                return
