"""Quadric proofs: accepted up to the distance, refused beyond it, in every kind of space and whatever the numbers are."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checker.certificate_makers import base64_of, certificate, write
from checker.stage_files import as_read, layers_as_read
from flint import arb_mat, fmpq

import polymargin as pm
from polymargin_checker import check, check_rows
from polymargin_checker.arithmetic import working_precision
from polymargin_checker.definite import positive_definite
from polymargin_checker.quadric import Asked, QuadricJudge, Quadrics, Space
from polymargin_checker.refusal import Refused
from polymargin_checker.relaxation.arithmetic import Arithmetic


def network(widths: list[int], seed: int, scale: float = 1.0) -> pm.PolynomialNetwork:
    generator = np.random.default_rng(seed)
    layers = [(scale * generator.normal(size=(b, a)), generator.normal(size=b)) for a, b in pairwise(widths)]
    return pm.PolynomialNetwork(layers, activations=[[0.3, -0.7, 1.0]])


def quadratic(net: pm.PolynomialNetwork, u: Any, label: int, rival: int) -> tuple[Any, Any, float]:
    """A, g and β of B(u + δ) = β + g·δ + δᵀAδ."""
    first, last = net.chain.layers
    (c0, c1, c2) = net.chain.activations[0]
    v = last.weights[label] - last.weights[rival]
    z = first.weights @ u + first.bias
    beta = float(v @ (c0 + c1 * z + c2 * z * z) + last.bias[label] - last.bias[rival])
    return c2 * first.weights.T @ np.diag(v) @ first.weights, first.weights.T @ (v * (c1 + 2 * c2 * z)), beta


def nearest(A: Any, g: Any, beta: float) -> tuple[float, float]:
    """The distance and the multiplier μ, by bisection of the secular equation; μ = 0 and infinity where B > 0 everywhere."""
    values, vectors = np.linalg.eigh(A)
    h = vectors.T @ g

    def dual(mu: Any, r: float) -> Any:
        return beta - mu * r * r - (h * h / (4 * (values + mu[:, None]))).sum(axis=1)

    def best(r: float) -> tuple[float, float]:
        low = max(0.0, -values.min()) + 1e-12
        grid = low + np.concatenate([[0.0], np.geomspace(1e-9, 1e6, 1000)])
        for _ in range(3):
            place = int(dual(grid, r).argmax())
            grid = np.linspace(grid[max(place - 1, 0)], grid[min(place + 1, len(grid) - 1)], 200)
        found = dual(grid, r)
        return float(found.max()), float(grid[found.argmax()])

    low, high = 0.0, 1.0
    while best(high)[0] > 0:
        high *= 2
        if high > 1e6:
            return np.inf, 0.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if best(middle)[0] > 0 else (low, middle)
    return low, best(low)[1]


SHAPES = [[2, 3, 2], [3, 3, 2], [6, 3, 2], [12, 4, 3], [4, 9, 2]]


def made(net: Any, u: Any, label: int, rivals: list[Any], radius: Any) -> Any:
    point = base64_of(u)
    document = certificate(net, u, label, {"kind": "robust", "radius": radius}, rivals, None)
    return document | {"point": point}


@pytest.mark.parametrize("widths", SHAPES, ids=str)
@pytest.mark.parametrize("exact", [False, True])
def test_radii_below_the_distance_are_proved_and_none_above(tmp_path: Path, widths: list[int], exact: bool) -> None:
    net = network(widths, 1)
    for seed in range(3 if exact else 8):
        u = np.random.default_rng(seed).normal(size=widths[0])
        label = int(net.predict(u))
        rivals = [rival for rival in range(widths[-1]) if rival != label]
        found = [nearest(*quadratic(net, u, label, rival)) for rival in rivals]
        for factor, expected in ((1 - 1e-5, True), (1 + 1e-5, False), (3.0, False)):
            entries = []
            for rival, (distance, mu) in zip(rivals, found, strict=True):
                lower = "inf" if np.isinf(distance) else (distance * factor).hex()
                proof = {"kind": "quadric", "multiplier": float(0 if np.isinf(distance) else mu * (1 + 3e-6)).hex()}
                entries.append({"rival": rival, "lower": lower, "proof": proof})
            least = min(distance for distance, _ in found)
            if np.isinf(least):
                continue
            claim = (least * factor).hex()
            verdict = check(*write(tmp_path, net, made(net, u, label, entries, claim)), exact)
            assert verdict.accepted is expected, verdict.reason


def test_no_multiplier_proves_what_is_false(tmp_path: Path) -> None:
    """A radius beyond the distance with hundreds of multipliers, a hundred rows at once."""
    net = network([5, 3, 2], 4)
    u = np.random.default_rng(0).normal(size=5)
    label = int(net.predict(u))
    distance, _ = nearest(*quadratic(net, u, label, 1 - label))
    first = made(net, u, label, [], "0x0p0")
    shared = {key: first[key] for key in ("format", "model")}
    lines = []
    for mu in np.concatenate([[0.0], np.geomspace(1e-8, 1e8, 120)]):
        radius = (distance * (1 + 1e-6)).hex()
        entry = {"rival": 1 - label, "lower": radius, "proof": {"kind": "quadric", "multiplier": float(mu).hex()}}
        row = made(net, u, label, [entry], radius)
        lines.append({key: value for key, value in row.items() if key not in ("format", "model", "created")})
    import json

    text = "\n".join(json.dumps(line) for line in [shared | {"rows": len(lines)}, *lines])
    results = check_rows(*write(tmp_path, net, text))
    assert len(results) == len(lines)
    assert not any(result.accepted for result in results)


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({"multiplier": "-0x1p-9"}, "the multiplier of a quadric proof is negative"),
        ({"multiplier": "inf"}, "not a hexadecimal float"),
        ({"multiplier": "nan"}, "not a hexadecimal float"),
        ({"multiplier": "0x1p0", "slack": "0x0p0"}, "unknown key 'slack'"),
        ({}, "the key 'multiplier' is missing"),
        ({"multiplier": "0x0p0"}, "not shown to be positive definite"),
        ({"multiplier": "0x1p+900"}, "not shown to be positive definite"),
        ({"multiplier": "0x1p-1070"}, "not shown to be positive definite"),
    ],
)
def test_forged_multipliers_are_refused(tmp_path: Path, entry: Any, reason: str) -> None:
    net = network([4, 3, 2], 2)
    u = np.random.default_rng(1).normal(size=4)
    label = int(net.predict(u))
    rivals = [{"rival": 1 - label, "lower": "0x1p-4", "proof": {"kind": "quadric", **entry}}]
    verdict = check(*write(tmp_path, net, made(net, u, label, rivals, "0x1p-4")))
    assert reason in verdict.reason


def test_infinite_distances_need_a_form_that_is_positive_everywhere(tmp_path: Path) -> None:
    """1 + Σ (w_j·x)² > 0 where there are more inputs than forms; with one square less the boundary is not empty."""
    weights = np.random.default_rng(3).normal(size=(3, 7))
    proof = {"kind": "quadric", "multiplier": "0x0p0"}
    for signs, expected in (([1.0, 2.0, 0.5], True), ([1.0, -1e-9, 0.5], False), ([1.0, 0.0, 0.5], True)):
        net = pm.PolynomialNetwork([(weights, np.zeros(3)), ([signs, [0.0] * 3], [1.0, 0.0])], degree=2)
        rivals = [{"rival": 1, "lower": "inf", "proof": proof}]
        (tmp_path / "model.npz").unlink(missing_ok=True)
        verdict = check(*write(tmp_path, net, made(net, np.ones(7), 0, rivals, "inf")))
        assert verdict.accepted is expected or signs[1] == 0.0, verdict.reason
    rivals = [{"rival": 1, "lower": "inf", "proof": {"kind": "quadric", "multiplier": "0x1p-9"}}]
    assert "has the multiplier 0" in check(*write(tmp_path, net, made(net, np.ones(7), 0, rivals, "inf"))).reason


def test_networks_of_other_degrees_are_refused(tmp_path: Path) -> None:
    cubic = pm.PolynomialNetwork([np.eye(2), np.eye(2)], degree=3)
    proof = {"kind": "quadric", "multiplier": "0x1p0"}
    for net in (cubic, pm.PolynomialNetwork([np.eye(2), np.eye(2), np.eye(2)], degree=2)):
        (tmp_path / "model.npz").unlink(missing_ok=True)
        rivals = [{"rival": 1, "lower": "0x1p-9", "proof": proof}]
        verdict = check(*write(tmp_path, net, made(net, [1.0, 0.5], 0, rivals, "0x1p-9")))
        assert "about networks of degree two" in verdict.reason


def test_dependent_rows_and_lopsided_weights_need_no_luck(tmp_path: Path) -> None:
    """Rows that are equal, nearly equal, zero, or of very different sizes: proved as long as the claim has room."""
    generator = np.random.default_rng(5)
    rows = generator.normal(size=(3, 8))
    tables = [
        np.vstack([rows, rows[:1], rows[1:2] * 2]),
        np.vstack([rows, rows[:1] + 1e-13 * generator.normal(size=(1, 8))]),
        np.vstack([rows, np.zeros((1, 8))]),
        np.vstack([rows[:2], 1e-6 * rows[2:]]),
    ]
    for table in tables:
        last = generator.normal(size=(2, len(table)))
        net = pm.PolynomialNetwork([(table, generator.normal(size=len(table))), (last, [0.5, 0.0])], degree=2)
        u = generator.normal(size=8)
        label = int(net.predict(u))
        first, second = net.chain.layers
        v, z = second.weights[label] - second.weights[1 - label], first.weights @ u + first.bias
        beta = float(v @ (z * z) + second.bias[label] - second.bias[1 - label])
        A, g = first.weights.T @ np.diag(v) @ first.weights, 2 * first.weights.T @ (v * z)
        distance, mu = nearest(A, g, beta)
        if np.isinf(distance):
            continue
        for factor, expected in ((1 - 1e-5, True), (1 + 1e-5, False)):
            radius = (distance * factor).hex()
            proof = {"kind": "quadric", "multiplier": float(mu * (1 + 3e-6)).hex()}
            (tmp_path / "model.npz").unlink(missing_ok=True)
            rivals = [{"rival": 1 - label, "lower": radius, "proof": proof}]
            verdict = check(*write(tmp_path, net, made(net, u, label, rivals, radius)))
            assert verdict.accepted is expected, verdict.reason


# -- the form itself -----------------------------------------------------------------------------


def exactly_definite(net: pm.PolynomialNetwork, u: Any, label: int, rival: int, radius: fmpq, mu: float) -> bool:
    """The matrix of the theorem in rational arithmetic."""
    first, last = (
        [[fmpq(*float(w).as_integer_ratio()) for w in row] for row in layer.weights] for layer in net.chain.layers
    )
    biases = [[fmpq(*float(b).as_integer_ratio()) for b in layer.bias] for layer in net.chain.layers]
    c0, c1, c2 = (fmpq(*float(c).as_integer_ratio()) for c in net.chain.activations[0])
    point = [fmpq(*float(value).as_integer_ratio()) for value in u]
    factor, n = fmpq(*float(mu).as_integer_ratio()), len(point)
    z = [sum((w * x for w, x in zip(row, point, strict=True)), b) for row, b in zip(first, biases[0], strict=True)]
    v = [a - b for a, b in zip(last[label], last[rival], strict=True)]
    beta = sum((w * (c0 + c1 * t + c2 * t * t) for w, t in zip(v, z, strict=True)), biases[1][label] - biases[1][rival])
    matrix = [[fmpq(0)] * (n + 1) for _ in range(n + 1)]
    matrix[0][0] = beta - factor * radius * radius
    for i in range(n):
        slope = sum((w * (c1 + 2 * c2 * t) * row[i] for w, t, row in zip(v, z, first, strict=True)), fmpq(0))
        matrix[0][i + 1] = matrix[i + 1][0] = slope / 2
        for j in range(n):
            entry = sum((c2 * w * row[i] * row[j] for w, row in zip(v, first, strict=True)), fmpq(0))
            matrix[i + 1][j + 1] = entry + factor * (i == j)
    with working_precision(2000):
        return positive_definite(arb_mat(matrix))


@pytest.mark.parametrize("widths", SHAPES, ids=str)
def test_what_doubles_accept_is_definite_in_rational_arithmetic(widths: list[int]) -> None:
    """Radii within a few billionths of the largest that a multiplier proves: nothing beyond it is accepted."""
    net = network(widths, 7, scale=2.0)
    stages = as_read(net)
    judge, accepted, true = QuadricJudge(stages, Arithmetic(False)), 0, 0
    with working_precision(128), np.errstate(all="ignore"):
        for seed in range(6):
            u = np.random.default_rng(seed).normal(size=widths[0])
            label = int(net.predict(u))
            rival = (label + 1) % widths[-1]
            distance, mu = nearest(*quadratic(net, u, label, rival))
            if np.isinf(distance):
                continue
            low, high = fmpq(0), fmpq(*float(2 * distance).as_integer_ratio())
            for _ in range(60):  # the largest radius that this multiplier proves
                middle = (low + high) / 2
                low, high = (middle, high) if exactly_definite(net, u, label, rival, middle, mu) else (low, middle)
            for power in (6, 9, 11, 12, 13, 14, 15, 16):
                for sign in (-1, 1):
                    radius = low * (1 + sign * fmpq(1, 10**power))
                    found = bool(judge.positive([Asked(u, label, rival, radius, mu)])[0])
                    assert not (found and sign > 0)
                    accepted += found
                    true += sign < 0 and power <= 11
    assert accepted >= true > 0


def test_the_reduced_space_loses_nothing_that_counts() -> None:
    """Rows over η and what is left of them: together they are the rows, and what is left is rounding."""
    net = network([9, 4, 3], 8)
    stages = as_read(net)
    quadrics = Quadrics(stages, Arithmetic(False))
    space = quadrics.space
    assert space.size == 4
    seen = space.seen(quadrics.left[1])
    lengths = np.linalg.norm(net.chain.layers[0].weights, axis=1)
    assert np.allclose(np.linalg.norm(seen.rows.upper(), axis=1), lengths)
    assert (seen.errors[:, 0] < 1e-13 * lengths).all()
    assert (seen.errors[:, 0] > 0).all()
    whole = Space.whole(Arithmetic(False), 9)
    assert whole.size == 9
    assert (whole.seen(quadrics.left[1]).errors == 0).all()


def test_a_space_that_misses_a_direction_costs_all_of_it() -> None:
    """With a basis that does not hold a row, the error is the length of what it misses: such a proof cannot pass."""
    arithmetic = Arithmetic(False)
    space = Space(arithmetic, np.array([[1.0, 0.0, 0.0]]), True)
    seen = space.seen(arithmetic.exact(np.array([[2.0, 3.0, 4.0]])))
    assert seen.rows.upper()[0, 0] >= 2
    assert seen.errors[0, 0] >= 5


def test_what_a_space_misses_cannot_be_proved() -> None:
    """9 + x₁² − x₂² is zero at (0, 3); in a space that knows x₁ alone no radius is proved."""
    weights = [[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [[1.0, -1.0], [0.0, 0.0]]]
    stages = layers_as_read(weights, [[0.0, 0.0], [9.0, 0.0]], [[0.0, 0.0, 1.0]])
    with working_precision(128), np.errstate(all="ignore"):
        judge = QuadricJudge(stages, Arithmetic(False))
        asked = Asked(np.zeros(3), 0, 1, fmpq(2), 1.5)
        assert judge.positive([asked])[0]
        judge = QuadricJudge(stages, Arithmetic(False))
        judge._quadrics.__dict__["space"] = Space(Arithmetic(False), np.array([[1.0, 0.0, 0.0]]), True)
        assert not judge.positive([asked])[0]
        assert not judge.positive([replace(asked, radius=fmpq(4), multiplier=0.5)])[0]


def test_products_that_are_no_squares_are_judged_too(tmp_path: Path) -> None:
    """x₁x₂ + 2 against 0 at the origin: the hyperbola x₁x₂ = −2 is at distance 2."""
    from polymargin_checker.stages import Block, Forms, Network, Product, _starts

    def forms(widths: tuple[int, ...], source: int, matrix: Any, bias: Any) -> Forms:
        matrix = np.array(matrix, dtype=float)
        rows, columns = np.nonzero(matrix)
        block = Block(matrix.shape, _starts(rows, len(matrix)), columns, matrix[rows, columns])
        return Forms(widths, ((source, block),), np.array(bias, dtype=float))

    for n in (2, 6):
        left, right = np.eye(1, n, 0), np.eye(1, n, 1)
        stage = Product(forms((n,), 0, left, [0.0]), forms((n,), 0, right, [0.0]))
        net = Network((stage,), forms((n, 1), 1, [[1.0], [0.0]], [2.0, 0.0]))
        judge = QuadricJudge(net, Arithmetic(False))
        with working_precision(128), np.errstate(all="ignore"):
            for radius, expected in ((1.999999, True), (2.000001, False)):
                asked = Asked(np.zeros(n), 0, 1, fmpq(*radius.as_integer_ratio()), 0.5 + 1e-7)
                assert bool(judge.positive([asked])[0]) is expected


def test_a_network_that_multiplies_nothing_is_refused() -> None:
    stages = layers_as_read([np.eye(2)], [[0.0, 0.0]], [])
    with pytest.raises(Refused, match="multiplies nothing"):
        Quadrics(stages, Arithmetic(False))
