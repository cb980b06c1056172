"""False certificates that a checker with one weak line would accept, and what each line has to know for that."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checker.certificate_makers import certificate, hexes, write
from checker.relaxation_prover import shared
from checker.stage_files import as_read
from flint import arb, arb_mat, arb_poly, fmpq

import polymargin as pm
from polymargin.networks.attention import random_attention
from polymargin_checker import check
from polymargin_checker.arithmetic import working_precision
from polymargin_checker.completeness import variables_of
from polymargin_checker.definite import positive_definite
from polymargin_checker.exact import exact_logits, slope
from polymargin_checker.univariate import value_range


def refused(folder: Path, net: Any, document: Any, reason: str) -> None:
    verdict = check(*write(folder, net, document))
    assert not verdict.accepted
    assert reason in verdict.reason


# -- claims --------------------------------------------------------------------------------------

AFFINE = pm.PolynomialNetwork([([[3.0, 4.0], [0.0, 0.0]], [5.0, 0.0])])


def robust(net: pm.Network, radius: str, rivals: list[Any], point: Any = (0.0, 0.0)) -> Any:
    return certificate(net, point, 0, {"kind": "robust", "radius": radius}, rivals, None)


@pytest.mark.parametrize("radius", ["0x1p+10", "inf"])
def test_a_robust_claim_without_rivals(tmp_path: Path, radius: str) -> None:
    refused(tmp_path, AFFINE, robust(AFFINE, radius, []), "rival 1 is missing")


def test_a_label_that_ties_at_the_point(tmp_path: Path) -> None:
    net = pm.PolynomialNetwork([([[3.0, 4.0], [0.0, 0.0], [0.0, 0.0]], [5.0, 0.0, 5.0])])
    rivals = [{"rival": rival, "lower": "0x0p0", "proof": {"kind": "trivial"}} for rival in (1, 2)]
    refused(tmp_path, net, robust(net, "0x0p0", rivals), "class 2 ties or wins")
    vulnerable = robust(net, "0x0p0", [])
    vulnerable["claim"] = {"kind": "vulnerable", "radius": "0x1p+3"}
    vulnerable["upper"] = {"kind": "counterexample", "rival": 2, "point": hexes([0.0, 0.0])}
    refused(tmp_path, net, vulnerable, "class 2 ties or wins")


def test_a_key_that_is_given_twice(tmp_path: Path) -> None:
    """The second one would be read, the first one shown by another program."""
    rivals = [{"rival": 1, "lower": "0x1p0", "proof": {"kind": "hyperplane"}}]
    text = json.dumps(robust(AFFINE, "0x1p0", rivals))
    assert check(*write(tmp_path, AFFINE, text)).accepted
    for once, twice in (
        ('"label": 0', '"label": 1, "label": 0'),
        ('"radius": "0x1p0"', '"radius": "0x1p+9", "radius": "0x1p0"'),
        ('"lower": "0x1p0"', '"lower": "0x1p0", "lower": "0x1p0"'),
        ('"seed": 0', '"seed": 0, "seed": 0'),
    ):
        assert once in text
        refused(tmp_path, AFFINE, text.replace(once, twice), "a key occurs twice")


# -- relaxation ----------------------------------------------------------------------------------


def narrow(w: float, radius: float, multiplier: float, coordinates: str) -> tuple[pm.Network, Any]:
    """B = 0.64 − (w x₁)² in two variables: the margin is 0.8 / w."""
    net = pm.PolynomialNetwork([[[w, 0.0]], ([[-1.0], [0.0]], [0.64, 0.0])], degree=2)
    tree = {"judge": "definite", "ball": multiplier.hex()}
    proof = {"kind": "relaxation", **shared(radius, coordinates=coordinates), "tree": tree}
    return net, robust(net, radius.hex(), [{"rival": 1, "lower": radius.hex(), "proof": proof}])


@pytest.mark.parametrize("coordinates", ["inputs", "forms"])
def test_the_ball_is_measured_in_the_inputs_not_in_the_first_layer(tmp_path: Path, coordinates: str) -> None:
    assert check(*write(tmp_path, *narrow(0.1, 7.99, 0.010001, coordinates))).accepted
    for radius, multiplier in ((8.01, 0.010001), (50.0, 0.00015), (50.0, 0.000256), (8.01, 0.01)):
        refused(tmp_path, *narrow(0.1, radius, multiplier, coordinates), "positive definite")


@pytest.mark.parametrize("coordinates", ["inputs", "forms"])
@pytest.mark.parametrize("w", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("above", [True, False])
def test_the_multiplier_has_to_outweigh_the_curvature(tmp_path: Path, w: float, above: bool, coordinates: str) -> None:
    net, document = narrow(w, 0.5 / w, w * w * (1.0001 if above else 0.9999), coordinates)
    verdict = check(*write(tmp_path, net, document))
    assert verdict.accepted is above, verdict.reason


def test_a_matrix_of_wide_balls_is_as_bad_as_its_worst_member() -> None:
    wide, half = arb(1, 0.9), fmpq(1, 2)
    assert not positive_definite(arb_mat([[wide, half], [half, 1]]))
    assert not positive_definite(arb_mat([[1, arb(0, 0.9)], [arb(0, 0.9), 0.5]]))
    assert not positive_definite(arb_mat([[1, 0], [0, arb(1, 1.5)]]))
    assert positive_definite(arb_mat([[arb(1, 0.25), half], [half, 1]]))
    generator = np.random.default_rng(0)
    for size in (3, 4, 6, 7):
        root = generator.normal(size=(size, size))
        member = root @ root.T
        member -= np.linalg.eigvalsh(member)[0] * np.eye(size)  # one eigenvalue is zero
        for where in range(size):
            table = [[arb(value) for value in row] for row in (member + 0.4 * np.eye(size)).tolist()]
            assert positive_definite(arb_mat(table))
            for k in range(size):
                table[k][k] = arb(float(member[k, k]) + 0.4, 0.41)
            assert not positive_definite(arb_mat(table)), where


def test_ranges_of_a_polynomial_that_is_known_roughly_stay_wide() -> None:
    """The pieces run out before anything is settled; what is left counts."""
    with working_precision(128):
        for polynomial, low, high in (
            (arb_poly([0, arb(1, 0.125)]), 0.0, 1.125),
            (arb_poly([arb(1, 0.25)]), 0.75, 1.25),
            (arb_poly([arb(0, 1), arb(0, 1), 1]), -1.25, 3.0),
            (arb_poly([0, -1, 1]), -0.25, 0.0),
            (arb_poly([]), 0.0, 0.0),
            (arb_poly([arb(0.0)]), 0.0, 0.0),
        ):
            bottom, top = value_range(polynomial, (arb(0), arb(1)))
            assert low - 0.01 < float(bottom)
            assert bottom <= low
            assert float(top) < high + 0.01
            assert top >= high


# -- exact arithmetic ----------------------------------------------------------------------------


def logits_by_definition(net: pm.Network, point: list[Fraction]) -> list[Fraction]:
    values = point
    for index, layer in enumerate(net.chain.layers):
        values = [
            sum((Fraction(w) * v for w, v in zip(row, values, strict=True)), Fraction(b))
            for row, b in zip(layer.weights.tolist(), layer.bias.tolist(), strict=True)
        ]
        if index < len(net.chain.activations):
            values = [
                sum(Fraction(float(c)) * z**k for k, c in enumerate(net.chain.activations[index])) for z in values
            ]
    return values


@pytest.mark.parametrize("degree", [0, 1, 2, 3, 4, 5, 7])
@pytest.mark.parametrize("depth", [1, 2])
def test_exact_logits_are_those_of_the_definition(tmp_path: Path, degree: int, depth: int) -> None:
    generator = np.random.default_rng([degree, depth])
    widths = [3, *generator.integers(1, 4, size=depth).tolist(), 2]
    scales = 2.0 ** generator.integers(-40, 40, size=len(widths))
    layers = [
        (generator.normal(size=(after, before)) * scale, generator.normal(size=after) / scale)
        for before, after, scale in zip(widths, widths[1:], scales, strict=False)
    ]
    net = pm.PolynomialNetwork(layers, activations=[generator.normal(size=degree + 1) for _ in range(depth)])
    model = as_read(net)
    for point in ([0.0, 0.0, 0.0], [1.0, -2.0, 3.0], [2.0**-70, 1e10, -0.1]):
        exact = [fmpq(*value.as_integer_ratio()) for value in point]
        ours = [Fraction(int(value.p), int(value.q)) for value in exact_logits(model, exact)]
        assert ours == logits_by_definition(net, [Fraction(value) for value in point])
        if degree <= 1:
            step = [fmpq(*value.as_integer_ratio()) for value in (0.1, 1e-20, 7.0)]
            moved = exact_logits(model, [a + b for a, b in zip(exact, step, strict=True)])
            here = exact_logits(model, exact)
            w = slope(model, 1, 0)
            assert sum((a * b for a, b in zip(w, step, strict=True)), fmpq(0)) == (moved[1] - moved[0]) - (
                here[1] - here[0]
            )


# -- attention -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "shape", [(1, 1, 1, 1), (2, 4, 1, 1), (1, 5, 1, 1), (3, 3, 1, 1), (2, 6, 2, 1), (1, 6, 1, 2), (2, 2, 2, 2)], ids=str
)
def test_a_boundary_of_attention_depends_on_as_many_forms_as_are_counted(
    tmp_path: Path, shape: tuple[int, ...]
) -> None:
    """The span of the gradients at many points, by differences."""
    network = random_attention(*shape, classes=2, seed=4)
    counted = variables_of(as_read(network))
    points = np.random.default_rng(0).normal(size=(60, network.dimension))
    step = 1e-4
    gradients = [
        [np.subtract(*(network(x + e) - network(x - e))) / (2 * step) for e in step * np.eye(network.dimension)]
        for x in points
    ]
    rank = int(np.linalg.matrix_rank(np.array(gradients), tol=1e-4))
    assert counted >= rank
    t, d, d_prime, a = shape
    assert counted == min(t * d, t * (d_prime + 2 * a))
