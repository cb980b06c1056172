"""Ranges from curvatures beyond the second layer: what is stated has to be true, and what follows from it is the formula.

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
from flint import arb, fmpq

import polymargin as pm
from polymargin_checker import check
from polymargin_checker.arithmetic import working_precision
from polymargin_checker.enclosures import Balls
from polymargin_checker.float_forms import FloatForm
from polymargin_checker.floats import Floats
from polymargin_checker.lifted_ranges import root_ranges
from polymargin_checker.lifted_spectra import Known, ProvedSpectra
from polymargin_checker.refusal import Refused

R = 0.5
WIDTHS = (4, 3, 5, 3, 2, 2)
"""Four hidden layers, so there are spectra for the third and the fourth."""


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


def truth(around: Around) -> tuple[float, list[np.ndarray]]:
    """Λ, and per layer from the third on (λ⁻, λ⁺, s) of every neuron, each at its sharp end."""
    hessians = halved_hessians(around)
    together = np.linalg.eigvalsh(sum(matrix @ matrix for matrix in hessians[1]))[-1]
    tables = []
    for k in range(2, len(around.p)):
        rows = []
        for neuron, matrix in enumerate(hessians[k]):
            ends = np.linalg.eigvalsh(matrix)
            factors = around.c[k - 1] * around.weights[k][neuron]
            wide = np.linalg.eigvalsh(around.a[k - 1].T @ np.diag(factors**2) @ around.a[k - 1])[-1]
            rows.append([min(ends[0], 0.0), max(ends[-1], 0.0), np.sqrt(wide)])
        tables.append(np.array(rows))
    return float(together), tables


def stated(together: float, tables: list[np.ndarray]) -> dict[str, Any]:
    return {"together": float(together).hex(), "layers": [[hexes(row) for row in table] for table in tables]}


def a_bit_more(table: np.ndarray) -> np.ndarray:
    return table * (1 + 1e-8) + np.array([-1e-9, 1e-9, 1e-9])


@pytest.fixture(params=[Balls, Floats])
def made(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Around, Any]:
    network, u, _ = deep_squares(WIDTHS)
    return Around(network, u), expansion(tmp_path, network, u, 1, R, request.param)


def test_nothing_is_accepted_that_does_not_dominate(made: tuple[Around, Any]) -> None:
    around, found = made
    together, tables = truth(around)
    ProvedSpectra(found, stated(together * (1 + 1e-8), [a_bit_more(table) for table in tables]), Known())
    with pytest.raises(Refused, match="together"):
        ProvedSpectra(found, stated(together * (1 - 1e-7), [a_bit_more(table) for table in tables]), Known())
    tried = 0
    for layer, table in enumerate(tables):
        for place in np.ndindex(table.shape):
            if abs(table[place]) < 1e-3:  # the curvature has one sign, and any end will do
                continue
            changed = [a_bit_more(other) for other in tables]
            changed[layer][place] = table[place] * (1 - 1e-7)
            with pytest.raises(Refused, match=f"layer {layer + 3}, neuron {place[0]}: not shown"):
                ProvedSpectra(found, stated(2 * together, changed), Known())
            tried += 1
    assert tried >= 10


def test_numbers_of_the_wrong_sign_or_number(made: tuple[Around, Any]) -> None:
    around, found = made
    together, tables = truth(around)
    good = [a_bit_more(table) for table in tables]
    # λ⁻ = 0 and λ⁺ = 0 may be stated; they do not dominate an indefinite matrix. A wrong sign is not even tried.
    for place, value in ((0, 2.0**-40), (1, -(2.0**-40)), (2, -(2.0**-40))):
        for layer, neuron in ((0, 0), (1, 1)):
            changed = [table.copy() for table in good]
            changed[layer][neuron, place] = value
            with pytest.raises(Refused, match=f"layer {layer + 3}, neuron {neuron}: expected a number up to 0"):
                ProvedSpectra(found, stated(2 * together, changed), Known())
    for wrong in (good[:1], [*good, good[1]], [good[0][1:], good[1]], [good[0], good[1][:, :2]]):
        with pytest.raises(Refused, match="entries"):
            ProvedSpectra(found, stated(2 * together, wrong), Known())
    data = stated(2 * together, good)
    for wrong in (data | {"more": 1}, {"layers": data["layers"]}, {"together": data["together"]}, []):
        with pytest.raises(Refused, match=r"key|expected an object"):
            ProvedSpectra(found, wrong, Known())


def test_zero_ends_are_taken_where_the_curvature_has_one_sign(tmp_path: Path) -> None:
    """One neuron per layer: M = c > 0, so λ⁻ = 0 dominates −M, and λ⁺ = 0 does not dominate M."""
    layers = [([[1.0]], [0.0]), ([[1.0]], [0.0]), ([[1.0]], [0.0]), ([[1.0], [0.0]], [1.0, 0.0])]
    network = pm.PolynomialNetwork(layers, activations=[[0.0, 1.0, 1.0]] * 3)
    found = expansion(tmp_path, network, [0.0], 1, R, Balls)
    assert halved_hessians(Around(network, [0.0]))[2].ravel().tolist() == [2.0]
    ProvedSpectra(found, stated(2.0, [np.array([[0.0, 3.0, 2.0]])]), Known())
    for row in ([0.0, 0.0, 2.0], [0.0, 3.0, 0.0], [-4.0, 2.0, 2.0]):
        with pytest.raises(Refused, match="not shown"):
            ProvedSpectra(found, stated(2.0, [np.array([row])]), Known())


def expected_ranges(around: Around, together: float, tables: list[np.ndarray], settled: list[np.ndarray]) -> list[Any]:
    """r²λ ∓ E with E = ‖W∘d‖ ε + 2rsω + |c| max|W| ω², as docs/certificates.md says it."""
    omega, epsilon = R**2 * np.sqrt(together), 0.0
    result = []
    for k, table in enumerate(tables, start=2):
        weights, c, d = around.weights[k], around.c[k - 1], around.d[k - 1]
        steep = np.linalg.norm(weights * d, axis=1)
        error = steep * epsilon + 2 * R * table[:, 2] * omega + abs(c) * np.abs(weights).max(axis=1) * omega**2
        result.append(np.stack([R**2 * table[:, 0] - error, R**2 * table[:, 1] + error], axis=1))
        epsilon = np.linalg.norm(error)
        omega = np.linalg.norm(np.abs(settled[k - 2]).max(axis=1))
    return result


@pytest.mark.parametrize("seed", [2, 5])
def test_ranges_follow_the_formula_and_hold(seed: int, tmp_path: Path) -> None:
    network, u, _ = deep_squares(WIDTHS, seed)
    # A negative bend, and a settled range whose lower end is the longer one.
    activations = [list(sigma) for sigma in network.activations]
    activations[1][2] *= -1
    layers = [(layer.weights, layer.bias) for layer in network.layers]
    network = pm.PolynomialNetwork(layers, activations=activations)
    around = Around(network, u)
    found = expansion(tmp_path, network, u, 1, R, Balls)
    together, tables = truth(around)
    tables = [a_bit_more(table) for table in tables]
    spectra = ProvedSpectra(found, stated(1.5 * together, tables), Known())
    settled = [np.array([[-3.0, 1.0], [-1.0, 2.0], [-0.5, 0.25]]), np.zeros((2, 2))]
    for k, expected in enumerate(expected_ranges(around, 1.5 * together, tables, settled)):
        ends = spectra.ranges(k + 3)
        got = np.array([[float(low.mid()), float(high.mid())] for low, high in ends])
        np.testing.assert_allclose(got, expected, rtol=1e-9)
        spectra.settle([tuple(rationals(row)) for row in settled[k]])
    generator = np.random.default_rng(1)
    (third, *_) = expected_ranges(around, together, tables, settled)
    for _ in range(300):
        direction = generator.normal(size=WIDTHS[0])
        rest = around.rests(R * direction / np.linalg.norm(direction))[2]
        assert (third[:, 0] < rest).all()
        assert (rest < third[:, 1]).all()


def test_ranges_of_the_ball_by_curvatures_alone(tmp_path: Path) -> None:
    """Ends that intervals do not prove are accepted up to the formula, layer after layer, and not a little inside of it."""
    network, u, _ = deep_squares(WIDTHS)
    around, found = Around(network, u), expansion(tmp_path, network, u, 1, R, Balls)
    together, tables = truth(around)
    tables = [a_bit_more(table) for table in tables]
    spectra = stated(1.001 * together, tables)
    second = around.root_ranges(R)[0]
    third = expected_ranges(around, 1.001 * together, tables, [np.zeros((3, 2))] * 2)[0]
    third += 1e-6 * np.abs(third).max() * np.array([-1, 1])
    fourth = expected_ranges(around, 1.001 * together, tables, [third, third])[1]
    fourth += 1e-6 * np.abs(fourth).max() * np.array([-1, 1])
    ranges = [second, third, fourth]
    written = [[hexes(row) for row in table] for table in ranges]
    root_ranges(found, written, spectra, Known())
    narrower = 0
    for layer, table in ((1, third), (2, fourth)):
        by_intervals = np.stack(around.intervals(layer + 1, R, ranges[layer - 1]), axis=1)
        for place in np.ndindex(table.shape):
            if abs(by_intervals[place]) > abs(table[place]):
                narrower += 1
                tables_of = [other.copy() for other in ranges]
                tables_of[layer][place] *= 1 - 1e-3
                with pytest.raises(Refused, match=f"layer {layer + 2}, neuron {place[0]}.*nor do curvatures"):
                    root_ranges(found, [[hexes(row) for row in part] for part in tables_of], spectra, Known())
    assert narrower >= 4


def test_every_layer_is_settled_before_the_next_one_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    network, u, _ = deep_squares(WIDTHS)
    around, found = Around(network, u), expansion(tmp_path, network, u, 1, R, Balls)
    together, tables = truth(around)
    done: list[Any] = []
    monkeypatch.setattr(ProvedSpectra, "ranges", lambda self, layer: done.append(layer) or [(arb(-9), arb(9))] * 9)
    monkeypatch.setattr(ProvedSpectra, "settle", lambda self, ranges: done.append(ranges))
    ranges = around.root_ranges(R)
    written = [[hexes(row) for row in table] for table in ranges]
    root_ranges(found, written, stated(2 * together, [a_bit_more(table) for table in tables]), Known())
    third, fourth = ([tuple(rationals(row)) for row in table] for table in ranges[1:])
    assert done == [3, third, 4, fourth]


def test_spectra_are_part_of_a_proof_from_three_hidden_layers_on(tmp_path: Path) -> None:
    network, u, radius = deep_squares((3, 4, 3, 2, 2))
    together, tables = truth(Around(network, u))
    made = lifted_certificate(network, u, radius)
    proof = made["rivals"][0]["proof"]
    proof["spectra"] = stated(2 * together, [a_bit_more(table) for table in tables])
    assert check(*write(tmp_path, network, made)).accepted
    proof["spectra"] = stated(0.5 * together, [a_bit_more(table) for table in tables])
    assert "not shown to dominate" in check(*write(tmp_path, network, made)).reason
    (tmp_path / "model.npz").unlink()
    network, u, radius = deep_squares()
    made = lifted_certificate(network, u, radius)
    made["rivals"][0]["proof"]["spectra"] = {"together": "0x1p9", "layers": []}
    assert "spectra only where there are more than two" in check(*write(tmp_path, network, made)).reason


def test_what_is_proved_is_not_proved_again_and_nothing_else_is_taken_for_it(
    made: tuple[Around, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    around, found = made
    together, tables = truth(around)
    good, known, asked = [a_bit_more(table) for table in tables], Known(), []
    kind: Any = FloatForm if isinstance(found.around.gram, Floats) else Balls
    test = kind.positive_definite
    monkeypatch.setattr(kind, "positive_definite", lambda self: asked.append(1) or test(self))
    ProvedSpectra(found, stated(2 * together, good), known)
    first = len(asked)
    assert first == 1 + 3 * sum(map(len, tables))
    ProvedSpectra(found, stated(2 * together, good), known)
    assert len(asked) == first
    for layer, neuron, place in ((0, 0, 0), (0, 2, 1), (1, 1, 2), (1, 0, 1)):
        if abs(tables[layer][neuron, place]) > 1e-3:
            changed = [table.copy() for table in good]
            changed[layer][neuron, place] = 0.999 * tables[layer][neuron, place]
            with pytest.raises(Refused, match=f"layer {layer + 3}, neuron {neuron}: not shown"):
                ProvedSpectra(found, stated(2 * together, changed), known)
    with pytest.raises(Refused, match="together"):
        ProvedSpectra(found, stated(0.999 * together, good), known)
    with pytest.raises(Refused, match="together"):  # what was refused once is not known
        ProvedSpectra(found, stated(0.999 * together, good), known)


MORE, EXACT = 1 + 2.0**-12, fmpq(4097, 4096)


def holds(found: arb, exact: Any) -> bool:
    """Whether the rational itself is in the ball, not its rounded image."""
    with working_precision(300):
        return bool(found.contains(arb(fmpq(exact))))


def squared(found: arb) -> arb:
    with working_precision(300):
        return found**2


def chain(
    folder: Path,
    radius: float = 1.0,
    bend: float = 1.0,
    together: float = 4.0,
    row: Any = (-4.0, 4.0, 2.0),
    wide: int = 1,
) -> ProvedSpectra:
    """One neuron per layer, `wide` of them in the third: everything is one but for what is given."""
    layers = [
        ([[1.0]], [0.0]),
        ([[1.0]], [0.0]),
        ([[1.0]] * wide, [0.0] * wide),
        ([[1.0] * wide, [0.0] * wide], [1.0, 0.0]),
    ]
    network = pm.PolynomialNetwork(layers, activations=[[0.0, 1.0, 1.0], [0.0, 1.0, bend], [0.0, 1.0, 1.0]])
    found = expansion(folder, network, [0.0], 1, radius, Balls)
    return ProvedSpectra(found, stated(together, [np.array([row] * wide)]), Known())


def test_the_length_of_the_second_layer_is_rounded_outward(tmp_path: Path) -> None:
    """At ten bits 1 + 2⁻¹² is no number: every factor of r²√Λ is a ball that contains it."""
    with working_precision(10):
        assert holds(chain(tmp_path, radius=MORE)._length, 2 * EXACT**2)
        for together in (2.0, 4 * MORE):
            assert holds(squared(chain(tmp_path, together=together)._length), *rationals([together]))
        spectra = chain(tmp_path)
        for ends in ((-EXACT, fmpq(1)), (-fmpq(1), EXACT)):
            spectra.settle([ends])
            assert holds(spectra._length, EXACT)
        spectra.settle([(-fmpq(1), fmpq(1)), (-fmpq(1), fmpq(1))])
        assert holds(squared(spectra._length), 2)


def test_the_error_of_a_layer_is_rounded_outward(tmp_path: Path) -> None:
    """Each factor of r²λ ∓ (2rsω + |c| max|W| ω²) in turn is 1 + 2⁻¹² times what has few bits, ω being 0 or 1."""
    with working_precision(10):

        def ends(omega: int, spectra: ProvedSpectra) -> tuple[arb, arb]:
            spectra._length = arb(omega)
            ((low, high),) = spectra.ranges(3)
            return low, high

        for omega, spectra, low, high in (
            (0, chain(tmp_path, radius=MORE), -4 * EXACT**2, 4 * EXACT**2),
            (0, chain(tmp_path, row=(-4 * MORE, 4.0, 2.0)), -4 * EXACT, fmpq(4)),
            (0, chain(tmp_path, row=(-4.0, 4 * MORE, 2.0)), fmpq(-4), 4 * EXACT),
            (1, chain(tmp_path, row=(-4.0, 4.0, 2 * MORE)), -5 - 4 * EXACT, 5 + 4 * EXACT),
            (1, chain(tmp_path, bend=MORE), -8 - EXACT, 8 + EXACT),
            (1, chain(tmp_path, bend=-MORE), -8 - EXACT, 8 + EXACT),
        ):
            found = ends(omega, spectra)
            assert holds(found[0], low)
            assert holds(found[1], high)


def test_the_remainder_is_rounded_outward(tmp_path: Path) -> None:
    with working_precision(10):
        for spectra, square in (
            (chain(tmp_path, row=(-4.0, 4.0, 2.0), wide=2), 2 * fmpq(5) ** 2),
            (chain(tmp_path, row=(-4.0, 4.0, 2 * MORE)), (1 + 4 * EXACT) ** 2),
        ):
            spectra._length = arb(1)
            spectra.ranges(3)
            assert holds(squared(spectra._remainder), square)
