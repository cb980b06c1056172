"""Combinations of the last layer's rests: what the form says, which ranges are proved, and what files may say of them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checker.certificate_makers import Json, certificate, hexes, write
from checker.lifted_proofs import Around, deep_squares, lifted_proof
from checker.test_lifted_form import expansion, matrix_of, rationals, values_of
from checker.test_lifted_spectra import T, levels, stated
from flint import fmpq

import polymargin as pm
from polymargin_checker import arithmetic as arithmetics
from polymargin_checker import check, lifted
from polymargin_checker.arithmetic import working_precision
from polymargin_checker.enclosures import Balls
from polymargin_checker.floats import Floats
from polymargin_checker.lifted_combinations import read_combinations
from polymargin_checker.lifted_curvatures import ERROR, LOWER, UPPER
from polymargin_checker.lifted_form import ExactMultipliers, form
from polymargin_checker.lifted_leaf import _top
from polymargin_checker.lifted_ranges import root_ranges
from polymargin_checker.lifted_spectra import Known
from polymargin_checker.refusal import Refused

R = 0.5
DEPTHS = [(3, 4, 3, 2), (5, 3, 4, 3), (4, 3, 5, 3, 2), (4, 3, 5, 3, 2, 2)]
"""Two hidden layers, the second time with fewer neurons than inputs, then three and four."""
ARITHMETICS = [Balls, Floats]


@pytest.fixture(autouse=True)
def precision() -> Any:
    with working_precision(128):
        yield


class Chosen:
    """Some C and D for a network around a point, and the levels that the ranges of s have to exceed."""

    def __init__(self, around: Around, many: int = 2, seed: int = 0) -> None:
        generator, width = np.random.default_rng(seed), len(around.p[-1])
        self.C, self.D = generator.normal(size=(2, many, width))
        self.neurons = self.C @ around.weights[-1]
        self.plain, self.around = around, copy.copy(around)
        self.around.weights = [*around.weights[:-1], self.neurons]

    def levels(self, r: float = R) -> tuple[np.ndarray, dict[str, Any] | None, list[np.ndarray]]:
        """What −lo/r² and hi/r² have to exceed; the spectra and all other ranges that it is proved with."""
        around, depth = self.around, len(self.around.p)
        ranges, errors = [self.plain.root_ranges(r)[0]], []
        if depth == 2:
            ends = np.array([np.linalg.eigvalsh(around.curvature(k))[[0, -1]] for k in range(len(self.C))])
            return ends * [-1, 1], None, ranges
        below = None
        for layer in range(3, depth):
            found = levels(around, layer, T, below)
            ranges.append(r * r * 1.001 * np.stack([-found[LOWER], found[UPPER]], axis=1))
            errors.append(1.001 * found[ERROR])
            below = np.abs(ranges[-1]).max(axis=1) / r**2, errors[-1]
        found = levels(around, depth, T, below)
        return np.stack([found[LOWER], found[UPPER]], axis=1), stated(errors), ranges

    def written(self, ends: np.ndarray) -> Json:
        return {
            "weights": [hexes(row) for row in self.C],
            "directions": [hexes(row) for row in self.D],
            "ranges": [hexes(row) for row in ends],
            "balances": None,
        }


@pytest.mark.parametrize("arithmetic", ARITHMETICS)
@pytest.mark.parametrize("widths", DEPTHS)
def test_the_form_with_combinations(widths: Any, arithmetic: Any, tmp_path: Path) -> None:
    """Against its formula, where w and s are any numbers; and it is B wherever s = C w and no constraint counts."""
    network, u, _ = deep_squares(widths)
    around = Around(network, u)
    chosen, generator = Chosen(around), np.random.default_rng(3)
    C, D, many = chosen.C, chosen.D, len(chosen.C)
    sizes = [*(len(p) for p in around.p[1:]), many]
    mu, theta, e = generator.uniform(1, 2), generator.uniform(1, 2, sizes[0]), generator.normal(size=many)
    nu, kappa = [generator.normal(size=s) for s in sizes], [generator.uniform(60, 80, s) for s in sizes]
    ranges = [np.sort(generator.normal(size=(s, 2)), axis=1) for s in sizes]
    square = around.v * around.c[-1]
    v = e[:, None] * (D @ around.a[-1])

    def value(delta: Any, w: list[Any], counted: float = 1.0) -> float:
        *lower, s = w
        rests = [np.zeros(len(around.p[0])), *lower]
        t = [a @ delta + rest for a, rest in zip(around.a, rests, strict=True)]
        total = around.centre + around.v @ (around.d[-1] * t[-1])
        total += square @ ((around.a[-1] @ delta) ** 2 + rests[-1] ** 2)
        total += 2 * ((square[:, None] * around.a[-1] - C.T @ v) @ delta) @ rests[-1] + 2 * (v @ delta) @ s
        if not counted:
            return float(total)
        total -= mu * (R * R - delta @ delta)
        matrices = [*around.weights[1:], chosen.neurons]
        for k, (rest, matrix) in enumerate(zip(w, matrices, strict=True)):
            under = min(k, len(around.p) - 2)
            below = around.d[under] * rests[under] + around.c[under] * t[under] ** 2
            total += nu[k] @ (rest - matrix @ below)
            low, high = ranges[k].T
            total -= kappa[k] @ ((rest - low) * (high - rest))
        for i in range(sizes[0]):
            total -= theta[i] * (R * R * np.sum((around.curvature(i) @ delta) ** 2) - rests[1][i] ** 2)
        return float(total)

    for _ in range(5):  # the identity itself
        delta = generator.normal(size=len(u)) / 4
        rests = around.rests(delta)[1:]
        logits = network(u + delta)
        found = value(delta, [*rests, C @ rests[-1]], 0.0)
        assert found == pytest.approx(float(logits[0] - logits[1]), rel=1e-9, abs=1e-9)

    point = expansion(tmp_path, network, u, 1, R, arithmetic)
    given = ExactMultipliers(
        *rationals([mu]),
        [*(rationals(values) for values in nu[:-2]), rationals(np.concatenate(nu[-2:]))],
        [*(rationals(values) for values in kappa[:-2]), rationals(np.concatenate(kappa[-2:]))],
        rationals(theta),
        [],
        rationals(e),
    )
    combined = read_combinations(point, chosen.written(ranges[-1]))
    pairs = [[tuple(rationals(row)) for row in table] for table in ranges]
    together = (*pairs[:-2], [*pairs[-2], *combined.ranges])
    frames = list(point.around.frames)
    matrices = [
        matrix_of(form(point, frame, _top(point, None, "leaf", []), given, together, {}, combined)) for frame in frames
    ]

    def least(delta: Any) -> float:
        """The least over the rests, which meet each other nowhere: a parabola each."""
        flat, ends = np.zeros(sum(sizes)), np.cumsum(sizes)[:-1]
        base = total = value(delta, np.split(flat, ends))
        for unit in np.eye(len(flat)):
            up, down = (value(delta, np.split(sign * unit, ends)) for sign in (1.0, -1.0))
            total -= ((up - down) / 2) ** 2 / (4 * ((up + down) / 2 - base))
        return float(total)

    for frame, matrix in zip(frames, matrices, strict=True):
        for _ in range(5):
            place = generator.normal(size=len(matrix) - 1)
            delta = place if frame.metric is None else around.weights[0].T @ place
            x = np.concatenate([[1.0], place])
            assert x @ matrix @ x == pytest.approx(least(delta), rel=1e-9, abs=1e-7)


def test_a_combination_without_a_range_multiplier_proves_nothing(tmp_path: Path) -> None:
    network, u, _ = deep_squares()
    point, chosen = expansion(tmp_path, network, u, 1, R, Balls), Chosen(Around(network, u), 1)
    combined = read_combinations(point, chosen.written(np.array([[-1.0, 1.0]])))
    top, one = _top(point, None, "leaf", []), fmpq(1)
    for own, possible in ((fmpq(0), False), (fmpq(1, 1 << 40), True)):
        given = ExactMultipliers(one, [[one] * 4], [[*[fmpq(9)] * 3, own]], [fmpq(0)] * 3, [], [one])
        made = form(point, point.around.full, top, given, ([(-one, one)] * 4,), {}, combined)
        assert (made is not None) == possible


@pytest.mark.parametrize("arithmetic", ARITHMETICS)
@pytest.mark.parametrize("widths", DEPTHS)
def test_ranges_are_proved_up_to_what_the_curvatures_give(widths: Any, arithmetic: Any, tmp_path: Path) -> None:
    network, u, _ = deep_squares(widths)
    around, point = Around(network, u), expansion(tmp_path, network, u, 1, R, arithmetic)
    chosen = Chosen(around, 3)
    limits, spectra, ranges = chosen.levels()
    written = [[hexes(row) for row in table] for table in [*ranges, *around.root_ranges(R)[len(ranges) :]]]

    def proved(table: np.ndarray) -> None:
        known = Known()
        root_ranges(point, written, spectra, known, read_combinations(point, chosen.written(table)))
        neurons = [neuron for layer, neuron, _ in known.spectra if layer == len(around.p)]
        assert len(known.curvatures) == 2 * len(around.p[1])
        assert max(neurons, default=0) < len(around.p[-1])

    levels_above = np.maximum(limits, 1e-3) * [-1, 1] * R**2
    proved(levels_above * (1 + 1e-8))
    tried = 0
    for place in np.ndindex(limits.shape):
        if limits[place] > 1e-3:
            changed = levels_above * (1 + 1e-8)
            changed[place] *= 1 - 1e-7
            with pytest.raises(Refused, match=f"ranges, entry {place[0]}: the {(LOWER, UPPER)[place[1]]} end is"):
                proved(changed)
            tried += 1
        for wrong in (0.0, -1e-9):  # s = 0 at the point itself
            changed = levels_above * 2
            changed[place] *= wrong
            with pytest.raises(Refused, match=f"ranges, entry {place[0]}: the {(LOWER, UPPER)[place[1]]} end is"):
                proved(changed)
    assert tried >= 3
    generator = np.random.default_rng(1)
    for _ in range(300):
        delta = generator.normal(size=len(u))
        delta *= R * generator.uniform() ** 0.25 / np.linalg.norm(delta)
        s = chosen.C @ around.rests(delta)[-1]
        assert (levels_above[:, 0] <= s).all()
        assert (s <= levels_above[:, 1]).all()


def test_an_end_that_holds_nowhere_but_is_dominated_is_refused(tmp_path: Path) -> None:
    """Q is positive: Q − lo/r² is positive definite for a small lo > 0, and yet s = 0 at δ = 0."""
    network, u, _ = deep_squares((3, 4, 3, 2), change=lambda layers: np.abs(layers[1][0], out=layers[1][0]))
    around, point = Around(network, u), expansion(tmp_path, network, u, 1, R, Balls)
    chosen = Chosen(around, 1)
    chosen.C = np.abs(chosen.C)
    ranges = [[hexes(row) for row in around.root_ranges(R)[0]]]
    for low in (2.0**-40, 0.0):
        with pytest.raises(Refused, match="entry 0: the lower end is not proved"):
            root_ranges(point, ranges, None, Known(), read_combinations(point, chosen.written(np.array([[low, 1e3]]))))
    root_ranges(point, ranges, None, Known(), read_combinations(point, chosen.written(np.array([[-(2.0**-40), 1e3]]))))


def test_the_larger_space_is_tried_where_the_smaller_one_is_singular(tmp_path: Path) -> None:
    network, u, _ = deep_squares((5, 3, 4, 2), change=lambda layers: np.copyto(layers[0][0][1], layers[0][0][0]))
    around, point = Around(network, u), expansion(tmp_path, network, u, 1, R, Balls)
    assert len(list(point.around.frames)) == 2
    combined = read_combinations(point, Chosen(around).written(np.array([[-1e3, 1e3]] * 2)))
    root_ranges(point, [[hexes(row) for row in around.root_ranges(R)[0]]], None, Known(), combined)


def test_beyond_two_layers_spectra_are_needed(tmp_path: Path) -> None:
    network, u, _ = deep_squares(DEPTHS[2])
    around, point = Around(network, u), expansion(tmp_path, network, u, 1, R, Balls)
    written = [[hexes(row) for row in table] for table in around.root_ranges(R)]
    combined = read_combinations(point, Chosen(around).written(np.array([[-1e6, 1e6]] * 2)))
    with pytest.raises(Refused, match="combinations beyond the second layer need spectra"):
        root_ranges(point, written, None, Known(), combined)
    root_ranges(point, written, stated([]), Known(), combined)


def proof_with(around: Around, r: float, many: int = 2, seed: int = 0) -> Json:
    chosen = Chosen(around, many, seed)
    proof, (limits, spectra, ranges) = lifted_proof(around, r), chosen.levels(r)
    if spectra is not None:
        proof["spectra"] = spectra
        proof["ranges"][: len(ranges)] = [[hexes(row) for row in table] for table in ranges]
        full = around.intervals(len(around.p) - 1, r, ranges[-1])
        proof["ranges"][-1] = [hexes(row) for row in 1.001 * np.stack(full, axis=1)]
    proof["combinations"] = chosen.written(1.001 * np.maximum(limits, 1e-3) * [-1, 1] * r * r)
    leaf = proof["tree"]
    leaf["exchanges"] = hexes(np.linspace(-1, 1, many))
    leaf["equalities"][-1] += hexes(np.linspace(-1, 1, many))
    leaf["intervals"][-1] += hexes(np.full(many, 4.0))
    return proof


def certificate_with(widths: Any = (3, 4, 3, 2), proof: Json | None = None) -> tuple[Any, Json]:
    network, u, r = deep_squares(widths)
    rivals = range(1, widths[-1])
    proofs = [{"rival": k, "lower": r.hex(), "proof": proof or proof_with(Around(network, u, k), r)} for k in rivals]
    return network, certificate(network, u, 0, {"kind": "robust", "radius": r.hex()}, proofs, None)


@pytest.mark.parametrize("exact", [0, 1000])
@pytest.mark.parametrize("widths", DEPTHS)
def test_honest_proofs_are_accepted(widths: Any, exact: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arithmetics, "LARGEST_EXACT", exact)
    network, made = certificate_with(widths)
    verdict = check(*write(tmp_path, network, made))
    assert verdict.accepted, verdict.reason


FORGERIES: list[tuple[str, Callable[[Json], object], str]] = [
    ("exchanges forgotten", lambda p: p["tree"].pop("exchanges"), "the key 'exchanges' is missing"),
    ("exchanges of nothing", lambda p: p.pop("combinations"), "unknown key 'exchanges'"),
    ("an exchange too few", lambda p: p["tree"]["exchanges"].pop(), "exchanges: expected 2 entries, got 1"),
    ("an exchange too many", lambda p: p["tree"]["exchanges"].append("0x0p+0"), "expected 2 entries, got 3"),
    ("no number", lambda p: p["tree"]["exchanges"].__setitem__(0, "nan"), "'nan' is not a hexadecimal float"),
    ("a huge exchange", lambda p: p["tree"]["exchanges"].__setitem__(0, "0x1p+20"), "positive definite"),
    ("an equality forgotten", lambda p: p["tree"]["equalities"][-1].pop(), "equalities: expected 5 entries, got 4"),
    ("an interval forgotten", lambda p: p["tree"]["intervals"][-1].pop(), "intervals: expected 5 entries, got 4"),
    ("a negative interval", lambda p: p["tree"]["intervals"][-1].__setitem__(4, "-0x1p+0"), "multiplier is negative"),
    ("a wrong equality", lambda p: p["tree"]["equalities"][-1].__setitem__(4, "0x1p+30"), "positive definite"),
    ("more cuts", lambda p: p["tree"]["cuts"].append("0x0p+0"), "cuts: expected 3 entries, got 4"),
    ("no rows", lambda p: p["combinations"].__setitem__("weights", []), "expected one row at least"),
    ("rows forgotten", lambda p: p["combinations"]["weights"].pop(), "directions: expected 1 entries, got 2"),
    ("directions forgotten", lambda p: p["combinations"]["directions"].pop(), "directions: expected 2 entries, got 1"),
    ("a range forgotten", lambda p: p["combinations"]["ranges"].pop(), "ranges: expected 2 entries, got 1"),
    ("a short row", lambda p: p["combinations"]["weights"][1].pop(), "weights: expected 3 entries, got 2"),
    ("a long direction", lambda p: p["combinations"]["directions"][1].append("0x0p+0"), "expected 3 entries, got 4"),
    ("no weight", lambda p: p["combinations"]["weights"][0].__setitem__(0, "inf"), "not a hexadecimal float"),
    ("no direction", lambda p: p["combinations"]["directions"][0].__setitem__(0, None), "expected a hexadecimal float"),
    ("no end", lambda p: p["combinations"]["ranges"][0].__setitem__(0, "nan"), "not a hexadecimal float"),
    ("half a range", lambda p: p["combinations"]["ranges"][0].pop(), "entry 0: expected 2 entries, got 1"),
    ("an empty range", lambda p: p["combinations"]["ranges"][1].reverse(), "entry 1: the range is empty"),
    ("a point for a range", lambda p: p["combinations"]["ranges"].__setitem__(1, ["0x1p+0"] * 2), "the range is empty"),
    ("a false range", lambda p: p["combinations"]["ranges"][1].__setitem__(1, "0x1p-40"), "entry 1: the upper end is"),
    ("other weights", lambda p: p["combinations"]["weights"][0].__setitem__(0, "0x1p+9"), "entry 0: the lower end is"),
    ("no ranges", lambda p: p["combinations"].pop("ranges"), "the key 'ranges' is missing"),
    ("more keys", lambda p: p["combinations"].__setitem__("more", 1), "unknown key 'more'"),
    ("no object", lambda p: p.__setitem__("combinations", None), "combinations: expected an object"),
]


@pytest.mark.parametrize(("change", "reason"), [(c, r) for _, c, r in FORGERIES], ids=[name for name, *_ in FORGERIES])
def test_forgeries(change: Callable[[Json], object], reason: str, tmp_path: Path) -> None:
    network, made = certificate_with()
    change(made["rivals"][0]["proof"])
    verdict = check(*write(tmp_path, network, made))
    assert not verdict.accepted
    assert reason in verdict.reason


def test_combinations_need_two_hidden_layers_and_a_last_square(tmp_path: Path) -> None:
    network, u, r = deep_squares()
    layers = [(layer.weights, layer.bias) for layer in network.chain.layers]
    cubic = pm.PolynomialNetwork(layers, activations=[network.chain.activations[0], [0.5, 0.5, 0.5, 0.5]])
    shallow = pm.PolynomialNetwork([layers[0], (np.ones((2, 4)), [9.0, 0.0])], degree=2)
    chosen = Chosen(Around(network, u)).written(np.array([[-1.0, 1.0]] * 2))
    for other in (cubic, shallow):
        point = expansion(tmp_path, other, u, 1, r, Balls)
        with pytest.raises(Refused, match="two hidden layers at least"):
            read_combinations(point, chosen)


def test_splits_and_ranges_of_leaves_do_not_name_combinations(tmp_path: Path) -> None:
    network, made = certificate_with()
    proof = made["rivals"][0]["proof"]
    leaf = proof["tree"]
    for neuron, accepted in ((2, True), (3, False)):
        low, high = (float.fromhex(end) for end in proof["ranges"][0][min(neuron, 2)])
        proof["tree"] = {"split": [2, neuron, ((low + high) / 2).hex()], "low": leaf, "high": leaf}
        verdict = check(*write(tmp_path, network, made))
        assert verdict.accepted == accepted, verdict.reason
    assert "split, neuron: expected an integer from 0 to 2" in verdict.reason
    proof["tree"] = leaf | {"ranges": [[*proof["ranges"][0], *proof["combinations"]["ranges"]]]}
    assert "expected 3 entries, got 5" in check(*write(tmp_path, network, made)).reason
    proof["tree"] = leaf | {"ranges": proof["ranges"]}
    assert check(*write(tmp_path, network, made)).accepted


@pytest.mark.parametrize("widths", [(3, 4, 3, 3), (4, 3, 5, 3, 3)])
def test_what_is_proved_for_one_rival_is_not_known_for_another(widths: Any, tmp_path: Path) -> None:
    """The second rival states the ranges of the first one's combinations for other ones."""
    network, made = certificate_with(widths)
    first, second = (entry["proof"]["combinations"] for entry in made["rivals"])
    assert check(*write(tmp_path, network, made)).accepted
    assert first == second
    second["weights"] = [hexes([64 * float.fromhex(entry) for entry in row]) for row in second["weights"]]
    verdict = check(*write(tmp_path, network, made))
    assert not verdict.accepted
    assert "rival 2: combinations, ranges, entry 0" in verdict.reason


def test_combinations_are_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    network, made = certificate_with()
    for largest, accepted in ((9, True), (8, False)):  # 1, three inputs, three rests and two combinations
        monkeypatch.setattr(lifted, "LARGEST_SPACE", largest)
        verdict = check(*write(tmp_path, network, made))
        assert verdict.accepted == accepted, verdict.reason
    assert "more than 8 variables" in verdict.reason


@pytest.mark.parametrize("arithmetic", ARITHMETICS)
def test_the_neurons_of_combinations(arithmetic: Any, tmp_path: Path) -> None:
    network, u, _ = deep_squares()
    around, point = Around(network, u), expansion(tmp_path, network, u, 1, R, arithmetic)
    chosen = Chosen(around)
    found = read_combinations(point, chosen.written(np.array([[-1.0, 1.0]] * 2)))
    expected = chosen.C @ around.weights[1]
    np.testing.assert_allclose(values_of(found.neurons), expected.ravel(), rtol=1e-12)
    stack = np.vstack([around.weights[1], expected])
    np.testing.assert_allclose(values_of(found.last_weights), stack.ravel(), rtol=1e-12)
