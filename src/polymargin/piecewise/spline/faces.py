"""The nearest tie in one region of a spline network: critical points on the region and on each of its faces.

In a region B is one polynomial P and the region a polyhedron. Its nearest tie x* lies in the relative interior of one face F, and
there it is a critical point of the distance from u, projected onto the affine hull of F, to {P = 0} within that hull. So the
critical points for all faces, as far as they lie in their face, contain it. Hulls of dimension one are lines, on which the
critical points are all roots; a vertex with P = 0 is one of them.

A family of critical points at one distance is listed by a member. If the member is not in F but others are, the connected
family meets the boundary of F, and a smaller face finds a tie at that distance.

Where P vanishes on all of F, the tie is the point of F nearest to u. Whether it vanishes is not left to coefficients, which have
been rounded: if P is as small at that point as rounding could make it, the point is tried first.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polymargin.boundary import Boundary
from polymargin.boundary.sources import Source
from polymargin.enumeration.critical_points import critical_points
from polymargin.polynomials import Expression
from polymargin.quadric import quadric_critical_points

Array = NDArray[np.float64]

# A point outside by less than this share of the sizes involved is inside.
INSIDE = 1e-9
# Share of a neuron's weights that survives a restriction by rounding only.
CONSTANT = 1e-14
# Rounding of P, as a share of the sum of the sizes of its terms.
ROUNDING = 1e-12
# Singular values of the normals of a face below this share of the largest: they are dependent.
DEPENDENT = 1e-10


@dataclass(frozen=True, eq=False)
class PieceSource:
    """The polynomial y ↦ constant + Σ_j factors[j] · pieces[j](weights[j]·y + offsets[j]); a `boundary.sources.Source`.

    sizes are those of the terms that each offset is a sum of.
    """

    weights: Array
    offsets: Array
    sizes: Array
    factors: Array
    pieces: tuple[tuple[float, ...], ...]
    constant: float

    @property
    def radicands(self) -> tuple[int, ...]:
        """Return the numbers under square roots among the coefficients."""
        return ()

    @property
    def dimension(self) -> int:
        """Return the number of variables."""
        return int(self.weights.shape[1])

    @property
    def fingerprint(self) -> str:
        """Return a hash that changes with every coefficient."""
        digest = hashlib.sha256(repr((self.pieces, self.weights.shape, self.constant)).encode())
        for array in (self.weights, self.offsets, self.sizes, self.factors):
            digest.update(np.ascontiguousarray(array, dtype="<f8").tobytes())
        return digest.hexdigest()

    def polynomial(self, variables: list[Expression]) -> Expression:
        """Return B on symbolic scalars."""
        graph = variables[0].graph
        terms = []
        for row, offset, piece in zip(self.weights.tolist(), self.offsets.tolist(), self.pieces, strict=True):
            value = graph.linear(row, variables, offset)
            powers = [value**power for power in range(1, len(piece))]
            terms.append(graph.linear(piece[1:], powers, piece[0]))
        return graph.linear(self.factors.tolist(), terms, self.constant)

    def values(self, points: NDArray[np.complex128]) -> NDArray[np.complex128]:
        """Return B at points (…, n) in floating point."""
        hidden = points @ self.weights.T + self.offsets
        parts = [np.polynomial.polynomial.polyval(hidden[..., j], piece) for j, piece in enumerate(self.pieces)]
        return np.asarray(np.stack(parts, axis=-1) @ self.factors + self.constant)

    def noise(self, points: Array) -> Array:
        """Return a bound for the rounding errors of `values` at real points (…, n)."""
        return np.full(points.shape[:-1], np.inf)

    def vanishes(self, point: Array) -> bool:
        """Return whether rounding could hide that the value at one point is zero."""
        sizes = np.abs(self.weights) @ np.abs(point) + self.sizes
        terms = [
            np.polynomial.polynomial.polyval(size, np.abs(piece))
            for size, piece in zip(sizes, self.pieces, strict=True)
        ]
        return bool(
            abs(self.values(point.astype(np.complex128)))
            <= ROUNDING * (np.abs(self.factors) @ terms + abs(self.constant))
        )

    def forms(self) -> tuple[Array, Array] | None:
        """Return the affine forms through which the polynomial depends on x; None if unknown."""
        return self.weights, self.offsets

    def active_subspace(self) -> tuple[Array, Source] | None:
        """Return an orthonormal basis of the active subspace and the polynomial on it; None if unknown."""
        return None

    def centre(self) -> Array:
        """Return a point around which the polynomial is well scaled."""
        return np.zeros(self.dimension)

    def on_subspace(self, matrix: Array, offset: Array) -> PieceSource:
        """Return the polynomial y ↦ B(offset + matrix @ y)."""
        weights = self.weights @ matrix
        # A neuron that is constant on the subspace must not seem to vary by rounding: it would raise the degree.
        sizes = np.linalg.norm(self.weights, axis=1) * np.linalg.norm(matrix)
        weights[np.linalg.norm(weights, axis=1) <= CONSTANT * sizes] = 0.0
        offsets, sizes = self.offsets + self.weights @ offset, self.sizes + np.abs(self.weights) @ np.abs(offset)
        return PieceSource(weights, offsets, sizes, self.factors, self.pieces, self.constant)


@dataclass(frozen=True, eq=False)
class PieceRegion:
    """Part of a region on which B is the polynomial `source`, with z = weights·y + offsets between `low` and `high`.

    rows @ y ≤ limits are its walls: the breakpoints that the ranges reach. Whatever part of the region is left out of the
    ranges is known to hold no tie of interest.
    """

    source: PieceSource
    low: Array
    high: Array
    rows: Array
    limits: Array

    @classmethod
    def on_pieces(cls, source: PieceSource, low: Array, high: Array, left: Array, right: Array) -> PieceRegion:
        """Return the region with walls at the ends [left, right] of the pieces, where the ranges reach them."""
        floor, ceiling = np.isfinite(left) & (low <= left), np.isfinite(right) & (high >= right)
        rows = np.concatenate([-source.weights[floor], source.weights[ceiling]])
        limits = [source.offsets[floor] - left[floor], right[ceiling] - source.offsets[ceiling]]
        return cls(source, low, high, rows, np.concatenate(limits))

    def holds(self, places: Array) -> NDArray[np.bool_]:
        """Return which of the places (p, m) lie in it, up to rounding."""
        values = places @ self.source.weights.T + self.source.offsets
        sizes = np.linalg.norm(self.source.weights, axis=1) * np.linalg.norm(places, axis=1)[:, None]
        room = INSIDE * (sizes + np.abs(self.source.offsets))
        return np.asarray(((values >= self.low - room) & (values <= self.high + room)).all(axis=1))

    def hulls(self) -> Iterator[CellFace]:
        """Yield the affine hulls of dimension at least one that sets of walls define, larger ones first."""
        dimension = self.rows.shape[1]
        queue: list[tuple[int, ...]] = [()]
        for tight in queue:
            face = self._face(tight, dimension)
            if face is None:
                continue
            yield face
            if len(tight) + 1 < dimension:
                queue.extend((*tight, index) for index in range(tight[-1] + 1 if tight else 0, len(self.rows)))

    def _face(self, tight: tuple[int, ...], dimension: int) -> CellFace | None:
        """Return the face; None if the normals are dependent, because then fewer of them define the same hull."""
        if not tight:
            return CellFace((), np.zeros(dimension), np.eye(dimension))
        left, sizes, right = np.linalg.svd(self.rows[list(tight)])
        if sizes[-1] <= DEPENDENT * sizes[0]:
            return None
        origin = right[: len(tight)].T @ ((left.T @ self.limits[list(tight)]) / sizes)
        return CellFace(tight, origin, right[len(tight) :].T)


@dataclass(frozen=True, eq=False)
class CellFace:
    """The affine hull {origin + basis @ c} of a face on the walls `tight`, `origin` being its point nearest to 0."""

    tight: tuple[int, ...]
    origin: Array
    basis: Array


@dataclass(frozen=True, eq=False)
class FaceTies:
    """Ties in one face, nearest first, and whether these are all that could be nearest."""

    ties: list[Array]
    complete: bool


def ties_in_face(region: PieceRegion, face: CellFace, seed: int) -> FaceTies:
    """Return the critical points of the distance from 0 to {P = 0} in the hull of the face, those in the region only."""
    boundary = Boundary(region.source.on_subspace(face.basis, face.origin), "one piece")
    centre = np.zeros(face.basis.shape[1])
    doubtful = False
    if boundary.degree <= 0:
        # One number on the whole hull. Where it is zero, the nearest point of the face is the tie, and was tried.
        return FaceTies([], True)
    if boundary.degree == 2:
        quadric = quadric_critical_points(boundary, centre)
        points = quadric.points[quadric.real].real
    else:
        found = critical_points(boundary, centre, seed=seed, threads=1, cache=False)
        points = found.points[found.real].real
        if not found.audit.complete:
            return FaceTies(_inside(region, face, points), False)
        doubtful = bool(found.audit.remarks)
    ties = _inside(region, face, points)
    # Among degenerate critical points only the nearest of all is sure to be listed.
    nearest_is_in = bool(ties) and bool(np.linalg.norm(ties[0]) <= np.linalg.norm(face.origin + face.basis @ points[0]))
    return FaceTies(ties, not doubtful or nearest_is_in)


def _inside(region: PieceRegion, face: CellFace, points: Array) -> list[Array]:
    places = face.origin + points @ face.basis.T
    return [place for place, kept in zip(places, region.holds(places), strict=True) if kept]
