"""Rows and constraints against Fractions, at true and arbitrary values of the variables, within the errors that are claimed."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import fmpq

from polymargin.networks.forms import Forms
from polymargin.networks.network import Network
from polymargin.networks.stages import Piecewise, Polynomial
from polymargin_checker.neighbourhood import PLAIN
from polymargin_checker.relaxation.arithmetic import Arithmetic
from polymargin_checker.relaxation.constraints import CONSTRAINTS
from polymargin_checker.relaxation.numbers import Multipliers
from polymargin_checker.relaxation.scene import Scene
from polymargin_checker.relaxation.tree import Functional
from tests.checker import relaxation_prover as prover
from tests.checker.exact_rows import ExactRows
from tests.checker.stage_files import random_network

KINDS = [
    ["square", "square", "square"],
    ["product", "product"],
    ["relu", "relu"],
    ["square", "relu", "product"],
    ["spline", "square"],
    ["powers", "chebyshev"],
    ["product", "powers", "spline"],
    ["decided", "product"],
    ["square", "decided"],
]
CASES = [(kinds, norm) for kinds in KINDS for norm in ("l2", "linf")]
RADIUS = 0.25


class Case:
    """A random network, a region, and both expansions."""

    def __init__(self, kinds: list[str], norm: str, seed: int = 0, coordinates: str = "inputs") -> None:
        self.rng = np.random.default_rng([seed, len(kinds), len(norm)])
        plain = ["powers" if k == "square" else "spline" if k == "decided" else k for k in kinds]
        self.net = random_network(self.rng, 3, [2, 3, 2][: len(kinds)], plain, 2)
        cut = [
            Polynomial(stage.form, stage.coefficients[:3]) if kind == "square" else stage  # type: ignore[union-attr]
            for kind, stage in zip(kinds, self.net.stages, strict=True)
        ]
        self.net = Network(cut, self.net.readout)
        self.u = self.rng.normal(size=3)
        self.decided = {k: np.full(len(s), -1) for k, s in enumerate(cut, start=1) if isinstance(s, Piecewise)}
        given = prover.relaxations(self.net, self.u, replace(PLAIN, norm=norm))
        if "decided" in kinds:
            self._decide(given, kinds.index("decided") + 1)
        shape = {
            "norm": "0x1p0" if norm == "l2" else "0x0p0",
            "box": None if norm == "l2" else prover.packed([5.0] * 3),
        }
        entry = prover.shared(RADIUS, self.entries(), ellipsoid=shape, coordinates=coordinates)
        self.scene = given.prepared(entry)
        self.norm = norm

    def entries(self) -> list[Any]:
        return [prover.pieces_entry(k, pieces) for k, pieces in self.decided.items()]

    def _decide(self, given: Any, stage: int) -> None:
        scene = given.prepared(prover.shared(RADIUS, self.entries()))
        for neurons in scene.neurons:
            if neurons.stage == stage:
                low, high = scene.enclosures.inputs_of(neurons)
                points = np.array(self.net.stages[stage - 1].breakpoints)
                first, last = np.searchsorted(points, low, "right"), np.searchsorted(points, high, "left")
                self.decided[stage] = np.where(first == last, first, -1)

    def delta(self) -> list[Fraction]:
        step = self.rng.normal(size=3)
        step *= RADIUS * 0.99 * self.rng.random() / (np.linalg.norm(step) if self.norm == "l2" else np.abs(step).max())
        return [Fraction(float(x)) for x in step]

    def rows(self, delta: list[Fraction], arbitrary: bool) -> ExactRows:
        other = (lambda: Fraction(float(self.rng.normal()))) if arbitrary else None
        return ExactRows.of(self.net, self.u, delta, self.decided, other)

    def multipliers(self, name: str) -> tuple[dict[str, Any], Any]:
        if name in ("ball", "ellipsoid"):
            value = float(self.rng.random())
            return prover.leaf_of({name: value}), value
        if name == "minorant":
            found = []
            scene = self.scene
            for neurons in scene.neurons:
                low, high = scene.enclosures.variables
                for k in range(len(neurons.forms)):
                    place = neurons.start[1] + k
                    found.append((neurons.start[0] + k, 1, 0.0, 0.0, low[place] - 0.125, float(self.rng.random())))
                    found.append((neurons.start[0] + k, -1, 0.5, 0.0, high[place] + 0.125, float(self.rng.random())))
                    found.append((neurons.start[0] + k, 1, -0.5, 0.0, low[place] - 0.125, float(self.rng.random())))
            return prover.leaf_of({name: found}), found
        size = prover.lengths(self.scene)[name]
        values = self.rng.random(size=size) if name not in prover.FREE else self.rng.normal(size=size)
        return prover.leaf_of({name: values}), values


def form_at(forms: Any, xi: list[Fraction]) -> tuple[Fraction, float]:
    """The value without rounding, and how far the checker says that it may be off."""
    used = [(i, Fraction(x)) for i, x in enumerate(xi)]
    matrix = forms.matrix[0]
    total = sum((Fraction(float(matrix[i, j])) * x * y for i, x in used for j, y in used), Fraction(0))
    sizes = np.abs(np.array([float(x) for x in xi]))
    rounding = forms.steps * 2.0**-53
    errors = forms.errors[0] + rounding * forms.sizes[0]
    border = forms.border[0] + rounding * forms.border_sizes[0]
    return total, float((np.sqrt(errors) @ sizes) ** 2 + 2 * border @ sizes)


def functional(scene: Scene) -> Any:
    forms = Arithmetic(False).forms(1, scene.size)
    Functional(scene, 0, 1, fmpq(0))(scene, forms)
    return forms


@pytest.mark.parametrize("arbitrary", [False, True])
@pytest.mark.parametrize(("kinds", "norm"), CASES)
def test_functionals_are_the_lead_within_the_claimed_error(kinds: list[str], norm: str, arbitrary: bool) -> None:
    case = Case(kinds, norm)
    forms = functional(case.scene)
    for _ in range(3):
        delta = case.delta()
        rows = case.rows(delta, arbitrary)
        lead = rows.logits[0] - rows.logits[1]
        if not arbitrary:
            x = [Fraction(float(a)) + b for a, b in zip(case.u, delta, strict=True)]
            logits = case.net.exact_logits(x)
            assert lead == logits[0] - logits[1]
        found, error = form_at(forms, [Fraction(1), *delta, *rows.variables])
        assert abs(found - lead) <= error
        assert error <= 1e-9 * max(1.0, float(abs(lead)))


@pytest.mark.parametrize(("kinds", "norm"), CASES)
def test_intervals_hold_all_values(kinds: list[str], norm: str) -> None:
    case = Case(kinds, norm)
    low, high = case.scene.enclosures.variables
    least, most = case.scene.enclosures.arguments
    for _ in range(20):
        rows = case.rows(case.delta(), False)
        assert all(a <= v <= b for a, v, b in zip(low.tolist(), rows.variables, high.tolist(), strict=True))
        t = [value for group in rows.arguments for value in group]
        assert all(a <= v <= b for a, v, b in zip(least.tolist(), t, most.tolist(), strict=True))


def exact_constraint(case: Case, name: str, given: Any, delta: list[Fraction], rows: ExactRows) -> Fraction:
    """Σ multiplier · q by the definition of each constraint."""
    scene, one = case.scene, Fraction(1)
    if name == "ball":
        return Fraction(given) * (Fraction(RADIUS) ** 2 - sum((d * d for d in delta), Fraction(0)))
    if name == "ellipsoid":
        weight = one / Fraction(RADIUS) ** 2 if case.norm == "l2" else Fraction(5)
        return Fraction(given) * (one - sum((weight * d * d for d in delta), Fraction(0)))
    factors = [Fraction(float(x)) for x in given] if name != "minorant" else []
    if name == "box":
        r = Fraction(RADIUS)
        return sum((m * (d + r) * (r - d) for m, d in zip(factors, delta, strict=True)), Fraction(0))
    if name in ("range", "argument"):
        ends = scene.enclosures.variables if name == "range" else scene.enclosures.arguments
        values = rows.variables if name == "range" else [t for group in rows.arguments for t in group]
        table = zip(factors, values, *(map(Fraction, end.tolist()) for end in ends), strict=True)
        return sum((m * (v - a) * (b - v) for m, v, a, b in table), Fraction(0))
    if name == "definition":
        pairs = [
            (w, b)
            for ws, bs in zip(rows.remainders, rows.brackets, strict=True)
            if bs is not None
            for w, b in zip(ws, bs, strict=True)
        ]
        return sum((m * (w - b) for m, (w, b) in zip(factors, pairs, strict=True)), Fraction(0))
    neurons = [entry for stage in rows.neurons for entry in stage]
    if name == "minorant":
        total = Fraction(0)
        for place, sign, a, b, c, weight in given:
            y, x, _ = neurons[place]
            parabola = Fraction(a) * x * x + Fraction(b) * x + Fraction(float(c))
            total += Fraction(weight) * sign * (y - parabola)
        return total
    raise AssertionError(name)


@pytest.mark.parametrize("name", ["ball", "ellipsoid", "box", "range", "argument", "definition", "minorant"])
@pytest.mark.parametrize(("kinds", "norm"), CASES)
def test_constraints_are_what_they_are_called(kinds: list[str], norm: str, name: str) -> None:
    case = Case(kinds, norm)
    if (name == "ball" and norm == "linf") or not (
        name in ("ball", "ellipsoid", "minorant") or prover.lengths(case.scene)[name]
    ):
        return
    entry, values = case.multipliers(name)
    forms = functional(case.scene)
    CONSTRAINTS[name](Multipliers(entry, "leaf", None), case.scene, forms)
    for arbitrary in (True, False):
        delta = case.delta()
        rows = case.rows(delta, arbitrary)
        constraint = exact_constraint(case, name, values, delta, rows)
        if not arbitrary:
            assert constraint >= 0 if name != "definition" else constraint == 0
        expected = rows.logits[0] - rows.logits[1] - constraint
        found, error = form_at(forms, [Fraction(1), *delta, *rows.variables])
        assert abs(found - expected) <= error
        assert error <= 1e-8 * max(1.0, float(abs(expected)))


@pytest.mark.parametrize("kinds", [kinds for kinds in KINDS if "relu" in kinds])
def test_pieces_are_products_of_two_lines(kinds: list[str]) -> None:
    case = Case(kinds, "l2")
    entry, values = case.multipliers("pieces")
    forms = functional(case.scene)
    CONSTRAINTS["pieces"](Multipliers(entry, "leaf", None), case.scene, forms)
    ends = [case.scene.enclosures.inputs_of(n) for n in case.scene.neurons if n.powers is None]
    low, high = (np.concatenate(side) for side in zip(*ends, strict=True))
    for arbitrary in (True, False):
        delta = case.delta()
        rows = case.rows(delta, arbitrary)
        neurons = [entry for stage in rows.neurons for entry in stage if isinstance(entry[2], Piecewise)]
        total = Fraction(0)
        for m, (y, z, _), a, b in zip(values.tolist(), neurons, low, high, strict=True):
            total += Fraction(m) * (y - (z if a >= 0 else 0)) * (y - (0 if b <= 0 else z))
        assert arbitrary or total == 0
        found, error = form_at(forms, [Fraction(1), *delta, *rows.variables])
        assert abs(found - (rows.logits[0] - rows.logits[1] - total)) <= error


def is_curved(case: Case) -> bool:
    """Whether every form of the first stage sees the inputs, and each of the second a product of them."""
    groups = case.scene.groups
    first = all(np.abs(group.slopes.middle).max(axis=1).min() > 0.1 for group in groups if group.stage == 1)
    second = [group for group in groups if group.stage == 2]
    return first and all(group.products and np.abs(group.products[1].middle).min() > 0.1 for group in second)


@pytest.mark.parametrize("kinds", [["square", "square"], ["product", "product"], ["square", "product"]])
@pytest.mark.parametrize("norm", ["l2", "linf"])
def test_cauchy_and_schwarz(kinds: list[str], norm: str) -> None:
    """Σ θ_i (‖D⁻¹Q_iδ‖² − w_i²), with Q_i from second differences of the brackets."""
    case = next(case for case in (Case(kinds, norm, seed) for seed in range(200)) if is_curved(case))
    squares = np.full(3, 1 / RADIUS**2 if norm == "l2" else 5.0)
    size = prover.lengths(case.scene)["cauchy_schwarz"]
    second = [k for k, brackets in enumerate(case.rows([Fraction(0)] * 3, False).brackets) if brackets is not None][:2]
    theta = np.zeros(size)
    count = sum(len(case.scene.groups[k]) for k in second if case.scene.groups[k].stage == 2)
    theta[:count] = case.rng.random(size=count)
    forms = functional(case.scene)
    CONSTRAINTS["cauchy_schwarz"](
        Multipliers(prover.leaf_of({"cauchy_schwarz": theta}), "leaf", None), case.scene, forms
    )

    def brackets(delta: list[Fraction]) -> list[Fraction]:
        found = case.rows(delta, False).brackets
        return [b for k in second for b in found[k] or []][:count]

    unit = [[Fraction(int(i == j)) for j in range(3)] for i in range(3)]
    q = np.zeros((count, 3, 3))
    for i in range(3):
        for j in range(3):
            both = brackets([a + b for a, b in zip(unit[i], unit[j], strict=True)])
            own, other = brackets(unit[i]), brackets(unit[j])
            q[:, i, j] = [float(a - b - c) / 2 for a, b, c in zip(both, own, other, strict=True)]
    for _ in range(5):
        delta = case.delta()
        rows = case.rows(delta, True)
        d = np.array([float(x) for x in delta])
        w = [float(x) for k in second for x in rows.remainders[k]][:count]
        cut = sum(t * (((m @ d) ** 2 / squares).sum() - x * x) for t, m, x in zip(theta, q, w, strict=True))
        found, error = form_at(forms, [Fraction(1), *delta, *rows.variables])
        expected = float(rows.logits[0] - rows.logits[1]) - cut
        assert abs(float(found) - expected) <= error + 1e-10 * (1 + abs(expected))
        true = brackets(delta)
        assert (
            sum(t * (((m @ d) ** 2 / squares).sum() - float(x) ** 2) for t, m, x in zip(theta, q, true, strict=True))
            >= 0
        )


@pytest.mark.parametrize("name", ["ball", "ellipsoid", "definition", "range", "cauchy_schwarz"])
def test_coordinates_of_forms_give_the_same_values(name: str) -> None:
    """At δ = Aᵀη, for a network of which only the first stage sees the inputs."""
    case = Case(["square", "square"], "l2")
    first, second = case.net.stages
    second = Polynomial(Forms((3, 2), ((1, second.form.block(1)),), second.form.bias), second.coefficients)
    readout = Forms((3, 2, 3), ((1, case.net.readout.block(1)), (2, case.net.readout.block(2))), case.net.readout.bias)
    case.net = Network([first, second], readout)
    shape = {"norm": "0x1p-1", "box": None}
    given = prover.relaxations(case.net, case.u)
    scenes = [
        given.prepared(
            prover.shared(RADIUS, coordinates=c, ellipsoid=shape if c == "forms" else {**shape, "norm": "0x1p-1"})
        )
        for c in ("inputs", "forms")
    ]
    case.scene = scenes[0]
    entry, _ = case.multipliers(name)
    eta = [Fraction(float(x)) for x in case.rng.normal(size=2)]
    rows = first.form.block(0)
    delta = [sum((Fraction(float(rows[i, j])) * eta[i] for i in range(2)), Fraction(0)) for j in range(3)]
    variables = case.rows(delta, True).variables
    found = []
    for scene, place in zip(scenes, (delta, eta), strict=True):
        forms = functional(scene)
        CONSTRAINTS[name](Multipliers(entry, "leaf", None), scene, forms)
        found.append(form_at(forms, [Fraction(1), *place, *variables]))
    assert abs(found[0][0] - found[1][0]) <= found[0][1] + found[1][1]
    assert found[1][1] <= 1e-9 * (1 + abs(float(found[0][0])))
