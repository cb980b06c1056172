"""The full KKT system of the margin problem by its strata, and the nearest points at which several classes tie.

For the predicted class c the points at which the class changes are those of the sets

    X_T = {f_i = f_c for i in T,  f_i ≤ f_c for all others},        T a set of other classes that is not empty.

The KKT system with a multiplier for every class has a complementarity μ_i (f_i − f_c) = 0 for each inequality. Every choice of
the classes that tie is a stratum, {f_i = f_c for i in T}, a `Variety` with its critical points, their multipliers and their exact
number. The nearest point of the union of the X_T with |T| ≥ k is a critical point of the stratum of the classes that tie there,
or a point with dependent gradients. So the nearest critical point that keeps the inequalities is the margin for k = 1, the
nearest point at which three classes tie for k = 2, and so on; strata with |T| > n are empty in general position.

A generic intersection of q hypersurfaces of degree D in n-space has

    D^q Σ_{j ≤ n−q} C(q − 1 + j, j) (D − 1)^j

critical points (Draisma et al. 2016). The relaxed system of `margin` has one tie and as many paths as solutions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymargin.arguments import DEFAULT_LIMIT, checked, checked_point
from polymargin.boundary import Boundary
from polymargin.enumeration import CriticalPoints
from polymargin.errors import InputError
from polymargin.geometry.algebra.engines import DEFAULT_TIMEOUT
from polymargin.geometry.varieties.critical import CriticalEquations, NearestPoint, critical_points_of
from polymargin.geometry.varieties.variety import Variety
from polymargin.margins import predicted_class
from polymargin.networks import Network
from polymargin.standing import Standing

# Relative size below which a difference of logits is zero.
ZERO = 1e-8


@dataclass(frozen=True, eq=False)
class TieStratum:
    """The points at which `classes` tie with the label.

    points    critical points of the distance; multipliers (N, |classes|) belong to the classes in their order
    allowed   (N,) real, and no other class is ahead
    minimal   (N,) allowed, and for some class as rival all other multipliers are ≥ 0: KKT points
    """

    classes: tuple[int, ...]
    points: CriticalPoints
    allowed: NDArray[np.bool_]
    minimal: NDArray[np.bool_]

    @property
    def radius(self) -> float:
        """Return the distance of the nearest point at which no other class is ahead; infinite if there is none."""
        return float(self.points.distances[self.allowed].min(initial=math.inf))


@dataclass(frozen=True, eq=False)
class NearestTie:
    """The nearest point at which enough classes tie with the label and none is ahead.

    classes    that tie with the label there
    standing   NUMERICAL if every stratum has as many critical points as algebra counts, else BRACKETED: an upper bound
    """

    radius: float
    point: NDArray[np.float64] | None
    label: int
    classes: tuple[int, ...]
    standing: Standing
    strata: tuple[TieStratum, ...]

    @property
    def path_count(self) -> int:
        """Return the number of paths that were followed for all strata."""
        return sum(stratum.points.audit.bound for stratum in self.strata)

    def __repr__(self) -> str:
        tied = "" if self.point is None else f", class {self.label} against {' and '.join(map(str, self.classes))}"
        return f"NearestTie({self.radius:.10g}{tied}, {self.standing.name})"


@checked(Network)
def nearest_tie(
    network: Network,
    point: ArrayLike,
    *,
    classes: int = 2,
    rival: int | None = None,
    seed: int = 0,
    threads: int | None = None,
    limit: int = DEFAULT_LIMIT,
    timeout: float = DEFAULT_TIMEOUT,
) -> NearestTie:
    """Return the nearest point at which so many classes, the predicted one among them, have the largest logit.

    Two classes give the margin from the full KKT system; with `rival` only ties with this class count.

    >>> from polymargin import PolynomialNetwork
    >>> net = PolynomialNetwork([([[1.0, 0.0], [0.0, 1.0]], None), ([[1.0, 4.0], [0.0, 0.0], [3.0, 0.0]], [0.0, 4.0, 0.0])],
    ...                         degree=2)
    >>> nearest_tie(net, [0.0, 0.25])
    NearestTie(0.75, class 1 against 0, NUMERICAL)
    >>> nearest_tie(net, [0.0, 0.25], classes=3)
    NearestTie(1.286177169, class 1 against 0 and 2, NUMERICAL)
    """
    u = checked_point(point, network.dimension)
    label, tied = predicted_class(network, u)
    others = [index for index in range(network.class_count) if index != label]
    if not 2 <= classes <= network.class_count:
        raise InputError(f"classes={classes}: expected a number from 2 to {network.class_count}")
    if rival is not None and rival not in others:
        raise InputError(f"rival {rival}: expected another class than {label} below {network.class_count}")
    if tied is not None and classes == 2 and rival in (None, tied):
        return NearestTie(0.0, u.copy(), label, (tied,), Standing.NUMERICAL, ())
    options: dict[str, Any] = {"seed": seed, "threads": threads, "limit": limit, "timeout": timeout}
    strata = tuple(
        _stratum(network, u, label, chosen, options)
        for size in range(classes - 1, min(len(others), network.dimension) + 1)
        for chosen in combinations(others, size)
        if rival is None or rival in chosen
    )
    complete = all(stratum.points.audit.complete for stratum in strata)
    standing = Standing.NUMERICAL if complete else Standing.BRACKETED
    best = min(strata, key=lambda stratum: stratum.radius, default=None)
    if best is None or math.isinf(best.radius):
        return NearestTie(math.inf, None, label, (), standing, strata)
    place = best.points.points[np.flatnonzero(best.allowed)[0]].real.copy()
    return NearestTie(best.radius, place, label, best.classes, standing, strata)


def _stratum(network: Network, u: Any, label: int, classes: Sequence[int], options: dict[str, Any]) -> TieStratum:
    ties = tuple(Boundary.from_network(network, index, label) for index in classes)
    if any(tie.degree < 1 for tie in ties):
        raise InputError(f"classes {label} and {' '.join(map(str, classes))}: a difference of logits is constant")
    found = critical_points_of(CriticalEquations(ties, len(ties), u), **options)
    logits = network.logits(found.points)
    others = [index for index in range(network.class_count) if index not in (label, *classes)]
    excess = logits[:, others].real - logits[:, [label]].real
    allowed = found.real & (excess <= ZERO * (1 + np.abs(logits).max(axis=1, initial=0.0))[:, None]).all(axis=1)
    signs = found.multipliers.real < -ZERO * (1 + np.abs(found.multipliers).max(axis=1, initial=0.0))[:, None]
    return TieStratum(tuple(classes), found, allowed, allowed & (signs.sum(axis=1) <= 1))


@checked(Network)
def nearest_runner_up_change(
    network: Network, point: ArrayLike, *, seed: int = 0, threads: int | None = None, timeout: float = DEFAULT_TIMEOUT
) -> tuple[NearestPoint, int]:
    """Return the nearest point at which the class with the second largest logit changes, and the class that it ties with.

    On the way to its nearest tie with any class the runner-up first stops being second at a tie, so that the smallest distance
    to a tie, whatever the other classes do, is the distance to the nearest change.

    >>> from polymargin import PolynomialNetwork
    >>> net = PolynomialNetwork([([[1.0, 0.0], [0.0, 1.0]], None), ([[1.0, 4.0], [0.0, 0.0], [3.0, 0.0]], [0.0, 4.0, 0.0])],
    ...                         degree=2)
    >>> nearest_runner_up_change(net, [0.0, 0.25])
    (NearestPoint(0.2041241452, BRACKETED), 2)
    """
    u = checked_point(point, network.dimension)
    if network.class_count < 3:
        raise InputError(f"{network.class_count} classes: the second largest logit changes among three and more")
    _, second, *_ = np.argsort(-np.asarray(network(u)), kind="stable").tolist()
    found = {
        other: Variety.of_ties(network, [second, other]).nearest(u, seed=seed, threads=threads, timeout=timeout)
        for other in range(network.class_count)
        if other != second
    }
    other = min(found, key=lambda index: found[index].distance)
    return found[other], other


def kkt_bound(dimension: int, classes: int, degree: int) -> int:
    """Return the number of critical points on all strata against one rival, for generic logits of the given degree.

    >>> kkt_bound(2, 3, 2), kkt_bound(3, 3, 2), kkt_bound(2, 4, 2)
    (8, 18, 12)
    """
    total = 0
    for q in range(1, min(classes - 1, dimension) + 1):
        sums = sum(math.comb(q - 1 + j, j) * (degree - 1) ** j for j in range(dimension - q + 1))
        total += math.comb(classes - 2, q - 1) * degree**q * sums
    return total
