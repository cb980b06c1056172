"""Region proofs: each field is needed, and none can be made to say more than is true."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from problems import random_network

import polymargin as pm
from polymargin_checker import arithmetic, region_leaf
from polymargin_checker.checker import check

U = [0.1, -0.2]


def network() -> pm.Network:
    return random_network([2, 3, 3, 2], 2, seed=1)


def quartic() -> pm.Network:
    generator = np.random.default_rng(2)
    layers = [(generator.normal(size=s), generator.normal(size=s[0])) for s in ((3, 2), (2, 3))]
    return pm.PolynomialNetwork(layers, activations=[(0.1, 0.5, 0.3, 0.2, -0.1)])


def proof(net: pm.Network, share: float, **options: Any) -> dict[str, Any]:
    """A certificate at a share of the attack's distance, far enough to need multipliers; made once."""
    key = (net.fingerprint, share, *options.items())
    if key not in _made:
        _made[key] = _proof(net, share, **options)
    return copy.deepcopy(_made[key])


_made: dict[Any, dict[str, Any]] = {}


def _proof(net: pm.Network, share: float, **options: Any) -> dict[str, Any]:
    attacked = pm.attack(net, U, **options)
    assert attacked is not None
    verdict = pm.verify(net, U, share * attacked.distance, **options)
    assert verdict.certificate is not None
    assert verdict.answer.name == "ROBUST"
    return verdict.certificate.data


def leaves(node: dict[str, Any]) -> list[dict[str, Any]]:
    return leaves(node["low"]) + leaves(node["high"]) if "split" in node else [node]


def judged(net: pm.Network, data: dict[str, Any], folder: Path, exact: bool = False) -> tuple[bool, str]:
    net.save(folder / "model.npz")
    (folder / "proof.json").write_text(json.dumps(data))
    found = check(folder / "model.npz", folder / "proof.json", exact)
    return found.accepted, found.reason


def tree(data: dict[str, Any]) -> dict[str, Any]:
    return data["rivals"][0]["proof"]["tree"]


def quadratic(data: dict[str, Any]) -> dict[str, Any]:
    return next(leaf for leaf in leaves(tree(data)) if "quadratic" in leaf)


def change(data: dict[str, Any], where: str, value: Any) -> None:
    quadratic(data)[where] = value


Mutation = Callable[[dict[str, Any]], None]

LEAF: dict[str, Mutation] = {
    "no multipliers": lambda d: change(d, "box", ["0x0p+0"] * len(quadratic(d)["box"])),
    "a negative one": lambda d: change(d, "box", ["-0x1p-3", *quadratic(d)["box"][1:]]),
    "too few": lambda d: change(d, "box", quadratic(d)["box"][1:]),
    "one for the norm of a box": lambda d: change(d, "norm", "0x1p-4"),
    "a negative one for the norm": lambda d: change(d, "norm", "-0x1p-4"),
    "not a list of minorants": lambda d: change(d, "minorants", None),
    "a minorant too few": lambda d: change(d, "minorants", quadratic(d)["minorants"][1:]),
    "no linear proof": lambda d: (quadratic(d).clear(), leaves(tree(d))[0].setdefault("linear", "middle"))[0],
    "an unknown centre": lambda d: change(d, "quadratic", "origin"),
    "rests without shifts": lambda d: (change(d, "shifts", None), change(d, "rests", ["0x1p+0"]))[0],
    "an unknown key": lambda d: change(d, "more", 1),
}


@pytest.mark.parametrize("name", LEAF)
def test_no_changed_leaf_passes(name: str, tmp_path: Path) -> None:
    net = network()
    data = proof(net, 0.98, within=pm.Linf())
    assert judged(net, data, tmp_path)[0]
    changed = copy.deepcopy(data)
    LEAF[name](changed)
    accepted, reason = judged(net, changed, tmp_path)
    assert not accepted, name
    assert "could not finish" not in reason


WHOLE: dict[str, Mutation] = {
    "a larger radius": lambda d: d["claim"].update(radius="0x1p+3"),
    "all radii larger": lambda d: (
        d["claim"].update(radius="0x1p+3"),
        d["rivals"][0].update(lower="0x1p+3"),
        d["rivals"][0]["proof"].update(radius="0x1p+3"),
    )[0],
    "another norm": lambda d: d["neighbourhood"].update(norm="l7"),
    "no norm": lambda d: d["neighbourhood"].pop("norm"),
    "smaller weights": lambda d: d["neighbourhood"].update(weights=["0x1p-4", "0x1p-4"]),
    "weights of zero": lambda d: d["neighbourhood"].update(weights=["0x0p+0", "0x1p+0"]),
    "half a domain": lambda d: d["neighbourhood"].update(low=["-0x1p+0", None]),
    "a domain without the point": lambda d: d["neighbourhood"].update(low=["0x1p+0", None], high=["0x1p+1", None]),
    "a lead": lambda d: d["neighbourhood"].update(abstain="0x1p+6"),
    "a negative lead": lambda d: d["neighbourhood"].update(abstain="-0x1p-3"),
    "no movable coordinate": lambda d: d["neighbourhood"].update(movable=[]),
    "a coordinate that is none": lambda d: d["neighbourhood"].update(movable=[2]),
    "a rival that is none": lambda d: d["neighbourhood"].update(rivals=[2]),
    "a proof of a ball": lambda d: d["rivals"][0]["proof"].update(kind="exclusion"),
    "no radius": lambda d: d["rivals"][0]["proof"].update(radius="0x0p+0"),
    "an empty region": lambda d: d["rivals"][0]["proof"].update(tree={"empty": True}),
    "a split outside": lambda d: d["rivals"][0]["proof"].update(
        tree={"split": [0, "0x1p+5"], "low": tree(d), "high": {"linear": "middle"}}
    ),
    "a split of no coordinate": lambda d: d["rivals"][0]["proof"].update(
        tree={"split": [2, "0x0p+0"], "low": tree(d), "high": tree(d)}
    ),
}


@pytest.mark.parametrize("name", WHOLE)
def test_no_changed_statement_passes(name: str, tmp_path: Path) -> None:
    net = network()
    data = proof(net, 0.98, within=pm.Linf())
    changed = copy.deepcopy(data)
    WHOLE[name](changed)
    accepted, reason = judged(net, changed, tmp_path)
    assert not accepted, name
    assert "could not finish" not in reason


def test_a_proof_on_a_box_holds_for_the_l2_ball_in_it(tmp_path: Path) -> None:
    net = network()
    data = proof(net, 0.98, within=pm.Linf())
    del data["neighbourhood"]
    accepted, reason = judged(net, data, tmp_path)
    assert accepted
    assert "L∞" not in reason


@pytest.mark.parametrize("largest_exact", [0, 48])
def test_parabolas_above_an_activation_are_lowered(
    largest_exact: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By as much as they lie above it, so a constant may be any; a slope that costs too much is refused.

    In doubles the activation is known up to a radius, and no parabola that meets it is below it for certain.
    """
    monkeypatch.setattr(arithmetic, "LARGEST_EXACT", largest_exact)
    net = quartic()
    data = proof(net, 0.97, within=pm.Linf())
    assert judged(net, data, tmp_path)[0]
    rows = quadratic(data)["minorants"][0]
    for more in (0.05, 1e6):
        rows[0][2] = (float.fromhex(rows[0][2]) + more).hex()
        accepted, reason = judged(net, data, tmp_path)
        assert accepted, reason
    rows[0][1] = (float.fromhex(rows[0][1]) + 9).hex()
    accepted, reason = judged(net, data, tmp_path)
    assert not accepted
    assert "positive definite" in reason
    assert reason.endswith("; so it is in doubles, and --exact may prove it") == (largest_exact == 0)
    assert "--exact" not in judged(net, data, tmp_path, exact=True)[1]


@pytest.mark.parametrize("text", ["0x1p+1000", "0x1p+1090"])
@pytest.mark.parametrize("key", ["box", "norm", "rests", "shifts", "minorants"])
def test_numbers_beyond_all_doubles_prove_nothing_and_warn_of_nothing(
    key: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Squares of 2¹⁰⁰⁰ are infinite in doubles; NumPy would say so on standard error. 2¹⁰⁹⁰ is no double at all."""
    monkeypatch.setattr(arithmetic, "LARGEST_EXACT", 0)

    def huge(value: Any) -> Any:
        return [huge(entry) for entry in value] if isinstance(value, list) else text if value else value

    for net, within in ((quartic(), pm.Linf()), (network(), pm.Linf()), (network(), pm.L1())):
        data = proof(net, 0.97, within=within)
        for leaf in leaves(tree(data)):
            if leaf.get(key):
                leaf[key] = huge(leaf[key])
        accepted, reason = judged(net, data, tmp_path)
        assert "could not finish" not in reason
        assert accepted == (data == proof(net, 0.97, within=within))


def test_lifted_rests_need_all_their_multipliers(tmp_path: Path) -> None:
    net = network()
    data = proof(net, 0.999, within=pm.Linf())
    found = [leaf for leaf in leaves(tree(data)) if leaf.get("shifts") is not None]
    assert found, "this proof was chosen because it lifts"
    for key, value in (("rests", None), ("rests", ["-0x1p+0"] * 3), ("shifts", []), ("rests", ["0x0p+0"] * 3)):
        kept = found[0][key]
        found[0][key] = value
        assert not judged(net, data, tmp_path)[0], (key, value)
        found[0][key] = kept
    assert judged(net, data, tmp_path)[0]


def test_forms_of_too_many_variables_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """1, two inputs, and three rests where they are lifted; the first leaf of each kind."""
    net = network()
    data = proof(net, 0.999, within=pm.Linf())
    lifted = next(leaf for leaf in leaves(tree(data)) if leaf.get("shifts") is not None)
    plain = copy.deepcopy(lifted) | {"shifts": None, "rests": None}
    for leaf, variables in ((lifted, 6), (plain, 3)):
        data["rivals"][0]["proof"]["tree"] = leaf
        for largest in (variables, variables - 1):
            monkeypatch.setattr(region_leaf, "LARGEST_FORM", largest)
            reason = judged(net, data, tmp_path)[1]
            assert (f"a form in {variables} variables; this checker accepts up to {largest}" in reason) is (
                largest < variables
            )


@pytest.mark.parametrize("within", [pm.L1(domain=(-5, 5)), pm.L2(domain=(-5, 5))])
def test_empty_leaves_are_outside_the_ball(within: Any, tmp_path: Path) -> None:
    net = network()
    data = proof(net, 0.9, within=within)
    radius = float.fromhex(data["claim"]["radius"])
    whole = tree(data)
    corner = {"split": [1, (U[1] + 0.95 * radius).hex()], "low": {"linear": "middle"}, "high": {"empty": True}}
    data["rivals"][0]["proof"]["tree"] = {"split": [0, (U[0] + 0.95 * radius).hex()], "low": whole, "high": corner}
    _, reason = judged(net, data, tmp_path)
    assert "empty" not in reason  # the corner is; what else is wrong is another matter
    corner["high"], corner["low"] = {"linear": "middle"}, {"empty": True}
    accepted, reason = judged(net, data, tmp_path)
    assert not accepted


def test_counterexamples_obey_the_neighbourhood(tmp_path: Path) -> None:
    net = network()
    attacked = pm.attack(net, U, within=pm.Linf())
    assert attacked is not None
    radius = 1.2 * attacked.distance
    data = pm.verify(net, U, radius, within=pm.Linf()).certificate.data
    assert judged(net, data, tmp_path)[0]
    narrow = [(u - 0.3 * attacked.distance).hex() for u in U], [(u + 0.3 * attacked.distance).hex() for u in U]
    for key, value in (
        ("abstain", "-0x1p-1"),
        ("low", narrow[0]),
        ("movable", [0]),
        ("weights", ["0x1p+3", "0x1p+3"]),
        ("norm", "l3"),
    ):
        changed = copy.deepcopy(data)
        changed["neighbourhood"][key] = value
        if key == "low":
            changed["neighbourhood"]["high"] = narrow[1]
        assert not judged(net, changed, tmp_path)[0], key


def test_every_rival_that_counts_needs_its_proof_and_the_sentence_names_what_was_proved(tmp_path: Path) -> None:
    net = random_network([2, 3, 4], 2, seed=3)
    label = int(net.predict(np.array([U]))[0])
    first, between, last = (k for k in range(4) if k != label)
    data = proof(net, 0.5, within=pm.Linf(), rivals=(first, last))
    accepted, reason = judged(net, data, tmp_path)
    assert accepted
    assert "at an L∞ distance below" in reason
    assert reason.endswith(f"2 of 3 rivals: {first} {last})")
    assert [entry["rival"] for entry in data["rivals"]] == [first, last]
    for kept in (0, 1):
        less = copy.deepcopy(data)
        del less["rivals"][1 - kept]
        accepted, reason = judged(net, less, tmp_path)
        assert not accepted
        assert reason.startswith(f"rival {(first, last)[1 - kept]} is missing")
    more = copy.deepcopy(data)
    more["neighbourhood"]["rivals"] = None
    assert judged(net, more, tmp_path) == (
        False,
        f"rival {between} is missing; every class but the label needs a proof",
    )


def test_the_sentence_about_a_margin_names_its_norm(tmp_path: Path) -> None:
    net = network()
    found = pm.margin(net, U, within=pm.Linf())
    assert found.certificate is not None
    accepted, reason = judged(net, found.certificate.data, tmp_path)
    assert accepted
    assert "], an L∞ distance (" in reason
