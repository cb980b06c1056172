"""Exclusion proofs at their edges: radii, empty and touching ranges, roundings, keys."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from checker.certificate_makers import certificate, write

import polymargin as pm
from polymargin_checker import check, definite

NET = pm.PolynomialNetwork([[[1.0, 0.0], [0.0, 1.0]], ([[1.0, 1.0], [0.0, 0.0]], [1.0, 0.0])], degree=2)
"""B = 1 + x₁² + x₂², which is positive everywhere."""


def exclusion(radius: str = "0x1p-1", lower: str | None = None, **changes: Any) -> Any:
    bound = {"slopes": [], "quadratics": [["0x1p0", "0x0p0", "0x0p0"]] * 2, "multiplier": "0x1p-1"}
    proof = {"kind": "exclusion", "radius": radius, "tree": {"ranges": [], "bound": bound | changes}}
    lower = radius if lower is None else lower
    rivals = [{"rival": 1, "lower": lower, "proof": proof}]
    return certificate(NET, [0.0, 0.0], 0, {"kind": "robust", "radius": lower}, rivals, None)


@pytest.mark.parametrize(
    ("radius", "lower", "reason"),
    [
        ("0x1p-1", "0x1p-1", None),
        ("0x0p0", "0x0p0", None),
        ("-0x1p-1", "-0x1p0", "radius of the exclusion proof is negative"),
        ("-0x1p-1", "0x1p-1", "radius of the exclusion proof is negative"),
        ("0x1p-1", "0x1.1p-1", "lower bound is above the radius"),
        ("0x1p-1", "inf", "lower bound is above the radius"),
    ],
)
def test_radii(tmp_path: Path, radius: str, lower: str, reason: str | None) -> None:
    verdict = check(*write(tmp_path, NET, exclusion(radius, lower)))
    assert verdict.accepted is (reason is None), verdict.reason
    assert reason is None or reason in verdict.reason


@pytest.mark.parametrize(
    ("multiplier", "accepted"),
    [("0x0p0", True), ("0x1p1", True), ("0x1p2", False), ("0x1.fp1", True), ("-0x1p-60", False)],
)
def test_multipliers(tmp_path: Path, multiplier: str, accepted: bool) -> None:
    """1 − μ/4 has to be positive: not zero, and not with a negative μ."""
    verdict = check(*write(tmp_path, NET, exclusion(multiplier=multiplier)))
    assert verdict.accepted is accepted, verdict.reason


@pytest.mark.parametrize("where", ["proof", "leaf", "bound", "split"])
def test_nothing_is_said_that_is_not_read(tmp_path: Path, where: str) -> None:
    document = exclusion()
    proof = document["rivals"][0]["proof"]
    leaf = proof["tree"]
    if where == "split":
        proof["tree"] = {"split": [0, "0x0p0"], "low": leaf, "high": leaf}
    assert check(*write(tmp_path, NET, document)).accepted
    part = {"proof": proof, "leaf": leaf, "bound": leaf["bound"], "split": proof["tree"]}[where]
    for key in list(part):
        if key not in ("kind", "split"):
            value = part.pop(key)
            assert f"the key {key!r} is missing" in check(*write(tmp_path, NET, document)).reason
            part[key] = value
    part["note"] = 1
    assert "unknown key 'note'" in check(*write(tmp_path, NET, document)).reason


@pytest.mark.parametrize(
    ("value", "accepted"),
    [("0x0p0", True), ("0x1p-1", True), ("-0x1p-1", True), ("0x1.01p-1", False), ("-0x1.01p-1", False)],
)
def test_a_split_is_within_its_range(tmp_path: Path, value: str, accepted: bool) -> None:
    document = exclusion()
    proof = document["rivals"][0]["proof"]
    proof["tree"] = {"split": [1, value], "low": proof["tree"], "high": proof["tree"]}
    verdict = check(*write(tmp_path, NET, document))
    assert verdict.accepted is accepted
    assert accepted or verdict.reason == "rival 1: a split value lies outside the range of coordinate 1"


def test_each_half_of_a_split_is_its_own(tmp_path: Path) -> None:
    """y₁² lies above the line through (0, 0) and (½, ¼) where y₁ < 0 only, above its mirror image where y₁ > 0 only."""

    def leaf(slope: str) -> Any:
        bound = {"slopes": [], "quadratics": [["0x0p0", slope, "0x0p0"], ["0x0p0"] * 3], "multiplier": "0x1p0"}
        return {"ranges": [], "bound": bound}

    document = exclusion()
    proof = document["rivals"][0]["proof"]
    down, up = leaf("0x1p-3"), leaf("-0x1p-3")
    for low, high, reason in (
        (down, up, None),
        (up, down, "leaf 0, bound, quadratic of neuron 0"),
        (down, down, "leaf 1, bound, quadratic of neuron 0"),
        (up, up, "leaf 0, bound, quadratic of neuron 0"),
    ):
        proof["tree"] = {"split": [0, "0x0p0"], "low": low, "high": high}
        verdict = check(*write(tmp_path, NET, document))
        assert verdict.accepted is (reason is None), verdict.reason
        assert reason is None or reason in verdict.reason
        proof["tree"]["split"] = [1, "0x0p0"]
        assert not check(*write(tmp_path, NET, document)).accepted


def test_a_system_that_cannot_be_solved_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stubborn:
        def __init__(self, rows: list[list[float]]) -> None:
            self.rows = rows

        def nrows(self) -> int:
            return len(self.rows)

        def __getitem__(self, place: tuple[int, int]) -> float:
            return self.rows[place[0]][place[1]]

        def tolist(self) -> list[list[float]]:
            return self.rows

        def transpose(self) -> Stubborn:
            return self

        def solve(self, other: Stubborn) -> Stubborn:
            raise ZeroDivisionError

    monkeypatch.setattr(definite, "arb_mat", Stubborn)
    assert definite.positive_definite(Stubborn([[1.0]]))
    assert not definite.positive_definite(Stubborn([[1.0, 0.0], [0.0, 1.0]]))


MIXED = pm.PolynomialNetwork(
    [[[1.0]], ([[1.0]], [1.0]), ([[1.0], [0.0]], [3.0, 0.0])], activations=[[0.0, 0.0, 1.0], [0.0, -1.0]]
)
"""z² = x² + 1 and B = 3 − z² = 2 − x²: two layers that differ."""


def mixed(radius: str, top: str, slope: tuple[str, str], quadratic: tuple[str, str, str], multiplier: str) -> Any:
    bound = {"slopes": [[list(slope)]], "quadratics": [list(quadratic)], "multiplier": multiplier}
    tree = {"ranges": [[["0x1p-1", top, None, None]]], "bound": bound}
    proof = {"kind": "exclusion", "radius": radius, "tree": tree}
    rivals = [{"rival": 1, "lower": radius, "proof": proof}]
    return certificate(MIXED, [0.0], 0, {"kind": "robust", "radius": radius}, rivals, None)


@pytest.mark.parametrize(
    ("radius", "top", "slope", "quadratic", "multiplier", "reason"),
    [
        ("0x1p0", "0x1.1p1", ("-0x1p0", "0x0p0"), ("-0x1p0", "0x0p0", "0x0p0"), "0x1.8p0", None),
        # A line below the activation of the other layer.
        ("0x1p1", "0x1.8p2", ("0x1p0", "0x0p0"), ("0x1p0", "0x0p0", "0x0p0"), "0x1p-1", "slopes of layer 2, neuron 0"),
        ("0x1p1", "0x1.8p2", ("0x0p0", "0x0p0"), ("0x0p0", "0x0p0", "0x0p0"), "0x1p-3", "slopes of layer 2, neuron 0"),
        # The range that the activation of the other layer would give.
        (
            "0x1p1",
            "0x1.9p1",
            ("-0x1p0", "0x0p0"),
            ("-0x1p0", "0x0p0", "0x0p0"),
            "0x1.8p0",
            "does not prove the upper end",
        ),
        # A parabola below the activation of the other layer.
        ("0x1p0", "0x1.1p1", ("-0x1p0", "0x0p0"), ("0x0p0", "0x1p0", "0x0p0"), "0x1p-3", "quadratic of neuron 0"),
        # The bias of the deeper layer counts: without it 3 − μ r² would be positive.
        ("0x1p0", "0x1.1p1", ("-0x1p0", "0x0p0"), ("-0x1p0", "0x0p0", "0x0p0"), "0x1.4p1", "positive definite"),
        ("0x1p0", "0x1.1p1", ("-0x1p0", "-0x1p0"), ("-0x1p0", "0x0p0", "0x0p0"), "0x1.8p0", "positive definite"),
        ("0x1p0", "0x1.1p1", ("-0x1p0", "0x0p0"), ("-0x1p0", "0x0p0", "-0x1p0"), "0x1.8p0", "positive definite"),
    ],
)
def test_every_layer_has_its_own_activation(
    tmp_path: Path, radius: str, top: str, slope: Any, quadratic: Any, multiplier: str, reason: str | None
) -> None:
    verdict = check(*write(tmp_path, MIXED, mixed(radius, top, slope, quadratic, multiplier)))
    assert verdict.accepted is (reason is None), verdict.reason
    assert reason is None or reason in verdict.reason


CHAIN = pm.PolynomialNetwork([[[1.0]], [[10.0]], [[1.0]], ([[1.0], [0.0]], [5.0, 0.0])], degree=1)
"""z¹ = x, z² = z³ = 10 x and B = 5 + 10 x: the margin is ½."""


@pytest.mark.parametrize(
    ("radius", "second", "third", "reason"),
    [
        (0.25, 2.5, 2.5, None),
        (0.25, 2.4, 2.5, "layer 2, neuron 0: interval arithmetic does not prove the lower end"),
        (0.25, 2.5, 2.4, "layer 3, neuron 0: interval arithmetic does not prove the lower end"),
        (1.0, 10.0, 1.0, "layer 3, neuron 0: interval arithmetic does not prove the lower end"),
        (1.0, 10.0, 10.0, "layer 3, neuron 0: the line"),
    ],
)
def test_ranges_come_from_the_layer_just_below(
    tmp_path: Path, radius: float, second: float, third: float, reason: str | None
) -> None:
    """A constant −2.5 lies below z³ where that is in [−2.5, 2.5] only."""
    ranges = [[[(-end - 1e-9).hex(), (end + 1e-9).hex(), None, None]] for end in (second, third)]
    slopes = [[["0x0p0", (-2.51).hex()]], [["0x0p0", "0x0p0"]]]
    bound = {"slopes": slopes, "quadratics": [["0x0p0"] * 3], "multiplier": "0x1p0"}
    proof = {"kind": "exclusion", "radius": radius.hex(), "tree": {"ranges": ranges, "bound": bound}}
    rivals = [{"rival": 1, "lower": radius.hex(), "proof": proof}]
    document = certificate(CHAIN, [0.0], 0, {"kind": "robust", "radius": radius.hex()}, rivals, None)
    verdict = check(*write(tmp_path, CHAIN, document))
    assert verdict.accepted is (reason is None), verdict.reason
    assert reason is None or reason in verdict.reason


@pytest.mark.parametrize(
    ("first", "radius", "multiplier"),
    [
        ([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]], 50.0, 1e-4),  # more rows than columns, one of them zero
        ([[1.0, 1.0, 1.0], [0.0, 0.0, 1.0]], 1.5, 0.4),  # fewer rows than columns, one of them with zeros
        ([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.0, 0.0, 1.0]], 1.5, 0.4),
        ([[0.0, 1.0]], 1.5, 0.4),
        ([[0.0] * 300 + [1.0]], 1.5, 0.4),  # too many inputs for a second try
    ],
)
def test_every_neuron_counts_in_the_smaller_space(
    tmp_path: Path, first: list[list[float]], radius: float, multiplier: float
) -> None:
    """B = 1 − y² for the last neuron y, which has norm 1: the margin is 1, whatever the other neurons are."""
    size = len(first)
    last = [[0.0] * (size - 1) + [-1.0], [0.0] * size]
    net = pm.PolynomialNetwork([first, (last, [1.0, 0.0])], degree=2)
    for r, mu, accepted in (
        (radius, multiplier, False),
        (1.001, 1.0001, False),
        (1.001, 0.5, False),
        (0.99, 1.01, True),
    ):
        quadratics = [["0x0p0"] * 3] * (size - 1) + [["-0x1p0", "0x0p0", "0x0p0"]]
        bound = {"slopes": [], "quadratics": quadratics, "multiplier": mu.hex()}
        proof = {"kind": "exclusion", "radius": r.hex(), "tree": {"ranges": [], "bound": bound}}
        rivals = [{"rival": 1, "lower": r.hex(), "proof": proof}]
        document = certificate(net, [0.0] * len(first[0]), 0, {"kind": "robust", "radius": r.hex()}, rivals, None)
        verdict = check(*write(tmp_path, net, document))
        assert verdict.accepted is accepted, verdict.reason
        assert accepted or "positive definite" in verdict.reason
