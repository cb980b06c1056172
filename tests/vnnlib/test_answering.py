"""Answers to queries: compared with margins, with sampling, with the checker and in exact arithmetic."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from problems import random_network

import polymargin as pm
from polymargin.networks.attention import random_attention
from polymargin.vnnlib import QueryAnswer, Result, answer_query, read_query, write_robustness_query
from polymargin_checker.checker import check

pytest.importorskip("vnnlib._core")

NET = random_network([3, 5, 3], 3, seed=4)
POINT = np.array([0.1, -0.25, 0.3])
MARGIN = pm.margin(NET, POINT, proof=False)


def ask(tmp_path: Path, text: str, net: pm.Network = NET, **options: float) -> QueryAnswer:
    (tmp_path / "q.vnnlib").write_text(text)
    return answer_query(read_query(tmp_path / "q.vnnlib"), net, **options)


def holds(answer: QueryAnswer, path: Path, net: pm.Network) -> bool:
    """Whether the witness satisfies one of the query's cases, with rationals from end to end."""
    assert answer.witness is not None
    inputs, outputs = [Fraction(v) for v in answer.witness.tolist()], net.exact_logits(answer.witness)
    return any(all(comparison.holds(inputs, outputs) for comparison in case) for case in read_query(path).cases)


@pytest.mark.parametrize(
    ("share", "expected"),
    [(0.5, "unsat"), (0.99, "unsat"), (1 - 1e-9, "unsat"), (1 + 1e-9, "sat"), (1.01, "sat"), (2.0, "sat")],
)
def test_balls_are_decided_on_both_sides_of_the_margin(tmp_path: Path, share: float, expected: str) -> None:
    file = write_robustness_query(tmp_path / "q.vnnlib", POINT, share * MARGIN.radius, label=MARGIN.label, classes=3)
    answer = answer_query(read_query(file), NET)
    assert answer.result.value == expected
    assert answer.standing.name == "CERTIFIED"
    if expected == "sat":
        assert holds(answer, file, NET)
    else:
        (certificate,), (network,) = answer.certificates, answer.networks
        network.save(tmp_path / "model.npz")
        certificate.save(tmp_path / "proof.json")
        assert check(tmp_path / "model.npz", tmp_path / "proof.json").accepted


def test_decimals_that_are_no_floats_are_answered_soundly(tmp_path: Path) -> None:
    """Center and radius with thirty digits, at one part in 10^12 around the margin of the exact point."""
    digits = [Decimal("0.1"), Decimal("-0.25000000000000000001"), Decimal("0.333333333333333333333333333333")]
    exact = pm.margin(NET, [float(d) for d in digits], proof=False)
    squares = " ".join(f"(* (- X[0,{i}] {d}) (- X[0,{i}] {d}))" for i, d in enumerate(digits))
    rivals = " ".join(f"(>= Y[0,{r}] Y[0,{exact.label}])" for r in range(3) if r != exact.label)
    head = "(vnnlib-version <2.0>)(declare-network f (declare-input X real [1,3]) (declare-output Y real [1,3]))"
    results = []
    for share in (Decimal("0.999999999999"), Decimal("1.000000000001")):
        square = (Decimal(exact.radius) * share) ** 2
        answer = ask(tmp_path, f"{head}(assert (<= (+ {squares}) {square:.40f}))(assert (or {rivals}))")
        results.append(answer.result.value)
        if answer.witness is not None:
            assert holds(answer, tmp_path / "q.vnnlib", NET)
    assert results == ["unsat", "sat"]


def test_strict_conditions_and_open_balls(tmp_path: Path) -> None:
    file = write_robustness_query(tmp_path / "q.vnnlib", POINT, 1.1 * MARGIN.radius, label=MARGIN.label, classes=3)
    strict = file.read_text().replace(">=", ">").replace("<=", "<")
    answer = ask(tmp_path, strict)
    assert answer.result is Result.SAT
    assert holds(answer, tmp_path / "q.vnnlib", NET)


def test_one_rival_only(tmp_path: Path) -> None:
    """Against a rival that is farther away the ball may be larger."""
    radii = {pair.rival: pair.radius for pair in MARGIN.pairs}
    far = max(radii, key=lambda rival: radii[rival])
    between = (MARGIN.radius + min(radii[far], 3 * MARGIN.radius)) / 2
    text = write_robustness_query(tmp_path / "q.vnnlib", POINT, between, label=MARGIN.label, classes=3).read_text()
    kept = text[: text.index("(assert (or")] + f"(assert (>= Y[0,{far}] Y[0,{MARGIN.label}]))"
    assert ask(tmp_path, text).result is Result.SAT
    assert ask(tmp_path, kept).result is Result.UNSAT


def test_a_wrong_label_is_its_own_witness(tmp_path: Path) -> None:
    wrong = (MARGIN.label + 1) % 3
    file = write_robustness_query(tmp_path / "q.vnnlib", POINT, 1e-3, label=wrong, classes=3)
    answer = answer_query(read_query(file), NET)
    assert answer.result is Result.SAT
    assert answer.witness is not None
    assert np.linalg.norm(answer.witness - POINT) <= 1e-3


OLD_HEAD = "".join(f"(declare-const X_{i} Real)(declare-const Y_{i} Real)" for i in range(3))


def box(half: float, condition: str) -> str:
    bounds = "".join(
        f"(assert (>= X_{i} {v - half}))(assert (<= X_{i} {v + half}))" for i, v in enumerate(POINT.tolist())
    )
    return f"{OLD_HEAD}{bounds}(assert {condition})"


def any_rival() -> str:
    return "(or " + " ".join(f"(and (>= Y_{r} Y_{MARGIN.label}))" for r in range(3) if r != MARGIN.label) + ")"


@pytest.mark.parametrize("share", [0.5, 0.999, 1.001, 1.3])
def test_boxes_are_decided_on_both_sides_of_the_margin(tmp_path: Path, share: float) -> None:
    """The exact L∞ margin says what is true; balls alone would not know from 1/√3 of the L2 margin on."""
    exact = pm.margin(NET, POINT, proof=False, within=pm.Linf())
    assert exact.radius > MARGIN.radius / np.sqrt(3) * 1.01
    half = float(share * exact.radius)
    answer = ask(tmp_path, box(half, any_rival()))
    assert answer.result is (Result.UNSAT if share < 1 else Result.SAT)
    assert answer.standing.name == "CERTIFIED"
    if answer.result is Result.SAT:
        assert holds(answer, tmp_path / "q.vnnlib", NET)
        return
    for network, certificate in zip(answer.networks, answer.certificates, strict=True):
        network.save(tmp_path / "model.npz")
        certificate.save(tmp_path / "proof.json")
        assert check(tmp_path / "model.npz", tmp_path / "proof.json").accepted
    samples = POINT + np.random.default_rng(0).uniform(-half, half, size=(20_000, 3))
    assert (NET.predict(samples) == MARGIN.label).all()


@pytest.mark.parametrize("share", [0.999, 1.001])
def test_a_ball_within_bounds_of_some_inputs(tmp_path: Path, share: float) -> None:
    """The nearest tie is cut off; the exact margin within the domain decides."""
    tie = pm.margin(NET, POINT, proof=False).point
    axis = int(np.abs(tie - POINT).argmax())
    end = float((POINT[axis] + tie[axis]) / 2)
    sign = ">=" if tie[axis] < POINT[axis] else "<="
    low, high = np.full(3, -np.inf), np.full(3, np.inf)
    (low if sign == ">=" else high)[axis] = end
    exact = pm.margin(NET, POINT, proof=False, within=pm.L2(domain=(low, high)))
    assert exact.radius > 1.01 * MARGIN.radius
    squares = " ".join(f"(* (- X_{i} {v!r}) (- X_{i} {v!r}))" for i, v in enumerate(POINT.tolist()))
    ball = f"(assert (<= (+ {squares}) {(share * exact.radius) ** 2:.17f}))(assert ({sign} X_{axis} {end!r}))"
    answer = ask(tmp_path, f"{OLD_HEAD}{ball}(assert {any_rival()})")
    assert answer.result is (Result.UNSAT if share < 1 else Result.SAT), answer
    assert answer.result is Result.UNSAT or holds(answer, tmp_path / "q.vnnlib", NET)


@pytest.mark.parametrize(
    "template",
    [
        "(<= Y_0 {low})",
        "(>= Y_1 {high})",
        "(>= (- Y_1 Y_0) {difference})",
        "(and (>= Y_0 {high}) (>= Y_1 Y_0))",
        "(>= (+ Y_0 (* 0.1 Y_1) (* -0.25 Y_2)) {sum})",
        "(or (<= Y_0 {low}) (>= Y_2 {high}))",
    ],
)
def test_linear_conditions_against_sampling(tmp_path: Path, template: str) -> None:
    """Thresholds just outside and well inside of what sampling reaches in a small box."""
    half = 0.05
    samples = NET(POINT + np.random.default_rng(1).uniform(-half, half, size=(50_000, 3)))
    sums = samples @ [1.0, 0.1, -0.25]
    spread = float(np.ptp(samples, axis=0).max())
    outside = {
        "low": samples[:, 0].min() - spread, "high": samples.max() + spread,
        "difference": (samples[:, 1] - samples[:, 0]).max() + spread, "sum": sums.max() + spread,
    }  # fmt: skip
    inside = {
        "low": np.median(samples[:, 0]),
        "high": np.median(samples[:, 1:]),
        "difference": -1e3,
        "sum": np.median(sums),
    }
    away = ask(tmp_path, box(half, template.format(**{k: f"{v:.12f}" for k, v in outside.items()})))
    assert away.result is Result.UNSAT
    if "and" not in template and "Y_1 {high}" not in template:
        near = ask(tmp_path, box(half, template.format(**{k: f"{v:.12f}" for k, v in inside.items()})))
        assert near.result is Result.SAT
        assert holds(near, tmp_path / "q.vnnlib", NET)


def test_other_conditions_are_answered_where_possible(tmp_path: Path) -> None:
    far = ask(tmp_path, box(0.01, "(>= (* Y_0 Y_1) 1000.0)"))
    assert (far.result, far.reason) == (Result.UNKNOWN, "no condition of a case is linear in the outputs")
    unbounded = ask(tmp_path, f"{OLD_HEAD}(assert (<= X_0 1))(assert (>= Y_0 1000000.0))")
    assert "enclosed by no ball" in unbounded.reason
    empty = ask(tmp_path, box(0.01, "(and (<= X_0 -9) (>= Y_0 Y_1))"))
    assert empty.result is Result.UNSAT
    both = ask(tmp_path, box(0.01, f"(and (>= Y_{MARGIN.label} Y_0) (<= (+ X_0 X_1) 100.0))"))
    assert both.result is Result.SAT


def test_cases_with_regions_of_their_own(tmp_path: Path) -> None:
    """Two boxes, one of which holds a point of another class."""
    beyond = np.asarray(MARGIN.point) + 0.2 * (np.asarray(MARGIN.point) - POINT)
    parts = []
    for centre in (POINT, beyond):
        bounds = " ".join(f"(>= X_{i} {v - 1e-3:.9f}) (<= X_{i} {v + 1e-3:.9f})" for i, v in enumerate(centre.tolist()))
        parts.append(f"(and {bounds} (>= Y_{MARGIN.rival} Y_{MARGIN.label}))")
    one = ask(tmp_path, f"{OLD_HEAD}(assert {parts[0]})")
    assert (one.result, one.reason) == (Result.UNSAT, "every case is impossible (1 proof)")
    answer = ask(tmp_path, f"{OLD_HEAD}(assert (or {' '.join(parts)}))")
    assert answer.result is Result.SAT
    assert answer.witness is not None
    assert np.abs(answer.witness - beyond).max() <= 1.1e-3


def test_affine_networks_deep_networks_and_attention(tmp_path: Path) -> None:
    attention = random_attention(2, 2, 1, 1, classes=3, seed=1)
    for net in (
        pm.PolynomialNetwork([([[1.0, 2.0], [0.5, -1.0]], [0.0, 0.3])]),
        random_network([3, 4, 3, 2], 2, seed=3),
        attention,
    ):
        point = np.random.default_rng(3).normal(size=net.dimension)
        margin = pm.margin(net, point, proof=False)
        results = []
        for share in (0.9, 1.1):
            file = write_robustness_query(
                tmp_path / "q.vnnlib", point, share * margin.radius, label=margin.label, classes=net.class_count
            )
            results.append(answer_query(read_query(file), net).result.value)
        assert results == ["unsat", "sat"]


def test_time_and_sizes(tmp_path: Path) -> None:
    deep = random_network([6, 8, 8, 2], 3, seed=0)
    point = np.zeros(6)
    radius = float(pm.attack(deep, point).distance) * 0.999  # too close for a quick proof
    file = write_robustness_query(tmp_path / "q.vnnlib", point, radius, label=int(deep.predict(point)), classes=2)
    answer = answer_query(read_query(file), deep, timeout=1e-9)
    assert answer.result is Result.TIMED_OUT
    with pytest.raises(pm.InputError, match="6 inputs and 2 outputs, the network has 3 and 3"):
        answer_query(read_query(file), NET)
