"""The nearest real point of {B = 0}, B of degree at most two, at any size.

`QuadricSolver` diagonalises once; every further point costs O(n m) for its coordinates in the eigenbasis, m = min(n, h)
for a network with h hidden values, and a scalar root search (`secular`). The answer is the global minimiser: see there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymargin import _core
from polymargin.arguments import real_array
from polymargin.boundary import Boundary
from polymargin.continuation.tracker import instruction_set
from polymargin.errors import InputError
from polymargin.networks import PolynomialNetwork
from polymargin.quadric.form import QuadricForm, exact_form
from polymargin.quadric.secular import NearestKind
from polymargin.quadric.spectrum import NOISE, TOUCH_TOLERANCE, Factors, Spectrum, spectrum_of
from polymargin.quadric.squares import Array, HiddenSquares, SquareSum, squares_of
from polymargin.quadric.structure import EXACT_DIMENSION, exact_structure

# Relative influence of rounding errors on the answer that is let pass.
LARGEST_DOUBT = 1e-9
# Relative to the distance: a correction beyond this comes from a nearly singular point and is not made.
LARGEST_CORRECTION = 1e-6
# One beyond this shows that the equation behind the point was not known well enough to believe in it.
LARGEST_MISS = 1e-8


@dataclass(frozen=True, eq=False)
class Nearest:
    """The nearest point x (None if {B = 0} is empty over the reals), ‖x − u‖, and λ with x − u + λ∇B(x) = 0.

    λ is infinite at a singular point of the boundary and where there is no point. `doubtful` says that rounding may have
    decided something; `PreciseQuadric` does not round.
    """

    point: Array | None
    distance: float
    multiplier: float
    kind: NearestKind
    doubtful: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class NearestBatch:
    """The same for p points: distances, multipliers, kinds (p,), and points (p, n), NaN where the boundary is empty.

    `sphere_dimensions` (p,): of the sphere of nearest points in a row of kind SPHERE, 0 elsewhere; `doubtful` (p,). Points are
    lifted from `steps` (p, m) in the eigenbasis when they are asked for, all of them or some; `rows` of `given` (…, n) are where
    they start.
    """

    spectrum: Spectrum
    given: Array
    rows: NDArray[np.int64]
    steps: Array
    distances: Array
    multipliers: Array
    kinds: NDArray[np.int8]
    sphere_dimensions: NDArray[np.int64]
    doubtful: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.distances)

    @cached_property
    def points(self) -> Array:
        return self.points_at(slice(None))

    def points_at(self, rows: slice | NDArray[np.intp]) -> Array:
        return self.given[self.rows[rows]] + self.spectrum.lift(self.steps[rows])

    def judge(self, rows: NDArray[np.intp]) -> None:
        """Rows without a regular nearest point, which rest on something that is zero, or on the signs of eigenvalues and of S.

        They are believed where these are far from zero.
        """
        spectrum = self.spectrum
        for row in rows.tolist():
            if self.kinds[row] == NearestKind.SPHERE:
                lowest = -1 / (2 * self.multipliers[row])
                near = np.abs(spectrum.eigenvalues - lowest) <= spectrum.cluster_tolerance
                self.sphere_dimensions[row] = int(near.sum()) - 1
            elif self.kinds[row] != NearestKind.EMPTY:
                self.doubtful[row] = True
            self.doubtful[row] |= not spectrum.is_clear

    def __getitem__(self, row: int) -> Nearest:
        kind = NearestKind(int(self.kinds[row]))
        return Nearest(
            point=None if kind is NearestKind.EMPTY else self.points_at(slice(row, row + 1))[0],
            distance=float(self.distances[row]),
            multiplier=float(self.multipliers[row]),
            kind=kind,
            doubtful=bool(self.doubtful[row]),
            notes=_notes(kind, int(self.sphere_dimensions[row])),
        )


class QuadricSolver:
    """Nearest points on one quadric.

    >>> solver = QuadricSolver(Boundary.from_expression("x**2 + 4*y**2 - 4"))
    >>> solver.nearest([0.0, 0.25]).distance
    0.75
    """

    def __init__(self, source: QuadricForm | SquareSum | Boundary | Spectrum) -> None:
        if isinstance(source, Boundary):
            self.spectrum = spectrum_of(squares_of(source.source) or QuadricForm.from_boundary(source))
            if self.spectrum.basis is None and source.dimension <= EXACT_DIMENSION:
                self.spectrum = self.spectrum.with_structure(exact_structure(*exact_form(source)))
        else:
            self.spectrum = source if isinstance(source, Spectrum) else spectrum_of(source)

    @classmethod
    def from_network(cls, network: PolynomialNetwork, label: int, rival: int) -> QuadricSolver:
        """For f_label − f_rival; to share work between the pairs of one network use `NetworkSolvers`."""
        return NetworkSolvers(network).pair(label, rival)

    @property
    def dimension(self) -> int:
        return self.spectrum.dimension

    def nearest(self, point: ArrayLike) -> Nearest:
        """The nearest real boundary point to one point (n,)."""
        return self.nearest_batch(real_array(point, "the point")[None])[0]

    def nearest_batch(self, points: ArrayLike) -> NearestBatch:
        """The nearest real boundary points to the rows of (p, n)."""
        u = self._checked(points)
        return nearest_of(u, [(self, np.arange(len(u)))])[0]

    @cached_property
    def rules(self) -> _core.NearestRules:
        """What the core goes by (cpp/interface.hpp: NearestJob).

        An answer is doubtful where the errors of eigenvalues and of B(u) may have changed it noticeably: an error E of A
        matters as 2λE beside 1 + 2λA. From far away the value of B at the boundary is known less well than at the point found, so
        one step of Newton's method leads from there onto {B = 0}, along ∇B, the direction of x − u; a large one says that x is no
        solution.
        """
        spectrum, factors = self.spectrum, self.spectrum.factors
        fixed = np.full(len(spectrum.eigenvalues), np.nan)
        fixed[spectrum.eigenvalues == 0] = spectrum.kernel_slopes
        return _core.NearestRules(
            **spectrum.laid_out,
            rotation=spectrum.padded_rotation,
            basis=None if factors is None else factors.padded_basis,
            fixed=fixed,
            least=0.0 if spectrum.eigenvalues[0] < 0 < spectrum.eigenvalues[-1] else spectrum.least,
            tolerance=spectrum.tolerance,
            cluster_tolerance=spectrum.cluster_tolerance,
            touch_tolerance=TOUCH_TOLERANCE,
            noise=NOISE,
            largest_doubt=LARGEST_DOUBT,
            largest_correction=LARGEST_CORRECTION,
            largest_miss=LARGEST_MISS,
        )

    def __getstate__(self) -> dict[str, Any]:
        """Everything but what the core made of it."""
        return {name: value for name, value in self.__dict__.items() if name != "rules"}

    def _checked(self, points: ArrayLike) -> Array:
        u = real_array(points, "the points")
        if u.ndim != 2 or u.shape[1] != self.dimension:
            raise InputError(f"points of shape {u.shape}: expected rows of {self.dimension} numbers")
        if not np.isfinite(u).all():
            raise InputError(f"a point contains {u[~np.isfinite(u)][0]}; every coordinate must be finite")
        return u


def nearest_of(
    points: Array, asked: Sequence[tuple[QuadricSolver, NDArray[np.intp]]], threads: int = 1
) -> list[NearestBatch]:
    """The nearest points of quadrics to some rows of points (…, n), all of them finite, in one call of the core."""
    given, rows = np.ascontiguousarray(points), [np.ascontiguousarray(rows, dtype=np.int64) for _, rows in asked]
    found = _core.nearest(given, [solver.rules for solver, _ in asked], rows, threads, instruction_set())
    batches = []
    for (solver, _), mine, (steps, distances, multipliers, kinds, doubtful) in zip(asked, rows, found, strict=True):
        batch = NearestBatch(
            solver.spectrum, given, mine, steps, distances, multipliers, kinds, np.zeros_like(mine), doubtful.view(bool)
        )
        batch.judge(np.flatnonzero(kinds))
        batches.append(batch)
    return batches


class NetworkSolvers:
    """The solvers for all pairs of classes of one network of degree at most two; the first layer is factorised once."""

    def __init__(self, network: PolynomialNetwork) -> None:
        self.squares = HiddenSquares.from_network(network)
        self._factors = Factors.of(self.squares.weights)
        self._solvers: dict[tuple[int, int], QuadricSolver] = {}

    def pair(self, label: int, rival: int) -> QuadricSolver:
        """The solver for f_label − f_rival."""
        classes = len(self.squares.constants)
        if label == rival or not (0 <= label < classes and 0 <= rival < classes):
            raise InputError(f"classes {label} and {rival}: expected two different ones from 0 to {classes - 1}")
        if (label, rival) not in self._solvers:
            spectrum = Spectrum.of_squares(self.squares.pair(label, rival), self._factors)
            self._solvers[label, rival] = QuadricSolver(spectrum)
        return self._solvers[label, rival]


def _notes(kind: NearestKind, sphere: int) -> tuple[str, ...]:
    if kind is NearestKind.SPHERE:
        family = "two points are" if sphere == 0 else f"a sphere of dimension {sphere} is"
        return (f"{family} nearest; one point is given",)
    if kind is NearestKind.SINGULAR:
        return ("B has one sign and touches zero, up to rounding, at singular points only; the nearest one is given",)
    if kind is NearestKind.EMPTY:
        return ("the boundary is empty over the reals",)
    if kind is NearestKind.ON_BOUNDARY:
        return ("the point lies on the boundary, up to rounding",)
    return ()
