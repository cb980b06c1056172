"""Cells of a spline network: each neuron is confined to some neighbouring pieces.

The bound of a cell comes from linear minorants of all neurons on their ranges, as in `relu.cells`. Where every neuron is on a
single piece the cell is one region; its nearest tie comes from critical points on the region and its faces (`spline_faces`),
or from the quadratic program itself if all pieces met there are linear.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from polymargin.piecewise.incumbents import Incumbent
from polymargin.piecewise.linear_bounds import Cap
from polymargin.piecewise.projection import Projection, project_origin
from polymargin.piecewise.spline.attack import offer_first_tie
from polymargin.piecewise.spline.faces import PieceRegion, PieceSource, ties_in_face
from polymargin.piecewise.spline.minorants import minorants
from polymargin.piecewise.spline.view import SplineView

Array = NDArray[np.float64]

# As in `relu.cells`; polynomials grow faster, so less is far.
FAR = 1e6
ROUNDS = 4
PROGRESS = 1e-3
TOUCH = 1e-12
# Rounding of a minorant, as a share of the sum of the sizes of its terms.
ROUNDING = 1e-15
# How much farther inside a region a tie is looked for where B vanishes but exact arithmetic does not confirm it on the wall.
DEEPER = (1e-13, 1e-12, 1e-11)


@dataclass(frozen=True, eq=False)
class SplineCell:
    """floors ≤ z ≤ ceilings are the breakpoints that branching chose; the rest as in `ReLUCell`.

    low ≤ z ≤ high are the ranges on the part of the cell that can hold a tie within reach; `split` is a neuron and a breakpoint.
    """

    rival: int
    lower: float
    floors: Array
    ceilings: Array
    low: Array
    high: Array
    rows: Array
    limits: Array
    weights: Array
    normal: Array
    split: tuple[int, float] | None

    @property
    def single(self) -> bool:
        """Return whether the cell is one region."""
        return self.split is None


class SplineCells:
    """The cells around one point; implements `best_first.Problem`."""

    def __init__(self, view: SplineView, seed: int) -> None:
        self.view, self.seed = view, seed
        self.programs = 0

    @property
    def far(self) -> float:
        """Return a distance beyond everything: a million times the largest of u, of the way to a breakpoint, and of 1."""
        view = self.view
        sizes = np.linalg.norm(view.matrix, axis=1)
        gaps = np.abs(view.offset[:, None] - view.breakpoints).max(axis=1)
        lengths = gaps[sizes > 0] / sizes[sizes > 0]
        return FAR * max(float(lengths.max(initial=0.0)), float(np.linalg.norm(view.u)), 1.0)

    # -- best_first.Problem --------------------------------------------------------------------

    def roots(self) -> Iterable[SplineCell]:
        """Yield cells that cover everything, one for each rival."""
        width, size = self.view.matrix.shape
        for rival in self.view.rivals:
            yield SplineCell(
                rival=rival,
                lower=0.0,
                floors=np.full(width, -math.inf),
                ceilings=np.full(width, math.inf),
                low=np.full(width, -math.inf),
                high=np.full(width, math.inf),
                rows=np.zeros((0, size)),
                limits=np.zeros(0),
                weights=np.zeros(0),
                normal=np.zeros(size),
                split=None,
            )

    def branch(self, cell: SplineCell) -> Iterable[SplineCell]:
        """Yield the parts of a cell on both sides of its split."""
        if cell.split is None:
            return
        neuron, place = cell.split
        for name in ("floors", "ceilings"):
            ends = getattr(cell, name).copy()
            ends[neuron] = place
            yield replace(cell, **{name: ends})

    def examine(self, cell: SplineCell, incumbent: Incumbent, reach: float) -> SplineCell:
        """Return the cell with a better bound, narrower ranges and the next split."""
        rows, limits = np.zeros((0, self.view.size)), np.zeros(0)
        for _ in range(ROUNDS):
            before = cell.lower
            ranges = self._ranges(cell, Cap(cell.normal, cell.lower, reach))
            if ranges is None:
                return replace(cell, lower=math.inf, split=None)
            cell = replace(cell, low=ranges[0], high=ranges[1])
            rows, limits, warm = self._inequalities(cell)
            found = project_origin(rows, limits, reach=reach, warm=warm)
            self.programs += 1
            cell = self._improved(cell, rows, limits, found)
            if cell.lower >= reach:
                return cell
            if cell.single or found.point is None or cell.lower <= before * (1 + PROGRESS):
                break
        if cell.single:
            return self._settle(cell, rows, limits, incumbent, reach)
        if found.point is not None and float(self.view.boundary(cell.rival, found.point)) <= 0:
            offer_first_tie(self.view, cell.rival, found.point, incumbent)
        return cell

    # -- one round -----------------------------------------------------------------------------

    def _ranges(self, cell: SplineCell, cap: Cap) -> tuple[Array, Array] | None:
        if cap.depth > cap.radius:
            return None
        low = np.maximum(self.view.offset - cap.largest(-self.view.matrix), np.maximum(cell.low, cell.floors))
        high = np.minimum(self.view.offset + cap.largest(self.view.matrix), np.minimum(cell.high, cell.ceilings))
        if (low > high + TOUCH * (1 + np.abs(low) + np.abs(high))).any():
            return None
        return np.minimum(low, high), np.maximum(low, high)

    def _inequalities(self, cell: SplineCell) -> tuple[Array, Array, Array]:
        """Return inherited inequalities, those of the breakpoints, and B ≤ 0 with minorants in place of the neurons."""
        floor, ceiling = np.isfinite(cell.floors), np.isfinite(cell.ceilings)
        factors, constant = self.view.difference(cell.rival)
        places = self.view.matrix @ (cell.lower * cell.normal) + self.view.offset
        slopes, constants = minorants(self.view.function, factors, cell.low, cell.high, places)
        shift = float(slopes @ self.view.offset + constants.sum()) + constant
        # Where two classes touch, what rounding takes from a minorant would hide the tie.
        largest = np.maximum(np.abs(cell.low), np.abs(cell.high)) + self.view.offset_sizes
        terms = np.abs(factors) * self.view.largest_terms(largest) + np.abs(slopes) * largest
        rounding = ROUNDING * (float(terms.sum()) + abs(constant))
        rows = [cell.rows, -self.view.matrix[floor], self.view.matrix[ceiling], (slopes @ self.view.matrix)[None]]
        limits = [
            cell.limits,
            self.view.offset[floor] - cell.floors[floor],
            cell.ceilings[ceiling] - self.view.offset[ceiling],
            np.array([rounding - shift]),
        ]
        every = np.concatenate(rows)
        warm = np.zeros(len(every))
        warm[: len(cell.weights)] = cell.weights
        return every, np.concatenate(limits), warm

    def _improved(self, cell: SplineCell, rows: Array, limits: Array, found: Projection) -> SplineCell:
        mattered = found.weights > 0
        return replace(
            cell,
            lower=max(found.lower, cell.lower),
            rows=rows[mattered],
            limits=limits[mattered],
            weights=found.weights[mattered],
            normal=found.normal if found.lower >= cell.lower else cell.normal,
            split=self._split(cell, found),
        )

    def _split(self, cell: SplineCell, found: Projection) -> tuple[int, float] | None:
        """Return the neuron across a breakpoint whose minorant loses most at the nearest point, and its nearest breakpoint."""
        inner = (self.view.breakpoints > cell.low[:, None]) & (self.view.breakpoints < cell.high[:, None])
        spanning = np.flatnonzero(inner.any(axis=1))
        if not spanning.size:
            return None
        y = np.zeros(self.view.size) if found.point is None else found.point
        values = np.clip(self.view.matrix @ y + self.view.offset, cell.low, cell.high)
        factors, _ = self.view.difference(cell.rival)
        slopes, constants = minorants(self.view.function, factors, cell.low, cell.high, values)
        losses = factors * self.view.function.activate(values) - slopes * values - constants
        neuron = int(spanning[np.argmax(losses[spanning])])
        choices = self.view.breakpoints[inner[neuron]]
        return neuron, float(choices[np.argmin(np.abs(choices - values[neuron]))])

    # -- ties ----------------------------------------------------------------------------------

    def _settle(self, cell: SplineCell, rows: Array, limits: Array, incumbent: Incumbent, reach: float) -> SplineCell:
        """Return all ties of a single region that could be nearest; the bound becomes their distance."""
        region = self._region(cell)
        nearest, complete = math.inf, True
        for face in region.hulls():
            tight = list(face.tight)
            every = np.concatenate([rows, region.rows, -region.rows[tight]])
            levels = np.concatenate([limits, region.limits, -region.limits[tight]])
            bound = project_origin(every, levels, reach=reach)
            self.programs += 1
            if bound.lower >= reach:
                continue
            if bound.point is None or region.source.vanishes(bound.point):
                nearest = min(nearest, bound.lower)
                if bound.point is not None and self._offer_nearest(cell.rival, every, levels, bound.point, incumbent):
                    reach = min(reach, incumbent.distance)
                    continue
            found = ties_in_face(region, face, self.seed)
            complete = complete and found.complete
            for tie in found.ties:
                distance = float(np.linalg.norm(tie))
                nearest = min(nearest, distance)
                if distance >= reach:
                    break
                incumbent.offer(self.view.lift(tie), cell.rival)
                reach = min(reach, incumbent.distance)
        return replace(cell, lower=max(cell.lower, nearest)) if complete else cell

    def _offer_nearest(self, rival: int, rows: Array, limits: Array, point: Array, incumbent: Incumbent) -> bool:
        """Offer the nearest point of a face on which B seems to vanish, or one beside it that is a little farther inside."""
        if incumbent.offer(self.view.lift(point), rival):
            return True
        sizes = np.abs(limits) + np.linalg.norm(rows, axis=1) * np.linalg.norm(point)
        for share in DEEPER:
            inner = project_origin(rows, limits - share * sizes)
            self.programs += 1
            if inner.point is not None and incumbent.offer(self.view.lift(inner.point), rival):
                return True
        return False

    def _region(self, cell: SplineCell) -> PieceRegion:
        """Return the region that a cell without inner breakpoints lies in."""
        view = self.view
        index = np.searchsorted(view.breakpoints, 0.5 * (cell.low + cell.high), side="right")
        ends = np.array([-math.inf, *view.breakpoints, math.inf])
        factors, constant = view.difference(cell.rival)
        pieces = tuple(view.function.pieces[i] for i in index)
        source = PieceSource(view.matrix, view.offset, view.offset_sizes, factors, pieces, constant)
        return PieceRegion.on_pieces(source, cell.low, cell.high, ends[index], ends[index + 1])
