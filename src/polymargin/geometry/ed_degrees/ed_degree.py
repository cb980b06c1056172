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
    NetworkArchitecture,
    architecture_family,
)
from polymargin.continuation import Tracker
from polymargin.enumeration import TraceTest
from polymargin.errors import InputError
from polymargin.geometry.ed_degrees.boundary_count import BoundaryCount, boundary_count
from polymargin.geometry.ed_degrees.exact_check import exact_check
from polymargin.geometry.ed_degrees.formulas import degree_bounds, formula
from polymargin.geometry.ed_degrees.groebner import symbolic_ed_degree
from polymargin.geometry.ed_degrees.monodromy_count import monodromy_count
from polymargin.networks import LightningAttention, PolynomialNetwork
from polymargin.networks.protocols import LogitMap
from polymargin.quadric import quadric_ed_degree
from polymargin.standing import PublishedStatus, Standing

METHODS = ("auto", "formula", "numeric", "blend", "symbolic")


@dataclass(frozen=True)
class EDDegree(PublishedStatus):
    """A number of critical points and its standing.

    value       the ED degree; int(result) gives it too
    method      "formula", "numeric" (monodromy), "blend" or "symbolic"
    standing    CERTIFIED for a theorem, NUMERICAL for a count that passed its test or was made by algebra, BRACKETED otherwise
    lower       no fewer; below `value` never
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
            "status": self.standing.name,
            "lower": self.lower,
            "upper": self.upper,
            "seconds": self.seconds,
            "trace": None if self.trace is None else {"passed": self.trace.passed, "defect": self.trace.defect},
            "components": None if self.components is None else list(self.components),
            "notes": list(self.notes),
        }


@checked(Boundary, LogitMap, NetworkArchitecture, AttentionArchitecture)
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
) -> EDDegree:
    """The ED degree of a boundary, of a network's boundary, or of an architecture with generic weights.

    Parameters
    ----------
    source   a Boundary, a network (with `label` and `rival`), a NetworkArchitecture or an AttentionArchitecture
    method   "formula": a theorem, refused outside its hypotheses; "numeric": for architectures monodromy with a trace test, for a
             boundary its components at a generic point; "blend": all paths from the closed-form start system, for random
             weights; "symbolic": a Gröbner basis modulo primes, within `timeout` seconds; "auto": a theorem if one
             applies, otherwise numeric. A boundary with at most 200 critical points is then counted again by algebra modulo
             two primes; where the two disagree, the exact number is returned and a note says so
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
        return _of_architecture(source, chosen, tracker, seed, limit, timeout, started)
    boundary = source if isinstance(source, Boundary) else Boundary.from_network(source, label, rival)
    if boundary.degree < 1:
        raise InputError(f"the boundary ({boundary.name}) is constant: there is no hypersurface")
    if method == "auto" and boundary.degree > 2:
        return _checked_count(boundary, tracker, seed, limit, timeout, cache, started)
    chosen = "formula" if method == "auto" else method
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
        value = 1 if boundary.degree == 1 else quadric_ed_degree(boundary).of_set
        note = "theorem: quadrics" if boundary.degree == 2 else "a hyperplane"
        return EDDegree(value, method, Standing.CERTIFIED, value, value, perf_counter() - started, notes=(note,))
    if method == "symbolic":
        symbolic = symbolic_ed_degree(boundary, seed=seed, timeout=timeout)
        return _numerical(int(symbolic), method, started, notes=(symbolic.description,))
    found = boundary_count(boundary, tracker, seed=seed, limit=limit, cache=cache)
    return _of_paths(boundary, found, method, started)


def _checked_count(
    boundary: Boundary,
    tracker: Tracker,
    seed: int,
    limit: int,
    timeout: float,
    cache: bool | str | Path,
    started: float,
) -> EDDegree:
    """By paths, and again by algebra: what algebra says stands."""
    found = boundary_count(boundary, tracker, seed=seed, limit=limit, cache=cache)
    check = exact_check(boundary, found, seed=seed, timeout=timeout)
    if check.value is None:
        return _of_paths(boundary, found, "numeric", started, notes=(check.note,))
    method = "numeric" if check.value == found.value else "symbolic"
    return _numerical(check.value, method, started, components=check.components, notes=(check.note,))


def _of_paths(
    boundary: Boundary, found: BoundaryCount, method: str, started: float, notes: tuple[str, ...] = ()
) -> EDDegree:
    if found.complete:
        return _numerical(found.value, method, started, components=found.components, notes=notes)
    return EDDegree(
        found.value,
        method,
        Standing.BRACKETED,
        found.value,
        boundary.critical_bound,
        perf_counter() - started,
        components=found.components,
        notes=(f"at least {found.value}: paths of unknown endpoint could lead to {found.undecided} others", *notes),
    )


def _random_member(architecture: Architecture, seed: int) -> Boundary:
    """The boundary of one network with random real weights."""
    if isinstance(architecture, AttentionArchitecture):
        module = LightningAttention.random(
            architecture.t, architecture.d, architecture.d_prime, architecture.a, seed=seed
        )
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
