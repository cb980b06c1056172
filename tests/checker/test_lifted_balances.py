"""Ranges of the third layer by balances: the matrix R, the inequalities, and what files may say of them.

The truth is in plain NumPy: R = Σ_k P_k² with P_k = c W¹ᵀ diag(Z_k) W¹, Z_k column k of W²ᵀ diag(x) A.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checker.certificate_makers import Json, hexes, write
from checker.lifted_proofs import Around, deep_squares, lifted_certificate
from checker.test_lifted_combinations import Chosen, certificate_with
from checker.test_lifted_form import expansion, matrix_of, rationals
from checker.test_lifted_ranges import few_inputs_each
from checker.test_lifted_spectra import T, every_end, halved_hessians, levels, pairs, stated
from flint import fmpq

import polymargin as pm
from polymargin_checker import check
from polymargin_checker.arithmetic import working_precision
from polymargin_checker.enclosures import Balls
from polymargin_checker.float_forms import FloatForm
from polymargin_checker.floats import Floats
from polymargin_checker.lifted_combinations import read_combinations
from polymargin_checker.lifted_curvatures import ERROR, LOWER, UPPER
from polymargin_checker.lifted_ranges import root_ranges
from polymargin_checker.lifted_spectra import Known, ProvedSpectra
from polymargin_checker.refusal import Refused

R = 0.5
WIDTHS = (4, 3, 5, 3, 2, 2)
"""Four hidden layers: the third has ends and errors, the fourth needs both."""
ARITHMETICS = [Balls, Floats]


@pytest.fixture(autouse=True)
def precision() -> Any:
    with working_precision(128):
        yield


def brute_mixed(around: Around, x: np.ndarray) -> np.ndarray:
    Z = around.weights[1].T @ (x[:, None] * around.a[1])
    parts = [around.c[0] * around.weights[0].T @ np.diag(column) @ around.weights[0] for column in Z.T]
    return sum((P @ P for P in parts), np.zeros_like(parts[0]))


def brute_symmetric(around: Around, x: np.ndarray) -> np.ndarray:
    """δᵀRδ = ‖sym N(δ)‖², N(δ) = c W¹ᵀ diag(W¹δ) Z: R column by column, from the symmetric parts of N(e_k)."""
    Z, W = around.weights[1].T @ (x[:, None] * around.a[1]), around.weights[0]
    parts = [around.c[0] * W.T @ np.diag(column) @ Z for column in W.T]
    symmetric = np.array([(N + N.T) / 2 for N in parts])
    return np.einsum("aij,bij->ab", symmetric, symmetric)


def balanced_levels(around: Around, weights: np.ndarray, b: np.ndarray, r: float = R) -> dict[str, np.ndarray]:
    """What ends over r² and errors have to exceed, for rows of weights over layer 2."""
    hessians = halved_hessians(around)[1]
    squares = np.array([Q @ Q for Q in hessians])
    found = {side: np.empty(len(weights)) for side in (LOWER, UPPER, ERROR)}
    for i, (row, balance) in enumerate(zip(weights, b, strict=True)):
        x = around.c[1] * row
        M = np.einsum("j,jab->ab", row * around.d[1], hessians) + around.a[1].T @ np.diag(x) @ around.a[1]
        mixed = r / balance * brute_symmetric(around, x)
        for side, sign in ((UPPER, 1.0), (LOWER, -1.0), (ERROR, 0.0)):
            part = np.maximum(sign * x, 0) if sign else np.abs(x)
            form = sign * M + mixed + r * r * np.einsum("j,jab->ab", part, squares)
            found[side][i] = np.linalg.eigvalsh(form)[-1] + r * balance
    return found


def local(layers: Any) -> None:
    """`few_inputs_each`, and one neuron of the second layer that hears two others."""
    few_inputs_each(layers)
    layers[1][0][4] = 0.0
    layers[1][0][4, [0, 5]] = 0.5, -0.75


@pytest.mark.parametrize("arithmetic", ARITHMETICS)
@pytest.mark.parametrize("change", [None, few_inputs_each, local])
def test_mixed_squares(change: Any, arithmetic: Any, tmp_path: Path) -> None:
    network, u, _ = deep_squares((8, 8, 5, 3, 2), change=change)
    around, point = Around(network, u), expansion(tmp_path, network, u, 1, R, arithmetic)
    assert (point.around._mixed is not None) == (change is not None and arithmetic is Floats)
    generator = np.random.default_rng(0)
    for _ in range(3):
        x = generator.normal(size=5)
        column = arithmetic.of(5, 1, x.tolist())
        found, finest = (matrix_of(point.around.mixed_squares(column, symmetric)) for symmetric in (False, True))
        np.testing.assert_allclose(found, brute_mixed(around, x), rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(finest, brute_symmetric(around, x), rtol=1e-10, atol=1e-12)
        assert np.linalg.eigvalsh(found - finest)[0] > -1e-10
        for _ in range(20):
            delta = generator.normal(size=8)
            third = x @ ((around.a[1] @ delta) * around.rests(delta)[1])
            assert third**2 <= (delta @ delta) ** 2 * (delta @ finest @ delta) * (1 + 1e-9)


def spectra_with(balances: Any, errors: list[np.ndarray], t: float = T) -> Json:
    return stated(errors, t) | {"balances": hexes(balances)}


@pytest.fixture(params=[(arithmetic, sign) for arithmetic in ARITHMETICS for sign in (1, -1)])
def made(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Around, Any]:
    arithmetic, sign = request.param
    network, u, _ = deep_squares(WIDTHS)
    activations = [list(sigma) for sigma in network.chain.activations]
    activations[1][2] *= sign
    layers = [(layer.weights, layer.bias) for layer in network.chain.layers]
    network = pm.PolynomialNetwork(layers, activations=activations)
    return Around(network, u), expansion(tmp_path, network, u, 1, R, arithmetic)


def balances_for(around: Around) -> np.ndarray:
    x = around.c[1] * around.weights[2]
    return np.array([np.sqrt(np.linalg.eigvalsh(brute_mixed(around, row))[-1]) for row in x])


def test_ends_and_errors_are_proved_up_to_the_formula_and_hold(made: tuple[Around, Any]) -> None:
    around, point = made
    b, second = balances_for(around), pairs(around.root_ranges(R)[0])
    found = balanced_levels(around, around.weights[2], b)
    table = R**2 * np.maximum(np.stack([found[LOWER], found[UPPER]], axis=1), 1e-3) * [-1, 1] * (1 + 1e-8)
    errors = found[ERROR] * (1 + 1e-8)

    def prove(ends: np.ndarray, eta: np.ndarray, balances: np.ndarray) -> None:
        spectra = ProvedSpectra(point, spectra_with(balances, [eta]), Known())
        spectra.prove(3, pairs(ends), second, every_end(len(ends)))

    prove(table, errors, b)
    tried = 0
    for neuron, place in np.ndindex(table.shape):
        side = (LOWER, UPPER)[place]
        if found[side][neuron] > 1e-3:
            changed = table.copy()
            changed[neuron, place] *= 1 - 1e-7
            with pytest.raises(Refused, match=f"layer 3, neuron {neuron}: the {side} end"):
                prove(changed, errors, b)
            tried += 1
    assert tried >= 4
    for neuron in range(len(b)):
        changed = errors.copy()
        changed[neuron] *= 1 - 1e-7
        with pytest.raises(Refused, match=f"errors of layer 3, neuron {neuron}: not shown"):
            prove(table, changed, b)
        for factor in (0.5, 2.0):
            other = b.copy()
            other[neuron] *= factor
            with pytest.raises(Refused, match=f"neuron {neuron}"):
                prove(table, errors, other)
    hessians, generator = halved_hessians(around), np.random.default_rng(1)
    for _ in range(400):
        delta = generator.normal(size=WIDTHS[0])
        delta *= R * generator.uniform() ** 0.25 / np.linalg.norm(delta)
        square, rest = delta @ delta, around.rests(delta)[2]
        assert (-found[LOWER] * square <= rest + 1e-12).all()
        assert (rest <= found[UPPER] * square + 1e-12).all()
        assert (np.abs(rest - np.einsum("iab,a,b->i", hessians[2], delta, delta)) <= errors * square + 1e-12).all()


def test_layers_above_use_t(made: tuple[Around, Any]) -> None:
    """Their ends are those of `levels`, with the ranges and errors that balances proved."""
    around, point = made
    b = balances_for(around)
    found = balanced_levels(around, around.weights[2], b)
    third = R**2 * 1.001 * np.maximum(np.stack([found[LOWER], found[UPPER]], axis=1), 1e-3) * [-1, 1]
    errors = 1.001 * found[ERROR]
    fourth = levels(around, 4, T, (np.abs(third).max(axis=1) / R**2, errors))
    table = R**2 * np.stack([-fourth[LOWER], fourth[UPPER]], axis=1) * (1 + 1e-8)
    ranges = [around.root_ranges(R)[0], third, table]

    def prove(tables: list[np.ndarray]) -> None:
        written = [[hexes(row) for row in part] for part in tables]
        root_ranges(point, written, spectra_with(b, [errors]), Known())

    prove(ranges)
    by_intervals = np.abs(np.stack(around.intervals(3, R, third), axis=1))
    tried = 0
    for place in np.ndindex(table.shape):
        if by_intervals[place] > abs(table[place]):
            changed = table.copy()
            changed[place] *= 1 - 1e-7
            with pytest.raises(Refused, match=f"layer 4, neuron {place[0]}"):
                prove([*ranges[:2], changed])
            tried += 1
    assert tried >= 1


@pytest.mark.parametrize("arithmetic", ARITHMETICS)
def test_an_end_below_what_the_balance_adds_is_refused(arithmetic: Any, tmp_path: Path) -> None:
    """One neuron per layer: w³ = −40δ² + …, so its form is far below zero, and an upper end has to be above r b all the same."""
    layers = [([[1.0]], [0.0]), ([[1.0]], [0.0]), ([[-20.0]], [0.0]), ([[1.0], [0.0]], [1.0, 0.0])]
    network = pm.PolynomialNetwork(layers, activations=[[0.0, 1.0, 1.0]] * 3)
    radius, square = fmpq(1, 64), fmpq(1, 1 << 12)
    point = expansion(tmp_path, network, [0.0], 1, 2.0**-6, arithmetic)
    second, added = [(fmpq(-1, 1 << 11), fmpq(1, 1 << 11))], radius * 64

    def prove_upper(level: fmpq) -> None:
        spectra = ProvedSpectra(point, spectra_with([64.0], []), Known())
        spectra.prove(3, [(fmpq(-1), level * square)], second, [(0, UPPER)])

    prove_upper(added + fmpq(1, 1 << 20))
    for level in (added, added - fmpq(1, 1 << 20), fmpq(0), fmpq(-1)):
        with pytest.raises(Refused, match="the upper end is proved neither"):
            prove_upper(level)


def test_what_is_known_by_t_is_not_known_by_balances(made: tuple[Around, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    around, point = made
    b, second, known, asked = balances_for(around), pairs(around.root_ranges(R)[0]), Known(), []
    balanced, stretched = balanced_levels(around, around.weights[2], b), levels(around, 3, T)
    kind: Any = FloatForm if isinstance(point.around.gram, Floats) else Balls
    test = kind.positive_definite
    monkeypatch.setattr(kind, "positive_definite", lambda self: asked.append(1) or test(self))
    highest = {side: 2 * np.maximum(balanced[side], stretched[side]) + 1 for side in balanced}
    wide, errors = R**2 * np.stack([-highest[LOWER], highest[UPPER]], axis=1), highest[ERROR]

    def number_asked(balances: Any, factor: float = 1.0, radius: float = R, eta: float = 1.0) -> int:
        asked.clear()
        monkeypatch.setattr(point, "radius", *rationals([radius]))
        value = stated([eta * errors]) if balances is None else spectra_with(balances, [eta * errors])
        ProvedSpectra(point, value, known).prove(3, pairs(factor * wide), second, every_end(len(wide)))
        return len(asked)

    count = 3 * len(wide)
    assert number_asked(b) == count
    assert number_asked(b) == 0
    assert number_asked(b, 1.1, eta=1.1) == 0  # less is claimed
    assert number_asked(b, 0.82, 0.9 * R) == 0  # the same on a smaller ball
    assert number_asked(b, 1.1 * 1.21, 1.1 * R, eta=1.1) == count  # a larger one
    assert number_asked(b) == count
    assert number_asked(1.5 * b) == count  # other balances
    assert number_asked(None) == count  # t
    assert number_asked(None) == 0
    assert number_asked(b) == count
    assert number_asked([*b[:-1], 1.5 * b[-1]]) == 3  # one other balance
    with pytest.raises(Refused, match=r"neither|not shown"):
        number_asked(b, 0.1, eta=0.1)


def test_false_claims_are_not_known_afterwards(made: tuple[Around, Any]) -> None:
    around, point = made
    b, second, known = balances_for(around), pairs(around.root_ranges(R)[0]), Known()
    false = np.tile([-1e-9, 1e-9], (len(b), 1))
    for _ in range(2):
        with pytest.raises(Refused, match="neither"):
            ProvedSpectra(point, spectra_with(b, [np.full(3, 1e9)]), known).prove(3, pairs(false), second, [(0, UPPER)])
    assert (3, 0, UPPER) not in known.spectra


def test_numbers_of_the_wrong_kind_or_number(made: tuple[Around, Any]) -> None:
    _, point = made
    for wrong in ([1.0, 0.0, 1.0], [1.0, 1.0, -1.0]):
        with pytest.raises(Refused, match="spectra, balances: expected numbers above zero"):
            ProvedSpectra(point, spectra_with(wrong, [np.ones(3)]), Known())
    for wrong in ([1.0] * 2, [1.0] * 4, []):
        with pytest.raises(Refused, match=r"spectra, balances: expected 3 entries"):
            ProvedSpectra(point, spectra_with(wrong, [np.ones(3)]), Known())
    for value in (None, "inf", 1.0):
        with pytest.raises(Refused, match=r"spectra, balances: expected"):
            ProvedSpectra(point, stated([np.ones(3)]) | {"balances": value}, Known())
    with pytest.raises(Refused, match="not a hexadecimal float"):
        ProvedSpectra(point, stated([np.ones(3)]) | {"balances": ["nan", "0x1p+0", "0x1p+0"]}, Known())
    with pytest.raises(Refused, match="stretch"):
        ProvedSpectra(point, {"errors": [], "balances": []}, Known())


THREE = (4, 3, 5, 3, 2)


@pytest.mark.parametrize("arithmetic", ARITHMETICS)
def test_combinations_by_balances(arithmetic: Any, tmp_path: Path) -> None:
    network, u, _ = deep_squares(THREE)
    around, point = Around(network, u), expansion(tmp_path, network, u, 1, R, arithmetic)
    chosen, b = Chosen(around, 3), np.array([0.5, 1.0, 2.0])
    found = balanced_levels(around, chosen.neurons, b)
    table = R**2 * np.maximum(np.stack([found[LOWER], found[UPPER]], axis=1), 1e-3) * [-1, 1] * (1 + 1e-8)
    written = [[hexes(row) for row in part] for part in around.root_ranges(R)]

    def prove(ends: np.ndarray, balances: Any) -> None:
        combined = read_combinations(point, chosen.written(ends) | {"balances": balances})
        root_ranges(point, written, stated([]), Known(), combined)

    prove(table, hexes(b))
    for place in np.ndindex(table.shape):
        changed = table.copy()
        changed[place] *= 1 - 1e-7
        if found[(LOWER, UPPER)[place[1]]][place[0]] > 1e-3:
            with pytest.raises(Refused, match=f"ranges, entry {place[0]}: the {(LOWER, UPPER)[place[1]]} end"):
                prove(changed, hexes(b))
    generator = np.random.default_rng(1)
    for _ in range(300):
        delta = generator.normal(size=len(u))
        delta *= R * generator.uniform() ** 0.25 / np.linalg.norm(delta)
        s = chosen.C @ around.rests(delta)[-1]
        assert ((table[:, 0] <= s) & (s <= table[:, 1])).all()


def test_honest_balances_are_accepted_and_others_not(tmp_path: Path) -> None:
    network, u, r = deep_squares(THREE)
    made = lifted_certificate(network, u, r)
    proof = made["rivals"][0]["proof"]
    proof["spectra"] = spectra_with(np.ones(3), [])
    found = balanced_levels(Around(network, u), Around(network, u).weights[2], np.ones(3), r)
    proof["ranges"][1] = [hexes(row) for row in 1.001 * r * r * np.stack([-found[LOWER], found[UPPER]], axis=1)]
    assert check(*write(tmp_path, network, made)).accepted
    proof["spectra"]["balances"][1] = "0x1p+60"
    assert "neuron 1: the" in check(*write(tmp_path, network, made)).reason
    proof["spectra"]["balances"][1] = "-0x1p+0"
    assert "above zero" in check(*write(tmp_path, network, made)).reason


FORGERIES: list[tuple[str, Callable[[Json], object], str]] = [
    ("zero", lambda c: c.__setitem__("balances", ["0x0p+0", "0x1p+0"]), "balances: expected numbers above zero"),
    ("negative", lambda c: c.__setitem__("balances", ["0x1p+0", "-0x1p+0"]), "balances: expected numbers above zero"),
    ("too few", lambda c: c.__setitem__("balances", ["0x1p+0"]), "balances: expected 2 entries, got 1"),
    ("no list", lambda c: c.__setitem__("balances", "0x1p+0"), "balances: expected a list"),
    ("no key", lambda c: c.pop("balances"), "the key 'balances' is missing"),
    ("no number", lambda c: c.__setitem__("balances", ["nan", "0x1p+0"]), "not a hexadecimal float"),
    ("far too small", lambda c: c.__setitem__("balances", ["0x1p-60", "0x1p+0"]), "entry 0: the lower end"),
    ("far too large", lambda c: c.__setitem__("balances", ["0x1p+0", "0x1p+60"]), "entry 1: the lower end"),
]


@pytest.mark.parametrize(("change", "reason"), [(c, r) for _, c, r in FORGERIES], ids=[name for name, *_ in FORGERIES])
def test_forged_balances_of_combinations(change: Callable[[Json], object], reason: str, tmp_path: Path) -> None:
    network, made = certificate_with(THREE)
    combined = made["rivals"][0]["proof"]["combinations"]
    combined["balances"] = ["0x1p-2", "0x1p-2"]
    combined["ranges"] = [["-0x1p-10", "0x1p-10"]] * 2
    verdict = check(*write(tmp_path, network, made))
    assert verdict.accepted, verdict.reason
    change(combined)
    verdict = check(*write(tmp_path, network, made))
    assert not verdict.accepted
    assert reason in verdict.reason


@pytest.mark.parametrize("widths", [(3, 4, 3, 2), WIDTHS])
def test_combinations_have_balances_in_the_third_layer_alone(widths: Any, tmp_path: Path) -> None:
    network, made = certificate_with(widths)
    made["rivals"][0]["proof"]["combinations"]["balances"] = ["0x1p+0", "0x1p+0"]
    assert "expected null, for there are not three hidden layers" in check(*write(tmp_path, network, made)).reason
