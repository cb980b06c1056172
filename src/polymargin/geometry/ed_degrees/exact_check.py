"""The number of critical points by algebra, for boundaries that have few: what numbers of paths are held against.

The two share nothing but the polynomial. Paths can lose a critical point that is far out or nearly singular and not notice; a
count modulo a prime is never too large, so it proves that something was lost (see `groebner`).
"""

from __future__ import annotations

from dataclasses import dataclass

from polymargin.boundary import Boundary
from polymargin.errors import MissingExtraError
from polymargin.geometry.algebra.engines import EngineError, OutOfTimeError
from polymargin.geometry.ed_degrees.groebner import symbolic_ed_degree
from polymargin.quadric import quadric_ed_degree

# With so many critical points a count modulo two primes takes about a tenth of a second.
LARGEST_BOUND = 200
DEFAULT_TIMEOUT = 60.0


@dataclass(frozen=True)
class ExactCount:
    """`value` is the ED degree; None where algebra did not count. `note` says how it was found, or why it was not."""

    value: int | None
    note: str


def exact_count(boundary: Boundary, *, seed: int = 0, timeout: float = DEFAULT_TIMEOUT) -> ExactCount:
    """The ED degree of a boundary with at most `LARGEST_BOUND` critical points, without following a path.

    >>> exact_count(Boundary.from_expression("y**2 - x**3")).value
    4
    """
    if boundary.degree <= 2 and not boundary.radicands:
        quadric = quadric_ed_degree(boundary)
        return ExactCount(quadric.of_set, "theorem: quadrics") if quadric.exact else ExactCount(None, "many inputs")
    if boundary.critical_bound > LARGEST_BOUND:
        return ExactCount(None, f"not counted again by algebra: there may be more than {LARGEST_BOUND}")
    try:
        exact = symbolic_ed_degree(boundary, seed=seed, timeout=timeout)
    except (EngineError, OutOfTimeError, MissingExtraError) as error:
        return ExactCount(None, f"not counted again by algebra: {error}")
    return ExactCount(exact.value, exact.description)
