"""Lifted proofs count their work before they do it, in both arithmetics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checker.certificate_makers import hexes, write
from checker.lifted_proofs import Around, deep_squares, lifted_certificate
from checker.test_lifted_form import expansion
from flint import arb, fmpq

from polymargin_checker import arithmetic as arithmetics
from polymargin_checker import (
    check,
    enclosures,
    float_forms,
    float_squares,
    floats,
    lifted,
    lifted_ranges,
    lifted_spectra,
    work,
)
from polymargin_checker.enclosures import Balls
from polymargin_checker.floats import Floats

SIDE = 40
OPERATIONS: dict[str, tuple[Callable[[Any], object], int]] = {
    "of": (lambda m: type(m).of(SIDE, SIDE, [0.5] * SIDE**2), 2),
    "of rationals": (lambda m: type(m).of(SIDE, SIDE, [fmpq(1, 3)] * SIDE**2), 2),
    "identity": (lambda m: type(m).identity(SIDE), 2),
    "sum": (lambda m: m + m, 2),
    "product": (lambda m: m @ m, 3),
    "entry by entry": (lambda m: m.entrywise(m), 2),
    "multiple": (lambda m: m.times(fmpq(3)), 2),
    "norms": (lambda m: m.row_norms(), 2),
    "largest of rows": (lambda m: m.row_largest(), 2),
    "absolute values": (lambda m: m.absolute, 2),
    "entries": (lambda m: m.entries(), 2),
    "symmetric": (lambda m: type(m).symmetric([[m]]), 2),
    "definite": (lambda m: m.positive_definite(), 3),
    "inverse": (lambda m: m.inverse(), 2),
    "part": (lambda m: m.part(range(SIDE), range(SIDE)), 2),
    "one below the other": (lambda m: type(m).stacked([m, m]), 2),
    "weighted squares": (lambda m: m.weighted_squares(type(m).of(SIDE, 1, [0.5] * SIDE)), 3),
    "form of squares": (lambda m: m.form(type(m).of(SIDE, 1, [0.5] * SIDE)), 3),
    "form of rows alike": (lambda m: alike(type(m)).form(type(m).of(SIDE, 1, [0.5] * SIDE)), 2),
    "congruence": (lambda m: m.congruence(m), 3),
    "pairs of rows": (lambda m: m.paired_form(m, *[type(m).of(SIDE, 1, [0.5] * SIDE)] * 3), 3),
    "form with a diagonal": (lambda m: form(m).with_diagonal(type(m).of(SIDE, 1, [1.0] * SIDE)), 2),
    "sum of forms": (lambda m: form(m) + form(m), 2),
    "multiple of a form": (lambda m: form(m).times(fmpq(3)), 2),
    "shifted form": (lambda m: form(m).shifted(fmpq(3), None, -1), 2),
    "shifted by a form": (lambda m: form(m).shifted(fmpq(3), form(m), -1), 2),
    "bordered form": (lambda m: form(m).bordered(type(m).of(1, 1, [1.0]), type(m).of(SIDE, 1, [1.0] * SIDE)), 2),
    "definite form": (lambda m: form(m).positive_definite(), 3),
    "squares of rows alike": (lambda m: alike(type(m)).weighted_squares(type(m).of(SIDE, 1, [0.5] * SIDE)), 2),
}
"""What is done, and with which power of the side its work grows."""


def form(matrix: Any) -> Any:
    """The sum of the squares of the rows; what it costs is not counted."""
    return matrix.form(type(matrix).of(SIDE, 1, [1.0] * SIDE))


def alike(arithmetic: Any) -> Any:
    """Rows that see the same few inputs."""
    table = np.zeros((SIDE, SIDE))
    table[:, : SIDE // 4] = 1.0
    return arithmetic.of(SIDE, SIDE, table.ravel().tolist())


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("arithmetic", [Balls, Floats])
def test_every_operation_on_matrices_counts_its_work(
    name: str, arithmetic: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    operation, power = OPERATIONS[name]
    matrix = arithmetic.of(SIDE, SIDE, np.eye(SIDE).ravel().tolist())
    asked: list[int] = []
    for module in (enclosures, floats, float_forms):
        monkeypatch.setattr(module, "spend", lambda products, bits, what: asked.append(products))
    made = form(matrix)
    asked.clear()
    monkeypatch.setitem(globals(), "form", lambda _: made)
    operation(matrix)
    slowest = 1 if arithmetic is Balls else 512
    assert sum(asked) >= SIDE**power / slowest


@pytest.mark.parametrize("arithmetic", [Balls, Floats])
@pytest.mark.parametrize("zeros", [False, True])
def test_products_of_matrices_are_counted_with_and_without_zeros(
    zeros: bool, arithmetic: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    matrix = alike(arithmetic) if zeros else arithmetic.of(SIDE, SIDE, [0.5] * SIDE**2)
    asked: list[int] = []
    for module in (enclosures, floats):
        monkeypatch.setattr(module, "spend", lambda products, bits, what: asked.append(products))
    matrix @ matrix
    if arithmetic is Balls:
        assert sum(asked) >= SIDE**3
    else:  # looking for the inner products without a term costs as much as the product itself
        assert asked == [SIDE**3 // 64 + SIDE**2] + zeros * [SIDE**3 // 64]


def test_weighted_squares_of_groups_of_rows_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking for the groups; taking a group out and putting its square in."""
    matrix, weights, asked = alike(Floats), Floats.of(SIDE, 1, [0.5] * SIDE), []
    monkeypatch.setattr(floats, "spend", lambda products, bits, what: asked.append(products))
    matrix.weighted_squares(weights)
    assert asked[:2] == [SIDE**2, 2 * (SIDE + SIDE // 4) * SIDE // 4]
    assert sum(asked[2:]) >= SIDE * (SIDE // 4) ** 2 / 64


def test_squares_of_curvatures_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A square for each different matrix, a stack for each different list of them, and every sum."""
    made, other, asked = form(alike(Floats)), form(Floats.of(SIDE, SIDE, np.eye(SIDE).ravel().tolist())), []
    monkeypatch.setattr(float_squares, "spend", lambda products, bits, what: asked.append(products))
    everywhere = list(range(SIDE))
    squares = float_squares.WeightedSquares(SIDE, [(everywhere, made), (everywhere, made), (everywhere, other)])
    one = SIDE**3 // 128 + 8 * SIDE**2 // 4
    assert asked == [SIDE // 4, one, SIDE // 4, SIDE // 4, one, 3 * SIDE**2 // 4]
    asked.clear()
    squares.sum(Floats.of(3, 1, [0.5] * 3))
    assert asked == [(3 * SIDE**2 + 4 * 3 * SIDE) // 128 + SIDE**2 // 4]


def test_errors_of_the_layer_below_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    network, u, _ = deep_squares((4, 3, 5, 3, 2, 2))
    found, asked = expansion(tmp_path, network, u, 1, 0.5, Balls), []
    spectra = lifted_spectra.ProvedSpectra(
        found, {"stretch": "0x1p+1", "errors": [["0x1p+0"] * 3]}, lifted_spectra.Known()
    )
    monkeypatch.setattr(lifted_spectra, "spend", lambda products, bits, what: asked.append(products))
    spectra._scalars(spectra._neurons(3), [(fmpq(-1), fmpq(1))] * 5)
    assert not asked
    spectra._scalars(spectra._neurons(4), [(fmpq(-1), fmpq(1))] * 3)
    assert asked == [4 * 2 * 3]


@pytest.mark.parametrize("arithmetic", [Balls, Floats])
def test_what_a_rational_costs_is_counted(arithmetic: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is read one by one in Python, however the matrix is stored."""
    asked: list[int] = []
    for module in (enclosures, floats):
        monkeypatch.setattr(module, "spend", lambda products, bits, what: asked.append(products))
    arithmetic.of(1, 10, [fmpq(1, 3)] * 10)
    assert sum(asked) >= 640


def test_a_row_of_balls_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix, asked = alike(Balls), []
    monkeypatch.setattr(enclosures, "spend", lambda products, bits, what: asked.append(products))
    matrix.row(0)
    assert sum(asked) >= SIDE


def test_doubles_that_become_balls_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix, asked = alike(Floats), []
    monkeypatch.setattr(floats, "spend", lambda products, bits, what: asked.append(products))
    matrix.row_norms()
    matrix.entries()
    assert asked == [SIDE**2 + 128 * SIDE, 128 * SIDE**2]
    Floats.column([arb(1)] * 5)
    assert asked[2:] == [128 * 5]


@pytest.mark.parametrize("largest_exact", [0, 1000])
def test_nothing_is_done_that_was_not_asked_for(
    largest_exact: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    network, u, radius = deep_squares()
    files = write(tmp_path, network, lifted_certificate(network, u, radius))
    monkeypatch.setattr(arithmetics, "LARGEST_EXACT", largest_exact)
    assert check(*files).accepted
    monkeypatch.setattr(work, "PER_NUMBER", 0)
    monkeypatch.setattr(work, "FLAT", 10**7)  # enough for the logits
    verdict = check(*files)
    assert not verdict.accepted
    assert "of a lifted proof: more work than this checker does" in verdict.reason
    assert check(*files, exact=True).accepted  # who asks for it gets 64 times as much


def test_splits_and_intervals_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    network, u, radius = deep_squares((3, 4, 3, 2, 2))
    around = Around(network, u)
    own = [[hexes(row) for row in layer] for layer in around.root_ranges(radius)]
    leaf = around.leaf(radius) | {"ranges": own}
    halves = {"split": [1, 0, "0x0p+0"], "low": leaf | {"first": ["0x0p+0"]}, "high": leaf | {"first": ["0x0p+0"]}}
    asked: Counter[str] = Counter()
    for module in (lifted, lifted_ranges):
        monkeypatch.setattr(module, "spend", lambda products, bits, what: asked.update([what]))
    verdict = check(*write(tmp_path, network, lifted_certificate(network, u, radius, halves)))
    assert verdict.accepted, verdict.reason
    assert asked["the splits of a lifted proof"] == 2  # the range of the neuron, and the two parts
    assert asked["the intervals of layer 2 of a lifted proof"] == 2
    assert asked["the intervals of layer 3 of a lifted proof"] == 3
