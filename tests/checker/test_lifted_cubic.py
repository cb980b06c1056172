"""The cubic part of a leaf: the form with it against its formula in docs/certificates.md, and what files may say of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checker.certificate_makers import Json, hexes, write
from checker.lifted_proofs import Around, deep_squares, least_over_rests, lifted_certificate, lifted_proof
from checker.test_lifted_balances import brute_symmetric
from checker.test_lifted_form import expansion, matrix_of, rationals
from checker.test_lifted_ranges import few_inputs_each
from checker.test_lifted_spectra import T, stated

from polymargin_checker import arithmetic as arithmetics
from polymargin_checker import check
from polymargin_checker.arithmetic import working_precision
from polymargin_checker.enclosures import Balls
from polymargin_checker.floats import Floats
from polymargin_checker.lifted_form import Cubic, ExactMultipliers, form
from polymargin_checker.lifted_leaf import _top

THREE = (4, 6, 5, 3, 2)
FEWER = (6, 4, 5, 3, 2)
"""First-layer neurons than inputs."""
NETWORKS = {"dense": (THREE, None), "fewer neurons": (FEWER, None), "convolution": ((8, 8, 5, 3, 2), few_inputs_each)}


def bracket(around: Around, x: np.ndarray, b: float, r: float, delta: np.ndarray, second: np.ndarray) -> float:
    R = brute_symmetric(around, x)
    return float(2 * x @ ((around.a[1] @ delta) * second) + r * b * delta @ delta + r / b * delta @ R @ delta)


@pytest.mark.parametrize("name", NETWORKS)
def test_it_is_not_negative_on_the_ball(name: str) -> None:
    widths, change = NETWORKS[name]
    network, u, _ = deep_squares(widths, change=change)
    around, generator, r = Around(network, u), np.random.default_rng(0), 0.75
    for _ in range(200):
        x, b = generator.normal(size=widths[2]), float(np.exp(generator.normal()))
        delta = generator.normal(size=widths[0])
        delta *= r * generator.uniform() / np.linalg.norm(delta)
        assert bracket(around, x, b, r, delta, around.rests(delta)[1]) >= 0


@pytest.mark.parametrize("arithmetic", [Balls, Floats])
@pytest.mark.parametrize("name", NETWORKS)
def test_the_form_has_the_bracket_less(name: str, arithmetic: Any, tmp_path: Path) -> None:
    """The least over the rests of B minus all that multipliers say, at random places."""
    widths, change = NETWORKS[name]
    network, u, _ = deep_squares(widths, change=change)
    around, r, generator = Around(network, u), 0.75, np.random.default_rng(3)
    sizes = [len(p) for p in around.p[1:]]
    mu, theta, x, b = 1.5, generator.uniform(1, 2, sizes[0]), generator.normal(size=sizes[0]), 0.625
    nu, kappa = [generator.normal(size=s) for s in sizes], [generator.uniform(20, 40, s) for s in sizes]
    ranges = [np.sort(generator.normal(size=(s, 2)), axis=1) for s in sizes]

    def value(delta: Any, flat: Any) -> float:
        rests = [np.zeros(len(around.p[0])), *np.split(flat, np.cumsum(sizes)[:-1])]
        t = around.a[-1] @ delta + rests[-1]
        total = around.centre + float(around.v @ (around.d[-1] * t + around.c[-1] * t**2))
        total += around.constraints(r, delta, rests, mu, nu, kappa, ranges, theta)
        return total - bracket(around, x, b, r, delta, rests[1])

    with working_precision(128):
        point = expansion(tmp_path, network, u, 1, r, arithmetic)
        given = ExactMultipliers(
            *rationals([mu]),
            [rationals(v) for v in nu],
            [rationals(v) for v in kappa],
            rationals(theta),
            [],
            cubic=Cubic(rationals(x), *rationals([b])),
        )
        known = tuple([(*rationals([lo]), *rationals([hi])) for lo, hi in part] for part in ranges)
        made = form(point, point.around.full, _top(point, None, "leaf", []), given, known, {})
        assert made is not None
        matrix = matrix_of(made)
    for _ in range(5):
        delta = generator.normal(size=len(u))
        least = least_over_rests(lambda flat, delta=delta: value(delta, flat), sum(sizes))
        place = np.concatenate([[1.0], delta])
        assert place @ matrix @ place == pytest.approx(least, rel=1e-9, abs=1e-7)


def certificate_with(widths: Any, change: Callable[[Json], object] | None = None) -> tuple[Any, Json]:
    network, u, r = deep_squares(widths)
    proof = lifted_proof(Around(network, u), r)
    if len(widths) > 4:
        proof["spectra"] = stated([], T)
    proof["tree"]["cubic"] = {"weights": hexes(np.linspace(-1, 1, widths[2])), "balance": "0x1p+0"}
    if change is not None:
        change(proof["tree"])
    made = lifted_certificate(network, u, r)
    made["rivals"][0]["proof"] = proof
    return network, made


@pytest.mark.parametrize("exact", [0, 1000])
@pytest.mark.parametrize("widths", [THREE, FEWER])
def test_honest_leaves_are_accepted(widths: Any, exact: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arithmetics, "LARGEST_EXACT", exact)
    verdict = check(*write(tmp_path, *certificate_with(widths)))
    assert verdict.accepted, verdict.reason


def put(name: str, value: Any) -> Callable[[Json], object]:
    return lambda leaf: leaf["cubic"].__setitem__(name, value)


FORGERIES: list[tuple[str, Callable[[Json], object], str]] = [
    ("no object", lambda leaf: leaf.__setitem__("cubic", None), "leaf 0, cubic: expected an object"),
    ("no weights", lambda leaf: leaf["cubic"].pop("weights"), "leaf 0, cubic: the key 'weights' is missing"),
    ("no balance", lambda leaf: leaf["cubic"].pop("balance"), "leaf 0, cubic: the key 'balance' is missing"),
    ("more keys", put("more", 1), "unknown key 'more'"),
    ("a weight too few", lambda leaf: leaf["cubic"]["weights"].pop(), "cubic, weights: expected 5 entries, got 4"),
    ("a weight too many", lambda leaf: leaf["cubic"]["weights"].append("0x0p+0"), "expected 5 entries, got 6"),
    ("no number", lambda leaf: leaf["cubic"]["weights"].__setitem__(0, "inf"), "not a hexadecimal float"),
    ("a balance of nothing", put("balance", "0x0p+0"), "leaf 0, cubic, balance: expected a number above 0"),
    ("a negative balance", put("balance", "-0x1p-3"), "leaf 0, cubic, balance: expected a number above 0"),
    ("no balance at all", put("balance", "nan"), "not a hexadecimal float"),
    ("a huge balance", put("balance", "0x1p+60"), "positive definite"),
    ("a tiny balance", put("balance", "0x1p-60"), "positive definite"),
    ("a huge weight", lambda leaf: leaf["cubic"]["weights"].__setitem__(0, "0x1p+30"), "positive definite"),
]


@pytest.mark.parametrize(("change", "reason"), [(c, r) for _, c, r in FORGERIES], ids=[name for name, *_ in FORGERIES])
@pytest.mark.parametrize("widths", [THREE, FEWER])
def test_forgeries(widths: Any, change: Callable[[Json], object], reason: str, tmp_path: Path) -> None:
    verdict = check(*write(tmp_path, *certificate_with(widths, change)))
    assert not verdict.accepted
    assert reason in verdict.reason


def test_two_hidden_layers_have_none(tmp_path: Path) -> None:
    verdict = check(*write(tmp_path, *certificate_with((4, 6, 3, 2))))
    assert not verdict.accepted
    assert "unknown key 'cubic'" in verdict.reason
