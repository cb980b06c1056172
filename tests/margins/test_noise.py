"""Noise at layers against closed forms, simulated noise in Fractions, and what is refused."""

from __future__ import annotations

import base64
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import polymargin as pm
from polymargin.errors import InputError
from polymargin.networks.network import Network
from polymargin.networks.stages import Piecewise, Polynomial
from polymargin_checker import check
from tests.relaxation.test_search import network_of

KINDS = ["square", "square-square", "product", "relu-relu", "quartic", "square-relu"]
NORMS = {"l2": (None, 2), "linf": (pm.Linf(domain=(-1, 1)), np.inf), "l1": (pm.L1(), 1)}


def simulated(network: Network, x: list[Fraction], noise: dict[int, list[Fraction]]) -> list[Fraction]:
    """The logits with noise added to forms, in exact arithmetic and by another way than the library's."""
    values, layer = [x], 0

    def forms(own: object) -> list[Fraction]:
        nonlocal layer
        matrix = np.hstack([own.block(source) for source in range(len(own.widths))])
        rows = [[Fraction(v) for v in (*row, b)] for row, b in zip(matrix.tolist(), own.bias.tolist(), strict=True)]
        flat = [*(v for part in values for v in part), Fraction(1)]
        found = [sum((w * v for w, v in zip(row, flat, strict=True)), Fraction(0)) for row in rows]
        off = noise.get(layer, [Fraction(0)] * len(found))
        layer += 1
        return [a + b for a, b in zip(found, off, strict=True)]

    for stage in network.stages:
        z = [forms(own) for own in stage.forms]
        if isinstance(stage, Polynomial):
            values.append([sum(Fraction(c) * v**k for k, c in enumerate(stage.coefficients)) for v in z[0]])
        elif isinstance(stage, Piecewise):
            values.append([max(v, Fraction(0)) for v in z[0]])
        else:
            values.append([a * b for a, b in zip(*z, strict=True)])
    return forms(network.readout)


def parted(vector: np.ndarray, n: int, widths: dict[int, int]) -> tuple[list[Fraction], dict[int, list[Fraction]]]:
    exact = [Fraction(v) for v in vector.tolist()]
    x, rest, noise = exact[:n], exact[n:], {}
    for layer, width in widths.items():
        noise[layer], rest = rest[:width], rest[width:]
    assert not rest
    return x, noise


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("kind", KINDS)
def test_margins_hold_for_simulated_noise(kind: str, norm: str) -> None:
    """No random input with random noise below the proved bound changes the class; one at the upper bound does."""
    network, u, (within, order) = network_of(kind, 5, n=2, h=3), np.array([0.3, -0.4]), NORMS[norm]
    sizes = {0: 0.02, 1: 0.01}
    found = pm.margin(network, u, within=within, noise=sizes, timeout=15)
    label, draw = found.label, np.random.default_rng(0)
    assert found.certificate is not None
    assert 0 < found.lower <= found.upper
    widths = {0: 3, 1: 3}
    assert (found.point is None) == np.isinf(found.upper)
    if found.point is not None:
        x, noise = parted(found.point, 2, widths)
        logits = simulated(network, x, noise)
        assert max(logits) == max(v for k, v in enumerate(logits) if k != label)
        assert all(abs(e) <= Fraction(sizes[layer]) for layer, part in noise.items() for e in part)
        assert np.linalg.norm(np.array([float(v) for v in x]) - u, order) <= found.upper * (1 + 1e-12)
    for _ in range(150):
        step = draw.normal(size=2)
        step *= found.lower * draw.uniform(0.8, 1) * (1 - 1e-12) / np.linalg.norm(step, order)
        place = u + step if within is None or within.low is None else np.clip(u + step, -1, 1)
        off = {k: [Fraction(v) for v in (sizes[k] * np.sign(draw.normal(size=3))).tolist()] for k in widths}
        logits = simulated(network, [Fraction(v) for v in place.tolist()], off)
        assert logits.index(max(logits)) == label


@pytest.mark.parametrize("kind", ["square-square", "product", "relu-relu", "quartic"])
def test_many_inputs_are_seen_through_forms_and_noise_by_itself(kind: str) -> None:
    """Balls of L2 in more inputs than forms: random points on the sphere of the proved radius, with noise at its ends."""
    network, u, draw = network_of(kind, 5, n=7, h=3), np.linspace(-0.5, 0.5, 7), np.random.default_rng(0)
    sizes = {0: 0.01, 1: 0.02}
    found = pm.margin(network, u, noise=sizes, timeout=15)
    assert found.certificate is not None
    assert found.lower > 0
    proofs = [entry["proof"] for entry in found.certificate.data["rivals"]]
    assert any(isinstance(proof["coordinates"], dict) for proof in proofs)
    slopes = network.stages[0].forms[0].block(0)
    for _ in range(150):
        step = draw.normal(size=3) @ slopes  # what the forms see
        step *= found.lower * (1 - 1e-12) / np.linalg.norm(step)
        off = {k: [Fraction(v) for v in (sizes[k] * np.sign(draw.normal(size=3))).tolist()] for k in sizes}
        logits = simulated(network, [Fraction(v) for v in (u + step).tolist()], off)
        assert logits.index(max(logits)) == found.label


def linear(weights: list[list[float]]) -> Network:
    """Logits W x through a layer z = x without bends."""
    return pm.PolynomialNetwork([np.eye(len(weights[0])), np.array(weights)], activations=[(0.0, 1.0)])


@pytest.mark.parametrize(("norm", "dual"), [("l2", 2), ("linf", 1), ("l1", np.inf)])
def test_linear_networks_have_a_closed_form(norm: str, dual: float) -> None:
    """The lead w·x falls by η‖w‖₁ for noise at z, and by 2η at the logits; the margin is what is left over ‖w‖."""
    network, u = linear([[1.0, 2.0, -1.0], [0.5, -1.0, 0.25]]), np.array([1.0, 1.0, 0.5])
    w = np.array([0.5, 3.0, -1.25])
    within = {"l2": None, "linf": pm.Linf(), "l1": pm.L1()}[norm]
    by_z, by_logits = 0.1 * np.abs(w).sum(), 0.4
    for noise, loss in (({0: 0.1}, by_z), ({"logits": 0.2}, by_logits), ({0: 0.1, 1: 0.2}, by_z + by_logits)):
        truth = (w @ u - loss) / np.linalg.norm(w, dual)
        found = pm.margin(network, u, within=within, noise=noise, timeout=5)
        assert found.lower <= truth <= found.upper
        assert found.lower >= (0.9 if norm == "l1" else 0.99) * truth  # the ball of L1 is bounded by that of L2
        assert pm.verify(network, u, 0.9 * truth, within=within, noise=noise).answer is pm.Answer.ROBUST
        assert pm.verify(network, u, 1.01 * truth, within=within, noise=noise).answer is pm.Answer.VULNERABLE


def test_sizes_for_each_form_and_in_percent() -> None:
    network, u = linear([[1.0, 2.0], [0.5, -1.0]]), np.array([1.0, 1.0])
    one = pm.margin(network, u, noise={0: [0.1, 0.0]})
    assert one.lower <= (3.5 - 0.05) / np.hypot(0.5, 3) <= one.upper
    # The range of z = x within 0.5 of u reaches to 1.5.
    verdict = pm.verify(network, u, 0.5, within=pm.Linf(), noise={0: "10%"})
    (entry,) = verdict.certificate.data["noise"]["layers"]
    assert entry[0] == 0
    sizes = np.frombuffer(base64.b64decode(entry[1]))
    assert sizes == pytest.approx([0.15, 0.15])


def test_budgets_have_a_closed_form() -> None:
    """At (3, 1) both classes of squares tie when z is off by 1 in each form; weights of 2 on a form halve what it bears."""
    network = pm.PolynomialNetwork([np.eye(2), np.eye(2)], degree=2)
    verifier = pm.Verifier(network)
    found = verifier.noise_budget(np.array([3.0, 1.0]), {0: 1.0})
    assert found.lower <= 1 <= found.upper * (1 + 1e-12)
    assert found.lower >= 0.99
    assert found.certificate is not None
    both = verifier.noise_budget(np.array([[3.0, 1.0], [2.0, -1.0]]), {0: [0.0, 1.0]})
    assert [round(row.upper, 9) for row in both] == [2.0, 1.0]
    share = verifier.noise_budget(np.array([3.0, 1.0]), {0: "10%"})  # of 3
    assert share.lower <= 1 / 0.3 <= share.upper * (1 + 1e-12)


def test_budgets_of_sizes_that_have_no_inverse_in_doubles_are_proved() -> None:
    """At the logits a class bears half of its lead."""
    network = linear([[1.0, 2.0, -1.0], [0.5, -1.0, 0.25], [0.1, 0.3, 0.2]])
    for size in (0.1, 0.3, 1 / 3, 0.7, 1.1, 49.0, 1e-3 / 7):
        u = np.array([1.0, 1.0, 0.5])
        found = pm.Verifier(network).noise_budget(u, {"logits": size})
        truth = 2.0 / (2 * size)
        assert found.certificate is not None, found.notes
        assert 0.99 * truth <= found.lower <= truth * (1 + 1e-12)
        assert found.upper == pytest.approx(truth)


def test_certificates_are_files_for_the_checker(tmp_path: Path) -> None:
    network, u = network_of("square-square", 5, n=2, h=3), np.array([0.3, -0.4])
    network.save(tmp_path / "model.npz")
    for name, certificate in (
        ("verdict", pm.verify(network, u, 0.01, noise={"layer 1": 0.01}).certificate),
        ("margin", pm.margin(network, u, noise={"layer 1": 0.01}).certificate),
        ("budget", pm.Verifier(network).noise_budget(u, {1: 1.0}).certificate),
    ):
        certificate.save(tmp_path / f"{name}.json")
        result = check(tmp_path / "model.npz", tmp_path / f"{name}.json")
        assert result.accepted
        assert "noise" in result.reason


@pytest.mark.parametrize(
    ("noise", "words"),
    [
        ({}, "expected sizes by layer"),
        ({"fc9": 0.1}, "expected one of layer 0, logits"),
        ({7: 0.1}, "expected a number from 0 to 1"),
        ({0: -0.1}, "negative"),
        ({0: float("nan")}, "not finite"),
        ({0: [0.1, 0.2, 0.3]}, r"shape \(3,\)"),
        ({0: "lots"}, "expected a number, or a share"),
        ({0: 0.1, "layer 0": 0.1}, "given twice"),
    ],
)
def test_bad_noise_is_one_sentence(noise: dict[object, object], words: str) -> None:
    network = pm.PolynomialNetwork([np.eye(2), np.eye(2)], degree=2)
    with pytest.raises(InputError, match=words):
        pm.verify(network, [3.0, 1.0], 0.1, noise=noise)


def test_what_has_no_noise() -> None:
    network = pm.PolynomialNetwork([np.eye(2), np.eye(2)], degree=2)
    with pytest.raises(InputError, match="ellipsoid"):
        pm.verify(network, [3.0, 1.0], 0.1, within=pm.L2(ellipsoid=[[2.0, 0.5], [0.5, 1.0]]), noise={0: 0.1})
    with pytest.raises(InputError, match="sizes are zero"):
        pm.Verifier(network).noise_budget([3.0, 1.0], {0: 0.0})
    with pytest.raises(InputError, match="checkpoint"):
        pm.margin(network, [3.0, 1.0], noise={0: 0.1}, checkpoint="rows.json")
