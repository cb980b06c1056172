"""Ranges from curvatures beyond the second layer: what is stated has to be true, and is proved up to what the formula gives.

The truth is in plain NumPy: the rests of layer l are second order in δ, so M_i is half the Hessian of zˡ_i at the point, built
forward by the chain rule (the checker goes backward).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checker.certificate_makers import hexes, write
from checker.lifted_proofs import Around, deep_squares, lifted_certificate
from checker.test_lifted_form import expansion, rationals
from flint import fmpq

import polymargin as pm
from polymargin_checker import check
from polymargin_checker.arithmetic import working_precision
from polymargin_checker.enclosures import Balls
from polymargin_checker.float_forms import FloatForm
from polymargin_checker.floats import Floats
from polymargin_checker.lifted_curvatures import ERROR, LOWER, UPPER
from polymargin_checker.lifted_ranges import root_ranges
from polymargin_checker.lifted_spectra import Known, ProvedSpectra
from polymargin_checker.refusal import Refused

R = 0.5
T = 2.5
WIDTHS = (4, 3, 5, 3, 2, 2)
"""Four hidden layers: curvatures for the third and the fourth, errors for the third."""
Levels = dict[str, np.ndarray]


@pytest.fixture(autouse=True)
def precision() -> Any:
    with working_precision(128):
        yield


def halved_hessians(around: Around) -> list[np.ndarray]:
    found = [np.zeros((len(around.p[0]), *[around.a[0].shape[1]] * 2))]
    for k in range(1, len(around.p)):
        squares = around.c[k - 1] * np.einsum("ja,jb->jab", around.a[k - 1], around.a[k - 1])
        inner = around.d[k - 1][:, None, None] * found[-1] + squares
        found.append(np.einsum("ij,jab->iab", around.weights[k], inner))
    return found


def levels(around: Around, layer: int, t: float, below: tuple[np.ndarray, np.ndarray] | None = None) -> Levels:
    """What the ends over r² and the errors of a layer have to exceed; `below` are ρ and η of the layer below."""
    hessians, k = halved_hessians(around), layer - 1
    x, a = around.c[k - 1] * around.weights[k], around.a[k - 1]
    squares = np.einsum("ja,jb->jab", a, a)
    found: Levels = {side: np.empty(len(x)) for side in (LOWER, UPPER, ERROR)}
    for i, row in enumerate(x):
        if below is None:
            grown = np.einsum("j,jab->ab", np.abs(row), np.array([Q @ Q for Q in hessians[1]]))
            more = 0.0
        else:
            grown = np.abs(row) @ below[0] ** 2 * np.eye(a.shape[1])
            more = np.abs(around.weights[k][i] * around.d[k - 1]) @ below[1]
        for side, sign in ((UPPER, 1), (LOWER, -1)):
            y = row * sign
            steep = np.where(y > 0, y / (t - 1), -y / (t + 1))
            form = sign * hessians[k][i] + np.einsum("j,jab->ab", steep, squares) + t * R**2 * grown
            found[side][i] = np.linalg.eigvalsh(form)[-1] + more
        form = np.einsum("j,jab->ab", np.abs(row) / (t - 1), squares) + t * R**2 * grown
        found[ERROR][i] = np.linalg.eigvalsh(form)[-1] + more
    return found


def stated(errors: list[np.ndarray], t: float = T) -> dict[str, Any]:
    return {"stretch": float(t).hex(), "errors": [hexes(layer) for layer in errors]}


def ranges_at(found: Levels) -> np.ndarray:
    return R**2 * np.stack([-found[LOWER], found[UPPER]], axis=1)


def pairs(table: np.ndarray) -> list[Any]:
    return [tuple(rationals(row)) for row in table]


def every_end(count: int) -> list[tuple[int, str]]:
    return [(neuron, side) for neuron in range(count) for side in (LOWER, UPPER)]


class Truth:
    """The third and the fourth layer with what lies a little beyond all that has to be exceeded."""

    def __init__(self, around: Around, t: float = T, room: float = 1e-8) -> None:
        self.second = around.root_ranges(R)[0]
        self.third = levels(around, 3, t)
        self.errors = self.third[ERROR] * (1 + room)
        self.third_ranges = ranges_at(self.third) * (1 + room)
        largest = np.abs(self.third_ranges).max(axis=1) / R**2
        self.fourth = levels(around, 4, t, (largest, self.errors))
        self.fourth_ranges = ranges_at(self.fourth) * (1 + room)


@pytest.fixture(params=[Balls, Floats])
def made(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Around, Any]:
    network, u, _ = deep_squares(WIDTHS)
    return Around(network, u), expansion(tmp_path, network, u, 1, R, request.param)


def prove(
    found: Any, truth: Truth, layer: int, table: np.ndarray, errors: np.ndarray, known: Known | None = None
) -> None:
    spectra = ProvedSpectra(found, stated([errors]), known or Known())
    below = truth.second if layer == 3 else truth.third_ranges
    spectra.prove(layer, pairs(table), pairs(below), every_end(len(table)))


def test_nothing_is_accepted_that_does_not_dominate(made: tuple[Around, Any]) -> None:
    around, found = made
    truth = Truth(around)
    tried = 0
    for layer, table in ((3, truth.third_ranges), (4, truth.fourth_ranges)):
        prove(found, truth, layer, table, truth.errors)
        for neuron, place in np.ndindex(table.shape):
            if (truth.third if layer == 3 else truth.fourth)[(LOWER, UPPER)[place]][neuron] < 1e-3:
                continue  # the curvature has one sign, and any end will do
            changed = table.copy()
            changed[neuron, place] *= 1 - 1e-7
            side = (LOWER, UPPER)[place]
            with pytest.raises(Refused, match=f"layer {layer}, neuron {neuron}: the {side} end is proved neither"):
                prove(found, truth, layer, changed, truth.errors)
            tried += 1
    assert tried >= 8
    for neuron in range(len(truth.errors)):
        changed = truth.errors.copy()
        changed[neuron] *= 1 - 1e-7
        with pytest.raises(Refused, match=f"errors of layer 3, neuron {neuron}: not shown"):
            prove(found, truth, 3, truth.third_ranges, changed)


def test_only_ends_that_are_asked_for_are_proved(made: tuple[Around, Any]) -> None:
    """What intervals have proved may be anything here; but a layer with one above it needs its errors."""
    around, found = made
    truth = Truth(around)
    nothing = np.tile([-1e-9, 1e-9], (len(truth.third_ranges), 1))
    known = Known()
    ProvedSpectra(found, stated([truth.errors]), known).prove(3, pairs(nothing), pairs(truth.second), [])
    assert {side for _, _, side in known.spectra} == {ERROR}
    with pytest.raises(Refused, match="neuron 1: the upper end"):
        ProvedSpectra(found, stated([truth.errors]), known).prove(3, pairs(nothing), pairs(truth.second), [(1, UPPER)])


@pytest.mark.parametrize("arithmetic", [Balls, Floats])
def test_an_end_on_the_wrong_side_of_zero_is_refused_though_the_form_dominates(arithmetic: Any, tmp_path: Path) -> None:
    """One neuron per layer: w³ = −40δ² + …, so −1 dominates its form near the point, and yet w³ = 0 at δ = 0."""
    layers = [([[1.0]], [0.0]), ([[1.0]], [0.0]), ([[-20.0]], [0.0]), ([[1.0], [0.0]], [1.0, 0.0])]
    network = pm.PolynomialNetwork(layers, activations=[[0.0, 1.0, 1.0]] * 3)
    around = Around(network, [0.0])
    assert halved_hessians(around)[2].ravel().tolist() == [-40.0]
    found = expansion(tmp_path, network, [0.0], 1, 2.0**-6, arithmetic)
    second, square = [(fmpq(-1, 1 << 11), fmpq(1, 1 << 11))], fmpq(1, 1 << 12)

    def prove_upper(level: fmpq) -> None:
        ProvedSpectra(found, stated([]), Known()).prove(3, [(fmpq(-1), level * square)], second, [(0, UPPER)])

    prove_upper(fmpq(1, 1 << 30))
    for level in (fmpq(0), fmpq(-1)):
        with pytest.raises(Refused, match="the upper end is proved neither"):
            prove_upper(level)


def test_numbers_of_the_wrong_kind_or_number(made: tuple[Around, Any]) -> None:
    _, found = made
    good = stated([np.ones(3)])
    for t in (1.0, 0.5, -3.0):
        with pytest.raises(Refused, match="stretch: expected a number above 1"):
            ProvedSpectra(found, stated([np.ones(3)], t), Known())
    for errors in ([], [np.ones(3), np.ones(2)], [np.ones(2)], [np.ones(4)]):
        with pytest.raises(Refused, match="entries"):
            ProvedSpectra(found, stated(errors), Known())
    for wrong in (good | {"more": 1}, {"errors": good["errors"]}, {"stretch": good["stretch"]}, []):
        with pytest.raises(Refused, match=r"key|expected an object"):
            ProvedSpectra(found, wrong, Known())


@pytest.mark.parametrize("t", [1.2, 2.5, 7.0])
@pytest.mark.parametrize("seed", [2, 5])
def test_what_is_proved_holds(seed: int, t: float) -> None:
    """Rests of random δ of all lengths within the ball, with a negative bend."""
    network, u, _ = deep_squares(WIDTHS, seed)
    activations = [list(sigma) for sigma in network.chain.activations]
    activations[1][2] *= -1
    layers = [(layer.weights, layer.bias) for layer in network.chain.layers]
    around = Around(pm.PolynomialNetwork(layers, activations=activations), u)
    truth, hessians = Truth(around, t, 0.0), halved_hessians(around)
    generator, closest = np.random.default_rng(1), np.inf
    for _ in range(400):
        delta = generator.normal(size=WIDTHS[0])
        delta *= R * generator.uniform() ** 0.25 / np.linalg.norm(delta)
        square, rests = delta @ delta, around.rests(delta)
        for rest, level in ((rests[2], truth.third), (rests[3], truth.fourth)):
            assert (-level[LOWER] * square <= rest + 1e-12).all()
            assert (rest <= level[UPPER] * square + 1e-12).all()
        error = np.abs(rests[2] - np.einsum("iab,a,b->i", hessians[2], delta, delta))
        assert (error <= truth.errors * square + 1e-12).all()
        closest = min(closest, float((truth.third[UPPER] * square - rests[2]).min() / square))
    assert closest < truth.third[UPPER].max()


def test_ranges_of_the_ball_by_curvatures_alone(tmp_path: Path) -> None:
    """Ends that intervals do not prove are accepted up to the formula, layer after layer, and not a little inside of it."""
    network, u, _ = deep_squares(WIDTHS)
    around, found = Around(network, u), expansion(tmp_path, network, u, 1, R, Balls)
    truth = Truth(around)
    ranges, spectra = [truth.second, truth.third_ranges, truth.fourth_ranges], stated([truth.errors])
    written = [[hexes(row) for row in table] for table in ranges]
    root_ranges(found, written, spectra, Known())
    narrower = 0
    for layer, table in ((1, truth.third_ranges), (2, truth.fourth_ranges)):
        by_intervals = np.stack(around.intervals(layer + 1, R, ranges[layer - 1]), axis=1)
        for place in np.ndindex(table.shape):
            if abs(by_intervals[place]) > abs(table[place]):
                narrower += 1
                tables_of = [other.copy() for other in ranges]
                tables_of[layer][place] *= 1 - 1e-3
                with pytest.raises(Refused, match=f"layer {layer + 2}, neuron {place[0]}.*neither"):
                    root_ranges(found, [[hexes(row) for row in part] for part in tables_of], spectra, Known())
    assert narrower >= 3
    with pytest.raises(Refused, match="interval arithmetic does not prove the"):
        root_ranges(found, written, None, Known())


def test_spectra_are_part_of_a_proof_from_three_hidden_layers_on(tmp_path: Path) -> None:
    network, u, radius = deep_squares((3, 4, 3, 2, 2))
    made = lifted_certificate(network, u, radius)
    proof = made["rivals"][0]["proof"]
    proof["spectra"] = stated([])
    assert check(*write(tmp_path, network, made)).accepted
    proof["spectra"] = stated([], 1.0)
    assert "expected a number above 1" in check(*write(tmp_path, network, made)).reason
    (tmp_path / "model.npz").unlink()
    network, u, radius = deep_squares()
    made = lifted_certificate(network, u, radius)
    made["rivals"][0]["proof"]["spectra"] = stated([])
    assert "spectra only where there are more than two" in check(*write(tmp_path, network, made)).reason


def test_what_is_proved_is_not_proved_again_and_nothing_else_is_taken_for_it(
    made: tuple[Around, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    around, found = made
    truth, known, asked = Truth(around), Known(), []
    kind: Any = FloatForm if isinstance(found.around.gram, Floats) else Balls
    test = kind.positive_definite
    monkeypatch.setattr(kind, "positive_definite", lambda self: asked.append(1) or test(self))

    def number_asked(table: np.ndarray, t: float = T, radius: float = R) -> int:
        asked.clear()
        monkeypatch.setattr(found, "radius", *rationals([radius]))
        spectra = ProvedSpectra(found, stated([truth.errors * 1.1], t), known)
        spectra.prove(3, pairs(table), pairs(truth.second), every_end(len(table)))
        return len(asked)

    wide = 1.2 * truth.third_ranges
    count = 3 * len(wide)
    assert number_asked(wide) == count
    assert number_asked(wide) == 0
    assert number_asked(1.1 * wide) == 0  # less is claimed
    assert number_asked(0.82 * wide, radius=0.9 * R) == 0  # the same on a smaller ball
    assert number_asked(wide, t=T + 2.0**-20) == count  # another t
    assert number_asked(wide) == count  # the last t is known, not both
    with pytest.raises(Refused, match="end is proved neither"):
        number_asked(0.8 * truth.third_ranges)
    with pytest.raises(Refused, match=r"not shown|neither"):  # the same levels on a larger ball
        number_asked(wide * 4.0, radius=2 * R)
    (neuron, _), *_ = every_end(len(wide))
    narrow = wide.copy()
    narrow[neuron] *= 0.95
    assert number_asked(narrow) >= 1  # more is claimed of one neuron


def test_every_layer_has_errors_of_its_own(tmp_path: Path) -> None:
    """Five hidden layers of one neuron: the fifth needs the errors of the fourth, and those the ones of the third."""
    one, sigma = ([[0.25]], [0.0]), [0.0, 1.0, 1.0]
    network = pm.PolynomialNetwork([one] * 5 + [([[1.0], [0.0]], [1.0, 0.0])], activations=[sigma] * 5)
    found = expansion(tmp_path, network, [0.0], 1, 1.0, Balls)
    unit, third, fourth = [(fmpq(-1), fmpq(1))], np.array([8.0]), np.array([16.0])
    spectra = ProvedSpectra(found, stated([third, fourth]), Known())
    (to_fourth,), (to_fifth,) = spectra._scalars(spectra._neurons(4), unit), spectra._scalars(spectra._neurons(5), unit)
    assert to_fifth - to_fourth == 2  # Σ |W σ'| (η⁴ − η³)
    known = Known()
    spectra = ProvedSpectra(found, stated([third, fourth]), known)
    for layer, level in ((3, 8), (4, 16)):
        spectra.prove(layer, unit, unit, [])
        assert known.spectra[layer, 0, ERROR].level == level - (0 if layer == 3 else to_fourth)


def test_what_the_layer_below_adds_is_rounded_up(tmp_path: Path) -> None:
    """One neuron per layer. At ten bits 1 + 2⁻¹² is no number: every factor of t|c| Σ|W|ρ²r² + Σ|W σ'|η is rounded up."""
    more, exact = 1 + 2.0**-12, fmpq(4097, 4096)

    def added(
        bend: float = 1.0,
        weight: float = 1.0,
        error: float = 1.0,
        rise: float = 1.0,
        end: Any = 1,
        t: float = 2.0,
        radius: float = 1.0,
    ) -> Any:
        one = ([[1.0]], [0.0])
        layers = [one, one, one, ([[weight]], [0.0]), ([[1.0], [0.0]], [1.0, 0.0])]
        sigma = [0.0, 1.0, 1.0]
        network = pm.PolynomialNetwork(layers, activations=[sigma, sigma, [0.0, rise, bend], sigma])
        found = expansion(tmp_path, network, [0.0], 1, radius, Balls)
        spectra = ProvedSpectra(found, stated([np.array([error])], t), Known())
        (value,) = spectra._scalars(spectra._neurons(4), [(fmpq(-end), fmpq(1))])
        return value

    with working_precision(10):
        for value, least in (
            (added(), fmpq(3)),
            (added(bend=more), 1 + 2 * exact),
            (added(bend=-more), 1 + 2 * exact),
            (added(weight=more), 3 * exact),
            (added(weight=-more), 3 * exact),
            (added(error=more), 2 + exact),
            (added(rise=more), 2 + exact),
            (added(rise=-more), 2 + exact),
            (added(end=exact), 1 + 2 * exact**2),
            (added(t=2 * more), 1 + 2 * exact),
            (added(radius=1 - 2.0**-12), 1 + 2 * fmpq(4096, 4095) ** 2),
        ):
            assert least <= value <= least * fmpq(103, 100)
