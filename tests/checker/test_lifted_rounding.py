"""Rounding in lifted proofs goes outward: seen at ten bits, where one and 1 + 2⁻¹² are the same number but not the same ball."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from checker.test_lifted_form import expansion
from flint import arb, arb_poly, fmpq

import polymargin as pm
from polymargin_checker import lifted_leaf, lifted_ranges
from polymargin_checker.arithmetic import working_precision
from polymargin_checker.enclosures import Balls
from polymargin_checker.lifted_curvatures import LOWER, UPPER
from polymargin_checker.lifted_expansion import HiddenLayers
from polymargin_checker.lifted_leaf import _top
from polymargin_checker.lifted_ranges import _intervals, _open_ends, first_range

MORE = 1 + 2.0**-12
EXACT = fmpq(4097, 4096)
ONE = fmpq(1)


@pytest.fixture(autouse=True)
def ten_bits() -> Any:
    with working_precision(10):
        yield


def chain(folder: Path, radius: float = 1.0, bend: float = 1.0, last: Any = (0.0, 0.0, 1.0)) -> HiddenLayers:
    """One neuron per layer: w² = bend·t², w³ = w² + (w² + …)², everything else is zero or one."""
    layers = [([[1.0]], [0.0]), ([[1.0]], [0.0]), ([[1.0]], [0.0]), ([[1.0], [0.0]], [1.0, 0.0])]
    activations = [[0.0, 0.0, bend], [0.0, 1.0, bend], list(last)]
    return expansion(folder, pm.PolynomialNetwork(layers, activations=activations), [0.0], 1, radius, Balls)


def ends(found: list[tuple[arb, arb]]) -> tuple[arb, arb]:
    ((low, high),) = found
    return low.lower(), high.upper()


def test_the_radius_of_intervals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen where t² is computed."""
    asked: list[tuple[arb, arb]] = []
    monkeypatch.setattr(lifted_ranges, "_square", lambda low, high: asked.append((low, high)) or (arb(1),) * 2)
    for below in ([], [(-ONE, ONE)]):
        layers = [([[1.0]], [0.0]), ([[1.0]], [0.0]), ([[1.0]], [0.0]), ([[1.0], [0.0]], [1.0, 0.0])]
        network = pm.PolynomialNetwork(layers, activations=[[0.0, 1.0, 1.0]] * 3)
        _intervals(expansion(tmp_path, network, [0.0], 1, MORE, Balls), 3 if below else 2, {}, below)
    for (low, high), rest in zip(asked, (fmpq(0), ONE), strict=True):
        assert low.lower() <= -EXACT - rest
        assert high.upper() >= EXACT + rest


def test_the_bend_of_intervals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifted_ranges, "_square", lambda low, high: (arb(1), arb(1)))
    low, high = ends(_intervals(chain(tmp_path, bend=MORE), 2, {}, []))
    assert high >= EXACT
    less = 1 - 2.0**-13
    low, high = ends(_intervals(chain(tmp_path, bend=less), 2, {}, []))
    assert low <= fmpq(*less.as_integer_ratio())


def test_split_ends_of_intervals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[arb, arb]] = []
    monkeypatch.setattr(lifted_ranges, "_square", lambda low, high: asked.append((low, high)) or (arb(1),) * 2)
    _intervals(chain(tmp_path), 2, {0: (-EXACT, EXACT)}, [])
    ((low, high),) = asked
    assert low.lower() <= -EXACT
    assert high.upper() >= EXACT


def test_the_rests_below(tmp_path: Path) -> None:
    """Narrow ranges, which nothing else widens: w² + (w²)² for w² about one, the linear part of t² being zero."""
    found = chain(tmp_path)
    less, more = fmpq(8191, 8192), fmpq(2049, 2048)
    low, high = ends(_intervals(found, 3, {}, [(less, ONE)]))
    assert low <= less + less * less
    low, high = ends(_intervals(found, 3, {}, [(EXACT, more)]))
    assert high >= more + more * more
    low, high = ends(_intervals(found, 3, {}, [(ONE, EXACT)]))
    assert high >= EXACT + EXACT * EXACT
    low, high = ends(_intervals(found, 3, {}, [(-EXACT, -ONE)]))
    assert low <= -EXACT + 1


def test_stated_ends() -> None:
    """A little inside of −1 and 1 is not taken for them."""
    assert not _open_ends([(fmpq(-2), fmpq(2))], [(arb(-1), arb(1))], None)
    for inside, side in (((-1 + fmpq(1, 8192), fmpq(2)), LOWER), ((fmpq(-2), 1 - fmpq(1, 8192)), UPPER)):
        assert _open_ends([inside], [(arb(-1), arb(1))], None) == [(0, side)]
    # Rationals are rounded toward zero: a lower end above it, an upper end below it would be taken for wider ones.
    for stated, ends in (((EXACT, fmpq(3)), (arb(1), arb(2))), ((fmpq(-3), -EXACT), (arb(-2), arb(-1)))):
        assert _open_ends([stated], [ends], None)


def test_first_ranges(tmp_path: Path) -> None:
    assert first_range(chain(tmp_path, radius=MORE), 0)[1] >= EXACT
    layers = [([[MORE]], [0.0]), ([[1.0]], [0.0]), ([[1.0], [0.0]], [1.0, 0.0])]
    steep = expansion(tmp_path, pm.PolynomialNetwork(layers, degree=2), [0.0], 1, 1.0, Balls)
    assert first_range(steep, 0)[1] >= EXACT


def test_the_factors_of_the_last_layer(tmp_path: Path) -> None:
    layers = [([[1.0]], [0.0]), ([[1.0]], [0.0]), ([[1.0], [-(2.0**-12)]], [1.0, 0.0])]
    found = expansion(tmp_path, pm.PolynomialNetwork(layers, degree=2), [0.0], 1, 1.0, Balls)
    assert found.factors[0].contains(arb(EXACT))


@pytest.mark.parametrize(
    ("radius", "rest"), [(MORE, (-ONE, ONE)), (1.0, (-EXACT, ONE)), (1.0, (-ONE, EXACT)), (MORE, (-EXACT, EXACT))]
)
def test_where_a_parabola_has_to_lie_below(
    radius: float, rest: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """z = t³ has the slope 1 at the top, so t goes from lo − r to hi + r."""
    layers = [([[1.0]], [0.0]), ([[1.0]], [0.0]), ([[1.0], [0.0]], [1.0, 0.0])]
    network = pm.PolynomialNetwork(layers, activations=[[0.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0, 1.0]])
    found = expansion(tmp_path, network, [0.0], 1, radius, Balls)
    asked: list[Any] = []
    monkeypatch.setattr(lifted_leaf, "shortfall", lambda gap, interval: asked.append(interval) or fmpq(0))
    _top(found, [["0x0p+0"] * 3], "leaf", [rest])
    ((low, high),) = asked
    exact = fmpq(*radius.as_integer_ratio())
    assert low.is_exact()
    assert high.is_exact()
    assert rest[0] - exact - fmpq(1, 64) <= low <= rest[0] - exact
    assert rest[1] + exact <= high <= rest[1] + exact + fmpq(1, 64)


def test_the_coefficients_of_a_parabola(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    layers = [([[1.0]], [0.0]), ([[1.0]], [0.0]), ([[1.0], [0.0]], [1.0, 0.0])]
    network = pm.PolynomialNetwork(layers, activations=[[0.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0, 1.0]])
    found = expansion(tmp_path, network, [0.0], 1, 1.0, Balls)
    asked: list[arb_poly] = []
    monkeypatch.setattr(lifted_leaf, "shortfall", lambda gap, interval: asked.append(gap) or fmpq(0))
    _top(found, [["0x1.001p+0", "0x1.002p+1", "0x1.003p+2"]], "leaf", [(-ONE, ONE)])
    for place, exact in enumerate((4 * fmpq(4099, 4096), 2 * fmpq(4098, 4096), fmpq(4097, 4096))):
        assert asked[0][place].contains(arb(-exact))


def test_a_parabola_above_by_less_than_any_precision_is_lowered(tmp_path: Path) -> None:
    """The parabola 1 + 2⁻²⁰⁰ is above 1 + t⁴ at t = 0; the constant is that of the second class and what is free of t."""
    layers = [([[1.0]], [0.0]), ([[1.0]], [0.0]), ([[1.0], [0.0]], [0.0, 0.0])]
    network = pm.PolynomialNetwork(layers, activations=[[0.0, 1.0], [1.0, 0.0, 0.0, 0.0, 1.0]])
    found = expansion(tmp_path, network, [0.0], 1, 1.0, Balls)
    for bits in (128, 400):
        with working_precision(bits):
            for free, most in ((["0x1p+0", "0x1p-200"], fmpq(1)), (["0x1p-1"], fmpq(1, 2))):
                top = _top(found, [["0x0p+0", "0x0p+0", free]], "leaf", [(-ONE, ONE)])
                (constant,) = top.constant.entries()
                assert constant <= most + fmpq(1, 1 << 300) if bits > 300 else constant.lower() <= most
                assert constant >= most - fmpq(1, 1 << 30)


def test_the_first_layer_has_no_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one hidden layer t goes from −r‖w‖ to r‖w‖, and a parabola has to lie below on all of that."""
    network = pm.PolynomialNetwork([([[1.0], [2.0]], [0.0, 0.0]), ([[1.0, 1.0], [0.0, 0.0]], [1.0, 0.0])], degree=4)
    asked: list[tuple[arb, arb]] = []
    monkeypatch.setattr(lifted_leaf, "shortfall", lambda gap, interval: asked.append(interval) or fmpq(0))
    found = expansion(tmp_path, network, [0.0], 1, 1.0, Balls)
    leaf = {"ball": "0x1p-1", "equalities": [], "intervals": [], "cuts": [], "first": [], "ranges": None}
    lifted_leaf.check_leaf(
        found, leaf | {"minorants": [["0x0p+0", "0x0p+0", "0x0p+0"]] * 2}, "leaf", lifted_leaf.BallPart((), {})
    )
    assert [(float(low), float(high)) for low, high in asked] == [(-1.0, 1.0), (-2.0, 2.0)]
