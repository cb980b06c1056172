"""Proofs by products: honest ones are accepted, every change is refused, and the form that is tested is the one of the docs."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checker.certificate_makers import from_base64
from checker.test_lifted_form import matrix_of
from checker.views_of_files import read_view
from engines import exclude, lower_bound
from flint import arb, fmpq
from product_modules import chebyshev_network, examples

import polymargin as pm
from polymargin.margins.certificate import certificate, hexadecimal
from polymargin_checker.arithmetic import working_precision
from polymargin_checker.checker import check
from polymargin_checker.enclosures import Balls
from polymargin_checker.floats import Floats
from polymargin_checker.product_ball import Shown, _check_ranges, _form, _read, centre
from polymargin_checker.product_expansion import expanded

NAMES = ("gate", "ccp", "ncp", "quadratic neurons", "branches", "attention with residual", "chebyshev")


def proved(name: str, folder: Path) -> tuple[Any, Any, float]:
    """A network, its certificate as JSON, and the radius; both are saved."""
    network = chebyshev_network(6)[0] if name == "chebyshev" else pm.from_torch(*examples()[name])
    u = np.random.default_rng(1).normal(size=network.dimension) / 3
    found = lower_bound(network, u)
    assert found.radius > 0
    entries = []
    for exclusion in found.exclusions:
        proof = exclusion.to_proof()
        assert proof["kind"] == "products"
        entries.append({"rival": exclusion.rival, "lower": hexadecimal(exclusion.radius), "proof": proof})
    claim = {"kind": "robust", "radius": hexadecimal(found.radius)}
    document = certificate(network, u, found.label, claim, entries, None, 0)
    network.save(folder / "model.npz")
    document.save(folder / "proof.json")
    return network, json.loads((folder / "proof.json").read_text()), found.radius


def judged(folder: Path, content: Any, *, exact: bool = False) -> Any:
    (folder / "other.json").write_text(json.dumps(content))
    return check(folder / "model.npz", folder / "other.json", exact=exact)


@pytest.mark.parametrize("name", NAMES)
def test_honest_proofs_are_accepted(name: str, tmp_path: Path) -> None:
    _, content, _ = proved(name, tmp_path)
    result = judged(tmp_path, content)
    assert result.accepted, result.reason
    assert judged(tmp_path, content, exact=True).accepted


def changed(value: str, factor: float) -> str:
    return (float.fromhex(value) * factor).hex()


@pytest.mark.parametrize("name", ["ccp", "attention with residual"])
def test_every_change_of_a_field_is_refused(name: str, tmp_path: Path) -> None:
    _, content, radius = proved(name, tmp_path)
    number = min(range(len(content["rivals"])), key=lambda k: float.fromhex(content["rivals"][k]["lower"]))

    def refused(change: Any, word: str) -> None:
        other = copy.deepcopy(content)
        change(other["rivals"][number]["proof"], other)
        result = judged(tmp_path, other)
        assert not result.accepted
        assert word in result.reason, result.reason

    def set_to(key: str, place: tuple[int, ...], value: Any) -> Any:
        def change(proof: Any, _: Any) -> None:
            if not place:
                proof[key] = value
                return
            target = proof[key]
            for index in place[:-1]:
                target = target[index]
            target[place[-1]] = value

        return change

    proof = content["rivals"][number]["proof"]
    refused(set_to("radius", (), (1.2 * radius).hex()), "ranges")
    refused(set_to("radius", (), (-radius).hex()), "radius")
    refused(set_to("radius", (), (0.5 * radius).hex()), "lower bound")
    for index in range(len(proof["ranges"])):
        low, high = proof["curvatures"][index]
        refused(set_to("curvatures", (index, 0), changed(low, 0.99)), "curvatures")
        refused(set_to("curvatures", (index, 1), changed(high, 0.99)), "curvatures")
        low, high = proof["ranges"][index]
        refused(set_to("ranges", (index, 0), changed(low, 0.99)), "ranges")
        refused(set_to("ranges", (index, 1), changed(high, 0.99)), "ranges")
        refused(set_to("ranges", (index, 1), low), "ranges")
        refused(set_to("intervals", (index,), "-0x1p-10"), "negative")
    refused(set_to("ball", (), "-0x1p-4"), "negative")
    refused(set_to("ball", (), "0x0p+0"), "positive definite")
    refused(set_to("equalities", (0,), (1e3).hex()), "positive definite")
    if proof["cuts"]:
        refused(set_to("cuts", (0, 0), "-0x1p-4"), "negative")
        refused(set_to("cuts", (0, 0), (1e9).hex()), "positive definite")
    for key in ("curvatures", "ranges", "equalities", "intervals"):
        refused(lambda proof, _, key=key: proof[key].pop(), key)
    for key in list(proof):
        refused(lambda proof, _, key=key: proof.pop(key), "kind" if key == "kind" else key)
    refused(lambda proof, _: proof.update(more=1), "more")


def test_products_prove_nothing_about_layers(tmp_path: Path) -> None:
    _, content, _ = proved("ccp", tmp_path)
    network = pm.PolynomialNetwork([(np.eye(2), np.zeros(2)), (np.eye(2), np.zeros(2))], degree=2)
    other = certificate(network, np.array([2.0, 1.0]), 0, content["claim"], content["rivals"][:1], None, 0)
    network.save(tmp_path / "layers.npz")
    other.save(tmp_path / "layers.json")
    result = check(tmp_path / "layers.npz", tmp_path / "layers.json")
    assert not result.accepted


@pytest.mark.parametrize("arithmetic", [Balls, Floats])
@pytest.mark.parametrize("name", NAMES)
def test_the_form_is_that_of_its_definition(name: str, arithmetic: Any, tmp_path: Path) -> None:
    """At random (δ, w), consistent with the network or not, it is B less all terms, each computed from the definition."""
    network, content, _ = proved(name, tmp_path)
    model: Any = read_view(tmp_path / "model.npz")
    proof, rival, label = content["rivals"][0]["proof"], content["rivals"][0]["rival"], content["label"]
    u = from_base64(content["point"])
    point = [fmpq(*x.as_integer_ratio()) for x in u.tolist()]
    with working_precision(128):
        expansion = expanded(model, point)
        given = _read(expansion, proof)
        exact = [fmpq(v.numerator, v.denominator) for v in network.exact_logits(u)]
        value = centre(expansion, label, rival)
        assert value.contains(arb(exact[label] - exact[rival]))
        assert value.rad() < 1e-30 * (1 + abs(value.mid()))
        bounds = _check_ranges(expansion, given, proof["curvatures"])
        Z = matrix_of(_form(expansion, Shown.of(expansion, arithmetic), label, rival, value, given, bounds))
        side = 1 + expansion.dimension + len(expansion.sums)
        assert Z.shape == (side, side)
        p, q = (np.array([float(v.mid()) for v in f.value]) for f in (expansion.left, expansion.right))
        a, b = (
            np.array([float(v.mid()) for v in f.slopes.entries()]).reshape(len(p), -1)
            for f in (expansion.left, expansion.right)
        )
        rho = [np.array([float(v.upper()) for v in bound]) for bound in bounds]
    r = float(given.radius.p) / float(given.radius.q)
    S = np.zeros((len(expansion.sums), len(p)))
    for s, row in enumerate(expansion.sums):
        for j, weight in row.items():
            S[s, j] = float(weight.p) / float(weight.q)
    numbers = lambda values: np.array([float(v.p) / float(v.q) for v in values])  # noqa: E731
    nu, kappa, mu = numbers(given.equalities), numbers(given.intervals), numbers([given.ball])[0]
    generator = np.random.default_rng(2)
    atoms = len(p)
    g = np.zeros(atoms)
    for sign, index in ((1, label), (-1, rival)):
        for atom, weight in expansion.atoms.logits[index][0].items():
            if atom >= expansion.dimension:
                g[atom - expansion.dimension] += sign * float(weight.p) / float(weight.q)
    logits = network(u)
    step = 1e-5 * np.eye(len(u))
    B = lambda x: network(x)[..., label] - network(x)[..., rival]  # noqa: E731
    slope = (B(u + step) - B(u - step)) / 2e-5
    for _ in range(3):
        delta, w = generator.normal(size=len(u)), generator.normal(size=len(S))
        padded = np.append(w, 0.0)
        wl, wr = (padded[[-1 if s is None else s for s in f.sums]] for f in (expansion.left, expansion.right))
        tl, tr = a @ delta + wl, b @ delta + wr
        rests = p * wr + q * wl + tl * tr
        total = logits[label] - logits[rival] + slope @ delta + g @ rests + nu @ (w - S @ rests)
        total -= mu * (r * r - delta @ delta)
        for k, (low, high) in enumerate(given.ranges):
            low, high = numbers([low, high])
            total -= kappa[k] * (w[k] - low) * (high - w[k])
        single = [
            (s, int(np.flatnonzero(S[s])[0])) for s in range(len(S)) if (S[s] != 0).sum() == 1 and S[s].sum() == 1
        ]
        for (s, j), row in zip(single, given.cuts, strict=True):
            one, two, three = numbers(row)
            product = w[s] - p[j] * wr[j] - q[j] * wl[j]
            Q = (np.outer(a[j], b[j]) + np.outer(b[j], a[j])) / 2
            total -= one * (rho[0][j] ** 2 * tr[j] ** 2 - product**2)
            total -= two * (rho[1][j] ** 2 * tl[j] ** 2 - product**2)
            total -= three * (r * r * np.sum((Q @ delta) ** 2) - product**2)
        state = np.concatenate([[1.0], delta, w])
        size = np.abs(state) @ np.abs(Z) @ np.abs(state)
        assert state @ Z @ state == pytest.approx(total, abs=1e-7 * size)


def test_a_counterexample_in_the_ball_leaves_nothing_to_prove(tmp_path: Path) -> None:
    network, content, _ = proved("ccp", tmp_path)
    u = from_base64(content["point"])
    nearest = pm.attack(network, u)
    found = exclude(network, u, nearest.label, nearest.rival, 1.01 * nearest.distance, most_leaves=1)
    assert not found.proved
