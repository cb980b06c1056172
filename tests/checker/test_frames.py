"""Ellipsoids and subspaces: what a frame has to prove, and what no change of one can be made to say."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checker.stage_files import as_read
from flint import fmpq
from problems import random_network

import polymargin as pm
from polymargin_checker.arithmetic import judging
from polymargin_checker.checker import check
from polymargin_checker.conditions import conditions, distance
from polymargin_checker.frame import FEW, StatedFrame, check_frame, squared_length
from polymargin_checker.neighbourhood import PLAIN, read_neighbourhood
from polymargin_checker.refusal import Refused
from polymargin_checker.relaxation.arithmetic import Arithmetic
from polymargin_checker.relaxation.expansion import Expansion
from polymargin_checker.relaxation.region import region_of
from polymargin_checker.work import FLAT, SHORTEST, limited_work, spend

UNIT = SHORTEST * SHORTEST.bit_length() ** 2

U = [0.1, -0.2, 0.3]
METRIC = [[2.0, 0.5, 0.0], [0.5, 1.0, -0.25], [0.0, -0.25, 0.5]]
COLUMNS = [[1.0, 0.0], [0.5, 1.0], [-1.0, 2.0]]


def rational(value: float) -> fmpq:
    return fmpq(*float(value).as_integer_ratio())


def rows(matrix: Any) -> tuple[tuple[fmpq, ...], ...]:
    return tuple(tuple(map(rational, row)) for row in np.asarray(matrix, dtype=float).tolist())


def stated(turn: Any, metric: Any = None, columns: Any = ((1.0, 0.0), (0.0, 1.0)), weights: Any = None) -> StatedFrame:
    return StatedFrame(
        None if metric is None else rows(metric),
        None if weights is None else tuple(map(rational, weights)),
        rows(columns),
        rows(turn),
    )


def holds(frame: StatedFrame, exact: bool) -> bool:
    try:
        with judging(exact):
            frame.check(Arithmetic(exact))
    except Refused:
        return False
    return True


FRAMES: list[tuple[StatedFrame, bool]] = [
    (stated(np.eye(2)), False),  # as long, but not longer
    (stated((1 + 2.0**-30) * np.eye(2)), True),
    (stated((1 - 2.0**-30) * np.eye(2)), False),
    (stated(-2 * np.eye(2)), True),
    (stated([[1.25, 0.0], [0.0, 0.75]]), False),
    (stated([[0.0, 1.25], [1.25, 0.0]]), True),
    (stated([[1.25, 1.25], [1.25, 1.25]]), False),  # not regular
    (stated(np.eye(2), weights=[1.25, 2.0]), True),
    (stated(np.eye(2), weights=[1.25, 0.9]), False),
    (stated([[0.9, 0.0], [0.0, 1.1]], weights=[1.25, 1.0]), True),
    (stated(0.51 * np.eye(2), metric=[[4.0, 0.0], [0.0, 4.0]]), True),
    (stated(0.49 * np.eye(2), metric=[[4.0, 0.0], [0.0, 4.0]]), False),
    (stated(np.eye(2), metric=[[2.0, 0.9], [0.9, 2.0]]), True),
    (stated(np.eye(2), metric=[[2.0, 1.1], [1.1, 2.0]]), False),
    (stated(3 * np.eye(2), metric=[[1.0, 2.0], [2.0, 1.0]]), False),  # no norm
    (stated([[1.0]], columns=[[0.75], [0.75]]), True),
    (stated([[1.0]], columns=[[0.7], [0.7]]), False),
    (stated(2 * np.eye(2), columns=[[1.0, 1.0], [1.0, 1.0], [2.0, 2.0]]), False),  # dependent
    (stated([[1.0]], columns=[[0.5], [0.5]], weights=[2.0, 0.5]), True),
    (stated([[1.0]], columns=[[0.5], [0.5]], metric=[[2.0, 0.5], [0.5, 1.5]]), True),
    (stated([[1.0]], columns=[[0.5], [0.5]], metric=[[2.0, -0.5], [-0.5, 1.5]]), False),
    (stated([[1.0, 3.0], [0.0, 1.0]], metric=[[1.5, -4.5], [-4.5, 15.0]]), True),  # T is no symmetric matrix
    (stated([[1.0, 0.0], [3.0, 1.0]], metric=[[1.5, -4.5], [-4.5, 15.0]]), False),
    (stated([[1.0, 3.0], [0.0, 1.0]], metric=[[15.0, -4.5], [-4.5, 1.5]]), False),
]


@pytest.mark.parametrize("number", range(len(FRAMES)))
def test_a_frame_is_at_least_as_long_as_its_coordinates(number: int) -> None:
    frame, good = FRAMES[number]
    turn = np.array([[float(v.p) / float(v.q) for v in row] for row in frame.turn])
    columns = np.array([[float(v.p) / float(v.q) for v in row] for row in frame.columns])
    metric = np.eye(len(columns))
    if frame.weights is not None:
        metric = np.diag([(float(v.p) / float(v.q)) ** 2 for v in frame.weights])
    if frame.metric is not None:
        metric = np.array([[float(v.p) / float(v.q) for v in row] for row in frame.metric])
    least = np.linalg.eigvalsh(turn.T @ columns.T @ metric @ columns @ turn - np.eye(len(turn)))[0]
    assert bool(least > 1e-12) is good, "the table itself"
    assert holds(frame, exact=True) is good
    assert holds(frame, exact=False) is good


def test_lengths_and_places_are_exact() -> None:
    assert squared_length(rows(METRIC), [fmpq(1), fmpq(-2), fmpq(3)]) == rational(
        np.array([1.0, -2.0, 3.0]) @ np.array(METRIC) @ np.array([1.0, -2.0, 3.0])
    )
    frame = stated(np.eye(2), columns=COLUMNS)
    assert frame.size == 2
    assert frame.moved([fmpq(1, 3), fmpq(0), fmpq(1)], [fmpq(2), fmpq(1, 7)]) == [
        fmpq(7, 3),
        fmpq(8, 7),
        fmpq(-5, 7),
    ]


def entry(**changes: Any) -> dict[str, Any]:
    plain = {"norm": "l2", "weights": None, "low": None, "high": None, "movable": None, "rivals": None}
    return {**plain, "abstain": "0x0p+0", **changes}


def hexadecimal(matrix: Any) -> list[list[str]]:
    return [[float(value).hex() for value in row] for row in np.asarray(matrix).tolist()]


def test_what_a_frame_is_made_of() -> None:
    point = [rational(v) for v in U]
    metric, subspace = hexadecimal(METRIC), hexadecimal(COLUMNS)
    whole = read_neighbourhood(entry(weights=metric, frame=hexadecimal(np.eye(3)), abstain="0x1p-3"), point, 2)
    assert whole.frame == stated(np.eye(3), METRIC, np.eye(3))
    assert (whole.is_weighted, whole.is_ball, whole.is_plain) == (True, False, False)
    diagonal = f"a matrix of weights with a diagonal from {min(np.diag(METRIC))} to {max(np.diag(METRIC))}"
    assert conditions(whole, 3, 0, 2) == (
        f"{diagonal}, no domain, 3 of 3 coordinates movable, 1 of 1 rivals, a lead of at most 0.125 counts as a tie"
    )
    assert (whole.round.abstain, whole.round.frame, whole.round.norm) == (fmpq(1, 8), None, "l2")
    some = read_neighbourhood(entry(weights=metric, movable=[2, 0], frame=hexadecimal(np.eye(2))), point, 2)
    assert some.frame == stated(np.eye(2), METRIC, [[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]])
    assert conditions(some, 3, 0, 2) == f"{diagonal}, no domain, 2 of 3 coordinates movable, 1 of 1 rivals"
    flat = read_neighbourhood(entry(subspace=subspace, frame=hexadecimal(np.eye(2))), point, 2)
    assert flat.frame == stated(np.eye(2), None, COLUMNS)
    assert (flat.is_weighted, flat.is_ball, flat.is_plain) == (False, True, False)
    assert (
        conditions(flat, 3, 0, 2) == "no weights, no domain, a subspace of dimension 2 of 3 coordinates, 1 of 1 rivals"
    )
    assert distance(flat) == "an L2 distance"
    weighted = read_neighbourhood(
        entry(weights=["0x1p+0", "0x1p+1", "0x1p+2"], subspace=subspace, frame=hexadecimal(np.eye(2))), point, 2
    )
    assert weighted.frame == stated(np.eye(2), None, COLUMNS, [1.0, 2.0, 4.0])
    assert (weighted.is_ball, distance(weighted)) == (False, "a weighted L2 distance")
    assert PLAIN.frame is None


def test_lengths_by_a_matrix() -> None:
    near = read_neighbourhood(
        entry(weights=hexadecimal([[2.0, 1.0], [1.0, 3.0]]), frame=hexadecimal(np.eye(2))), [fmpq(0)] * 2, 2
    )
    zero = [fmpq(0), fmpq(0)]
    for x, square in (((1, 1), 7), ((1, -1), 3), ((0, 2), 12)):
        place = [fmpq(v) for v in x]
        assert near.within(zero, place, None)
        above, below = (fmpq(round(1000 * square**0.5) + side, 1000) for side in (1, -1))
        assert near.within(zero, place, above) is True
        assert near.within(zero, place, below) is False
        assert near.within(zero, place, -above) is False
    assert near.within(zero, zero, fmpq(0)) is True
    round_ = read_neighbourhood(
        entry(weights=hexadecimal(4 * np.eye(2)), frame=hexadecimal(np.eye(2))), [fmpq(0)] * 2, 2
    )
    assert round_.within(zero, [fmpq(3), fmpq(-4)], fmpq(10)) is True
    assert round_.within(zero, [fmpq(3), fmpq(-4)], fmpq(9)) is False


def test_columns_are_in_the_order_of_the_coordinates() -> None:
    frame = read_neighbourhood(
        entry(weights=hexadecimal(np.eye(10)), movable=[8, 0], frame=hexadecimal(2 * np.eye(2))), [fmpq(0)] * 10, 2
    ).frame
    assert frame is not None
    assert frame.columns == rows(np.eye(10)[:, [0, 8]])
    one = read_neighbourhood(entry(subspace=[["0x1p+1"]], frame=[["0x1p+0"]]), [fmpq(0)], 2).frame
    assert one == stated([[1.0]], columns=[[2.0]])


class Spy(StatedFrame):
    """Remembers in which arithmetic it was checked."""

    def check(self, arithmetic: Arithmetic) -> None:
        used.append(arithmetic)


used: list[Arithmetic] = []


def test_doubles_are_for_many_coordinates_and_never_where_they_are_not_trusted() -> None:
    cases = ((FEW, False, True), (FEW + 1, False, False), (FEW + 1, True, True), (FEW, True, True))
    for size, exact, in_balls in cases:
        check_frame(Spy(None, None, rows(np.ones((size, 1))), rows([[2.0]])), exact)
        assert used[-1] == Arithmetic(in_balls)


def test_long_numbers_are_refused_before_they_are_multiplied() -> None:
    long, one = [fmpq(1, 1 << 2000)] * 2, [fmpq(1)] * 2
    for metric, steps in (((one, long), one), ((one, one), long)):
        with limited_work():
            spend(FLAT // UNIT - 20, 1, "most of it")
            squared_length((tuple(one), tuple(one)), one)
            with pytest.raises(Refused, match="the length of a counterexample"):
                squared_length(tuple(map(tuple, metric)), steps)
    frame = stated(np.eye(2))
    with limited_work():
        spend(FLAT // UNIT - 5, 1, "most of it")
        frame.moved(one, one)
        with pytest.raises(Refused, match="a counterexample in a subspace"):
            frame.moved(one, long)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"weights": hexadecimal(METRIC)}, "'frame' is missing"),
        ({"subspace": hexadecimal(COLUMNS)}, "'frame' is missing"),
        ({"weights": hexadecimal(METRIC), "frame": hexadecimal(np.eye(2))}, "expected 3 entries"),
        ({"weights": hexadecimal(METRIC), "frame": hexadecimal(np.eye(3)[:, :2])}, "expected 3 entries"),
        ({"weights": hexadecimal(METRIC)[:2], "frame": hexadecimal(np.eye(3))}, "expected 3 entries"),
        ({"weights": [["0x1p+0"]] * 3, "frame": hexadecimal(np.eye(3))}, "expected 3 entries"),
        ({"weights": hexadecimal(np.triu(METRIC)), "frame": hexadecimal(np.eye(3))}, "not symmetric"),
        ({"weights": hexadecimal(METRIC), "frame": hexadecimal(np.eye(3)), "norm": "l1"}, "expected norm l2"),
        (
            {
                "weights": hexadecimal(METRIC),
                "frame": hexadecimal(np.eye(3)),
                "low": ["-0x1p+0"] * 3,
                "high": ["0x1p+0"] * 3,
            },
            "no domain",
        ),
        ({"subspace": hexadecimal(COLUMNS), "frame": hexadecimal(np.eye(2)), "norm": "linf"}, "expected norm l2"),
        ({"subspace": hexadecimal(COLUMNS), "frame": hexadecimal(np.eye(2)), "movable": [0]}, "nothing movable"),
        ({"subspace": hexadecimal(COLUMNS)[:2], "frame": hexadecimal(np.eye(2))}, "expected 3 entries"),
        ({"subspace": hexadecimal(COLUMNS), "frame": hexadecimal(np.eye(3))}, "expected 2 entries"),
        ({"subspace": [[], [], []], "frame": []}, "at least one column"),
        ({"subspace": [["0x1p+0"], ["0x1p+0", "0x1p+0"], ["0x1p+0"]], "frame": [["0x1p+0"]]}, "expected 1 entries"),
        ({"subspace": None, "frame": [["0x1p+0"]]}, "expected a list"),
        ({"frames": []}, "unknown key"),
        ({"weights": ["0x1p+0", ["0x1p+0"], "0x1p+0"], "frame": hexadecimal(np.eye(3))}, "expected a list"),
    ],
)
def test_one_sentence_for_what_is_no_frame(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(Refused, match=words):
        read_neighbourhood(entry(**changes), [rational(v) for v in U], 2)


def networks() -> dict[str, Any]:
    generator = np.random.default_rng(3)
    return {
        "squares": random_network([3, 4, 2], 2, seed=1),
        "deep": random_network([3, 3, 3, 2], 2, seed=2),
        "affine": pm.PolynomialNetwork([(generator.normal(size=(2, 3)), generator.normal(size=2))]),
        "products": pm.pi_net([generator.normal(size=(2, 3)) for _ in range(3)], generator.normal(size=(2, 2))),
    }


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("name", networks())
def test_slopes_along_directions_are_those_of_the_network(name: str, exact: bool) -> None:
    """A lead along E T z, by differences: its slope at zero is that of the rows of a relaxation proof."""
    network, turn = networks()[name], np.array([[1.0, 0.25], [-0.5, 2.0]])
    columns = hexadecimal(COLUMNS)
    point = [rational(v) for v in U]
    near = read_neighbourhood(entry(subspace=columns, frame=hexadecimal(turn)), point, 2)
    with judging(exact):
        region = region_of(near, point, fmpq(1), Arithmetic(exact))
        found = Expansion(as_read(network), region, {}).functional(0, 1)
        slopes = [float(value.mid()) for value in found.slopes.balls()]
        value = float(found.constant.balls()[0].mid())

    def lead(z: Any) -> float:
        logits = network(np.array(U) + np.array(COLUMNS) @ turn @ z)
        return float(logits[0] - logits[1])

    assert value == pytest.approx(lead(np.zeros(2)), rel=1e-12)
    assert slopes == pytest.approx([(lead(step) - lead(-step)) / 2e-5 for step in 1e-5 * np.eye(2)], rel=1e-7)


def made(kind: str, robust: bool) -> tuple[Any, dict[str, Any]]:
    """A certificate just below or above the distance of the nearest counterexample; made once."""
    if (kind, robust) not in _made:
        options: dict[str, Any] = {"within": pm.L2(ellipsoid=METRIC) if kind == "matrix" else pm.L2(subspace=COLUMNS)}
        network = random_network([3, 3, 2], 2, seed=4)
        distance = pm.attack(network, U, **options).distance
        verdict = pm.verify(network, U, (0.98 if robust else 1.02) * distance, **options)
        assert verdict.answer.name == ("ROBUST" if robust else "VULNERABLE")
        _made[kind, robust] = network, verdict.certificate.data
    network, data = _made[kind, robust]
    return network, copy.deepcopy(data)


_made: dict[tuple[str, bool], Any] = {}


def judged(network: Any, data: dict[str, Any], folder: Path) -> tuple[bool, str]:
    network.save(folder / "model.npz")
    (folder / "proof.json").write_text(json.dumps(data))
    found = check(folder / "model.npz", folder / "proof.json")
    assert found.accepted == check(folder / "model.npz", folder / "proof.json", exact=True).accepted
    return found.accepted, found.reason


def scaled(matrix: list[list[str]], factor: float) -> list[list[str]]:
    return [[(factor * float.fromhex(value)).hex() for value in row] for row in matrix]


def scale(data: dict[str, Any], key: str, factor: float) -> None:
    data["neighbourhood"][key] = scaled(data["neighbourhood"][key], factor)


Change = Callable[[dict[str, Any]], Any]

OF_A_PROOF: dict[str, Change] = {
    "a short frame": lambda d: scale(d, "frame", 1 - 1e-6),
    "no frame": lambda d: d["neighbourhood"].pop("frame"),
    "a long frame": lambda d: scale(d, "frame", 1.1),
    "a frame that forgets a direction": lambda d: d["neighbourhood"]["frame"].__setitem__(
        -1, d["neighbourhood"]["frame"][0]
    ),
    "a larger radius": lambda d: d["claim"].update(radius="0x1p+5"),
    "a lead": lambda d: d["neighbourhood"].update(abstain="0x1p+4"),
    "a domain": lambda d: d["neighbourhood"].update(low=["-0x1p+3"] * 3, high=["0x1p+3"] * 3),
}
OF_A_MATRIX: dict[str, Change] = {
    "smaller weights": lambda d: scale(d, "weights", 1 - 1e-6),
    "one smaller weight": lambda d: d["neighbourhood"]["weights"][2].__setitem__(2, "0x1.8p-2"),
    "no weights": lambda d: d["neighbourhood"].update(weights=None),
    "fewer coordinates": lambda d: d["neighbourhood"].update(movable=[0, 1]),
}
OF_A_SUBSPACE: dict[str, Change] = {
    "longer columns": lambda d: scale(d, "subspace", 1.1),
    "shorter columns": lambda d: scale(d, "subspace", 0.9),
    "another column": lambda d: d["neighbourhood"]["subspace"][0].__setitem__(1, "0x1p+2"),
    "smaller weights": lambda d: d["neighbourhood"].update(weights=["0x1p-1"] * 3),
    "no subspace": lambda d: d["neighbourhood"].pop("subspace"),
    "a plain ball": lambda d: [d["neighbourhood"].pop(key) for key in ("frame", "subspace")],
}
OF_A_COUNTEREXAMPLE: dict[str, Change] = {
    "a smaller radius": lambda d: d["claim"].update(radius=(0.95 * float.fromhex(d["claim"]["radius"])).hex()),
    "a point": lambda d: d["upper"].update(point=d["upper"].pop("along")),
    "too few coefficients": lambda d: d["upper"]["along"].pop(),
    "too many coefficients": lambda d: d["upper"]["along"].append("0x0p+0"),
    "no step": lambda d: d["upper"].update(along=["0x0p+0"] * len(d["upper"]["along"])),
    "a far step": lambda d: d["upper"].update(along=[[*terms, *terms] for terms in d["upper"]["along"]]),
    "a step back": lambda d: d["upper"]["along"].reverse(),
    "a short frame": lambda d: scale(d, "frame", 0.9),
}


@pytest.mark.parametrize(
    ("kind", "robust", "name"),
    [
        *(("matrix", True, name) for name in (*OF_A_PROOF, *OF_A_MATRIX)),
        *(("subspace", True, name) for name in (*OF_A_PROOF, *OF_A_SUBSPACE)),
        *((kind, False, name) for kind in ("matrix", "subspace") for name in OF_A_COUNTEREXAMPLE),
    ],
)
def test_no_change_passes(kind: str, robust: bool, name: str, tmp_path: Path) -> None:
    network, data = made(kind, robust)
    assert judged(network, data, tmp_path)[0]
    changes = OF_A_PROOF | (OF_A_MATRIX if kind == "matrix" else OF_A_SUBSPACE) if robust else OF_A_COUNTEREXAMPLE
    changes[name](data)
    accepted, reason = judged(network, data, tmp_path)
    assert not accepted, name
    assert "could not finish" not in reason


def test_an_indefinite_matrix_measures_nothing(tmp_path: Path) -> None:
    network, data = made("matrix", False)
    data["neighbourhood"]["weights"][0][0] = "-0x1p+0"
    accepted, reason = judged(network, data, tmp_path)
    assert not accepted
    assert "at most as long" in reason


def test_each_sentence_names_what_was_measured(tmp_path: Path) -> None:
    assert "at a weighted L2 distance below" in judged(*made("matrix", True), tmp_path)[1]
    sentence = judged(*made("subspace", False), tmp_path)[1]
    assert "at an L2 distance of at most" in sentence
    assert "a subspace of dimension 2 of 3 coordinates" in sentence
