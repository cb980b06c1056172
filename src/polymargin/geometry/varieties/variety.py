"""`Variety`: the common zeros of several polynomials, such as the points at which three classes tie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

from numpy.typing import ArrayLike

from polymargin.arguments import DEFAULT_LIMIT, checked, checked_point
from polymargin.boundary import Boundary
from polymargin.boundary.metric import Metric
from polymargin.enumeration import CriticalPoints
from polymargin.errors import InputError
from polymargin.geometry.algebra.counting import (
    ExactCount,
    codimension_of,
    exact_ed_degree,
    exact_polar_degrees,
    has_no_singular_point,
)
from polymargin.geometry.algebra.engines import DEFAULT_TIMEOUT
from polymargin.geometry.varieties.critical import CriticalEquations, NearestPoint, critical_points_of, nearest_of
from polymargin.networks import Network
from polymargin.polynomials import variable_names


@dataclass(frozen=True, eq=False, init=False)
class Variety:
    """{f₁ = … = f_s = 0} in n-space, given by polynomials or boundaries.

    The polynomials may be more than the codimension (minors of a matrix); they must generate a radical ideal.

    >>> curve = Variety(["x**2 + y**2 + z**2 - 1", "x*y - z"])
    >>> curve.dimension, curve.codimension
    (3, 2)
    """

    equations: tuple[Boundary, ...]

    def __init__(self, equations: Sequence[Any], variables: Any = None) -> None:
        if isinstance(equations, str) or not len(equations):
            raise InputError(f"equations {equations!r}: expected a list of polynomials or boundaries, at least one")
        if not all(isinstance(equation, Boundary) for equation in equations):
            names = variable_names(equations[0], variables) if variables is not None else _all_names(equations)
            equations = [Boundary.from_expression(equation, names) for equation in equations]
        if len({equation.dimension for equation in equations}) > 1:
            raise InputError("the equations have different numbers of inputs: expected the same for all")
        for equation in equations:
            if equation.degree < 1:
                raise InputError(f"the equation ({equation.name}) is constant; remove it")
        object.__setattr__(self, "equations", tuple(equations))

    @classmethod
    def of_ties(cls, network: Network, classes: Sequence[int]) -> Variety:
        """Return the points at which all these classes have the same logit."""
        if len(set(classes)) != len(classes) or len(classes) < 2:
            raise InputError(f"classes {list(classes)}: expected at least two different ones")
        return cls([Boundary.from_network(network, first, second) for first, second in pairwise(classes)])

    def __repr__(self) -> str:
        return f"Variety({', '.join(equation.name for equation in self.equations)}; {self.dimension} inputs)"

    @property
    def dimension(self) -> int:
        """Number of inputs n of the space around the variety."""
        return self.equations[0].dimension

    @cached_property
    def codimension(self) -> int:
        """Return n less the dimension of the variety, found modulo a prime."""
        return codimension_of(self.equations)

    @property
    def complete_intersection(self) -> bool:
        """Return whether there are as many equations as the codimension."""
        return self.codimension == len(self.equations)

    def ed_degree(self, metric: Metric | None = None, *, seed: int = 0, timeout: float = DEFAULT_TIMEOUT) -> ExactCount:
        """Return the number of critical points of the distance from a general point."""
        return exact_ed_degree(self.equations, codimension=self.codimension, metric=metric, seed=seed, timeout=timeout)

    def polar_degrees(self, *, seed: int = 0, timeout: float = DEFAULT_TIMEOUT) -> tuple[int, ...]:
        """See `polymargin.geometry.polar_degrees`."""
        return exact_polar_degrees(self.equations, codimension=self.codimension, seed=seed, timeout=timeout)

    @checked()
    def critical_points(
        self,
        point: ArrayLike,
        *,
        metric: Any = None,
        seed: int = 0,
        threads: int | None = None,
        limit: int = DEFAULT_LIMIT,
        timeout: float = DEFAULT_TIMEOUT,
    ) -> CriticalPoints:
        """Return all critical points of the distance from a point to the smooth part; multipliers are (N, codimension).

        >>> Variety(["x**2 + y**2 + z**2 - 1", "z"]).critical_points([2.0, 1.0, 3.0])
        CriticalPoints(2 complex, 2 real; complete)
        """
        measured = Metric.of(metric, self.dimension, seed)
        system = CriticalEquations(self.equations, self.codimension, checked_point(point, self.dimension), measured)
        return critical_points_of(system, seed=seed, threads=threads, limit=limit, timeout=timeout)

    @checked()
    def nearest(
        self,
        point: ArrayLike,
        *,
        metric: Any = None,
        seed: int = 0,
        threads: int | None = None,
        limit: int = DEFAULT_LIMIT,
        timeout: float = DEFAULT_TIMEOUT,
    ) -> NearestPoint:
        """Return the nearest point of the variety.

        >>> Variety(["x**2 + y**2 + z**2 - 1", "z"]).nearest([2.0, 0.0, 3.0])
        NearestPoint(3.16227766, NUMERICAL)
        """
        options: dict[str, Any] = {"seed": seed, "threads": threads, "limit": limit, "timeout": timeout}
        found = self.critical_points(point, metric=metric, **options)
        return nearest_of(found, self.is_smooth(seed=seed, timeout=timeout))

    def is_smooth(self, *, seed: int = 0, timeout: float = DEFAULT_TIMEOUT) -> bool:
        """Return whether it is a complete intersection without a singular point, decided modulo primes; False for more equations.

        >>> Variety(["x**2 + y**2 - z**2", "z - 1"]).is_smooth(), Variety(["x**2 + y**2 - z**2", "z"]).is_smooth()
        (True, False)
        """
        return self.complete_intersection and has_no_singular_point(self.equations, seed=seed, timeout=timeout)


def _all_names(equations: Sequence[Any]) -> list[str]:
    return sorted({name for equation in equations for name in variable_names(equation, None)})
