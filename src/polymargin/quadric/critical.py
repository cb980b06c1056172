"""All critical points of the distance from u to a quadric, complex ones included.

In the eigenbasis (see `spectrum`) a root λ of E (see `rational`) gives the point δ_i = −λ g_i / (1 + 2λσ_i). Two kinds of
critical points are not of this form.

* Where g vanishes on the eigenspace of some μ (always if u is its centre in these directions), the pole −1/(2μ) of E is
  gone, and with it two roots. There δ may have any component z in the eigenspace with z·z = −E(−1/(2μ))/μ: a sphere of
  critical points, two points if μ is simple. Two opposite members stand for it.
* Where ∇B = 0 (the vertex of a cone, where hyperplanes cross, a double hyperplane) λ is infinite. These points lie on the
  boundary and exist iff g lies in the range of A and S = 0; the one nearest to u is listed.

With multiplicities there are always 2r + 1 of them, or 2r if A has the linear part in its range; two or more of the 2r are the
singular point if S = 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymargin.arguments import real_array
from polymargin.boundary import Boundary
from polymargin.continuation.same_points import REAL, SAME_LIMIT
from polymargin.errors import InputError
from polymargin.quadric.form import QuadricForm
from polymargin.quadric.nearest import QuadricSolver
from polymargin.quadric.rational import Complex, Secular, all_roots
from polymargin.quadric.spectrum import TOUCH_TOLERANCE, Spectrum, Views
from polymargin.quadric.squares import Array, SquareSum


@dataclass(frozen=True, eq=False)
class QuadricCriticalPoints:
    """Points x with x − u + λ∇B(x) = 0 and B(x) = 0, nearest real ones first, then the others.

    points          (N, n) complex
    multipliers     (N,) complex λ; infinite at singular points of the boundary
    real            (N,) which points are real
    distances       (N,) from u for the real ones, infinity for the others
    multiplicities  (N,)
    families        (N,) dimension of the family that the point stands for; 0 for an isolated one
    notes           multiple points, families, singular points
    """

    points: Complex
    multipliers: Complex
    real: NDArray[np.bool_]
    distances: Array
    multiplicities: NDArray[np.int64]
    families: NDArray[np.int64]
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.points)

    def __repr__(self) -> str:
        notes = "".join(f"; {note}" for note in self.notes)
        return f"QuadricCriticalPoints({len(self)} complex, {int(self.real.sum())} real{notes})"


def quadric_critical_points(
    source: QuadricForm | SquareSum | Boundary | QuadricSolver, point: ArrayLike
) -> QuadricCriticalPoints:
    """Return all critical points for one u (n,); pass a `QuadricSolver` to diagonalise only once.

    >>> quadric_critical_points(Boundary.from_expression("x**2 + 4*y**2 - 4"), [0.5, 0.25])
    QuadricCriticalPoints(4 complex, 4 real)
    """
    solver = source if isinstance(source, QuadricSolver) else QuadricSolver(source)
    u = real_array(point, "the point")
    if u.shape != (solver.dimension,) or not np.isfinite(u).all():
        raise InputError(f"point {point!r}: expected {solver.dimension} finite numbers")
    spectrum = solver.spectrum
    views = spectrum.views(u[None])
    found = _Collection(len(spectrum.eigenvalues))
    _collect(spectrum, views, found)
    return found.result(spectrum, u)


def _collect(spectrum: Spectrum, views: Views, found: _Collection) -> None:
    g, value = views.gradients[0], float(views.values[0])
    clusters = spectrum.clusters()
    mu = np.array([spectrum.eigenvalues[cluster].mean() for cluster in clusters])
    squares = np.array([float(g[cluster] @ g[cluster]) for cluster in clusters])
    flat = spectrum.eigenvalues == 0
    kernel = float(g[flat] @ g[flat])
    squares[squares <= _noise(spectrum, mu, squares, kernel)] = 0.0
    for cluster in (cluster for cluster, square in zip(clusters, squares, strict=True) if square == 0):
        g[cluster] = 0.0
    least = spectrum.least if kernel == 0 else _least(value, mu, squares)
    rounding = TOUCH_TOLERANCE * float(views.value_sizes[0])
    singular = kernel == 0 and least == 0
    if singular and not len(mu):
        raise InputError("the polynomial is zero: every point lies on its zero set")
    active = squares > 0
    equation = Secular(mu[active], squares[active], kernel, value, least)
    centred = singular and not active.any()  # u itself is a singular point of the boundary

    if not centred:
        roots = all_roots(equation)
        steps = np.zeros((len(roots.multipliers), len(g)), dtype=np.complex128)
        steps[:, flat] = -roots.multipliers[:, None] * g[flat]
        for column, cluster in enumerate([c for c, on in zip(clusters, active, strict=True) if on]):
            steps[:, cluster] = -(roots.multipliers / roots.d[:, column])[:, None] * g[cluster]
        found.add(steps, roots.multipliers, 1, 0)
        for index in np.flatnonzero(~active):
            _collect_family(found, spectrum, clusters, mu, g, equation, int(index), rounding)
    if singular:
        step = np.zeros((1, len(g)), dtype=np.complex128)
        for centre, cluster in zip(mu, clusters, strict=True):
            step[0, cluster] = -g[cluster] / (2 * centre)
        count = 2 * len(mu) - sum(found.counts)
        found.add(step, np.array([np.inf]), count, spectrum.kernel_dimension)


def _least(value: float, mu: Array, squares: Array) -> float:
    """Return S = β − Σ γ_j/(4μ_j) as seen from u; it depends on u only if the kernel slopes do not vanish."""
    return value - float((squares / (4 * mu)).sum())


def _noise(spectrum: Spectrum, mu: Array, squares: Array, kernel: float) -> Array:
    """Return the possible effect of eigenvector errors on γ_j: (tolerance · ‖g_k/(μ_k − μ_j)‖)² over the others."""
    centres, sizes = np.append(mu, 0.0), np.append(squares, kernel)
    gaps = np.subtract.outer(mu, centres)
    np.fill_diagonal(gaps, np.inf)
    return np.asarray(spectrum.tolerance**2 * (sizes / gaps**2).sum(axis=1))


def _collect_family(
    found: _Collection,
    spectrum: Spectrum,
    clusters: list[NDArray[np.intp]],
    mu: Array,
    g: Array,
    equation: Secular,
    index: int,
    rounding: float,
) -> None:
    """Add the points at the pole of an eigenvalue on whose eigenspace g vanishes."""
    multiplier = -1 / (2 * mu[index])
    step = np.zeros(len(g), dtype=np.complex128)
    for centre, cluster in zip(mu, clusters, strict=True):
        if g[cluster].any():
            step[cluster] = -multiplier * g[cluster] / (1 - centre / mu[index])
    flat = spectrum.eigenvalues == 0
    step[flat] = -multiplier * g[flat]
    d = 1 - equation.eigenvalues / mu[index]
    value = complex(equation(np.array([multiplier + 0j]), d[None].astype(np.complex128))[0][0])
    terms = float((np.abs(equation.weights) / d**2).sum()) + abs(multiplier) * equation.kernel
    size = len(clusters[index])
    if abs(value) <= rounding + TOUCH_TOLERANCE * terms:
        found.add(step[None], np.array([multiplier]), 2, 0)
        return
    radius = np.sqrt(complex(-value.real / mu[index]))
    for sign in (1, -1):
        member = step.copy()
        member[clusters[index][0]] = sign * radius
        found.add(member[None], np.array([multiplier]), 1, size - 1)


class _Collection:
    """Critical points as they are found; equal ones are merged at the end."""

    def __init__(self, width: int) -> None:
        self.steps: list[Complex] = []
        self.multipliers: list[complex] = []
        self.counts: list[int] = []
        self.families: list[int] = []
        self.width = width

    def add(self, steps: Complex, multipliers: NDArray[np.inexact], count: int, family: int) -> None:
        self.steps.extend(steps)
        self.multipliers.extend(complex(value) for value in multipliers)
        self.counts.extend([count] * len(steps))
        self.families.extend([family] * len(steps))

    def result(self, spectrum: Spectrum, u: Array) -> QuadricCriticalPoints:
        steps = np.array(self.steps, dtype=np.complex128).reshape(-1, self.width)
        multipliers = np.array(self.multipliers, dtype=np.complex128)
        groups = _groups(steps, multipliers)
        counts = np.array([sum(self.counts[i] for i in group) for group in groups], dtype=np.int64)
        families = np.array([max(self.families[i] for i in group) for group in groups], dtype=np.int64)
        merged = np.array([steps[group].mean(axis=0) for group in groups]).reshape(-1, self.width)
        mean = np.array([multipliers[group].mean() if len(group) > 1 else multipliers[group[0]] for group in groups])
        sizes = np.linalg.norm(merged, axis=1)
        loose = np.where([len(group) > 1 for group in groups], SAME_LIMIT, REAL)
        real = np.linalg.norm(merged.imag, axis=1) <= loose * sizes
        merged[real], mean[real] = merged[real].real, mean[real].real
        distances = np.where(real, sizes, np.inf)
        order = np.argsort(distances, kind="stable")
        return QuadricCriticalPoints(
            points=u + spectrum.lift(merged[order].real) + 1j * spectrum.lift(merged[order].imag),
            multipliers=mean[order].astype(np.complex128),
            real=real[order],
            distances=distances[order],
            multiplicities=counts[order],
            families=families[order],
            notes=_notes(mean, counts, families),
        )


def _groups(steps: Complex, multipliers: Complex) -> list[list[int]]:
    """Group points that are close to each other and have close multipliers."""
    sizes = np.linalg.norm(steps, axis=1)
    groups: list[list[int]] = []
    taken, finite = np.zeros(len(steps), dtype=bool), np.isfinite(multipliers)
    for index in range(len(steps)):
        if taken[index]:
            continue
        near = ~taken & finite & finite[index]
        near[near] = np.abs(multipliers[near] - multipliers[index]) <= 1e-3 * abs(multipliers[index])
        near[index] = True
        candidates = np.flatnonzero(near)
        apart = np.linalg.norm(steps[candidates] - steps[index], axis=1)
        group = candidates[apart <= SAME_LIMIT * np.maximum(sizes[candidates], sizes[index])]
        taken[group] = True
        groups.append(group.tolist())
    return groups


def _notes(multipliers: Complex, counts: NDArray[np.int64], families: NDArray[np.int64]) -> tuple[str, ...]:
    singular = np.isinf(multipliers)
    notes = []
    if (multiple := counts[~singular & (counts > 1)]).size:
        listed = ", ".join(map(str, sorted(multiple.tolist(), reverse=True)))
        notes.append(f"critical points merge (multiplicities {listed}): the point lies on the ED discriminant")
    if (spheres := families[~singular & (families > 0)]).size:
        listed = ", ".join(map(str, sorted(set(spheres.tolist()))))
        notes.append(f"spheres of critical points (dimensions {listed}); two opposite members stand for each")
    if singular.any():
        size = int(families[singular].max())
        which = "one singular point" if size == 0 else f"an affine space of dimension {size} of singular points"
        notes.append(f"the boundary has {which}; the nearest one is listed, with infinite multiplier")
    return tuple(notes)
