"""Named problems, shared by the tests and the benchmarks.

The numbers of critical points are theorems (generic count in the smaller of inputs and first width) or were
measured by other software before this project began.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

import polymargin as pm
from polymargin.regions import Region


@dataclass(frozen=True)
class Problem:
    """A random network architecture, the degree of its activation and its number of critical points."""

    name: str
    inputs: int
    hidden: tuple[int, ...]
    degree: int
    critical_points: int

    def network(self, seed: int = 0, classes: int = 2) -> pm.Network:
        return random_network([self.inputs, *self.hidden, classes], self.degree, seed)

    def point(self, seed: int = 0) -> np.ndarray:
        return np.random.default_rng([seed, 1]).normal(size=self.inputs)


PROBLEMS = (
    Problem("shallow-3-5-cubic", 3, (5,), 3, 21),
    Problem("shallow-4-6-cubic", 4, (6,), 3, 45),
    Problem("shallow-6-8-cubic", 6, (8,), 3, 189),
    Problem("shallow-8-10-cubic", 8, (10,), 3, 765),
    Problem("shallow-3-5-quartic", 3, (5,), 4, 52),
    Problem("shallow-2-4-quintic", 2, (4,), 5, 25),
    Problem("deep-3-20-20-quadratic", 3, (20, 20), 2, 52),
    Problem("bottleneck-8-6-cubic", 8, (6,), 3, 189),
    Problem("shallow-8-10-quadratic", 8, (10,), 2, 16),
    Problem("line-1-3-septic", 1, (3,), 7, 7),
)
SMALL = tuple(problem for problem in PROBLEMS if problem.critical_points <= 60)


def random_network(widths: Sequence[int], degree: int, seed: int, scale: float = 1.0) -> pm.Network:
    """Normal weights with variance 1 / inputs, so that values stay of order one through the layers."""
    generator = np.random.default_rng(seed)
    layers = [
        (
            scale * generator.normal(size=(out, inputs)) / np.sqrt(inputs),
            0.5 * scale * generator.normal(size=out),
        )
        for inputs, out in pairwise(widths)
    ]
    return pm.PolynomialNetwork(layers, degree=degree)


def asked(
    *,
    norm: str = "l2",
    weights: Any = None,
    domain: Any = None,
    movable: Any = None,
    rivals: Any = None,
    abstain: float = 0.0,
) -> dict[str, Any]:
    """Return the keywords of a question, from words of a parametrised test; matrices are ellipsoids and subspaces."""
    options: dict[str, Any] = {"domain": domain}
    if weights is not None:
        options["weights" if np.ndim(weights) == 1 else "ellipsoid"] = weights
    if movable is not None:
        options["movable" if np.ndim(movable) == 1 else "subspace"] = movable
    region = {"l2": pm.L2, "linf": pm.Linf, "l1": pm.L1}[norm](**options)
    return {"within": region, "rivals": rivals, "abstain": abstain}


def region(dimension: int, **words: Any) -> Region:
    """Return the region of such words in so many dimensions."""
    return asked(**words)["within"].in_dimension(dimension)
