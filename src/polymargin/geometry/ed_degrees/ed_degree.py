"""`ed_degree`: how many critical points has the distance to a boundary, and how that is known."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from polymargin.arguments import DEFAULT_LIMIT, checked
from polymargin.boundary import (
    Architecture,
    AttentionArchitecture,
    Boundary,
    ExpressionSource,
    Metric,
    NetworkArchitecture,
    architecture_family,
    in_metric,
)
from polymargin.continuation import Tracker
from polymargin.enumeration import TraceTest
from polymargin.errors import InputError
from polymargin.geometry.ed_degrees.boundary_count import BoundaryCount, boundary_count, rational_factors
from polymargin.geometry.ed_degrees.exact_check import ExactCount, exact_count
from polymargin.geometry.ed_degrees.formulas import degree_bounds, formula
from polymargin.geometry.ed_degrees.groebner import symbolic_ed_degree
from polymargin.geometry.ed_degrees.monodromy_count import monodromy_count
from polymargin.geometry.varieties.variety import Variety
from polymargin.networks import Network, PolynomialNetwork
from polymargin.networks.attention import random_attention
from polymargin.quadric import quadric_ed_degree
from polymargin.standing import Standing

METHODS = ("auto", "formula", "numeric", "blend", "symbolic")


@dataclass(frozen=True)
class EDDegree:
    """A number of critical points and its standing.

    value       the ED degree; int(result) gives it too
    method      "formula", "numeric" (monodromy), "blend" or "symbolic"
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
    seconds: float
    trace: TraceTest | None = None
    components: tuple[int, ...] | None = None
    notes: tuple[str, ...] = ()

    def __int__(self) -> int:
        return self.value

    def __repr__(self) -> str:
        size = str(self.value) if self.lower == self.upper else f"{self.lower}..{self.upper}"
        return f"EDDegree({size}, {self.standing.name} by {self.method})"

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
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
    """The ED degree of a boundary, a variety, a network's boundary, or an architecture with generic weights.

    Parameters
    ----------
    source   a Boundary, a Variety, a network (with `label` and `rival`), a NetworkArchitecture or an AttentionArchitecture
    method   "formula": a theorem, refused outside its hypotheses; "numeric": for architectures monodromy with a trace test, for a
             boundary its components at a generic point; "blend": all paths from the closed-form start system, for random
             weights; "symbolic": a Gröbner basis modulo primes, within `timeout` seconds; "auto": a theorem if one
             applies, otherwise numeric. A boundary with at most 200 critical points is counted again by algebra modulo two
             primes: where paths find another number, "auto" returns the exact one, and the others a bracket
    metric   positive weights, one for each input, a positive definite matrix, or "generic", a random one; Euclidean if None. The
             ED degree of a network architecture is the same in every metric
    limit    a boundary that may have more critical points is not counted by "numeric" and "blend", but refused

    >>> int(ed_degree(NetworkArchitecture((3, 3, 2, 2), 2)))
    36
    >>> ed_degree(Boundary.from_expression("x**2 + 4*y**2 - 4"))
    EDDegree(4, CERTIFIED by formula)
    """
    if method not in METHODS:
        raise InputError(f"method {method!r}: expected one of {', '.join(METHODS)}")
    started, tracker = perf_counter(), Tracker(threads=threads)
    if isinstance(source, (NetworkArchitecture, AttentionArchitecture)):
        chosen = _method_for_architecture(source) if method == "auto" else method
        measured = Metric.of(metric, source.inputs, seed)
        if isinstance(source, AttentionArchitecture) and measured is not None:
            return _of_attention(source, measured, method, seed, limit, timeout, started)
        return _of_architecture(source, chosen, tracker, seed, limit, timeout, started)
    if isinstance(source, Variety):
        return _of_variety(source, method, Metric.of(metric, source.dimension, seed), seed, timeout, started)
    boundary = source if isinstance(source, Boundary) else Boundary.from_network(source, label, rival)
    boundary = in_metric(boundary, metric, seed)
    if boundary.degree < 1:
        raise InputError(f"the boundary ({boundary.name}) is constant: there is no hypersurface")
    chosen = "formula" if method == "auto" and boundary.degree <= 2 and not boundary.radicands else method
    return _of_boundary(boundary, chosen, tracker, seed, limit, timeout, cache, started)


def _method_for_architecture(architecture: Architecture) -> str:
    try:
        formula(architecture)
    except InputError:
        return "numeric"
    return "formula"


def _of_architecture(
    architecture: Architecture, method: str, tracker: Tracker, seed: int, limit: int, timeout: float, started: float
) -> EDDegree:
    lower, upper = degree_bounds(architecture)
    if method == "formula":
        theorem = formula(architecture)
        note = f"theorem: {theorem.theorem} ({theorem.hypotheses})"
        value = theorem.value
        return EDDegree(value, method, Standing.CERTIFIED, value, value, perf_counter() - started, notes=(note,))
    if method == "symbolic":
        symbolic = symbolic_ed_degree(architecture, seed=seed, timeout=timeout)
        return _numerical(int(symbolic), method, started, notes=(symbolic.description,))
    if method == "blend":
        return _of_boundary(_random_member(architecture, seed), "blend", tracker, seed, limit, timeout, False, started)
    found = monodromy_count(architecture_family(architecture), tracker, seed=seed)
    note = (
        f"{found.loops} monodromy loop{'' if found.loops == 1 else 's'} of point, level and weights, {found.paths} paths"
        if found.loops
        else "found from solutions in closed form; no monodromy loops were needed"
    )
    if found.complete:
        return _numerical(found.value, method, started, trace=found.trace, notes=(note,))
    return EDDegree(
        found.value,
        method,
        Standing.BRACKETED,
        max(lower, found.value),
        upper,
        perf_counter() - started,
        trace=found.trace,
        notes=(note, "the trace test failed: solutions are missing"),
    )


def _of_variety(
    variety: Variety, method: str, metric: Metric | None, seed: int, timeout: float, started: float
) -> EDDegree:
    if method not in ("auto", "symbolic"):
        raise InputError(f"method {method!r} for a variety: expected 'symbolic'")
    counted = variety.count(metric, seed=seed, timeout=timeout)
    note = f"conormal equations modulo {' and '.join(map(str, counted.primes))}, codimension {variety.codimension}"
    return _numerical(counted.value, "symbolic", started, notes=(note,))


def _of_attention(
    architecture: AttentionArchitecture,
    metric: Metric,
    method: str,
    seed: int,
    limit: int,
    timeout: float,
    started: float,
) -> EDDegree:
    """In a metric that is not absorbed by the weights of a first layer: random weights, counted by algebra or by all paths."""
    if method in ("auto", "symbolic"):
        symbolic = symbolic_ed_degree(architecture, metric=metric, seed=seed, timeout=timeout)
        return _numerical(int(symbolic), "symbolic", started, notes=(symbolic.description,))
    if method != "blend":
        raise InputError(f"method {method!r} for attention in a metric: expected 'symbolic' or 'blend'")
    member = in_metric(_random_member(architecture, seed), metric.matrix)
    return _of_boundary(member, "blend", Tracker(), seed, limit, timeout, False, started)


def _of_boundary(
    boundary: Boundary,
    method: str,
    tracker: Tracker,
    seed: int,
    limit: int,
    timeout: float,
    cache: bool | str | Path,
    started: float,
) -> EDDegree:
    if method == "formula":
        if boundary.degree > 2:
            raise InputError(
                f"the boundary has degree {boundary.degree}; a formula is known for degrees one and two only"
            )
        return _by_theorem(boundary, started)
    if method == "symbolic":
        symbolic = symbolic_ed_degree(boundary, seed=seed, timeout=timeout)
        return _numerical(int(symbolic), method, started, notes=(symbolic.description,))
    found = boundary_count(boundary, tracker, seed=seed, limit=limit, cache=cache)
    exact = exact_count(boundary, seed=seed, timeout=timeout)
    if method == "auto" and exact.value not in (None, found.value):
        return _corrected(boundary, found, exact, seed, timeout, started)
    return _of_paths(boundary, "numeric" if method == "auto" else method, found, exact, started)


def _corrected(
    boundary: Boundary, found: BoundaryCount, exact: ExactCount, seed: int, timeout: float, started: float
) -> EDDegree:
    """What algebra says, where paths say something else."""
    components = None
    if isinstance(boundary.source, ExpressionSource) and not boundary.source.radicands:
        parts = [symbolic_ed_degree(part, seed=seed, timeout=timeout) for part in rational_factors(boundary)]
        components = tuple(sorted(map(int, parts), reverse=True))
    notes = (f"paths found {found.value}, which is wrong: {exact.note}",)
    return _numerical(int(exact.value or 0), "symbolic", started, components=components, notes=notes)


def _of_paths(boundary: Boundary, method: str, found: BoundaryCount, exact: ExactCount, started: float) -> EDDegree:
    """What paths say: not more than a bracket where they do not know that these are all, or algebra has another number."""
    if exact.value == found.value:
        notes = (f"confirmed by algebra: {exact.note}",)
        return _numerical(found.value, method, started, components=found.components, notes=notes)
    if exact.value is None and found.complete:
        return _numerical(found.value, method, started, components=found.components, notes=(exact.note,))
    if exact.value is None:
        doubt = f"at least {found.value}: paths of unknown endpoint could lead to {found.undecided} others"
    else:
        doubt = f"algebra finds {exact.value}"
    return EDDegree(
        found.value,
        method,
        Standing.BRACKETED,
        found.value if exact.value is None else exact.value,
        boundary.critical_bound,
        perf_counter() - started,
        components=found.components,
        notes=(doubt, exact.note),
    )


def _by_theorem(boundary: Boundary, started: float) -> EDDegree:
    """A hyperplane or a quadric."""
    if boundary.degree == 1:
        value, standing, note = 1, Standing.CERTIFIED, "a hyperplane"
    else:
        quadric = quadric_ed_degree(boundary)
        value, note = quadric.of_set, "theorem: quadrics"
        standing = Standing.CERTIFIED if quadric.exact else Standing.NUMERICAL
        note += "" if quadric.exact else ", for ranks and eigenvalues that are equal to a tolerance"
    return EDDegree(value, "formula", standing, value, value, perf_counter() - started, notes=(note,))


def _random_member(architecture: Architecture, seed: int) -> Boundary:
    """The boundary of one network with random real weights."""
    if isinstance(architecture, AttentionArchitecture):
        if architecture.shared:
            raise InputError(f"method 'blend' for attention {architecture}: expected 'numeric' or 'symbolic'")
        module = random_attention(architecture.t, architecture.d, architecture.d_prime, architecture.a, seed=seed)
        return Boundary.from_network(module, 0, 1)
    generator = np.random.default_rng(seed)
    layers = [
        (generator.normal(size=(out, inputs)) / np.sqrt(inputs), 0.5 * generator.normal(size=out))
        for inputs, out in pairwise(architecture.widths)
    ]
    return Boundary.from_network(PolynomialNetwork(layers, degree=architecture.degree), 0, 1)


def _numerical(
    value: int,
    method: str,
    started: float,
    *,
    trace: TraceTest | None = None,
    components: tuple[int, ...] | None = None,
    notes: tuple[str, ...] = (),
) -> EDDegree:
    """A count that nothing speaks against."""
    seconds = perf_counter() - started
    return EDDegree(value, method, Standing.NUMERICAL, value, value, seconds, trace, components, notes)
