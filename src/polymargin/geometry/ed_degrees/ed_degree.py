"""`ed_degree`: how many critical points has the distance to a boundary, and how that is known."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

from polymargin.arguments import DEFAULT_LIMIT, checked
from polymargin.boundary import (
    Architecture,
    AttentionArchitecture,
    Boundary,
    Metric,
    NetworkArchitecture,
    architecture_family,
    in_metric,
)
from polymargin.continuation import Tracker
from polymargin.enumeration import TraceTest
from polymargin.errors import InputError
from polymargin.geometry.algebra.counting import exact_ed_degree
from polymargin.geometry.ed_degrees.boundary_count import BoundaryCount, boundary_count, has_factors, rational_factors
from polymargin.geometry.ed_degrees.exact_check import exact_check
from polymargin.geometry.ed_degrees.formulas import degree_bounds, formula
from polymargin.geometry.ed_degrees.monodromy_count import monodromy_count
from polymargin.geometry.varieties.variety import Variety
from polymargin.networks import Network
from polymargin.quadric import quadric_ed_degree
from polymargin.standing import Standing

METHODS = ("auto", "formula", "numeric", "symbolic")


@dataclass(frozen=True)
class EDDegree:
    """A number of critical points and its standing.

    value       the ED degree; int(result) gives it too
    method      "formula", "numeric" (paths) or "symbolic"
    standing    CERTIFIED for a theorem, NUMERICAL for a count that passed its test or was made by algebra, BRACKETED otherwise
    lower       no fewer
    upper       no more: the generic hypersurface of the same degree
    trace       outcome of the trace test, where one was made
    components  ED degrees of the rational components, for an expression counted numerically
    notes       which theorem, which engine, how many paths
    """

    value: int
    method: str
    standing: Standing
    lower: int
    upper: int
    seconds: float = 0.0
    trace: TraceTest | None = None
    components: tuple[int, ...] | None = None
    notes: tuple[str, ...] = ()

    @classmethod
    def known(
        cls, value: int, method: str, *notes: str, standing: Standing = Standing.NUMERICAL, **others: Any
    ) -> EDDegree:
        """Return a count that nothing speaks against."""
        return cls(value, method, standing, value, value, notes=notes, **others)

    def __int__(self) -> int:
        return self.value

    def __repr__(self) -> str:
        size = str(self.value) if self.lower == self.upper else f"{self.lower}..{self.upper}"
        return f"EDDegree({size}, {self.standing.name} by {self.method})"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, for JSON."""
        return {
            "ed_degree": self.value,
            "method": self.method,
            "standing": self.standing.name,
            "lower": self.lower,
            "upper": self.upper,
            "seconds": self.seconds,
            "trace": None if self.trace is None else {"passed": self.trace.passed, "defect": self.trace.defect},
            "components": None if self.components is None else list(self.components),
            "notes": list(self.notes),
        }


@checked(Boundary, Network, NetworkArchitecture, AttentionArchitecture, Variety)
def ed_degree(
    source: Any,
    *,
    method: str = "auto",
    label: int = 0,
    rival: int = 1,
    seed: int = 0,
    threads: int | None = None,
    limit: int = DEFAULT_LIMIT,
    timeout: float = 600.0,
    cache: bool | str | Path = True,
    metric: Any = None,
) -> EDDegree:
    """Return the ED degree of a boundary, a variety, a network's boundary, or an architecture with generic weights.

    Parameters
    ----------
    source   a Boundary, a Variety, a network (with `label` and `rival`), a NetworkArchitecture or an AttentionArchitecture
    method   "formula": a theorem, refused outside its hypotheses; "numeric": for architectures monodromy with a trace test, for a
             boundary its components at a generic point; "symbolic": algebra modulo primes, within `timeout` seconds; "auto":
             a theorem if one applies, otherwise numeric. A boundary with at most 200 critical points is counted again by
             algebra modulo two primes: where paths find another number, "auto" returns the exact one, and "numeric" a bracket
    metric   positive weights, one for each input, a positive definite matrix, or "generic", a random one; Euclidean if None. The
             ED degree of a network architecture is the same in every metric
    limit    a boundary that may have more critical points is not counted by "numeric", but refused

    >>> int(ed_degree(NetworkArchitecture((3, 3, 2, 2), 2)))
    36
    >>> ed_degree(Boundary.from_expression("x**2 + 4*y**2 - 4"))
    EDDegree(4, CERTIFIED by formula)
    """
    if method not in METHODS:
        raise InputError(f"method {method!r}: expected one of {', '.join(METHODS)}")
    started, tracker = perf_counter(), Tracker(threads=threads)
    if isinstance(source, Architecture):
        found = _of_architecture(source, method, tracker, Metric.of(metric, source.inputs, seed), seed, timeout)
    elif isinstance(source, Variety):
        if method not in ("auto", "symbolic"):
            raise InputError(f"method {method!r} for a variety: expected 'symbolic'")
        counted = source.ed_degree(Metric.of(metric, source.dimension, seed), seed=seed, timeout=timeout)
        found = EDDegree.known(counted.value, "symbolic", f"{counted.note}, codimension {source.codimension}")
    else:
        boundary = source if isinstance(source, Boundary) else Boundary.from_network(source, label, rival)
        found = _of_boundary(in_metric(boundary, metric, seed), method, tracker, seed, limit, timeout, cache)
    return replace(found, seconds=perf_counter() - started)


def _of_architecture(
    architecture: Architecture, method: str, tracker: Tracker, metric: Metric | None, seed: int, timeout: float
) -> EDDegree:
    # A first layer absorbs every metric; attention does not.
    measured = metric if isinstance(architecture, AttentionArchitecture) else None
    if measured is not None and method not in ("auto", "symbolic"):
        raise InputError(f"method {method!r} for attention in a metric: expected 'symbolic'")
    if method == "symbolic" or measured is not None:
        counted = exact_ed_degree(architecture, metric=measured, seed=seed, timeout=timeout)
        return EDDegree.known(counted.value, "symbolic", counted.note)
    try:
        theorem = formula(architecture) if method != "numeric" else None
    except InputError:
        if method == "formula":
            raise
        theorem = None
    if theorem is not None:
        note = f"theorem: {theorem.theorem} ({theorem.hypotheses})"
        return EDDegree.known(theorem.value, "formula", note, standing=Standing.CERTIFIED)
    found = monodromy_count(architecture_family(architecture), tracker, seed=seed)
    note = (
        f"{found.loops} monodromy loop{'' if found.loops == 1 else 's'} of point, level and weights, {found.paths} paths"
        if found.loops
        else "found from solutions in closed form; no monodromy loops were needed"
    )
    value = len(found.solutions)
    if found.complete:
        return EDDegree.known(value, "numeric", note, trace=found.trace)
    lower, upper = degree_bounds(architecture)
    notes = (note, "the trace test failed: solutions are missing")
    return EDDegree(value, "numeric", Standing.BRACKETED, max(lower, value), upper, trace=found.trace, notes=notes)


def _of_boundary(
    boundary: Boundary, method: str, tracker: Tracker, seed: int, limit: int, timeout: float, cache: bool | str | Path
) -> EDDegree:
    if boundary.degree < 1:
        raise InputError(f"the boundary ({boundary.name}) is constant: there is no hypersurface")
    if method == "formula" or (method == "auto" and boundary.degree <= 2 and not boundary.radicands):
        return _by_theorem(boundary)
    if method == "symbolic":
        counted = exact_ed_degree([boundary], seed=seed, timeout=timeout)
        return EDDegree.known(counted.value, method, counted.note)
    found = boundary_count(boundary, tracker, seed=seed, limit=limit, cache=cache)
    exact, note = exact_check(boundary, seed=seed, timeout=timeout)
    if method == "numeric" or exact in (None, found.value):
        return _of_paths(boundary, found, exact, note)
    components = None
    if has_factors(boundary):
        parts = [exact_ed_degree([part], seed=seed, timeout=timeout).value for part in rational_factors(boundary)]
        components = tuple(sorted(parts, reverse=True))
    note = f"paths found {found.value}, which is wrong: {note}"
    return EDDegree.known(exact or 0, "symbolic", note, components=components)


def _of_paths(boundary: Boundary, found: BoundaryCount, exact: int | None, note: str) -> EDDegree:
    """Return the count of paths: a bracket unless it is complete and algebra agrees."""
    if exact == found.value:
        return EDDegree.known(found.value, "numeric", f"confirmed by algebra: {note}", components=found.components)
    if exact is None and found.complete:
        return EDDegree.known(found.value, "numeric", note, components=found.components)
    doubt = f"algebra finds {exact}"
    if exact is None:
        doubt = f"at least {found.value}: paths of unknown endpoint could lead to {found.undecided} others"
    lower = found.value if exact is None else exact
    return EDDegree(
        found.value,
        "numeric",
        Standing.BRACKETED,
        lower,
        boundary.critical_bound,
        components=found.components,
        notes=(doubt, note),
    )


def _by_theorem(boundary: Boundary) -> EDDegree:
    """Return a hyperplane or a quadric."""
    if boundary.degree > 2:
        raise InputError(f"the boundary has degree {boundary.degree}; a formula is known for degrees one and two only")
    if boundary.degree == 1:
        return EDDegree.known(1, "formula", "a hyperplane", standing=Standing.CERTIFIED)
    quadric = quadric_ed_degree(boundary)
    if quadric.exact:
        return EDDegree.known(quadric.of_set, "formula", "theorem: quadrics", standing=Standing.CERTIFIED)
    note = "theorem: quadrics, for ranks and eigenvalues that are equal to a tolerance"
    return EDDegree.known(quadric.of_set, "formula", note)
