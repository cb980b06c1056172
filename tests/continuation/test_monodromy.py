"""Monodromy on systems whose solutions are known: roots of unity, and products that no loop mixes."""

from __future__ import annotations

import numpy as np
import pytest

from polymargin.continuation import Tracker, contains, explore
from polymargin.polynomials import Graph, Program, flatten, gradient


def univariate(*coefficients_of_powers: int) -> Program:
    """x^p for the powers with parameters as coefficients, plus a parameter as constant."""
    graph = Graph()
    (x,) = graph.inputs(1)
    a = graph.parameters(len(coefficients_of_powers) + 1)
    value = a[-1]
    for parameter, power in zip(a, coefficients_of_powers, strict=False):
        value = value + parameter * x**power
    return flatten(graph, [value], gradient(value, [x]))


def sampler(count: int, seed: int = 0):
    generator = np.random.default_rng(seed)
    return lambda: generator.normal(size=count) + 1j * generator.normal(size=count)


@pytest.mark.parametrize("degree", [2, 3, 7])
def test_loops_find_every_root(degree: int) -> None:
    base = np.array([1.0, -1.0], dtype=complex)  # x^d = 1
    found = explore(
        univariate(degree),
        np.array([[1.0 + 0j]]),
        base,
        sampler(2),
        quiet_loops=6,
        most_loops=60,
        tracker=Tracker(),
    )
    roots = np.exp(2j * np.pi * np.arange(degree) / degree)[:, None]
    assert len(found.solutions) == degree
    assert contains(found.solutions, roots).all()


def test_loops_that_mix_nothing_find_nothing_new() -> None:
    """x² = a² with parameter a: its two roots are two families."""
    graph = Graph()
    (x,) = graph.inputs(1)
    (a,) = graph.parameters(1)
    value = x**2 - a**2
    program = flatten(graph, [value], gradient(value, [x]))
    found = explore(
        program,
        np.array([[1.0 + 0j]]),
        np.array([1.0 + 0j]),
        sampler(1),
        quiet_loops=5,
        most_loops=20,
        tracker=Tracker(),
    )
    assert len(found.solutions) == 1
