"""The boundary of a program of products on a box: value, gradient and Hessian."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checker.stage_files import as_read
from checker.test_products_details import SERIES, mixed
from flint import acb, arb

import polymargin as pm
from polymargin.networks.forms import Forms
from polymargin.networks.network import Network
from polymargin.networks.stages import Polynomial, Product
from polymargin_checker.arithmetic import working_precision
from polymargin_checker.boundary import Boundary


@pytest.mark.parametrize(("basis", "coefficients"), SERIES)
def test_jets_are_derivatives(basis: str, coefficients: Any, tmp_path: Path) -> None:
    network = mixed(basis, coefficients)
    model = as_read(network)
    point = np.array([0.375, -0.625])
    for label, rival in ((0, 1), (1, 0), (2, 1)):
        truth = pm.Boundary.from_network(network, label, rival)
        with working_precision(128):
            jet = Boundary(model, label, rival).jet([acb(x) for x in point], hessian=True)
            found = [float(entry.real.mid()) for entry in (jet.value, *jet.gradient.entries(), *jet.hessian.entries())]
        expected = [truth(point), *truth.gradient(point), *truth.hessian(point).ravel()]
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize(("basis", "coefficients"), SERIES)
def test_jets_of_a_box_contain_those_of_its_points(basis: str, coefficients: Any, tmp_path: Path) -> None:
    """At its corners, where a part of the formula that was taken at the midpoint only would be too narrow."""
    model = as_read(mixed(basis, coefficients))
    with working_precision(128):
        boundary = Boundary(model, 0, 1)
        middle = (acb(0.375, 0.125), acb(-0.625, 0.25))
        box = [acb(arb(part.real, 0.0625), arb(part.imag, 0.0625)) for part in middle]
        wide = boundary.jet(box, hessian=True)
        for corner in np.ndindex(3, 3, 3, 3):
            a, b, c, d = (0.0625 * (index - 1) for index in corner)
            there = boundary.jet([middle[0] + acb(a, b), middle[1] + acb(c, d)], hessian=True)
            assert wide.value.contains(there.value.mid())
            for name in ("gradient", "hessian"):
                pairs = zip(getattr(wide, name).entries(), getattr(there, name).entries(), strict=True)
                assert all(one.contains(other.mid()) for one, other in pairs), name


def test_every_part_of_a_box_counts(tmp_path: Path) -> None:
    """σ' and σ'' on their own: B = σ(z) with z = x, so ∂B = σ'(X) and ∂²B = σ''(X), and nothing else has a radius."""
    for basis, coefficients, first, second in (
        ("powers", (0.0, 0.0, 0.0, 1.0), (0.75, 6.75), (3.0, 9.0)),  # z³ on 0.5 ≤ z ≤ 1.5
        ("chebyshev", (0.0, 0.0, 0.0, 0.25), (0.0, 6.0), (3.0, 9.0)),  # z³ − 3z/4
    ):
        stage = Polynomial(Forms.of([[1.0]]), coefficients, basis)
        model = as_read(Network([stage], Forms.of([[0.0, 1.0], [0.0, 0.0]])))
        with working_precision(128):
            jet = Boundary(model, 0, 1).jet([acb(arb(1.0, 0.5))], hessian=True)
            for entry, ends in ((jet.gradient[0, 0], first), (jet.hessian[0, 0], second)):
                assert all(entry.contains(acb(end)) for end in ends)


def test_weights_of_both_logits_meet_in_the_boundary(tmp_path: Path) -> None:
    """A value that both logits read, one of them, and none; the two constants."""
    stage = Product(Forms.of([[1.0], [0.0], [1.0]], [0.0, 2.0, 0.0]), Forms.of([[1.0], [1.0], [0.0]], [0.0, 0.0, 3.0]))
    readout = Forms.of([[1.0, 2.0, 0.5, 0.0], [0.0, 0.75, 0.0, 1.0]], [0.25, 4.0])
    model = as_read(Network([stage], readout))
    with working_precision(128):
        jet = Boundary(model, 0, 1).jet([acb(2)], hessian=True)
    # x + 1.25 x² + 0.5·2x − 3x − 3.75
    assert [float(v.real.mid()) for v in (jet.value, jet.gradient[0, 0], jet.hessian[0, 0])] == [-0.75, 4.0, 2.5]
