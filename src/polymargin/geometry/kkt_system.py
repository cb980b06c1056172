"""The full KKT system of the margin problem, with a multiplier for every other class.

For the label c and one rival c' the nearest tie at which both are largest solves (g_i = f_i − f_c)

    x − u + λ∇g_{c'} + Σ_i μ_i ∇g_i = 0,    g_{c'} = 0,    μ_i g_i = 0   (i ≠ c, c'),        g_i ≤ 0,   μ_i ≥ 0,

n + k − 1 equations in n + k − 1 unknowns. Each complementarity μ_i g_i = 0 is a choice, so the solutions are the critical points
on all intersections {g_{c'} = 0, g_i = 0 for i in S}, with |S| < n in general position. A generic intersection of c hypersurfaces
of degree D in n-space has

    D^c Σ_{j ≤ n−c} C(c − 1 + j, j) (D − 1)^j

critical points (Draisma et al. 2016), which bounds the number of isolated solutions: if as many regular ones are found, these
are all. The total-degree start system has D^{n+1} (D + 1)^{k−2} paths instead; the relaxed system of `margin` has one
intersection and as many paths as solutions. Dropping the inequalities changes no margin as long as the prediction is unique.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymargin.arguments import DEFAULT_LIMIT, checked, checked_point
from polymargin.continuation import PathEnd, Tracker, TrackerSettings, distinct, real_points
from polymargin.continuation.same_points import sizes
from polymargin.continuation.solve import solve_expressions
from polymargin.errors import InputError
from polymargin.margins import predicted_class
from polymargin.networks import Network
from polymargin.polynomials import Expression, Graph, gradient
from polymargin.polynomials.expression import Kind
from polymargin.standing import Standing

Array = NDArray[np.float64]

# Relative size below which a value is zero and a multiplier not negative.
ZERO = 1e-8


@dataclass(frozen=True, eq=False)
class KKTSolutions:
    """All solutions of the equations for one rival, nearest feasible ones first.

    points       (N, n) complex
    multipliers  (N,) λ of the tie with the rival
    slacks       (N, k − 2) multipliers μ of the other classes, in the order of `others`
    active       for each solution, the other classes that tie as well (g_i = 0)
    real         (N,) which solutions are real
    feasible     (N,) real, with g_i ≤ 0 and μ_i ≥ 0: local minima are among these
    distances    (N,) from the point, infinity for complex solutions
    path_count, ends   of the total-degree homotopy
    bound        no such system has more isolated solutions
    """

    label: int
    rival: int
    others: tuple[int, ...]
    points: NDArray[np.complex128]
    multipliers: NDArray[np.complex128]
    slacks: NDArray[np.complex128]
    active: tuple[tuple[int, ...], ...]
    real: NDArray[np.bool_]
    feasible: NDArray[np.bool_]
    distances: Array
    path_count: int
    ends: dict[PathEnd, int]
    bound: int
    seconds: float

    def __len__(self) -> int:
        return len(self.points)

    @property
    def complete(self) -> bool:
        """Return whether there are as many regular solutions as possible, or every path has a known end."""
        return self.ends.get(PathEnd.CONVERGED, 0) == self.bound or all(end.judged for end in self.ends)

    @property
    def radius(self) -> float:
        """Return the distance of the nearest feasible solution; infinite if there is none."""
        return float(self.distances[0]) if len(self) and self.feasible[0] else math.inf

    def __repr__(self) -> str:
        counts = (
            f"{len(self)} of at most {self.bound}, {int(self.real.sum())} real, {int(self.feasible.sum())} feasible"
        )
        return f"KKTSolutions(class {self.label} against {self.rival}: {counts}; {self.path_count} paths)"


@dataclass(frozen=True, eq=False)
class KKTMargin:
    """The margin from the full system: the nearest feasible solution over all rivals.

    standing is NUMERICAL if every rival's list is complete, else BRACKETED: then the radius is an upper bound.
    """

    radius: float
    point: Array | None
    label: int
    rival: int | None
    active: tuple[int, ...]
    standing: Standing
    pairs: tuple[KKTSolutions, ...]
    seconds: float

    @property
    def path_count(self) -> int:
        """Return the number of paths over all rivals."""
        return sum(pair.path_count for pair in self.pairs)

    def __repr__(self) -> str:
        against = "" if self.rival is None else f", class {self.label} against {self.rival}"
        return f"KKTMargin({self.radius:.10g}{against}, {self.standing.name}, {self.path_count} paths)"


@checked(Network)
def kkt_margin(
    network: Network,
    point: ArrayLike,
    *,
    seed: int = 0,
    threads: int | None = None,
    limit: int = DEFAULT_LIMIT,
    settings: TrackerSettings | None = None,
) -> KKTMargin:
    """Return the margin γ by solving the full system for every rival; `margin` gives the same number with far fewer paths.

    >>> from polymargin import PolynomialNetwork
    >>> net = PolynomialNetwork([([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0]), ([[1.0, 4.0], [0.0, 0.0]], [0.0, 4.0])],
    ...                         degree=2)
    >>> kkt_margin(net, [0.0, 0.25])
    KKTMargin(0.75, class 1 against 0, NUMERICAL, 8 paths)
    """
    started = perf_counter()
    u = checked_point(point, network.dimension)
    label, tied = predicted_class(network, u)
    if tied is not None:
        return KKTMargin(0.0, u.copy(), label, tied, (), Standing.NUMERICAL, (), perf_counter() - started)
    options: dict[str, Any] = {"seed": seed, "threads": threads, "limit": limit, "settings": settings}
    rivals = [rival for rival in range(network.class_count) if rival != label]
    pairs = tuple(kkt_solutions(network, u, rival, **options) for rival in rivals)
    best = min(pairs, key=lambda pair: pair.radius)
    found = math.isfinite(best.radius)
    return KKTMargin(
        radius=best.radius,
        point=best.points[0].real.copy() if found else None,
        label=label,
        rival=best.rival if found else None,
        active=best.active[0] if found else (),
        standing=Standing.NUMERICAL if all(pair.complete for pair in pairs) else Standing.BRACKETED,
        pairs=pairs,
        seconds=perf_counter() - started,
    )


@checked(Network)
def kkt_solutions(
    network: Network,
    point: ArrayLike,
    rival: int,
    *,
    seed: int = 0,
    threads: int | None = None,
    limit: int = DEFAULT_LIMIT,
    settings: TrackerSettings | None = None,
) -> KKTSolutions:
    """Return all solutions of the KKT equations for the predicted class at the point and one rival."""
    started = perf_counter()
    u = checked_point(point, network.dimension)
    label, _ = predicted_class(network, u)
    equations, unknowns, names = _system(network, u, label, rival)
    others = tuple(index for index in range(network.class_count) if index not in (label, rival))
    if any(equation.graph.degree(equation) < 1 for equation in equations):
        raise InputError(f"classes {label} and {rival}: a difference of logits is constant, there is no boundary")
    found = solve_expressions(equations, unknowns, names, Tracker.of(settings, threads), seed=seed, limit=limit)
    solutions = distinct(found.points)  # regular and multiple solutions come apart
    size = network.dimension
    x, slacks = solutions[:, :size], solutions[:, size + 1 :]
    scale = sizes(solutions)
    real = real_points(solutions)
    logits = network.logits(x)
    excess = logits[:, list(others)] - logits[:, [label]]
    heights = ZERO * (1 + np.abs(logits).max(axis=1))[:, None]
    allowed = (excess.real <= heights).all(axis=1) & (slacks.real >= -ZERO * scale[:, None]).all(axis=1)
    distances = np.where(real, np.linalg.norm(x.real - u, axis=1), np.inf)
    order = np.lexsort((distances, ~(real & allowed)))
    ties = np.abs(excess) <= heights
    return KKTSolutions(
        label=label,
        rival=rival,
        others=others,
        points=x[order],
        multipliers=solutions[order, size],
        slacks=slacks[order],
        active=tuple(tuple(c for c, tie in zip(others, ties[row], strict=True) if tie) for row in order),
        real=real[order],
        feasible=(real & allowed)[order],
        distances=distances[order],
        path_count=found.path_count,
        ends=found.ends,
        bound=kkt_bound(size, network.class_count, network.degree),
        seconds=perf_counter() - started,
    )


def kkt_equations(network: Network, point: ArrayLike, label: int, rival: int) -> tuple[list[str], list[str]]:
    """Return the equations as text with exact coefficients, and the names of the unknowns: x0, …, lam, mu0, ….

    >>> from polymargin import PolynomialNetwork
    >>> kkt_equations(PolynomialNetwork([[[1.0], [0.0]]]), [2.0], 0, 1)
    (['-2 + x0 - lam', '-x0'], ['x0', 'lam'])
    """
    equations, unknowns, names = _system(network, checked_point(point, network.dimension), label, rival)
    return [_text(unknowns[0].graph, equation, names) for equation in equations], names


def _system(network: Network, u: Array, label: int, rival: int) -> tuple[list[Expression], list[Expression], list[str]]:
    """Return the equations, the unknowns (x, λ, μ) and their names."""
    classes = range(network.class_count)
    if label not in classes or rival not in classes or label == rival:
        raise InputError(f"label {label} and rival {rival}: expected two different classes below {len(classes)}")
    others = [index for index in classes if index not in (label, rival)]
    graph = Graph()
    x = graph.inputs(network.dimension)
    (multiplier,) = graph.inputs(1)
    slacks = graph.inputs(len(others))
    logits = network.logits(np.array(x, dtype=object))
    gaps = [logits[index] - logits[label] for index in (rival, *others)]
    slopes = [gradient(gap, x) for gap in gaps]
    equations = []
    for axis, (coordinate, centre) in enumerate(zip(x, u.tolist(), strict=True)):
        weighted = [m * slope[axis] for m, slope in zip((multiplier, *slacks), slopes, strict=True)]
        equations.append(sum(weighted, coordinate - centre))
    equations.append(gaps[0])
    equations.extend(slack * gap for slack, gap in zip(slacks, gaps[1:], strict=True))
    names = [*(f"x{axis}" for axis in range(len(x))), "lam", *(f"mu{index}" for index in others)]
    return equations, [*x, multiplier, *slacks], names


def kkt_bound(dimension: int, classes: int, degree: int) -> int:
    """Return the most isolated solutions of the KKT equations for logits of a degree: critical points of all intersections.

    >>> kkt_bound(2, 3, 2), kkt_bound(3, 3, 2), kkt_bound(2, 4, 2)
    (8, 18, 12)
    """
    total = 0
    for count in range(min(classes - 1, dimension)):
        intersections = len(list(combinations(range(classes - 2), count)))
        total += intersections * _intersection_count(dimension, count + 1, degree)
    return total


def _intersection_count(dimension: int, codimension: int, degree: int) -> int:
    """Return the critical points of the distance to a generic intersection of hypersurfaces of one degree."""
    sums = sum(
        math.comb(codimension - 1 + power, power) * (degree - 1) ** power
        for power in range(dimension - codimension + 1)
    )
    return int(degree**codimension * sums)


def _text(graph: Graph, node: Expression | int, names: list[str]) -> str:
    """Return the expression in Python syntax; shared parts are written out each time, so this is for small networks."""
    kind, content = graph.kind(node), graph.content(node)
    if kind is Kind.INPUT:
        return names[int(content)]
    if kind is Kind.SQUARE:
        return f"({_text(graph, content, names)})**2"
    if kind is Kind.PRODUCT:
        left, right = (_text(graph, factor, names) for factor in content)
        return f"({left})*({right})"
    terms = [str(content.constant)] if content.constant or not content.arguments else []
    for coefficient, argument in zip(content.coefficients, content.arguments, strict=True):
        inner = _text(graph, argument, names)
        inner = inner if graph.kind(argument) is Kind.INPUT else f"({inner})"
        sign = {1: "", -1: "-"}.get(coefficient, f"{coefficient}*")
        terms.append(f"{sign}{inner}")
    return " + ".join(terms).replace("+ -", "- ")
