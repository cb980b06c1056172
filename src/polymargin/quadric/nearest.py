"""The nearest real point of {B = 0}, B of degree at most two, at any size.

`QuadricSolver` diagonalises once; every further point costs O(n m) for its coordinates in the eigenbasis, m = min(n, h)
for a network with h hidden values, and a scalar root search (`secular`). The answer is the global minimiser: see there.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymargin import _core
from polymargin.arguments import real_array
from polymargin.boundary import Boundary
from polymargin.continuation.tracker import instruction_set
from polymargin.errors import InputError
from polymargin.networks import Network
from polymargin.quadric.form import QuadricForm, exact_form
from polymargin.quadric.nearest_batch import Nearest, NearestBatch, NearestBatches
from polymargin.quadric.spectrum import NOISE, TOUCH_TOLERANCE, Factors, Spectrum, spectrum_of
from polymargin.quadric.squares import Array, HiddenSquares, SquareSum, squares_of
from polymargin.quadric.structure import EXACT_DIMENSION, exact_structure

# Relative influence of rounding errors on the answer that is let pass.
LARGEST_DOUBT = 1e-9
# Relative to the distance: a correction beyond this comes from a nearly singular point and is not made.
LARGEST_CORRECTION = 1e-6
# One beyond this shows that the equation behind the point was not known well enough to believe in it.
LARGEST_MISS = 1e-8


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
    def from_network(cls, network: Network, label: int, rival: int) -> QuadricSolver:
        """Make a solver for f_label − f_rival; to share work between the pairs of one network use `NetworkSolvers`."""
        return NetworkSolvers(network).pair(label, rival)

    @property
    def dimension(self) -> int:
        """Return the number of variables."""
        return self.spectrum.dimension

    def nearest(self, point: ArrayLike) -> Nearest:
        """Return the nearest real boundary point to one point (n,)."""
        return self.nearest_batch(real_array(point, "the point")[None])[0]

    def nearest_batch(self, points: ArrayLike) -> NearestBatch:
        """Return the nearest real boundary points to the rows of (p, n)."""
        u = self._checked(points)
        return nearest_of(u, [(self, np.arange(len(u)))])[0]

    @cached_property
    def rules(self) -> _core.NearestRules:
        """Return the parameters of the core (cpp/interface.hpp: NearestJob).

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
        """Return the state without the compiled data."""
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
) -> NearestBatches:
    """Return the nearest points of quadrics to some rows of points (…, n), all of them finite, in one call of the core."""
    given = np.ascontiguousarray(points)
    rows = np.concatenate([rows for _, rows in asked]).astype(np.int64, copy=False)
    counts = np.array([len(rows) for _, rows in asked], dtype=np.int64)
    rules = [solver.rules for solver, _ in asked]
    steps, distances, multipliers, kinds, doubtful = _core.nearest(
        given, rules, counts, rows, threads, instruction_set()
    )
    spectra = [solver.spectrum for solver, _ in asked]
    return NearestBatches(spectra, counts, given, rows, steps, distances, multipliers, kinds, doubtful.view(bool))


class NetworkSolvers:
    """The solvers for all pairs of classes of one network of degree at most two; the first layer is factorised once."""

    def __init__(self, network: Network) -> None:
        self.squares = HiddenSquares.from_network(network)
        self._factors = Factors.of(self.squares.weights)
        self._solvers: dict[tuple[int, int], QuadricSolver] = {}

    def pair(self, label: int, rival: int) -> QuadricSolver:
        """Return the solver for f_label − f_rival."""
        classes = len(self.squares.constants)
        if label == rival or not (0 <= label < classes and 0 <= rival < classes):
            raise InputError(f"classes {label} and {rival}: expected two different ones from 0 to {classes - 1}")
        if (label, rival) not in self._solvers:
            spectrum = Spectrum.of_squares(self.squares.pair(label, rival), self._factors)
            self._solvers[label, rival] = QuadricSolver(spectrum)
        return self._solvers[label, rival]
