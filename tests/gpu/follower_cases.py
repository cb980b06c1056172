"""What the follower is asked to follow, on the host and on a GPU."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

import polymargin as pm
from polymargin.boundary import critical_system
from polymargin.continuation import PathEnd, Paths, Tracker, critical_start
from polymargin.enumeration.base_solutions import BaseSolutions, base_solutions
from polymargin.enumeration.cache import Cache
from polymargin.networks.attention import random_attention
from polymargin.polynomials import Program


def network(inputs: int, hidden: list[int], degree: int, seed: int = 0) -> pm.Network:
    generator = np.random.default_rng([inputs, *hidden, degree, seed])
    widths = [inputs, *hidden, 2]
    layers = [(generator.normal(size=(b, a)), generator.normal(size=b)) for a, b in pairwise(widths)]
    return pm.PolynomialNetwork(layers, degree=degree)


BOUNDARIES = {
    "shallow": lambda: pm.Boundary.from_network(network(3, [5], 3), 0, 1),
    "four inputs": lambda: pm.Boundary.from_network(network(4, [5], 3), 0, 1),
    "quartic": lambda: pm.Boundary.from_network(network(2, [3], 4), 0, 1),
    "deep": lambda: pm.Boundary.from_network(network(2, [3, 2], 2), 0, 1),
    "attention": lambda: pm.Boundary.from_network(random_attention(2, 2, 1, 1, seed=3), 0, 1),
    "lower-order terms": lambda: pm.Boundary.from_expression("x**3 + y**3 - 3*x*y*z + z**3 + x**2 - 2*y + z - 1"),
    "product": lambda: pm.Boundary.from_expression("(x**2 + 2*y**2 - 3)*(x - y + 1) + 1/4"),
}


def base_of(boundary: pm.Boundary) -> BaseSolutions:
    return base_solutions(boundary, Tracker(threads=1, device="cpu"), seed=0, cache=Cache.from_option(False))


def targets_for(boundary: pm.Boundary, count: int) -> Any:
    points = np.random.default_rng(1).normal(size=(count, boundary.dimension))
    return np.array([[*boundary.reduction.coordinates(point), 0.0] for point in points], dtype=np.complex128)


def agree(mine: Paths, core: Paths) -> None:
    """What is settled ended where the core's path ended; the core would follow the rest again."""
    settled = mine.converged | (mine.ends == PathEnd.DIVERGED.code)
    assert settled.mean() > 0.9
    assert (mine.ends == core.ends)[settled].all()
    size = 1 + np.abs(core.points).max(axis=2)
    apart = np.abs(mine.points - core.points).max(axis=2) / size
    assert (apart[settled & core.converged] < 1e-10).all()


def stage_one(boundary: pm.Boundary) -> tuple[Program, Any, Any, Any]:
    """The blend from the start system: program, starts, parameters at both ends. All its terms are multiplied with parameters."""
    size, degree = boundary.reduction.dimension, boundary.degree
    generator = np.random.default_rng(5)
    start = critical_start(size, degree, generator)
    fixed = [*start.slopes, start.level]
    generic = generator.normal(size=size + 1) + 1j * generator.normal(size=size + 1)
    begin = np.array([*np.zeros(size), generic[-1], 1, 0, *fixed])
    return critical_system(boundary).blend, start.points, begin, np.array([*generic, 0, 1, *fixed])
