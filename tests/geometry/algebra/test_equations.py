"""Boundaries as exact polynomials in as few variables as they depend on."""

from __future__ import annotations

import random
from fractions import Fraction

import flint
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import random_network

import polymargin as pm
from polymargin.boundary import AttentionArchitecture, NetworkArchitecture
from polymargin.geometry.algebra import exact_equations, random_equations
from polymargin.geometry.algebra.rings import Ring, integer_form, parse_polynomial, squarefree_part

PRIME = 1073741789


def value_through_rows(surface, point: list[Fraction]) -> Fraction:
    seen = surface.coordinates([flint.fmpq(c.numerator, c.denominator) for c in point])
    value = surface.polynomial(*seen)
    return Fraction(int(value.p), int(value.q))


@pytest.mark.parametrize(("widths", "degree"), [((2, 3, 2), 3), ((5, 2, 3), 2), ((3, 2, 2, 2), 2), ((40, 3, 2), 2)])
def test_a_network_has_exactly_its_weights(widths: tuple[int, ...], degree: int) -> None:
    """b(Wx) against the network's own forward pass on Fractions: any rounding would show."""
    network = random_network(list(widths), degree, 3)
    surface = exact_equations([pm.Boundary.from_network(network, 0, 1)])
    assert surface.dimension == min(widths[0], widths[1])
    generator = random.Random(1)
    for _ in range(3):
        point = [Fraction(generator.randrange(-50, 50), 8) for _ in range(widths[0])]
        first, second = network.exact_logits([float(c) for c in point])[:2]
        assert value_through_rows(surface, point) == first - second


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(-4, 4), min_size=6, max_size=6), st.lists(st.integers(-5, 5), min_size=3, max_size=3))
def test_no_more_variables_than_linear_forms(entries: list[int], point: list[int]) -> None:
    """(a·x)³ + (b·x)² − 2 depends on as many variables as a and b are independent."""
    a, b = entries[:3], entries[3:]
    forms = ["+".join(f"({c})*{name}" for c, name in zip(row, "xyz", strict=True)) for row in (a, b)]
    boundary = pm.Boundary.from_expression(f"({forms[0]})**3 + ({forms[1]})**2 - 2", "x y z")
    if boundary.degree < 1:
        with pytest.raises(pm.InputError, match="constant"):
            exact_equations([boundary])
        return
    surface = exact_equations([boundary])
    assert surface.dimension == np.linalg.matrix_rank(np.array([a, b]))
    value = (
        sum(x * y for x, y in zip(a, point, strict=True)) ** 3
        + sum(x * y for x, y in zip(b, point, strict=True)) ** 2
        - 2
    )
    assert value_through_rows(surface, [Fraction(c) for c in point]) == value
    assert surface.metric == surface.rows * surface.rows.transpose()


def test_modular_is_the_residue_of_rational() -> None:
    boundary = pm.Boundary.from_network(random_network([3, 4, 2], 3, 0), 0, 1)
    rational, modular = (exact_equations([boundary], prime) for prime in (None, PRIME))
    terms = {e: modular.ring.scalar(Fraction(int(c.p), int(c.q))) for e, c in rational.polynomial.to_dict().items()}
    assert modular.polynomial == modular.ring.context.from_dict(terms)


def test_repeated_factors_count_once() -> None:
    boundary = pm.Boundary.from_expression("(x*y - 1)**2 * (x + 1)", "x y")
    for prime in (None, PRIME):
        surface = exact_equations([boundary], prime)
        assert surface.degree == 3
    assert exact_equations([pm.Boundary.from_expression("x*(x + 1)*(y - 1)", "x y")]).degree == 3


def test_architectures_are_drawn_modulo_the_prime() -> None:
    network = random_equations(NetworkArchitecture((4, 2, 3, 2), 2), PRIME, random.Random(0))
    assert (network.dimension, network.degree, network.rows.ncols()) == (2, 4, 4)
    attention = random_equations(AttentionArchitecture(1, 6, 1, 1), PRIME, random.Random(0))
    assert (attention.dimension, attention.degree) == (3, 3)


def test_integer_form_and_parsing() -> None:
    ring = Ring(("x1", "x2", "l"))
    x1, x2, multiplier = ring.variables
    polynomial = -(x1**2) * x2 / 6 + 3 * multiplier / 4 - 5
    assert str(integer_form(polynomial)) == "2*x1^2*x2 - 9*l + 60"
    assert parse_polynomial(ring, str(integer_form(polynomial)).replace(" ", "")) == -12 * polynomial
    assert parse_polynomial(ring, "0").is_zero()
    long = ring.constant(10**5000 + 7) * x1 - 1  # more digits than Python converts by default
    assert parse_polynomial(ring, str(integer_form(long))) == long
    modular = Ring(("x1",), 7)
    assert parse_polynomial(modular, "-3*x1^2 + 1/2") == -3 * modular.variables[0] ** 2 + 4
    assert integer_form(polynomial * 0).is_zero()
    assert str(integer_form(squarefree_part((x1 - x2) ** 3 * (x1 + 1) ** 2))) == "x1^2 - x1*x2 + x1 - x2"
