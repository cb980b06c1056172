"""Stage 1: all critical points for one generic complex point u*, once per boundary.

Stage 2 then moves u* to any point u with the boundary fixed, which takes few steps per path. The base
solutions belong to the boundary alone, so they are kept on disk and found again by its exact coefficients.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.boundary import Boundary, CriticalSystem, critical_system
from polymargin.continuation import (
    Paths,
    TrackerSettings,
    critical_start,
    duplicates,
    follow,
    random_phase,
    track,
)
from polymargin.errors import TooManyPathsError
from polymargin.margins.cache import Cache
from polymargin.polynomials import Program

ComplexArray = NDArray[np.complex128]

# Random start systems tried before a shortfall is taken as a property of the boundary.
ATTEMPTS = 2
DEFAULT_LIMIT = 200_000
# Rough cost of stage 1 on one core: microseconds per path and cubed number of unknowns, as measured.
MICROSECONDS_PER_PATH = 0.12


@dataclass(frozen=True, eq=False)
class BaseSolutions:
    """Critical points (y, λ) of a boundary at the complex point u*, in reduced coordinates."""

    boundary: Boundary
    program: Program  # the critical equations with parameters u
    point: ComplexArray
    solutions: ComplexArray

    def are_solutions(self) -> bool:
        """Whether Newton's method agrees that these are distinct solutions; a file may say anything."""
        size = self.boundary.reduction.dimension
        if self.point.shape != (size,) or self.solutions.ndim != 2 or self.solutions.shape[1] != size + 1:
            return False
        paths = track(self.program, self.solutions, self.point, self.point)
        moved = np.abs(paths.points[0] - self.solutions).max(axis=1, initial=0.0)
        scale = 1 + np.abs(self.solutions).max(axis=1, initial=0.0)
        return bool(paths.converged.all() and (moved <= 1e-8 * scale).all() and not duplicates(self.solutions).any())

    def move_to(self, targets: ComplexArray, settings: TrackerSettings, threads: int | None) -> Paths:
        """Follow every base solution to the points `targets` (T, m), reduced coordinates."""
        return follow(self.program, self.solutions, self.point, targets, settings=settings, threads=threads)


def base_solutions(
    boundary: Boundary,
    *,
    seed: int,
    settings: TrackerSettings,
    threads: int | None,
    limit: int,
    cache: Cache,
) -> BaseSolutions:
    """The base solutions from the cache, or by the blend from the closed-form start system."""
    check_limit(boundary, limit, threads)
    key = f"{boundary.source.fingerprint}:{seed}"
    system = critical_system(boundary)
    stored = cache.read(key)
    if stored is not None:
        remembered = BaseSolutions(boundary, system.target, stored["point"], stored["solutions"])
        if remembered.are_solutions():
            return remembered
    best: tuple[ComplexArray, ComplexArray] | None = None
    for attempt in range(ATTEMPTS):
        point, solutions = _solve_generic(boundary, system, np.random.default_rng([seed, attempt]), settings, threads)
        if best is None or len(solutions) > len(best[1]):
            best = point, solutions
        if len(solutions) == boundary.critical_bound:
            break
    assert best is not None
    result = BaseSolutions(boundary, system.target, *best)
    cache.write(key, {"point": result.point, "solutions": result.solutions})
    return result


def _solve_generic(
    boundary: Boundary,
    system: CriticalSystem,
    generator: np.random.Generator,
    settings: TrackerSettings,
    threads: int | None,
) -> tuple[ComplexArray, ComplexArray]:
    size = boundary.reduction.dimension
    start = critical_start(size, boundary.degree, generator)
    phase = random_phase(generator)
    point = (generator.normal(size=size) + 1j * generator.normal(size=size)) / np.sqrt(2)
    # B = s₀B₀ + s₁B₁ from (s₀, s₁) = (γ, 0) to (0, 1); γB₀ instead of B₀ divides λ by γ.
    start_points = start.points.copy()
    start_points[:, -1] /= phase
    fixed = [*start.slopes, start.level]
    from_parameters = np.array([*np.zeros(size), phase, 0, *fixed])
    to_parameters = np.array([*point, 0, 1, *fixed])
    paths = follow(system.blend, start_points, from_parameters, to_parameters, settings=settings, threads=threads)
    arrived = paths.points[0][paths.converged[0]]
    return point, arrived[~duplicates(arrived)]


def check_limit(boundary: Boundary, limit: int, threads: int | None) -> None:
    """Refuse what would take too long, with the count and an estimate of the time."""
    count = boundary.critical_bound
    if count <= limit:
        return
    unknowns = boundary.reduction.dimension + 1
    seconds = count * MICROSECONDS_PER_PATH * 1e-6 * unknowns**3 / (threads or 1)
    raise TooManyPathsError(
        f"the boundary ({boundary.name}) has up to {_count(count)} critical points (degree {boundary.degree} in "
        f"{unknowns - 1} active variables), more than the limit of {_count(limit)}; finding them would take about "
        f"{_duration(seconds)}; raise limit= (--limit) to try"
    )


def _count(value: int) -> str:
    return f"{value:,}" if value < 10**12 else f"10^{len(str(value)) - 1}"


def _duration(seconds: float) -> str:
    units: list[tuple[str, Any]] = [
        ("years", 31_557_600),
        ("days", 86_400),
        ("hours", 3_600),
        ("minutes", 60),
    ]
    for name, length in units:
        if seconds >= 2 * length:
            amount = seconds / length
            return f"{amount:.0f} {name}" if amount < 1e6 else f"{amount:.0e} {name}"
    return f"{seconds:.0f} seconds"
