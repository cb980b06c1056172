"""The ED degree of one boundary {B = 0}: regular critical points at a generic complex point, component by component.

All critical points at a generic level are known and confirmed by enumeration. Moving the level to 0 brings every isolated
critical point of {B = 0} as the endpoint of a path. Regular endpoints are counted. The others are at infinity, or at singular
points of {B = 0} with an infinite multiplier: where components meet, or all over a component counted twice. A count is complete
if the endpoint of every path is known; otherwise there are at least so many.

A polynomial given as an expression is factored over the rationals first, and each factor is a boundary of its own: repeated
factors count once, and the number of each component is told.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from polymargin.arguments import DEFAULT_LIMIT
from polymargin.boundary import Boundary, ExpressionSource, is_reduced
from polymargin.continuation import Tracker
from polymargin.enumeration import BaseSolutions, base_solutions, check_limit
from polymargin.enumeration.cache import Cache
from polymargin.enumeration.regular_ends import Endpoints, settled_ends
from polymargin.errors import InputError
from polymargin.geometry.algebra import Ring
from polymargin.polynomials import Graph, evaluate, flatten


@dataclass(frozen=True)
class BoundaryCount:
    """`value` regular critical points in all; `components` their numbers per rational factor, largest first, if B was factored.

    `undecided` is the number of further critical points there could be: paths of unknown endpoint.
    """

    value: int
    components: tuple[int, ...] | None
    undecided: int

    @property
    def complete(self) -> bool:
        """Return whether there are no others."""
        return not self.undecided


def boundary_count(
    boundary: Boundary,
    tracker: Tracker,
    *,
    seed: int = 0,
    limit: int = DEFAULT_LIMIT,
    cache: bool | str | Path = True,
) -> BoundaryCount:
    """Return the ED degree of {B = 0}.

    >>> boundary_count(Boundary.from_expression("(x**2 + y**2 - 1) * (x - 3*y + 1)"), Tracker(), cache=False).components
    (2, 1)
    """
    if not has_factors(boundary) and not is_reduced(boundary.source):
        raise InputError(
            f"the boundary ({boundary.name}) has a repeated factor, on which no critical point is regular; "
            "count it with method='symbolic', which takes every factor once"
        )
    factored = has_factors(boundary)
    parts = rational_factors(boundary) if factored else [boundary]
    counts = [_irreducible_count(part, tracker, seed, limit, cache) for part in parts]
    values = sorted((value for value, _ in counts), reverse=True)
    return BoundaryCount(sum(values), tuple(values) if factored else None, sum(undecided for _, undecided in counts))


def has_factors(boundary: Boundary) -> bool:
    """Return whether the boundary is a polynomial with rational coefficients, written out, which can be factored."""
    return isinstance(boundary.source, ExpressionSource) and not boundary.source.radicands


def rational_factors(boundary: Boundary) -> list[Boundary]:
    """Return the irreducible factors of an expression over the rationals, each once.

    >>> [part.name for part in rational_factors(Boundary.from_expression("(x - y)**2*(x + 2)"))]
    ['x + 2', 'x - y']
    """
    source = boundary.source
    if not isinstance(source, ExpressionSource):
        raise InputError(f"the boundary ({boundary.name}) is no expression: it is not factored")
    graph = Graph()
    program = flatten(graph, [source.polynomial(graph.inputs(source.dimension))])
    ring = Ring(tuple(source.names))
    polynomial = evaluate(program, list(ring.variables), lift=ring.constant)[0]
    texts = sorted(str(factor).replace("^", "**") for factor, _ in polynomial.factor()[1])
    return [replace(Boundary.from_expression(text, source.names), metric=boundary.metric) for text in texts]


def _irreducible_count(
    boundary: Boundary, tracker: Tracker, seed: int, limit: int, cache: bool | str | Path
) -> tuple[int, int]:
    if boundary.degree == 1:
        return 1, 0
    check_limit(boundary, limit, tracker)
    base = base_solutions(boundary, tracker, seed=seed, cache=Cache.from_option(cache))
    ends = ends_at_level_zero(base, tracker)
    return len(ends.solutions), base.unjudged + ends.undecided


def ends_at_level_zero(base: BaseSolutions, tracker: Tracker) -> Endpoints:
    """Return the endpoints of all paths to level zero at the generic complex point of the first step."""
    return settled_ends(base, level_zero(base), tracker)


def level_zero(base: BaseSolutions) -> NDArray[np.complex128]:
    """Return the parameters (u*, 0)."""
    return np.append(base.parameters[:-1], 0)
