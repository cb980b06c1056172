"""The number of critical points by algebra, for boundaries that have few: what numbers of paths are held against.

The two share nothing but the polynomial. Paths can lose a critical point that is far out or nearly singular and not notice; a
count modulo a prime is never too large, so it proves that something was lost (see `algebra.counting`).
"""

from __future__ import annotations

from polymargin.boundary import Boundary
from polymargin.errors import MissingExtraError
from polymargin.geometry.algebra.counting import exact_ed_degree
from polymargin.geometry.algebra.engines import EngineError, OutOfTimeError
from polymargin.quadric import quadric_ed_degree

# With so many critical points a count modulo two primes takes about a tenth of a second.
LARGEST_BOUND = 200
DEFAULT_TIMEOUT = 60.0


def exact_check(boundary: Boundary, *, seed: int = 0, timeout: float = DEFAULT_TIMEOUT) -> tuple[int | None, str]:
    """Return the ED degree, None where algebra did not count; and how it was found, or why it was not. No path is followed.

    >>> exact_check(Boundary.from_expression("x**2 - 4*y**2 - 1"))
    (4, 'theorem: quadrics')
    """
    if boundary.degree <= 2 and not boundary.radicands:
        quadric = quadric_ed_degree(boundary)
        return (quadric.of_set, "theorem: quadrics") if quadric.exact else (None, "many inputs")
    if boundary.critical_bound > LARGEST_BOUND:
        return None, f"not counted again by algebra: there may be more than {LARGEST_BOUND}"
    try:
        found = exact_ed_degree([boundary], seed=seed, timeout=timeout)
    except (EngineError, OutOfTimeError, MissingExtraError) as error:
        return None, f"not counted again by algebra: {error}"
    return found.value, found.note
