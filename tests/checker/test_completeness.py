"""Completeness proofs: what is accepted, and what every tampering is refused for."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checker.certificate_makers import certificate, completeness, hexes, write
from flint import arb, fmpq
from problems import PROBLEMS, random_network

import polymargin as pm
from polymargin_checker import check
from polymargin_checker.completeness import Completeness, Nature, Solution


class Case:
    """A network, a point, and a margin certificate for it."""

    def __init__(self, folder: Path, net: pm.PolynomialNetwork, u: Any) -> None:
        self.folder, self.net, self.u = folder, net, u
        self.label = int(net.predict(u))
        self.rival = 1 - self.label
        proof, distances = completeness(folder, net, u, self.label, self.rival)
        self.margin = min(distances)
        real = bool(np.isfinite(self.margin))
        lower = (self.margin * (1 - 1e-11)).hex() if real else "inf"
        claim = {"kind": "margin", "lower": lower, "upper": (self.margin * (1 + 1e-11)).hex() if real else "inf"}
        rivals = [{"rival": self.rival, "lower": lower, "proof": proof}]
        upper = {"kind": "critical-point", "rival": self.rival, "index": 0} if real else None
        self.document = certificate(net, u, self.label, claim, rivals, upper)

    def verdict(self, document: Any) -> Any:
        return check(*write(self.folder, self.net, document))


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Case:
    return Case(tmp_path_factory.mktemp("completeness"), random_network([3, 5, 2], 3, 0), np.array([0.3, -0.2, 0.5]))


@pytest.mark.parametrize("problem", [p for p in PROBLEMS if p.critical_points < 100], ids=lambda p: p.name)
def test_margins_of_named_problems_are_proved(tmp_path: Path, problem: Any) -> None:
    item = Case(tmp_path, problem.network(), problem.point())
    verdict = item.verdict(item.document)
    assert verdict.accepted, verdict.reason
    for factor, side in ((1 + 1e-6, "lower"), (1 - 1e-6, "upper")):
        worse = copy.deepcopy(item.document)
        if not np.isfinite(item.margin):
            continue
        worse["claim"][side] = (item.margin * factor).hex()
        if side == "lower":
            worse["claim"]["upper"] = worse["rivals"][0]["lower"] = worse["claim"][side]
        else:
            worse["claim"]["lower"] = "0x0p0"
        refused = item.verdict(worse)
        assert not refused.accepted
        assert "may be real is nearer" in refused.reason or "not shown to be as near" in refused.reason


def test_an_empty_boundary_is_infinitely_far(tmp_path: Path) -> None:
    layers = [(np.eye(2), [0.1, 0.2]), ([[1.0, 2.0], [0.0, 0.0]], [1.0, 0.0])]
    item = Case(tmp_path, pm.PolynomialNetwork(layers, degree=2), np.array([0.3, 0.4]))
    assert item.document["claim"]["lower"] == "inf"
    assert item.verdict(item.document).accepted
    item.document["claim"] = {"kind": "robust", "radius": "inf"}
    assert item.verdict(item.document).accepted


def test_single_doubles_are_enough_for_midpoints(case: Case) -> None:
    document = copy.deepcopy(case.document)
    for solution in document["rivals"][0]["proof"]["solutions"]:
        for pair in [*solution["x"], solution["multiplier"]]:
            pair[:] = [part[0] for part in pair]
        solution["radius"] = (float.fromhex(solution["radius"]) * 1e3).hex()
    document["claim"] = {"kind": "robust", "radius": (case.margin * (1 - 1e-7)).hex()}
    document["rivals"][0]["lower"] = document["claim"]["radius"]
    verdict = case.verdict(document)
    assert verdict.accepted, verdict.reason


def remove(document: Any, proof: Any) -> None:
    del proof["solutions"][3]


def duplicate(document: Any, proof: Any) -> None:
    proof["solutions"].append(copy.deepcopy(proof["solutions"][3]))


def replace_by_duplicate(document: Any, proof: Any) -> None:
    proof["solutions"][4] = copy.deepcopy(proof["solutions"][3])


def replace_by_near_duplicate(document: Any, proof: Any) -> None:
    twin = copy.deepcopy(proof["solutions"][3])
    twin["x"][0][0][1] = (float.fromhex(twin["x"][0][0][1]) + 1e-14).hex()
    proof["solutions"][4] = twin


def remove_the_nearest(document: Any, proof: Any) -> None:
    proof["solutions"][0] = copy.deepcopy(proof["solutions"][1])


def move(document: Any, proof: Any) -> None:
    proof["solutions"][3]["x"][1][0] = (float.fromhex(proof["solutions"][3]["x"][1][0][0]) + 1e-6).hex()


def move_multiplier(document: Any, proof: Any) -> None:
    proof["solutions"][3]["multiplier"][0] = "0x1p+3"


def enlarge(document: Any, proof: Any) -> None:
    proof["solutions"][3]["radius"] = "0x1p+1"


def shrink(document: Any, proof: Any) -> None:
    proof["solutions"][3]["radius"] = "0x0p0"


def negate(document: Any, proof: Any) -> None:
    proof["solutions"][3]["radius"] = "-0x1p-40"


def too_small(document: Any, proof: Any) -> None:
    proof["solutions"][3]["radius"] = "0x1p-300"


def few_bits(document: Any, proof: Any) -> None:
    proof["precision"] = 32


def no_bits(document: Any, proof: Any) -> None:
    proof["precision"] = 0


def all_bits(document: Any, proof: Any) -> None:
    proof["precision"] = 10**9


def short_point(document: Any, proof: Any) -> None:
    del proof["solutions"][3]["x"][0]


def nonreal_upper(document: Any, proof: Any) -> None:
    document["upper"]["index"] = len(proof["solutions"]) - 1


def index_beyond(document: Any, proof: Any) -> None:
    document["upper"]["index"] = len(proof["solutions"])


def index_negative(document: Any, proof: Any) -> None:
    document["upper"]["index"] = -1


def point_moved(document: Any, proof: Any) -> None:
    document["point"][0] = (0.3 + 1e-6).hex()


def lower_enlarged(document: Any, proof: Any) -> None:
    document["rivals"][0]["lower"] = (float.fromhex(document["rivals"][0]["lower"]) + 1e-6).hex()


def lower_infinite(document: Any, proof: Any) -> None:
    document["rivals"][0]["lower"] = "inf"


@pytest.mark.parametrize(
    ("tamper", "reason"),
    [
        (remove, "20 solutions are listed"),
        (duplicate, "22 solutions are listed"),
        (replace_by_duplicate, "boxes of solutions 3 and 4 overlap"),
        (replace_by_near_duplicate, "boxes of solutions 3 and 4 overlap"),
        (remove_the_nearest, "boxes of solutions 0 and 1 overlap"),
        (move, "solution 3: its box does not pass Krawczyk"),
        (move_multiplier, "solution 3: its box does not pass Krawczyk"),
        (enlarge, "solution 3: its box does not pass Krawczyk"),
        (shrink, "solution 3: the radius of its box is not positive"),
        (negate, "solution 3: the radius of its box is not positive"),
        (too_small, "solution 3: its box does not pass Krawczyk"),
        (few_bits, "does not pass Krawczyk"),
        (no_bits, "precision: expected an integer"),
        (all_bits, "precision: expected an integer"),
        (short_point, "solution 3, x: expected 3 entries"),
        (nonreal_upper, "is not certified real"),
        (index_beyond, "upper, index: expected an integer"),
        (index_negative, "upper, index: expected an integer"),
        (point_moved, "does not pass Krawczyk"),
        (lower_enlarged, "may be real is nearer"),
        (lower_infinite, "may be real is nearer"),
    ],
)
def test_tampering_is_refused_with_its_cause(case: Case, tamper: Any, reason: str) -> None:
    document = copy.deepcopy(case.document)
    tamper(document, document["rivals"][0]["proof"])
    verdict = case.verdict(document)
    assert not verdict.accepted
    assert verdict.usable
    assert reason in verdict.reason


def test_a_missing_factor_of_the_degree_is_not_made_up(tmp_path: Path) -> None:
    """Equal last rows in one neuron lower the degree of B, not of the network: the count cannot be reached."""
    layers = [(np.eye(2), np.zeros(2)), ([[1.0, 1.0], [-1.0, 1.0]], [0.5, 0.0])]
    net = pm.PolynomialNetwork(layers, degree=2)
    u = np.array([0.4, 0.1])
    proof = {"kind": "completeness", "precision": 128, "solutions": []}
    rivals = [{"rival": 1, "lower": "inf", "proof": proof}]
    document = certificate(net, u, 0, {"kind": "robust", "radius": "inf"}, rivals, None)
    verdict = check(*write(tmp_path, net, document))
    assert not verdict.accepted
    assert "0 solutions are listed" in verdict.reason


def test_only_surely_nonreal_solutions_are_passed_over() -> None:
    def proof(nature: Nature) -> Completeness:
        return Completeness(64, [Solution(nature, arb(4), arb(5))])

    for nature in (Nature.REAL, Nature.UNDECIDED):
        assert proof(nature).proves_lower(fmpq(2))
        assert not proof(nature).proves_lower(fmpq(2) + fmpq(1, 1 << 40))
        assert not proof(nature).proves_lower(None)
        assert proof(nature).proves_lower(fmpq(-9))
    assert proof(Nature.NONREAL).proves_lower(None)
    assert proof(Nature.REAL).proves_upper(0, fmpq(9, 4))
    assert not proof(Nature.REAL).proves_upper(0, fmpq(2))
    assert not proof(Nature.REAL).proves_upper(0, fmpq(-9))


def test_a_real_box_off_the_axis_is_found_real_by_symmetry(case: Case) -> None:
    """Midpoints with small imaginary parts: the box alone cannot tell, the box with its mirror image can."""
    document = copy.deepcopy(case.document)
    solution = document["rivals"][0]["proof"]["solutions"][0]
    solution["x"] = [[re, [im[0], (1e-9).hex()]] for re, im in solution["x"]]
    solution["radius"] = (1e-8).hex()
    document["claim"] = {"kind": "vulnerable", "radius": (case.margin + 1e-6).hex()}
    document["rivals"][0]["lower"] = "0x0p0"
    verdict = case.verdict(document)
    assert verdict.accepted, verdict.reason


@pytest.mark.parametrize("hidden", [0, 1])
def test_one_solution_is_complete_in_degree_one(tmp_path: Path, hidden: int) -> None:
    layers = [(np.eye(2), np.zeros(2))] * hidden + [([[3.0, 4.0], [0.0, 0.0]], [5.0, 0.0])]
    net = pm.PolynomialNetwork(layers, degree=1)
    solution = {"x": [[(-0.6).hex(), "0x0p0"], [(-0.8).hex(), "0x0p0"]], "multiplier": [(0.2).hex(), "0x0p0"]}
    proof = {"kind": "completeness", "precision": 64, "solutions": [{**solution, "radius": "0x1p-40"}]}
    for lower, expected in ((1 - 1e-15, True), (1 + 1e-15, False)):
        rivals = [{"rival": 1, "lower": lower.hex(), "proof": proof}]
        document = certificate(net, [0.0, 0.0], 0, {"kind": "robust", "radius": lower.hex()}, rivals, None)
        verdict = check(*write(tmp_path, net, document))
        assert verdict.accepted is expected, verdict.reason


@pytest.mark.slow
def test_hundreds_of_solutions(tmp_path: Path) -> None:
    problem = next(p for p in PROBLEMS if p.critical_points == 765)
    item = Case(tmp_path, problem.network(), problem.point())
    verdict = item.verdict(item.document)
    assert verdict.accepted, verdict.reason


def test_hexes_are_what_the_format_wants() -> None:
    assert hexes([0.5]) == ["0x1.0000000000000p-1"]
