"""A number of critical points that paths have found, held against the number that algebra finds modulo primes.

The two share nothing but the polynomial. Paths can lose a critical point that is far out or nearly singular and not notice; a
count modulo a prime is never too large, so it proves that something was lost (see `groebner`).
"""

from __future__ import annotations

from dataclasses import dataclass

from polymargin.boundary import Boundary, ExpressionSource
from polymargin.errors import MissingExtraError
from polymargin.geometry.algebra.engines import EngineError, OutOfTimeError
from polymargin.geometry.ed_degrees.boundary_count import BoundaryCount, rational_factors
from polymargin.geometry.ed_degrees.groebner import symbolic_ed_degree

# With so many critical points a count modulo two primes takes about a tenth of a second.
LARGEST_BOUND = 200


@dataclass(frozen=True)
class ExactCheck:
    """`value` by algebra, None where it did not count, and why in `note`; `components` of an expression."""

    value: int | None
    components: tuple[int, ...] | None
    note: str


def exact_check(boundary: Boundary, found: BoundaryCount, *, seed: int, timeout: float) -> ExactCheck:
    """Count the critical points of a boundary with at most `LARGEST_BOUND` of them again, exactly.

    >>> boundary = Boundary.from_expression("y**2 - x**3")
    >>> check = exact_check(boundary, BoundaryCount(3, (3,), 0), seed=0, timeout=10.0)
    >>> check.value, check.components
    (4, (4,))
    """
    if boundary.critical_bound > LARGEST_BOUND:
        return ExactCheck(None, None, f"not counted again by algebra: there may be more than {LARGEST_BOUND}")
    try:
        exact = symbolic_ed_degree(boundary, seed=seed, timeout=timeout)
    except (EngineError, OutOfTimeError, MissingExtraError) as error:
        return ExactCheck(None, None, f"not counted again by algebra: {error}")
    if exact.value == found.value:
        return ExactCheck(exact.value, found.components, f"confirmed by algebra: {exact.description}")
    components = None
    if isinstance(boundary.source, ExpressionSource):
        factors = rational_factors(boundary.source)
        parts = [symbolic_ed_degree(factor, seed=seed, timeout=timeout).value for factor in factors]
        components = tuple(sorted(parts, reverse=True))
    note = f"paths found {found.value}, which is wrong: {exact.description}"
    return ExactCheck(exact.value, components, note)
