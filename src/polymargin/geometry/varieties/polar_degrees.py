"""`polar_degrees` of boundaries, varieties and architectures."""

from __future__ import annotations

from typing import Any

from polymargin.arguments import checked
from polymargin.boundary import AttentionArchitecture, Boundary, NetworkArchitecture
from polymargin.geometry.algebra.counting import exact_polar_degrees
from polymargin.geometry.algebra.engines import DEFAULT_TIMEOUT
from polymargin.geometry.varieties.variety import Variety


@checked(Boundary, Variety, NetworkArchitecture, AttentionArchitecture)
def polar_degrees(source: Any, *, seed: int = 0, timeout: float = DEFAULT_TIMEOUT) -> tuple[int, ...]:
    """Return the numbers of critical points of general linear functions on general sections, the degree of the variety last.

    Entry i belongs to sections by affine subspaces of codimension i. Of a cone (all polynomials homogeneous) they are the polar
    degrees of the projective variety. Their sum is the ED degree in a generic metric. Counted modulo two primes.

    >>> polar_degrees(Boundary.from_expression("x**2 + y**2 - 1"))
    (2, 2)
    >>> polar_degrees(Variety(["a*c - b**2", "b*d - c**2", "a*d - b*c"]))  # the twisted cubic
    (4, 3)
    """
    if isinstance(source, Variety):
        return source.polar_degrees(seed=seed, timeout=timeout)
    return exact_polar_degrees([source] if isinstance(source, Boundary) else source, seed=seed, timeout=timeout)
