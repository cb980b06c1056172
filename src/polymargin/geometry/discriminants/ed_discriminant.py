"""Where the number of real critical points changes: the ED discriminant of a boundary, exactly."""

from __future__ import annotations

import time
from collections.abc import Callable
from math import comb
from typing import Any

from polymargin.arguments import checked
from polymargin.boundary import Boundary, in_metric
from polymargin.errors import InputError
from polymargin.geometry.algebra.engines import DEFAULT_TIMEOUT
from polymargin.geometry.algebra.equations import Equations, exact_equations
from polymargin.geometry.algebra.rings import Ring, integer_form
from polymargin.geometry.algebra.small_bases import reduced_basis
from polymargin.geometry.discriminants.elimination import eliminated_components
from polymargin.geometry.discriminants.plane_curve import plane_components
from polymargin.geometry.discriminants.quadric import LARGEST_DIMENSION, quadric_components
from polymargin.geometry.discriminants.result import DiscriminantComponent, EDDiscriminant, union_generators

METHODS = ("auto", "quadric", "plane", "elimination")
# The most terms of a polynomial that is returned.
LARGEST_TERM_COUNT = 200_000


@checked(Boundary)
def ed_discriminant(
    boundary: Boundary,
    *,
    method: str = "auto",
    timeout: float = DEFAULT_TIMEOUT,
    progress: Callable[[int], None] | None = None,
    metric: Any = None,
) -> EDDiscriminant:
    """Return the ED discriminant: the closure of the data points at which critical points of the distance merge.

    method    "quadric"      degree two, up to three variables: one univariate discriminant
              "plane"        two variables, any degree: the evolute by linear algebra modulo primes
              "elimination"  anything, as far as Singular gets: Algorithm 3 of the paper (`symbolic` extra)
              "auto"         the first of them that applies
    timeout   in seconds; then OutOfTimeError
    progress  is called with 1 after each prime of "plane"; an exception it raises ends the computation
    metric    positive weights, one for each input, or a positive definite matrix; Euclidean if None

    A boundary that depends on few combinations of its inputs is treated in those. A repeated factor counts once.

    >>> found = ed_discriminant(Boundary.from_expression("y - x**2", "x y"))
    >>> found.generators
    (16*u2^3 - 27*u1^2 - 24*u2^2 + 12*u2 - 2,)
    """
    start = time.perf_counter()
    surface = exact_equations([in_metric(boundary, metric)])
    method = _choice(method, surface)
    if surface.dimension == 1 or surface.degree == 1:
        components: list[DiscriminantComponent] = []  # parallel hyperplanes: their critical points never meet
    elif method == "elimination":
        components = eliminated_components(surface, timeout=timeout)
    elif method == "quadric":
        components = quadric_components(surface)
    else:
        components = plane_components(surface, deadline=time.monotonic() + timeout, progress=progress)
    ring = Ring(tuple(f"u{index}" for index in range(1, boundary.dimension + 1)))
    components = [_in_data(ring, surface, component) for component in components]
    components.sort(key=lambda component: (component.codimension, str(component.generators)))
    generators = union_generators(integer_form(ring.constant(1)).context(), components)
    return EDDiscriminant(generators, tuple(components), method, time.perf_counter() - start)


def _choice(method: str, surface: Equations) -> str:
    if method not in METHODS:
        raise InputError(f"method {method!r}: expected one of {', '.join(METHODS)}")
    size, degree = surface.dimension, surface.degree
    if method == "auto":
        if degree <= 2 and size <= LARGEST_DIMENSION:
            return "quadric"
        return "plane" if size <= 2 else "elimination"
    if method == "quadric" and degree > 2:
        raise InputError(f"method 'quadric' for a boundary of degree {degree}: expected degree two; use 'auto'")
    if method == "plane" and size > 2:
        raise InputError(f"method 'plane' for a boundary in {size} variables: expected two; use 'auto'")
    return method


def _in_data(ring: Ring, surface: Equations, component: DiscriminantComponent) -> DiscriminantComponent:
    """Return a component in the variables v = W u as one in u."""
    inputs, degree = len(ring.names), max(p.total_degree() for p in component.generators)
    terms = comb(inputs + degree, degree)
    if inputs > surface.dimension and terms > LARGEST_TERM_COUNT:
        raise InputError(
            f"the discriminant has degree {degree}: in {inputs} inputs it may have up to {terms:,} terms; "
            f"write the boundary in the {surface.dimension} variables on which it depends"
        )
    forms = [ring.linear(row, ring.variables) for row in surface.rows.table()]
    rational = [surface.ring.context.from_dict(dict(p.to_dict().items())) for p in component.generators]
    generators = [integer_form(p.compose(*forms, ctx=ring.context)) for p in rational]
    if component.codimension > 1:
        return DiscriminantComponent(reduced_basis(generators), component.codimension)
    return DiscriminantComponent(tuple(generators), 1)
